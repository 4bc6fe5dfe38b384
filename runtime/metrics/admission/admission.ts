import type { QueryClassGrant } from "../authorization/access.ts";
import type { Caller } from "../authorization/caller.ts";
import { actualCosts, expectedCosts, totalCost, type Costs } from "./cost.ts";
import type { Pods } from "../../pods/pods.ts";
import type { Plan } from "../planning/plan.ts";
import { createCardinality, type Cardinality } from "./cardinality.ts";
import { requestTokens } from "./request-tokens.ts";
import { createQuotas, type AdmittedRequest } from "./quotas.ts";
import type { QuotaClient, RequestCost } from "./buckets/quota-client.ts";
import type { PartOutcome } from "../execution/read-stores.ts";
import { suggestionWithin } from "../execution/region-status.ts";
import { windowSecondsOf } from "../request/window.ts";
import { Refusal } from "../../errors/refusal.ts";

/** One query that was let in. */
export interface AdmittedQuery {
  /** Cost units that it was expected to cost. */
  readonly estimate: number;
  /** Headers of its answer, also of one that is an error. Source: seed "Operational Metrics API" §6. */
  headers(): Readonly<Record<string, string>>;
  /**
   * Charges what the stores really computed; without any outcome, nothing was asked of them.
   *
   * @param share of the points that was not known already
   */
  charge(outcomes: readonly PartOutcome[], share: number): void;
  /** Gives up its place among the requests under way. */
  end(): void;
}

/** @throws Refusal when the caller has spent what it may */
export type AdmitQuery = (plan: Plan, caller: Caller) => Promise<AdmittedQuery>;

/** Lets a query in without waiting; undefined when only {@link AdmitQuery} can say whether, and nothing was spent. */
export type AdmitQueryNow = (plan: Plan, caller: Caller) => AdmittedQuery | undefined;

/** The doorkeeper of all routes. Source: design §5 "Quota". */
export interface Admission {
  /** A query of its own. */
  readonly query: AdmitQuery;
  /** The same where nobody has to be asked and nothing is refused. */
  readonly queryNow: AdmitQueryNow;
  /** One of a bulk, which took its request token as a whole; it takes those of its metrics by itself. */
  readonly bulkItem: AdmitQuery;
  /**
   * Something else that asks stores: one request token, and what it is expected to cost. @throws as {@link AdmitQuery}
   * does
   */
  request(caller: Caller, grant: QueryClassGrant, costs: Costs): Promise<AdmittedRequest>;
  /** Gives what this pod holds of the quotas back to the others. */
  stop(): void;
}

/** Nobody has asked anything yet. @param pods pods that the quotas are shared with */
export function createAdmission(now: () => number, pods: Pods): Admission {
  const quotas = createQuotas(now, pods);
  const cardinality = createCardinality();
  const askingOf = (plan: Plan, caller: Caller, requests: number): Asking => {
    const costs = expectedCosts(plan, (part, query) => cardinality.expected(part, query));
    const cost = { requests, metricRequests: tokensOf(plan), costs };
    return { plan, client: { ...plan.query.quota, client: caller.client }, cost, estimate: totalCost(costs) };
  };
  const admit = async (plan: Plan, caller: Caller, requests: number): Promise<AdmittedQuery> => {
    const asking = askingOf(plan, caller, requests);
    const { client, cost } = asking;
    return admittedOf(
      asking,
      await withHeaders(toldOf(asking), () =>
        quotas.admit(client, cost, (share) => suggestionWithin(plan.query, share)),
      ),
      cardinality,
    );
  };
  return {
    query: (plan, caller) => admit(plan, caller, tokensOf(plan)),
    queryNow(plan, caller) {
      const asking = askingOf(plan, caller, tokensOf(plan));
      const admitted = quotas.admitNow(asking.client, asking.cost);
      return admitted && admittedOf(asking, admitted, cardinality);
    },
    bulkItem: (plan, caller) => admit(plan, caller, 0),
    request: (caller, grant, costs) =>
      quotas.admit({ ...grant, client: caller.client }, { requests: 1, costs }, () => undefined),
    stop: () => quotas.stop(),
  };
}

/** One query at the door. */
interface Asking {
  readonly plan: Plan;
  readonly client: QuotaClient;
  readonly cost: RequestCost;
  readonly estimate: number;
}

function tokensOf({ query: { window } }: Plan): number {
  return requestTokens(windowSecondsOf(window));
}

function toldOf({ estimate }: Asking): Readonly<Record<string, string>> {
  return { "X-Query-Cost-Estimate": String(estimate) };
}

function admittedOf(asking: Asking, admitted: AdmittedRequest, cardinality: Cardinality): AdmittedQuery {
  const { plan, estimate } = asking;
  let actual: number | undefined;
  return {
    estimate,
    headers: () => ({
      ...toldOf(asking),
      ...(actual === undefined ? {} : { "X-Query-Cost": String(actual) }),
      ...admitted.headers(),
    }),
    charge(outcomes, share) {
      cardinality.saw(outcomes, plan.query);
      const spent = actualCosts(plan, outcomes, share);
      actual = totalCost(spent);
      admitted.settle(spent);
    },
    end: () => admitted.end(),
  };
}

/** Does the work; a refusal tells the headers too. */
async function withHeaders<Result>(
  headers: Readonly<Record<string, string>>,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Refusal ? error.with(headers) : error;
  }
}
