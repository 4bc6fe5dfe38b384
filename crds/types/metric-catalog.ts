// Generated from the definitions in crds/*.yaml by `npm run generate`. Edit those instead.

/** Stores, metrics and SLOs. */
export interface MetricCatalogSpec {
  /** Version that answers carry as schema_version. It changes when the meaning of a metric does. */
  readonly schemaVersion: string;
  /** The stores that the metrics are read from, each in one region. */
  readonly stores: readonly MetricCatalogStore[];
  /** The metrics, each under the id that clients use. */
  readonly metrics: readonly MetricCatalogMetric[];
  /** Objectives, shown in the catalog entry of their metric and as SLO views. @default [] */
  readonly slos: readonly MetricCatalogSlo[];
}

/**
 * One store, exactly one of prometheus, which speaks the HTTP API of Prometheus, and peer, which is the runtime of
 * another region.
 */
export interface MetricCatalogStore {
  /** Name of the store among the catalog's stores. */
  readonly name: string;
  /** Region of everything in the store; beats a region label of the series. */
  readonly region: string;
  /** Where the store's data must stay. When absent, the region. */
  readonly residency?: string;
  /** Environment of everything in the store; beats an environment label of the series. */
  readonly environment?: string;
  /**
   * With Labelled the series carry the tenant label. With Platform they belong to no tenant. With StoreHeader the store
   * keeps tenants apart itself and is told the tenant in a header. @default "Labelled"
   */
  readonly tenancy: "Labelled" | "Platform" | "StoreHeader";
  /**
   * From the governed label (region, tenant, environment, service, psp, bank_group, geo, device, version, component) to
   * the name of that label in this store. A label that is absent keeps its name. @default {}
   */
  readonly labelMap: Readonly<Record<string, string>>;
  /**
   * Age at which the store's samples no longer change, at least its out-of-order window and two intervals. @default 300
   */
  readonly settleSeconds: number;
  /** How the store is reached and what it is. */
  readonly prometheus?: MetricCatalogStorePrometheus;
  /**
   * A runtime in another region, which answers partials out of its own stores of the region, by its own catalog, over
   * mutual TLS. No series leaves its region.
   */
  readonly peer?: MetricCatalogStorePeer;
}

/** How the store is reached and what it is. */
export interface MetricCatalogStorePrometheus {
  /** Base URL; /api/v1 and what follows is appended. */
  readonly url: string;
  /**
   * Bound on one request to the store. A store that is later makes the answer partial, which clients see only when they
   * wait longer than this. Beyond metrics.deadlineMs of the settings it means nothing. @default 1
   */
  readonly timeoutSeconds: number;
  /**
   * What the store is. Flavours differ in the header of a tenant, in how they say that an answer is partial, and in
   * increases, which VictoriaMetrics does not extrapolate. @default "Prometheus"
   */
  readonly flavour: "Prometheus" | "Thanos" | "Mimir" | "VictoriaMetrics";
  /**
   * Header that tells the store the tenant, for tenancy StoreHeader. When absent, X-Scope-OrgID for Mimir and
   * THANOS-TENANT for Thanos.
   */
  readonly tenantHeader?: string;
  /**
   * Fixed headers of every request. Not for credentials, which everyone who may read this object would read. @default
   * []
   */
  readonly headers: readonly MetricCatalogStorePrometheusHeader[];
  /** Credentials of requests, exactly one of basic and bearer. When absent, requests are anonymous. */
  readonly auth?: MetricCatalogStorePrometheusAuth;
  /** Whom to trust and what to show, for an https URL. */
  readonly tls?: MetricCatalogStorePrometheusTls;
  /**
   * Coarsest downsampled data that Thanos may answer from, where a point is at least that wide. When absent, raw
   * samples only, which is exact.
   */
  readonly maxSourceResolution?: "5m" | "1h";
}

/** One header. */
export interface MetricCatalogStorePrometheusHeader {
  /** Name of the header; upper and lower case are the same. */
  readonly name: string;
  /** Value of the header, visible ASCII. */
  readonly value: string;
}

/** Credentials of requests, exactly one of basic and bearer. When absent, requests are anonymous. */
export interface MetricCatalogStorePrometheusAuth {
  /** A user name and a password. */
  readonly basic?: MetricCatalogStorePrometheusAuthBasic;
  /** A bearer token. */
  readonly bearer?: MetricCatalogStorePrometheusAuthBearer;
}

/** A user name and a password. */
export interface MetricCatalogStorePrometheusAuthBasic {
  /** A Secret in the same namespace, as of the type kubernetes.io/basic-auth. */
  readonly secretRef: MetricCatalogStorePrometheusAuthBasicSecretRef;
}

/** A Secret in the same namespace, as of the type kubernetes.io/basic-auth. */
export interface MetricCatalogStorePrometheusAuthBasicSecretRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Name of the entry that holds the user name. @default "username" */
  readonly usernameKey: string;
  /** Name of the entry that holds the password. @default "password" */
  readonly passwordKey: string;
}

/** A bearer token. */
export interface MetricCatalogStorePrometheusAuthBearer {
  /** The entry of a Secret in the same namespace that holds the token. */
  readonly secretRef: MetricCatalogStorePrometheusAuthBearerSecretRef;
}

/** The entry of a Secret in the same namespace that holds the token. */
export interface MetricCatalogStorePrometheusAuthBearerSecretRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Name of the entry that holds the token. @default "token" */
  readonly key: string;
}

/** Whom to trust and what to show, for an https URL. */
export interface MetricCatalogStorePrometheusTls {
  /**
   * The entry of a Secret in the same namespace that holds the certificates to trust, in PEM. When absent, those that
   * the runtime trusts anyway.
   */
  readonly caSecretRef?: MetricCatalogStorePrometheusTlsCaSecretRef;
  /**
   * A Secret in the same namespace, as of the type kubernetes.io/tls, whose tls.crt and tls.key are shown to the store.
   */
  readonly clientSecretRef?: MetricCatalogStorePrometheusTlsClientSecretRef;
  /** Name that the store's certificate must have. When absent, the host of the URL. */
  readonly serverName?: string;
}

/**
 * The entry of a Secret in the same namespace that holds the certificates to trust, in PEM. When absent, those that the
 * runtime trusts anyway.
 */
export interface MetricCatalogStorePrometheusTlsCaSecretRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Name of the entry. @default "ca.crt" */
  readonly key: string;
}

/**
 * A Secret in the same namespace, as of the type kubernetes.io/tls, whose tls.crt and tls.key are shown to the store.
 */
export interface MetricCatalogStorePrometheusTlsClientSecretRef {
  /** Name of the Secret. */
  readonly name: string;
}

/**
 * A runtime in another region, which answers partials out of its own stores of the region, by its own catalog, over
 * mutual TLS. No series leaves its region.
 */
export interface MetricCatalogStorePeer {
  /** Base URL of the runtime; /v1/metrics/partials is appended. */
  readonly url: string;
  /**
   * Bound on one request to the peer. A peer that is later makes the answer partial, which clients see only when they
   * wait longer than this. @default 1
   */
  readonly timeoutSeconds: number;
  /**
   * How the peer's stores compute increases. Plain when they are VictoriaMetrics, which does not extrapolate. @default
   * "Extrapolated"
   */
  readonly increases: "Extrapolated" | "Plain";
  /** Access token of requests, given or fetched, exactly one of bearer and oauth2. */
  readonly auth: MetricCatalogStorePeerAuth;
  /** Whom to trust and what to show. */
  readonly tls: MetricCatalogStorePeerTls;
}

/** Access token of requests, given or fetched, exactly one of bearer and oauth2. */
export interface MetricCatalogStorePeerAuth {
  /**
   * OAuth 2.0 client credentials: a token with the scope metrics:peer is fetched with the certificate of
   * tls.clientSecretRef, to which it has to be bound, and kept until shortly before its end.
   */
  readonly oauth2?: MetricCatalogStorePeerAuthOauth2;
  /** An access token with the scope metrics:peer that is bound to the certificate of tls.clientSecretRef. */
  readonly bearer?: MetricCatalogStorePeerAuthBearer;
}

/**
 * OAuth 2.0 client credentials: a token with the scope metrics:peer is fetched with the certificate of
 * tls.clientSecretRef, to which it has to be bound, and kept until shortly before its end.
 */
export interface MetricCatalogStorePeerAuthOauth2 {
  /** Absolute URL of the token endpoint, https. The values of a query are treated as secrets. */
  readonly tokenUrl: string;
  /** Client id, visible ASCII. */
  readonly clientId: string;
  /** The entry of a Secret in the same namespace that holds the client secret. */
  readonly secretRef: MetricCatalogStorePeerAuthOauth2SecretRef;
  /**
   * What the token is for, where the authorization server wants to know (RFC 8707). When absent, that is left to it.
   */
  readonly resource?: string;
}

/** The entry of a Secret in the same namespace that holds the client secret. */
export interface MetricCatalogStorePeerAuthOauth2SecretRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Name of the entry that holds the client secret. @default "client-secret" */
  readonly key: string;
}

/** An access token with the scope metrics:peer that is bound to the certificate of tls.clientSecretRef. */
export interface MetricCatalogStorePeerAuthBearer {
  /** The entry of a Secret in the same namespace that holds the token. */
  readonly secretRef: MetricCatalogStorePrometheusAuthBearerSecretRef;
}

/** Whom to trust and what to show. */
export interface MetricCatalogStorePeerTls {
  /**
   * The entry of a Secret in the same namespace that holds the certificates to trust, in PEM, those of the token
   * endpoint included. When absent, those that the runtime trusts anyway.
   */
  readonly caSecretRef?: MetricCatalogStorePeerTlsCaSecretRef;
  /**
   * A Secret in the same namespace, as of the type kubernetes.io/tls, whose tls.crt and tls.key are shown to the peer,
   * and to the token endpoint.
   */
  readonly clientSecretRef: MetricCatalogStorePeerTlsClientSecretRef;
  /** Name that the peer's certificate must have. When absent, the host of the URL. */
  readonly serverName?: string;
}

/**
 * The entry of a Secret in the same namespace that holds the certificates to trust, in PEM, those of the token endpoint
 * included. When absent, those that the runtime trusts anyway.
 */
export interface MetricCatalogStorePeerTlsCaSecretRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Name of the entry. @default "ca.crt" */
  readonly key: string;
}

/**
 * A Secret in the same namespace, as of the type kubernetes.io/tls, whose tls.crt and tls.key are shown to the peer,
 * and to the token endpoint.
 */
export interface MetricCatalogStorePeerTlsClientSecretRef {
  /** Name of the Secret. */
  readonly name: string;
}

/** One metric. */
export interface MetricCatalogMetric {
  /** The only name that clients use. */
  readonly id: string;
  /** Group of the metric in the catalog that clients read. */
  readonly category: "slo" | "kri" | "business" | "infrastructure" | "api";
  /** Unit of the values, for example ms, ratio or 1/s. */
  readonly unit: string;
  /** Meaning of the metric, in a sentence. */
  readonly description: string;
  /** Series of the metric in the stores, exactly one of gauge, counter, ratio and histogram. */
  readonly source: MetricCatalogMetricSource;
  /** Names of the stores that hold the metric. When absent, every store of the catalog. */
  readonly stores?: readonly string[];
  /** Smallest step, and smallest window of one point. When absent, four times the largest interval, and at least 10. */
  readonly minStepSeconds?: number;
  /** Governed labels that clients may filter and group by. @default [] */
  readonly labels: readonly (
    | "region"
    | "tenant"
    | "environment"
    | "service"
    | "psp"
    | "bank_group"
    | "geo"
    | "device"
    | "version"
    | "component"
  )[];
  /**
   * Aggregations that clients may ask for. A gauge and a counter have avg, sum, min and max, a ratio has avg, a
   * histogram has avg, sum and the percentiles.
   */
  readonly aggregations: readonly ("avg" | "sum" | "min" | "max" | "p50" | "p95" | "p99")[];
  /** Aggregation of a query that names none. */
  readonly defaultAggregation: "avg" | "sum" | "min" | "max" | "p50" | "p95" | "p99";
  /** Labels that one query may group by. @default 4 */
  readonly maxGroupBy: number;
  /** Kind of regulatory risk; each needs its own role. @default "none" */
  readonly sensitivity: "none" | "finance" | "responsible-gaming";
  /** Role that a caller needs for a sensitive metric. */
  readonly requiredRole?: string;
  /** States that aggregates of this metric carry no personal data. When absent, a query stays in one region. */
  readonly complianceScope?: MetricCatalogMetricComplianceScope;
  /** Class of requests for this metric whose client no quota names. @default "B" */
  readonly queryClass: "A" | "B" | "C";
  /** Deprecated metrics answer until their sunset. @default "Active" */
  readonly state: "Active" | "Deprecated";
  /** Metric to use instead. */
  readonly replacedBy?: string;
  /** Time in UTC since when the metric is deprecated. */
  readonly deprecatedAt?: string;
  /** Time in UTC when the metric goes, at least 180 days after deprecatedAt. When absent, exactly that. */
  readonly sunsetAt?: string;
}

/** Series of the metric in the stores, exactly one of gauge, counter, ratio and histogram. */
export interface MetricCatalogMetricSource {
  /** A value that goes up and down. */
  readonly gauge?: MetricCatalogMetricSourceGauge;
  /** A value that only grows, and starts again at zero. */
  readonly counter?: MetricCatalogMetricSourceCounter;
  /** The increase of one counter over the increase of another. */
  readonly ratio?: MetricCatalogMetricSourceRatio;
  /** A distribution. */
  readonly histogram?: MetricCatalogMetricSourceHistogram;
  /** Seconds between two samples. */
  readonly intervalSeconds: number;
  /** Stores with another interval. @default [] */
  readonly storeIntervals: readonly MetricCatalogMetricSourceStoreInterval[];
}

/** A value that goes up and down. */
export interface MetricCatalogMetricSourceGauge {
  /** Name of the series in the store. */
  readonly name: string;
  /** Fixed matchers of the series. @default [] */
  readonly matchers: readonly MetricCatalogMetricSourceGaugeMatcher[];
}

/** One matcher. */
export interface MetricCatalogMetricSourceGaugeMatcher {
  /** Name of the label in the store; neither le nor a reserved name. */
  readonly label: string;
  /** Matches and NotMatches take an anchored RE2 expression. @default "Equal" */
  readonly op: "Equal" | "NotEqual" | "Matches" | "NotMatches";
  /** Value or expression. */
  readonly value: string;
}

/** A value that only grows, and starts again at zero. */
export interface MetricCatalogMetricSourceCounter {
  /** Name of the series in the store. */
  readonly name: string;
  /** Fixed matchers of the series. @default [] */
  readonly matchers: readonly MetricCatalogMetricSourceGaugeMatcher[];
  /**
   * Extrapolated is increase() as every store has it. Anchored needs stores with extended range selectors and is
   * additive over time. @default "Extrapolated"
   */
  readonly increase: "Extrapolated" | "Anchored";
}

/** The increase of one counter over the increase of another. */
export interface MetricCatalogMetricSourceRatio {
  /** The counter above the line. */
  readonly numerator: MetricCatalogMetricSourceRatioNumerator;
  /** The counter below the line. */
  readonly denominator: MetricCatalogMetricSourceRatioDenominator;
  /**
   * Extrapolated is increase() as every store has it. Anchored needs stores with extended range selectors and is
   * additive over time. @default "Extrapolated"
   */
  readonly increase: "Extrapolated" | "Anchored";
}

/** The counter above the line. */
export interface MetricCatalogMetricSourceRatioNumerator {
  /** Name of the series in the store. */
  readonly name: string;
  /** Fixed matchers of the series. @default [] */
  readonly matchers: readonly MetricCatalogMetricSourceGaugeMatcher[];
}

/** The counter below the line. */
export interface MetricCatalogMetricSourceRatioDenominator {
  /** Name of the series in the store. */
  readonly name: string;
  /** Fixed matchers of the series. @default [] */
  readonly matchers: readonly MetricCatalogMetricSourceGaugeMatcher[];
}

/** A distribution. */
export interface MetricCatalogMetricSourceHistogram {
  /**
   * Classic is one series for each bound, with the label le. Native is one series whose samples are histograms, with
   * exponential or custom bounds. @default "Classic"
   */
  readonly type: "Classic" | "Native";
  /** Name of the histogram in the store, without _bucket, _sum and _count. */
  readonly name: string;
  /** Fixed matchers of the series. @default [] */
  readonly matchers: readonly MetricCatalogMetricSourceGaugeMatcher[];
  /**
   * Extrapolated is increase() as every store has it. Anchored needs stores with extended range selectors and is
   * additive over time. @default "Extrapolated"
   */
  readonly increase: "Extrapolated" | "Anchored";
}

/** One store and its interval. */
export interface MetricCatalogMetricSourceStoreInterval {
  /** Name of the store. */
  readonly store: string;
  /** Seconds between two samples in this store. */
  readonly intervalSeconds: number;
}

/** States that aggregates of this metric carry no personal data. When absent, a query stays in one region. */
export interface MetricCatalogMetricComplianceScope {
  /** Regions that one query may span. */
  readonly regions: readonly string[];
}

/** One objective over the events that a metric counts. */
export interface MetricCatalogSlo {
  /** Name of the objective among the catalog's objectives. */
  readonly name: string;
  /** Words for people, on the status page. When absent, the name is shown. */
  readonly title?: string;
  /** Business domain that clients select objectives by. */
  readonly domain: string;
  /** Metric that counts the events, a ratio or a classic histogram. */
  readonly metric: string;
  /** Share of good events, for example 0.999. */
  readonly objective: number;
  /**
   * Whether the events that the metric singles out are good or bad; those are the numerator of a ratio and the values
   * of a histogram up to the threshold. @default "Good"
   */
  readonly counts: "Good" | "Bad";
  /** Bound of one of the histogram's buckets, in the unit of the metric. */
  readonly threshold?: number;
  /** Days that the objective is kept over, always the last ones. @default 30 */
  readonly windowDays: number;
  /**
   * Events without which nothing is concluded, neither from the whole window nor from the long window of a burn rate.
   * @default 100
   */
  readonly minimumEvents: number;
  /**
   * How many times faster than evenly the error budget burns when the four tiers fire, in both of their windows. Over
   * 30 days these are 1 h and 5 min, 6 h and 30 min, 1 d and 2 h, 3 d and 6 h; over other windows in proportion. The
   * first two make the objective critical. Each is below 1 / (1 - objective), the burn rate when nothing succeeds:
   * below 2 for 0.5, 10 for 0.9, 20 for 0.95 and 100 for 0.99. The defaults need an objective of at least 0.9306.
   * @default [14.4,6,3,1]
   */
  readonly burnRates: readonly number[];
  /** True for a view without a token. The request then names the tenant. @default false */
  readonly public: boolean;
  /** Tenants whose view is public. When absent, no view is shown without a token. */
  readonly publicTenants?: readonly string[];
}
