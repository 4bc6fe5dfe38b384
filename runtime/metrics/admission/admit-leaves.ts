import type { Caller } from "../authorization/caller.ts";
import type { PartOutcome } from "../reads/read-stores.ts";
import { suggestionWithin } from "../reads/region-status.ts";
import type { Plan } from "../planning/plan.ts";
import { Refusal } from "../../errors/refusal.ts";
import { windowSecondsOf } from "../request/window.ts";
import type { QuotaClient, RequestCost } from "./token-source.ts";
import { actualCosts, addedCosts, type Cardinality, type Costs, requestTokens, totalCost } from "./cost.ts";
import type { AdmittedRequest, Quotas } from "./quotas.ts";

/** The reads of one leaf. */
export interface LeafReads {
  readonly outcomes: readonly PartOutcome[];
  /** Of its points, those that were not cached. */
  readonly share: number;
}

/** Several queries that were admitted as one request. */
export interface AdmittedLeaves {
  /** Expected cost units of each query, in the order of the plans. */
  readonly estimates: readonly number[];
  /** Headers of the response, also of an error. */
  headers(): Readonly<Record<string, string>>;
  /**
   * Charges the points that the stores computed.
   *
   * @param reads of each query, in the order of the plans; undefined charges the expected cost of a query that did not
   *   end
   */
  charge(reads: readonly (LeafReads | undefined)[]): void;
  /** Ends the request for the limit on concurrent requests. */
  end(): void;
}

/** The admission of several queries as one request. */
export interface LeavesAdmission {
  /**
   * Charges all queries or none: the request tokens of the widest one, of each metric the tokens of all its queries,
   * and the cost of every query.
   *
   * @param plans at least one, all of the same class
   * @throws Refusal when the client has used up a quota
   */
  leaves(plans: readonly Plan[], caller: Caller): Promise<AdmittedLeaves>;
  /** Admits as {@link leaves}, for a part of a request that took its request token already. */
  leavesWithin(plans: readonly Plan[], caller: Caller): Promise<AdmittedLeaves>;
  /** Admits synchronously; undefined, without a charge, when only {@link leaves} can decide. */
  leavesNow(plans: readonly Plan[], caller: Caller): AdmittedLeaves | undefined;
}

interface LeavesSources {
  readonly quotas: Quotas;
  readonly cardinality: Cardinality;
  /** The expected cost of one query. */
  readonly costsOf: (plan: Plan) => Costs;
}

/** Creates the admission of leaves over the same quotas as all other routes. */
export function createLeavesAdmission({ quotas, cardinality, costsOf }: LeavesSources): LeavesAdmission {
  const price = (plans: readonly Plan[], caller: Caller): PricedLeaves => priceLeaves(plans, caller, costsOf);
  const admit = async (priced: PricedLeaves): Promise<AdmittedLeaves> => {
    const widest = priced.plans.reduce((one, other) => (other.grid.count > one.grid.count ? other : one));
    try {
      const cheaper = (share: number) => suggestionWithin(widest.query, share);
      return admittedOf(priced, await quotas.admit(priced.client, priced.cost, cheaper), cardinality);
    } catch (error) {
      throw error instanceof Refusal ? error.with(estimateHeaders(priced)) : error;
    }
  };
  return {
    leaves: async (plans, caller) => admit(price(plans, caller)),
    async leavesWithin(plans, caller) {
      const priced = price(plans, caller);
      return admit({ ...priced, cost: { ...priced.cost, requests: 0 } });
    },
    leavesNow(plans, caller) {
      const priced = price(plans, caller);
      const admitted = quotas.admitNow(priced.client, priced.cost);
      return admitted && admittedOf(priced, admitted, cardinality);
    },
  };
}

interface PricedLeaves {
  readonly plans: readonly Plan[];
  readonly client: QuotaClient;
  readonly cost: RequestCost;
  readonly costs: readonly Costs[];
}

function priceLeaves(plans: readonly Plan[], caller: Caller, costsOf: LeavesSources["costsOf"]): PricedLeaves {
  const [first] = plans;
  if (first === undefined) throw new Error("a request has no leaves");
  const costs = plans.map(costsOf);
  const tokens = plans.map(({ query: { window } }) => requestTokens(windowSecondsOf(window)));
  const metricRequests = addedCosts(
    plans.map(
      ({ query: { metrics } }, index) => new Map(metrics.map(({ entry }) => [entry.metric.id, tokens[index] ?? 1])),
    ),
  );
  const cost = { requests: Math.max(...tokens), metricRequests, costs: addedCosts(costs) };
  return { plans, client: { ...first.query.quota, client: caller.client }, cost, costs };
}

function admittedOf(priced: PricedLeaves, admitted: AdmittedRequest, cardinality: Cardinality): AdmittedLeaves {
  const { plans, costs } = priced;
  let actual: number | undefined;
  return {
    estimates: costs.map(totalCost),
    headers: () => ({
      ...estimateHeaders(priced),
      ...(actual === undefined ? {} : { "X-Query-Cost": String(actual) }),
      ...admitted.headers(),
    }),
    charge(reads) {
      const charged = addedCosts(
        plans.map((plan, index) => {
          const own = reads[index];
          if (own === undefined) return costs[index] ?? new Map<string, number>();
          cardinality.record(own.outcomes, plan.query);
          return actualCosts(plan, own.outcomes, own.share);
        }),
      );
      actual = totalCost(charged);
      admitted.settle(charged);
    },
    end: () => admitted.end(),
  };
}

function estimateHeaders({ cost }: PricedLeaves): Readonly<Record<string, string>> {
  return { "X-Query-Cost-Estimate": String(totalCost(cost.costs)) };
}
