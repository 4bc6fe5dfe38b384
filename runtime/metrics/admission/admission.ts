// The decision to run a query: its cost, the quotas of its client, and concurrency. The rights of the caller are
// checked elsewhere.
import type { QueryClassGrant } from "../authorization/access.ts";
import type { Caller } from "../authorization/caller.ts";
import {
  actualCosts,
  type Cardinality,
  type Costs,
  createCardinality,
  expectedCosts,
  requestTokens,
  totalCost,
} from "./cost.ts";
import type { Pods } from "../../pods/pods.ts";
import type { Plan } from "../planning/plan.ts";
import { createLeavesAdmission, type LeavesAdmission } from "./admit-leaves.ts";
import { createQuotas, type AdmittedRequest, type QuotaState } from "./quotas.ts";
import { chargesOf, type QuotaClient, type RequestCost } from "./token-source.ts";
import type { PartOutcome } from "../reads/read-stores.ts";
import { suggestionWithin } from "../reads/region-status.ts";
import { windowSecondsOf } from "../request/window.ts";
import { Refusal } from "../../errors/refusal.ts";

/** One admitted query. */
export interface AdmittedQuery {
  /** Expected cost units. */
  readonly estimate: number;
  /** Headers of the response, also of an error. Source: seed "Operational Metrics API" §6. */
  headers(): Readonly<Record<string, string>>;
  /**
   * Charges the points that the stores computed; nothing without an outcome.
   *
   * @param share of the points that were not cached
   */
  charge(outcomes: readonly PartOutcome[], share: number): void;
  /** Ends the request for the limit on concurrent requests. */
  end(): void;
}

/** Admits a query. @throws Refusal when its client has used up a quota */
export type AdmitQuery = (plan: Plan, caller: Caller) => Promise<AdmittedQuery>;

/** Admits a query synchronously; undefined, without a charge, when only {@link AdmitQuery} can decide. */
export type AdmitQueryNow = (plan: Plan, caller: Caller) => AdmittedQuery | undefined;

/** The price of a query. */
export interface QueryPrice {
  /** Expected cost units. */
  readonly estimate: number;
  /** True when the expected cost is above a whole burst, so that the query is never admitted. */
  readonly isBeyondBurst: boolean;
}

/** The decision on a query that is not run. */
export interface QueryDecision {
  /** Expected cost units. */
  readonly estimate: number;
  /** The refusal of the query at this time; undefined when it would be admitted. */
  readonly refusal: Refusal | undefined;
}

/** The admission of all routes. */
export interface Admission extends LeavesAdmission {
  /** Admits a single query. */
  readonly query: AdmitQuery;
  /** Admits a single query where no other pod is needed and nothing is refused. */
  readonly queryNow: AdmitQueryNow;
  /** Admits an item of a bulk. The bulk took the request token; the item takes those of its metrics. */
  readonly bulkItem: AdmitQuery;
  /** Prices a query and charges nothing. */
  readonly price: (plan: Plan, caller: Caller) => QueryPrice;
  /** Decides on a query as {@link query} does, and charges nothing. */
  readonly decide: (plan: Plan, caller: Caller) => Promise<QueryDecision>;
  /** Charges one request token for a request that reads no store and takes no place among the concurrent ones. */
  readonly chargeRequest: (caller: Caller, grant: QueryClassGrant) => Promise<AdmittedRequest>;
  /** The quotas of the caller in one class, as this pod knows them. It charges nothing. */
  readonly state: (caller: Caller, grant: QueryClassGrant, metrics: readonly string[]) => Promise<QuotaState>;
  /** Admits any other request to stores: one request token and its expected cost. @throws as {@link AdmitQuery} does */
  request(caller: Caller, grant: QueryClassGrant, costs: Costs): Promise<AdmittedRequest>;
  /** Returns the allocated tokens of this pod to their owner pods. */
  stop(): void;
}

/** Creates an admission with full quotas. @param pods that share the quotas */
export function createAdmission(now: () => number, pods: Pods): Admission {
  const quotas = createQuotas(now, pods);
  const cardinality = createCardinality();
  const costsOf = rememberCosts(cardinality);
  const pricedOf = (plan: Plan, caller: Caller, requests: number): PricedQuery => {
    const costs = costsOf(plan);
    const cost = { requests, metricRequests: tokensOf(plan), costs };
    return { plan, client: { ...plan.query.quota, client: caller.client }, cost, estimate: totalCost(costs) };
  };
  const admit = async (plan: Plan, caller: Caller, requests: number): Promise<AdmittedQuery> => {
    const priced = pricedOf(plan, caller, requests);
    const { client, cost } = priced;
    try {
      const admitted = await quotas.admit(client, cost, (share) => suggestionWithin(plan.query, share));
      return admittedOf(priced, admitted, cardinality);
    } catch (error) {
      throw error instanceof Refusal ? error.with(estimateHeaders(priced)) : error;
    }
  };
  return {
    query: (plan, caller) => admit(plan, caller, tokensOf(plan)),
    queryNow(plan, caller) {
      const priced = pricedOf(plan, caller, tokensOf(plan));
      const admitted = quotas.admitNow(priced.client, priced.cost);
      return admitted && admittedOf(priced, admitted, cardinality);
    },
    bulkItem: (plan, caller) => admit(plan, caller, 0),
    price: (plan, caller) => {
      const { client, cost, estimate } = pricedOf(plan, caller, tokensOf(plan));
      return { estimate, isBeyondBurst: chargesOf(client, cost).some(({ count, limits }) => count > limits.burst) };
    },
    async decide(plan, caller) {
      const { client, cost, estimate } = pricedOf(plan, caller, tokensOf(plan));
      const { refusal } = await quotas.decide(client, cost, (share) => suggestionWithin(plan.query, share));
      return { estimate, refusal };
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
    ...createLeavesAdmission({ quotas, cardinality, costsOf }),
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

/** A query with its expected cost. */
interface PricedQuery {
  readonly plan: Plan;
  readonly client: QuotaClient;
  readonly cost: RequestCost;
  readonly estimate: number;
}

function tokensOf({ query: { window } }: Plan): number {
  return requestTokens(windowSecondsOf(window));
}

function estimateHeaders({ estimate }: PricedQuery): Readonly<Record<string, string>> {
  return { "X-Query-Cost-Estimate": String(estimate) };
}

function admittedOf(priced: PricedQuery, admitted: AdmittedRequest, cardinality: Cardinality): AdmittedQuery {
  const { plan, estimate } = priced;
  let actual: number | undefined;
  return {
    estimate,
    headers: () => ({
      ...estimateHeaders(priced),
      ...(actual === undefined ? {} : { "X-Query-Cost": String(actual) }),
      ...admitted.headers(),
    }),
    charge(outcomes, share) {
      cardinality.record(outcomes, plan.query);
      const costs = actualCosts(plan, outcomes, share);
      actual = totalCost(costs);
      admitted.settle(costs);
    },
    end: () => admitted.end(),
  };
}
