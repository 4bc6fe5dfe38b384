// Generated from the definitions in crds/*.yaml by `npm run generate`. Edit those instead.

/** A class, its limits and the clients that belong to it. */
export interface QueryClassQuotaSpec {
  /** A is real-time dashboards, B is operations, C is analytics. */
  readonly class: "A" | "B" | "C";
  /** Bounds of one request. What is absent has the built-in value of the class. @default {} */
  readonly limits: QueryClassQuotaLimits;
  /** Clients and scopes that belong to the class under these limits. Without any, the limits are those of everyone in the class whom no other quota names. @default [] */
  readonly clients: readonly QueryClassQuotaClient[];
}

/** Bounds of one request. What is absent has the built-in value of the class. @default {} */
export interface QueryClassQuotaLimits {
  /** Series in the whole answer. */
  readonly maxSeries?: number;
  /** Longest window of a query. */
  readonly maxWindowSeconds?: number;
  /** Smallest step of a query, beside the metric's own. */
  readonly minStepSeconds?: number;
  /** Labels that one query may group by, beside the metric's own bound. */
  readonly maxGroupBy?: number;
}

/** One client or scope. Lists that are empty narrow nothing. */
export interface QueryClassQuotaClient {
  /** Client key of the token. */
  readonly clientId?: string;
  /** Scope of the token, for clients that no quota names by clientId. */
  readonly scope?: string;
  /** Tenants that the token's grant is narrowed to. @default [] */
  readonly tenants: readonly string[];
  /** Regions that the token's grant is narrowed to. @default [] */
  readonly regions: readonly string[];
  /** Environments that the token's grant is narrowed to. @default [] */
  readonly environments: readonly string[];
  /** Metric ids that the token's grant is narrowed to. @default [] */
  readonly metrics: readonly string[];
}
