import type { QueryClassGrant } from "./access.ts";
import type { Caller } from "./caller.ts";
import { actualCosts, expectedCosts, totalCost, type Costs } from "./cost.ts";
import type { Peers } from "./peers.ts";
import type { Plan } from "./plan.ts";
import { createCardinality } from "./quota/cardinality.ts";
import { requestTokens } from "./quota/demand.ts";
import { createQuotas, type Admission } from "./quota/quotas.ts";
import type { PartOutcome } from "./read-stores.ts";
import { suggestionFor } from "./region-states.ts";
import { Refusal } from "../errors/refusal.ts";

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

/** The doorkeeper of all routes. Source: design §5 "Quota". */
export interface Doorkeeper {
  /** A query of its own. */
  readonly query: AdmitQuery;
  /** One of a bulk, which took its request token as a whole. */
  readonly bulkItem: AdmitQuery;
  /** Something else that asks stores: one request token, and what it is expected to cost. @throws as {@link AdmitQuery} does */
  request(caller: Caller, grant: QueryClassGrant, costs: Costs): Promise<Admission>;
  /** Gives what this pod holds of the quotas back to the others. */
  stop(): void;
}

/** Nobody has asked anything yet. @param peers pods that the quotas are shared with */
export function createDoorkeeper(now: () => number, peers: Peers): Doorkeeper {
  const quotas = createQuotas(now, peers);
  const cardinality = createCardinality();
  const admit = async (plan: Plan, caller: Caller, requests: number): Promise<AdmittedQuery> => {
    const { query } = plan;
    const costs = expectedCosts(plan, (part) => cardinality.expected(part, query));
    const estimate = totalCost(costs);
    const told = { "X-Query-Cost-Estimate": String(estimate) };
    const spender = { ...query.quota, client: caller.client };
    const admission = await withHeaders(told, () => quotas.admit(spender, { requests, costs }, suggestionFor(query)));
    let actual: number | undefined;
    return {
      estimate,
      headers: () => ({ ...told, ...(actual === undefined ? {} : { "X-Query-Cost": String(actual) }), ...admission.headers() }),
      charge(outcomes, share) {
        cardinality.saw(outcomes, query);
        const spent = actualCosts(plan, outcomes, share);
        actual = totalCost(spent);
        admission.settle(spent);
      },
      end: () => admission.end(),
    };
  };
  return {
    query: (plan, caller) => admit(plan, caller, requestTokens((plan.query.window.toMs - plan.query.window.fromMs) / 1_000)),
    bulkItem: (plan, caller) => admit(plan, caller, 0),
    request: (caller, grant, costs) => quotas.admit({ ...grant, client: caller.client }, { requests: 1, costs }, {}),
    stop: () => quotas.stop(),
  };
}

/** Does the work; a refusal tells the headers too. */
async function withHeaders<Result>(headers: Readonly<Record<string, string>>, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Refusal ? error.with(headers) : error;
  }
}
