// The decision to run queries: their cost, the quotas of their client, and concurrency. The rights of the caller are
// checked elsewhere.
import { ApiError } from "../../errors/api-error.ts";
import type { Pods } from "../../pods/pods.ts";
import type { Caller, QueryClassGrant } from "../authorization/access.ts";
import { type Plan, plansOf } from "../planning/plan.ts";
import { noReads, type QueryReads } from "../reads/store-middleware.ts";
import { windowSecondsOf } from "../request/window.ts";
import {
  actualCosts,
  addedCosts,
  type Cardinality,
  type Costs,
  createCardinality,
  expectedCosts,
  requestTokens,
  totalCost,
} from "./cost.ts";
import { suggestionWithin } from "./quota-rejections.ts";
import { type AdmittedRequest, createQuotas, type QuotaState, type Quotas } from "./quotas.ts";
import { chargesOf, type QuotaClient, type RequestCost } from "./token-source.ts";
import {
  type ChargedQuery,
  countBytes,
  type CountUsage,
  rememberMetrics,
  type UsageKey,
  usageOf,
  type UsageSums,
} from "./usage-counts.ts";

/** Queries that were admitted as one request. */
export interface AdmittedQueries {
  /** Expected cost units of each query, in the order of the plans. */
  readonly estimates: readonly number[];
  /** Headers of the response, also of an error. Source: seed "Operational Metrics API" §6. */
  headers(): Readonly<Record<string, string>>;
  /**
   * Charges the points that the stores computed; nothing without an outcome.
   *
   * @param reads of each query, in the order of the plans; undefined charges the expected cost of a query that did not
   *   end
   */
  charge(reads: readonly (QueryReads | undefined)[]): void;
  /** Counts the bytes of the response as usage of the queries. */
  readonly sent: (bytes: number) => void;
  /** Ends the request for the limit on concurrent requests, and counts its usage. */
  end(): void;
}

/**
 * Charges all queries or none: the request tokens of the widest one, of each metric the tokens of all its queries, and
 * the cost of every query.
 *
 * @param plans at least one, all of the same class
 * @throws ApiError when the client has used up a quota
 */
export type AdmitQueries = (plans: readonly Plan[], caller: Caller) => Promise<AdmittedQueries>;

/** A repeat request that was admitted, charged and counted, and has ended. */
interface AdmittedRepeat extends Pick<AdmittedQueries, "estimates"> {
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Prepares the admission of equal requests whose responses are cached. The function admits one of them synchronously;
 * undefined, without a charge, when only {@link AdmitQueries} can decide.
 */
export type AdmitRepeats = (plans: readonly Plan[], caller: Caller) => () => AdmittedRepeat | undefined;

/** The cost of a query. */
export interface QueryCost {
  /** Expected cost units. */
  readonly estimate: number;
  /** True when the expected cost is above a whole burst, so that the query is never admitted. */
  readonly isBeyondBurst: boolean;
}

/** The decision on a query that is not run. */
export interface QueryDecision {
  /** Expected cost units. */
  readonly estimate: number;
  /** The rejection of the query at this time; undefined when it would be admitted. */
  readonly error: ApiError | undefined;
}

/** The admission of all routes. */
export interface Admission {
  readonly queries: AdmitQueries;
  /** Admits if no other pod is needed and nothing is rejected. */
  readonly repeats: AdmitRepeats;
  /** Admits a part of a request that took its request token. The part takes those of its metrics. */
  readonly queriesWithin: AdmitQueries;
  /** Computes the cost of a query and charges nothing. */
  readonly cost: (plan: Plan, caller: Caller) => QueryCost;
  /** Decides on a query as {@link queries} does, and charges nothing. */
  readonly decide: (plan: Plan, caller: Caller) => Promise<QueryDecision>;
  /** Charges one request token for a request that reads no store and takes no place among the concurrent ones. */
  readonly chargeRequest: (caller: Caller, grant: QueryClassGrant) => Promise<AdmittedRequest>;
  /** The quotas of the caller in one class, as this pod knows them. It charges nothing. */
  readonly state: (caller: Caller, grant: QueryClassGrant, metrics: readonly string[]) => Promise<QuotaState>;
  /** Admits any other request to stores: one request token and its expected cost. @throws as {@link AdmitQueries} */
  request(caller: Caller, grant: QueryClassGrant, costs: Costs): Promise<AdmittedRequest>;
  /** Counts usage of requests that {@link request} admitted. */
  readonly count: CountUsage;
  /** Returns the allocated tokens of this pod to their owner pods. */
  stop(): void;
}

/**
 * Creates an admission with full quotas.
 *
 * @param pods that share the quotas
 * @param countUsage @default usage is not counted
 */
export function createAdmission(now: () => number, pods: Pods, countUsage: CountUsage = () => undefined): Admission {
  const quotas = createQuotas(now, pods);
  const cardinality = createCardinality();
  const costsOf = rememberCosts(cardinality);
  const metricsOfPlan = rememberMetrics();
  const admit = async (expected: ExpectedQueries): Promise<AdmittedQueries> => {
    const { client, cost, widest } = expected;
    try {
      const admitted = await quotas.admit(client, cost, (share) => suggestionWithin(widest.query, share));
      return admittedOf(expected, admitted, { cardinality, countUsage, metricsOfPlan });
    } catch (error) {
      throw error instanceof ApiError ? error.with(estimateHeaders(expected)) : error;
    }
  };
  return {
    queries: async (plans, caller) => admit(expectedOf(plans, caller, costsOf)),
    repeats(plans, caller) {
      let changes: number | undefined;
      let prepared: PreparedRepeats | undefined;
      return () => {
        if (prepared === undefined || changes !== cardinality.changes()) {
          const expected = expectedOf(plans, caller, costsOf);
          changes = cardinality.changes();
          prepared = preparedRepeats(expected, quotas.repeats(expected.client, expected.cost), metricsOfPlan);
        }
        const limits = prepared.admit();
        if (limits === undefined) return undefined;
        for (const { key, sums } of prepared.usage) countUsage(key, sums);
        return { estimates: prepared.estimates, headers: { ...prepared.headers, ...limits } };
      };
    },
    async queriesWithin(plans, caller) {
      const expected = expectedOf(plans, caller, costsOf);
      return admit({ ...expected, cost: { ...expected.cost, requests: 0 } });
    },
    cost(plan, caller) {
      const { client, cost } = expectedOf(plansOf(plan), caller, costsOf);
      const isBeyondBurst = chargesOf(client, cost).some(({ count, limits }) => count > limits.burst);
      return { estimate: totalCost(cost.costs), isBeyondBurst };
    },
    async decide(plan, caller) {
      const { client, cost } = expectedOf(plansOf(plan), caller, costsOf);
      const { error } = await quotas.decide(client, cost, (share) => suggestionWithin(plan.query, share));
      return { estimate: totalCost(cost.costs), error };
    },
    async chargeRequest({ client }, grant) {
      const limits = { ...grant.limits, maxConcurrent: Number.POSITIVE_INFINITY };
      const charged = await quotas.admit({ ...grant, limits, client }, oneRequest, () => undefined);
      charged.end();
      return charged;
    },
    state: ({ client }, grant, metrics) => quotas.state({ ...grant, client }, metrics),
    request: (caller, grant, costs) =>
      quotas.admit({ ...grant, client: caller.client }, { requests: 1, costs }, () => undefined),
    count: countUsage,
    stop: () => quotas.stop(),
  };
}

/** The expected cost of a plan, computed again after the cardinality has changed. A repeat query has the same plan. */
function rememberCosts(cardinality: Cardinality): (plan: Plan) => Costs {
  const known = new WeakMap<Plan, { readonly changes: number; readonly costs: Costs }>();
  return (plan) => {
    const changes = cardinality.changes();
    const before = known.get(plan);
    if (before?.changes === changes) return before.costs;
    const costs = expectedCosts(plan, (part, query) => cardinality.expected(part, query));
    known.set(plan, { changes, costs });
    return costs;
  };
}

const oneRequest: RequestCost = { requests: 1, costs: new Map() };

/** Queries with their expected costs. */
interface ExpectedQueries {
  readonly plans: readonly Plan[];
  readonly widest: Plan;
  readonly client: QuotaClient;
  readonly cost: RequestCost;
  /** In the order of the plans. */
  readonly costs: readonly Costs[];
}

function expectedOf(plans: readonly Plan[], caller: Caller, costsOf: (plan: Plan) => Costs): ExpectedQueries {
  const [first] = plans;
  if (first === undefined) throw new Error("a request has no queries");
  const costs = plans.map(costsOf);
  const tokens = plans.map(({ query: { window } }) => requestTokens(windowSecondsOf(window)));
  const metricRequests = addedCosts(
    plans.map(
      ({ query: { metrics } }, index) => new Map(metrics.map(({ entry }) => [entry.metric.id, tokens[index] ?? 1])),
    ),
  );
  return {
    plans,
    widest: plans.reduce((one, other) => (other.grid.count > one.grid.count ? other : one)),
    client: { ...first.query.quota, client: caller.client },
    cost: { requests: Math.max(...tokens), metricRequests, costs: addedCosts(costs) },
    costs,
  };
}

function estimateHeaders({ cost }: ExpectedQueries): Readonly<Record<string, string>> {
  return { "X-Query-Cost-Estimate": String(totalCost(cost.costs)) };
}

/** What equal requests have in common while the expected costs stay. */
interface PreparedRepeats extends AdmittedRepeat {
  readonly admit: ReturnType<Quotas["repeats"]>;
  readonly usage: readonly { readonly key: UsageKey; readonly sums: UsageSums }[];
}

function preparedRepeats(
  expected: ExpectedQueries,
  admit: PreparedRepeats["admit"],
  metricsOfPlan: AdmittedSinks["metricsOfPlan"],
): PreparedRepeats {
  const { plans, costs, client } = expected;
  const usage = plans.flatMap((plan, index) => {
    const charged = { costs: actualCosts(plan, noReads.outcomes, noReads.share), share: noReads.share };
    return usageOf(metricsOfPlan(plan, client.client), { ...charged, estimates: costs[index] });
  });
  return {
    admit,
    usage,
    estimates: costs.map(totalCost),
    headers: { ...estimateHeaders(expected), "X-Query-Cost": "0" },
  };
}

interface AdmittedSinks {
  readonly cardinality: Cardinality;
  readonly countUsage: CountUsage;
  readonly metricsOfPlan: ReturnType<typeof rememberMetrics>;
}

function admittedOf(
  expected: ExpectedQueries,
  admitted: AdmittedRequest,
  { cardinality, countUsage, metricsOfPlan }: AdmittedSinks,
): AdmittedQueries {
  const { plans, costs, client } = expected;
  // A query that did not end costs what was expected.
  let charged: readonly ChargedQuery[] = costs.map((own) => ({ costs: own, share: 1 }));
  let isCharged = false;
  let isEnded = false;
  let keys: readonly UsageKey[] | undefined;
  return {
    estimates: costs.map(totalCost),
    headers: () => ({
      ...estimateHeaders(expected),
      ...(isCharged ? { "X-Query-Cost": String(totalCost(addedCosts(charged.map((own) => own.costs)))) } : {}),
      ...admitted.headers(),
    }),
    charge(reads) {
      charged = plans.map((plan, index) => {
        const own = reads[index];
        if (own === undefined) return { costs: costs[index] ?? new Map<string, number>(), share: 1 };
        cardinality.record(own.outcomes, plan.query);
        return { costs: actualCosts(plan, own.outcomes, own.share), share: own.share };
      });
      isCharged = true;
      admitted.settle(addedCosts(charged.map((own) => own.costs)));
    },
    sent(bytes) {
      // A repeat request is counted here too.
      keys ??= plans.flatMap((plan) => metricsOfPlan(plan, client.client)).map(({ key }) => key);
      countBytes(keys, bytes, countUsage);
    },
    end() {
      admitted.end();
      if (isEnded) return;
      isEnded = true;
      for (const [index, plan] of plans.entries()) {
        const own = charged[index];
        if (own === undefined) continue;
        const usage = usageOf(metricsOfPlan(plan, client.client), { ...own, estimates: costs[index] });
        for (const { key, sums } of usage) countUsage(key, sums);
      }
    },
  };
}

/** A request that was admitted. */
interface Admitted {
  /** Counts the bytes of the response. @default they are not counted as usage */
  readonly sent?: (bytes: number) => void;
  /** Headers of its quotas. @default the response shows none */
  readonly headers?: () => Readonly<Record<string, string>>;
  /** Ends the request for the limit on concurrent requests. */
  end(): void;
}

/**
 * Runs an admitted request, and ends it. Its response has the headers of its quotas, and so has an error.
 *
 * @throws what `run` throws
 */
export async function runAdmitted<Response extends { readonly headers: Readonly<Record<string, string>> }>(
  admitted: Admitted,
  run: () => Promise<Response>,
): Promise<Response> {
  try {
    const response = await run();
    const { sent } = admitted;
    return { ...response, headers: { ...response.headers, ...admitted.headers?.() }, ...(sent && { sent }) };
  } catch (error) {
    throw error instanceof ApiError ? error.with(admitted.headers?.() ?? {}) : error;
  } finally {
    admitted.end();
  }
}
