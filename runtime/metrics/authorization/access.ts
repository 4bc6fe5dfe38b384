import {
  type ClassLimits,
  type ClientConfig,
  type MetricConfig,
  type MetricLimits,
  type QueryClass,
  queryClasses,
  type RuntimeConfig,
} from "../../../crds/config.ts";

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

/** Scope for the usage of all clients. */
export const usageScope = "metrics:usage";

/** Scope of runtimes in other regions, which read partials. */
export const peerScope = "metrics:peer";

/** Scope of administrators, who see the installation's own details in a history. */
export const debugScope = "admin:debug";

/** Scope for which the console shows its pages for administrators. It grants nothing by itself. */
export const consoleAdminScope = "console:admin";

/** The names that a caller may read, before the catalog and the filters of a request apply. */
export interface Access {
  readonly tenants: Names;
  readonly regions: Names;
  readonly environments: Names;
  readonly metrics: Names;
}

/** The query class of a request, and its limits. */
export interface QueryClassGrant {
  readonly queryClass: QueryClass;
  readonly limits: ClassLimits;
  readonly perMetric: readonly MetricLimits[];
}

type Quotas = Pick<RuntimeConfig, "quotas" | "classDefaults">;

/** Classes from the slowest to the fastest: of several that apply, the slowest wins. */
const slowestFirst = queryClasses.toReversed();

interface Assignment extends QueryClassGrant {
  readonly client: ClientConfig;
}

/**
 * Intersects the token's claims with the quota's narrowing of this client. Source: seed "Operational Metrics API" §5.
 */
export function accessOf(caller: Caller, quotas: Quotas): Access {
  const narrowings = assignments(caller, quotas).map(({ client }) => client);
  const narrow = (kind: keyof Access): Names =>
    narrowings.reduce((names, client) => intersect(names, narrowedNames(client[kind])), claimedNames(caller[kind]));
  return {
    tenants: narrow("tenants"),
    regions: narrow("regions"),
    environments: narrow("environments"),
    metrics: narrow("metrics"),
  };
}

/** Selects the class of the client, else of its scopes, else the slowest of its metrics. */
export function classOf(caller: Caller, metrics: readonly MetricConfig[], quotas: Quotas): QueryClassGrant {
  const assigned = assignments(caller, quotas);
  const slowestAssigned = slowestFirst
    .map((queryClass) => assigned.find((assignment) => assignment.queryClass === queryClass))
    .find((assignment) => assignment !== undefined);
  if (slowestAssigned !== undefined) return slowestAssigned;
  const queryClass = slowestFirst.find((name) => metrics.some((metric) => metric.queryClass === name)) ?? "C";
  const everyone = quotas.quotas.find((quota) => quota.class === queryClass && quota.clients.length === 0);
  return {
    queryClass,
    limits: everyone?.limits ?? quotas.classDefaults[queryClass],
    perMetric: everyone?.perMetric ?? [],
  };
}

/** Finds the quota entries that name this client, else those that name one of its scopes. */
function assignments(caller: Caller, { quotas }: Quotas): readonly Assignment[] {
  const all = quotas.flatMap(({ class: queryClass, limits, perMetric, clients }) =>
    clients.map((client): Assignment => ({ queryClass, limits, perMetric, client })),
  );
  const byClient = all.filter(({ client }) => client.clientId === caller.client);
  if (byClient.length > 0) return byClient;
  return all.filter(({ client }) => client.scope !== undefined && caller.scopes.includes(client.scope));
}

/** A set of names, or every name. */
export type Names = "every" | ReadonlySet<string>;

/** The names that a token's claim allows: `*` allows every name, an empty list none. */
export function claimedNames(claim: readonly string[]): Names {
  return claim.includes("*") ? "every" : new Set(claim);
}

/** The names that a quota's narrowing leaves; an empty list leaves every name. */
function narrowedNames(narrowing: readonly string[]): Names {
  return narrowing.length === 0 ? "every" : claimedNames(narrowing);
}

/** The names in both sets. */
function intersect(a: Names, b: Names): Names {
  if (a === "every") return b;
  if (b === "every") return a;
  return a.intersection(b);
}

export function allows(names: Names, name: string): boolean {
  return names === "every" || names.has(name);
}

/** The names as a sorted list, for keys and JSON. */
export function listNames(names: Names): "every" | readonly string[] {
  return names === "every" ? "every" : [...names].sort();
}
