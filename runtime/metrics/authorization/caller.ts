/**
 * The caller of a request, from its token. Lists hold exact names; in `tenants`, `regions`, `environments` and
 * `metrics` the entry `*` matches every name. An empty list allows nothing. A token without the claim for regions,
 * environments or metrics has `["*"]` there. Source: seed "Operational Metrics API" §5.
 */
export interface Caller {
  /** Client key: `client_id`, else `azp`, else `sub`. */
  readonly client: string;
  readonly tenants: readonly string[];
  readonly regions: readonly string[];
  readonly environments: readonly string[];
  readonly metrics: readonly string[];
  /** Exact roles. `*` is not a role, because separation of duties requires roles given by name. */
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  /** Webhook partners (`namespace/name` or `*`) that the token is narrowed to. @default no such claim */
  readonly partners?: readonly string[];
  /** Unix milliseconds of the end of the token. @default the caller has no token */
  readonly expiresAtMs?: number;
}

/** Scope for reading metrics. */
export const readScope = "metrics:read";

/** Scope of public dashboards: the same data with a coarser smallest step. */
export const publicReadScope = "metrics:read.public";

/** Scope for the plan of a query and the requests to its stores. */
export const explainScope = "metrics:explain";

/** Scope of runtimes in other regions, which read partials. */
export const peerScope = "metrics:peer";

/** Scope of administrators, who see the installation's own details in a history. */
export const debugScope = "admin:debug";

/** Scope for which the console shows its pages for administrators. It grants nothing by itself. */
export const consoleAdminScope = "console:admin";

/** True for a caller with the public scope only. Source: seed "Operational Metrics API" §8. */
export function isPublic(caller: Caller): boolean {
  return caller.scopes.includes(publicReadScope) && !caller.scopes.includes(readScope);
}
