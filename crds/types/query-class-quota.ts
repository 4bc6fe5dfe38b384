// Generated from the definitions in crds/*.yaml by `npm run generate`. Edit those instead.

/** A class, its limits and the clients that belong to it. */
export interface QueryClassQuotaSpec {
  /** A is real-time dashboards, B is operations, C is analytics. */
  readonly class: "A" | "B" | "C";
  /**
   * Bounds of one request, and of all requests of one client. An absent bound has the built-in value of the class.
   * @default {}
   */
  readonly limits: QueryClassQuotaLimits;
  /** Lifetimes of cached results. An absent one has the built-in value of the class. @default {} */
  readonly cache: QueryClassQuotaCache;
  /** Bounds of each client for single metrics, beside those of the class. @default [] */
  readonly perMetric: readonly QueryClassQuotaPerMetric[];
  /**
   * Clients and scopes that belong to the class under these limits. Without any, the limits are those of everyone in
   * the class whom no other quota names. @default []
   */
  readonly clients: readonly QueryClassQuotaClient[];
}

/**
 * Bounds of one request, and of all requests of one client. An absent bound has the built-in value of the class.
 * @default {}
 */
export interface QueryClassQuotaLimits {
  /** Series in the whole answer. */
  readonly maxSeries?: number;
  /** Longest window of a query. */
  readonly maxWindowSeconds?: number;
  /** Smallest step of a query, beside the metric's own. */
  readonly minStepSeconds?: number;
  /** Labels that one query may group by, beside the metric's own bound. */
  readonly maxGroupBy?: number;
  /** Requests that each client may make in a second, over all pods. */
  readonly requestsPerSecond?: number;
  /**
   * Requests that each client may make at once after a pause. Each doubling of a window beyond three hours spends one
   * more of them.
   */
  readonly burst?: number;
  /** Points that the stores may compute for each client in a minute. */
  readonly costUnitsPerMinute?: number;
  /** Points that the stores may compute for each client at once after a pause. */
  readonly burstCostUnits?: number;
  /** Requests of each client that may be under way at once in one pod. */
  readonly maxConcurrent?: number;
}

/** Lifetimes of cached results. An absent one has the built-in value of the class. @default {} */
export interface QueryClassQuotaCache {
  /** Points that no longer change; 0 keeps nothing. */
  readonly memorySeconds?: number;
  /** Points that no longer change, shared by all pods; 0 shares nothing. */
  readonly distributedSeconds?: number;
  /** Points that are younger than the settleSeconds of their store; 0 reads them each time. */
  readonly hotTailSeconds?: number;
  /**
   * For how long after the pod's own lifetimes points are served once more, at once, while they are read again in the
   * background. None becomes older than 60 s by it; 0 waits for the store.
   */
  readonly staleWhileRevalidateSeconds?: number;
}

/** One metric. A bound that is absent is only that of the class. */
export interface QueryClassQuotaPerMetric {
  /** Metric id. */
  readonly metric: string;
  /** Requests for the metric in a second; as many again may come at once after a pause. */
  readonly requestsPerSecond?: number;
  /** Points of the metric that the stores may compute in a minute, and at once after a pause. */
  readonly costUnitsPerMinute?: number;
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
