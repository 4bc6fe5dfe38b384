// Generated from the definitions in crds/*.yaml by `npm run generate`. Edit those instead.

/** A query class, its limits and its clients. */
export interface QueryClassQuotaSpec {
  /** A is for real-time dashboards, B for operations, C for analytics. */
  readonly class: "A" | "B" | "C";
  /**
   * Limits of a request, and of all requests of a client. Limits that are absent default to the built-in values of the
   * class. @default {}
   */
  readonly limits: QueryClassQuotaLimits;
  /** Lifetimes of cached results. Lifetimes that are absent default to the built-in values of the class. @default {} */
  readonly cache: QueryClassQuotaCache;
  /** Limits of each client for single metrics, in addition to those of the class. @default [] */
  readonly perMetric: readonly QueryClassQuotaPerMetric[];
  /**
   * Clients and scopes that these limits apply to. If empty, they apply to all clients of the class that have no other
   * quota. @default []
   */
  readonly clients: readonly QueryClassQuotaClient[];
}

/**
 * Limits of a request, and of all requests of a client. Limits that are absent default to the built-in values of the
 * class. @default {}
 */
export interface QueryClassQuotaLimits {
  /** Maximum number of series in a response. */
  readonly maxSeries?: number;
  /** Maximum window of a query. */
  readonly maxWindowSeconds?: number;
  /** Minimum step of a query, in addition to the minimum step of the metric. */
  readonly minStepSeconds?: number;
  /** Maximum number of labels to group by, in addition to the limit of the metric. */
  readonly maxGroupBy?: number;
  /** Requests per second for each client, across all pods. */
  readonly requestsPerSecond?: number;
  /**
   * Maximum burst of requests for each client after an idle period. Each doubling of a window beyond three hours counts
   * as one more request.
   */
  readonly burst?: number;
  /** Points per minute that the stores may compute for each client. */
  readonly costUnitsPerMinute?: number;
  /** Maximum burst of points that the stores may compute for each client after an idle period. */
  readonly burstCostUnits?: number;
  /** Maximum number of concurrent requests of each client in a pod. */
  readonly maxConcurrent?: number;
}

/** Lifetimes of cached results. Lifetimes that are absent default to the built-in values of the class. @default {} */
export interface QueryClassQuotaCache {
  /** Lifetime of points that no longer change, in the memory of a pod; 0 disables caching. */
  readonly memorySeconds?: number;
  /** Lifetime of points that no longer change, shared by all pods; 0 disables sharing. */
  readonly distributedSeconds?: number;
  /** Lifetime of points younger than the settleSeconds of their store; 0 reads them for every request. */
  readonly hotTailSeconds?: number;
  /**
   * Time after the lifetimes of a pod during which stale points are still served while they are refreshed in the
   * background. No point becomes older than 60 s because of it; 0 waits for the store.
   */
  readonly staleWhileRevalidateSeconds?: number;
}

/** A metric. If a limit is absent, only the limit of the class applies. */
export interface QueryClassQuotaPerMetric {
  /** Metric id. */
  readonly metric: string;
  /** Requests per second for the metric, also the maximum burst after an idle period. */
  readonly requestsPerSecond?: number;
  /** Points per minute that the stores may compute for the metric, also the maximum burst after an idle period. */
  readonly costUnitsPerMinute?: number;
}

/** A client or scope. Empty lists do not restrict it. */
export interface QueryClassQuotaClient {
  /** Client key of the token. */
  readonly clientId?: string;
  /** Scope of the token, for clients without a quota for their clientId. */
  readonly scope?: string;
  /** Tenants that the client is restricted to. @default [] */
  readonly tenants: readonly string[];
  /** Regions that the client is restricted to. @default [] */
  readonly regions: readonly string[];
  /** Environments that the client is restricted to. @default [] */
  readonly environments: readonly string[];
  /** Metric ids that the client is restricted to. @default [] */
  readonly metrics: readonly string[];
}
