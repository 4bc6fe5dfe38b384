/**
 * Who asks, as the token says it. Lists hold exact names; in {@link tenants}, {@link regions}, {@link environments} and
 * {@link metrics} the entry `*` is every name. An empty list allows nothing; a token without the claim for regions,
 * environments or metrics narrows nothing, which is `["*"]` here. Source: seed "Operational Metrics API" §5.
 */
export interface Caller {
  /** Client key: `client_id`, else `azp`, else `sub`. */
  readonly client: string;
  readonly tenants: readonly string[];
  readonly regions: readonly string[];
  readonly environments: readonly string[];
  readonly metrics: readonly string[];
  /** Exact roles. `*` is no role: separate duties need roles that are given by name. */
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  /**
   * Webhook partners (`namespace/name`, `*` is every one) that the token is narrowed to. Absent: it has no such claim.
   */
  readonly partners?: readonly string[];
}

/** Scope that reads metrics. */
export const readScope = "metrics:read";

/** Scope of public dashboards: the same data, the smallest step is coarser. */
export const publicReadScope = "metrics:read.public";

/** Scope that may see the plan of a query and what the stores were asked. */
export const explainScope = "metrics:explain";

/** Scope of runtimes of other regions, which are answered partials. */
export const peerScope = "metrics:peer";

/** Scope of administrators: what of a history is the installation's own. */
export const debugScope = "admin:debug";

/** Whether the caller may only read as a public dashboard does. Source: seed "Operational Metrics API" §8. */
export function isPublic(caller: Caller): boolean {
  return caller.scopes.includes(publicReadScope) && !caller.scopes.includes(readScope);
}
