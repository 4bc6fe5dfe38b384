// Generated from the definitions in crds/*.yaml by `npm run generate`. Edit those instead.

/** Stores, metrics and SLOs. */
export interface MetricCatalogSpec {
  /** Version that responses contain as schema_version. Change it when the meaning of a metric changes. */
  readonly schemaVersion: string;
  /**
   * Team that owns the metric, as catalog entries and printed alerting rules name it. Name a team, not a person. For
   * all metrics of the catalog without an owner.
   */
  readonly owner?: string;
  /**
   * Where the owner is reached, such as a channel, an address or a URL. For all metrics of the catalog without a
   * contact.
   */
  readonly contact?: string;
  /**
   * Absolute http or https URL of the page that says what to do when the metric is abnormal. For all metrics of the
   * catalog without a runbookUrl.
   */
  readonly runbookUrl?: string;
  /**
   * Business domain of the metric, by which the console filters the catalog. For all metrics of the catalog without a
   * domain.
   */
  readonly domain?: string;
  /** Stores that the metrics are read from, each in one region. */
  readonly stores: readonly MetricCatalogStore[];
  /** Metrics, each with the id that clients use. */
  readonly metrics: readonly MetricCatalogMetric[];
  /** Objectives, listed in the catalog entry of their metric and as SLO views. @default [] */
  readonly slos: readonly MetricCatalogSlo[];
}

/**
 * A store: exactly one of prometheus, which serves the Prometheus HTTP API, and peer, which is the runtime of another
 * region.
 */
export interface MetricCatalogStore {
  /** Name of the store, unique within the catalog. */
  readonly name: string;
  /** Region of all series in the store; overrides a region label of the series. */
  readonly region: string;
  /** Where the store's data must stay. Defaults to the region. */
  readonly residency?: string;
  /** Environment of all series in the store; overrides an environment label of the series. */
  readonly environment?: string;
  /**
   * Labelled: the series have the tenant label. Platform: the series belong to no tenant. StoreHeader: the store
   * separates tenants by a request header. @default "Labelled"
   */
  readonly tenancy: "Labelled" | "Platform" | "StoreHeader";
  /**
   * Maps governed labels (region, tenant, environment, service, psp, bank_group, geo, device, version, component) to
   * their names in this store. Labels that are absent keep their names. @default {}
   */
  readonly labelMap: Readonly<Record<string, string>>;
  /**
   * Age after which the store's samples no longer change: at least its out-of-order window and two scrape intervals.
   * @default 300
   */
  readonly settleSeconds: number;
  /** Connection to a store with the Prometheus HTTP API. */
  readonly prometheus?: MetricCatalogStorePrometheus;
  /**
   * A runtime in another region, which returns partials from its own stores, according to its own catalog, over mutual
   * TLS. No series leaves its region.
   */
  readonly peer?: MetricCatalogStorePeer;
}

/** Connection to a store with the Prometheus HTTP API. */
export interface MetricCatalogStorePrometheus {
  /** Base URL, to which /api/v1 is appended. */
  readonly url: string;
  /**
   * Timeout of a request to the store. A store that takes longer makes the response partial, which clients see only if
   * they wait longer than this. Values above metrics.deadlineMs in the settings have no effect. @default 1
   */
  readonly timeoutSeconds: number;
  /**
   * Implementation of the store. Flavours differ in the tenant header, in how they report partial responses, and in
   * increases, which VictoriaMetrics does not extrapolate. @default "Prometheus"
   */
  readonly flavour: "Prometheus" | "Thanos" | "Mimir" | "VictoriaMetrics";
  /**
   * Header that contains the tenant, for tenancy StoreHeader. Defaults to X-Scope-OrgID for Mimir and THANOS-TENANT for
   * Thanos.
   */
  readonly tenantHeader?: string;
  /**
   * Headers added to every request. Do not use them for credentials, which would be visible to everyone who can read
   * this object. @default []
   */
  readonly headers: readonly MetricCatalogStorePrometheusHeader[];
  /** Credentials of requests: exactly one of basic, bearer, oauth2 and sigv4. If absent, requests are anonymous. */
  readonly auth?: MetricCatalogStorePrometheusAuth;
  /** CA and client certificates, for an https URL. */
  readonly tls?: MetricCatalogStorePrometheusTls;
  /**
   * Coarsest downsampled data that Thanos may use, if a point is at least as wide. If absent, only raw samples are
   * used, which is exact.
   */
  readonly maxSourceResolution?: "5m" | "1h";
}

/** One header. */
export interface MetricCatalogStorePrometheusHeader {
  /** Name of the header, case-insensitive. */
  readonly name: string;
  /** Value of the header, in visible ASCII characters. */
  readonly value: string;
}

/** Credentials of requests: exactly one of basic, bearer, oauth2 and sigv4. If absent, requests are anonymous. */
export interface MetricCatalogStorePrometheusAuth {
  /** Signatures of AWS, version 4, for Amazon Managed Service for Prometheus (service aps). */
  readonly sigv4?: MetricCatalogStorePrometheusAuthSigv4;
  /**
   * OAuth 2.0 client credentials: a token is requested, cached and renewed before it expires. If the store rejects a
   * token with 401, a new one is requested, once per read. The client's credentials are sent in the Authorization
   * header, or in the form if the server rejects them there. The certificates of tls also apply to the token endpoint.
   */
  readonly oauth2?: MetricCatalogStorePrometheusAuthOauth2;
  /** A user name and a password. */
  readonly basic?: MetricCatalogStorePrometheusAuthBasic;
  /** A bearer token. */
  readonly bearer?: MetricCatalogStorePrometheusAuthBearer;
}

/** Signatures of AWS, version 4, for Amazon Managed Service for Prometheus (service aps). */
export interface MetricCatalogStorePrometheusAuthSigv4 {
  /** AWS region of the store. */
  readonly region: string;
  /**
   * Role that the runtime assumes with the token of its service account. It requires metrics.webIdentity in the
   * settings, and a policy that grants the role.
   */
  readonly webIdentity?: MetricCatalogStorePrometheusAuthSigv4WebIdentity;
  /** Secret in the same namespace that contains the keys. */
  readonly secretRef?: MetricCatalogStorePrometheusAuthSigv4SecretRef;
}

/**
 * Role that the runtime assumes with the token of its service account. It requires metrics.webIdentity in the settings,
 * and a policy that grants the role.
 */
export interface MetricCatalogStorePrometheusAuthSigv4WebIdentity {
  /** ARN of the role. */
  readonly roleArn: string;
}

/** Secret in the same namespace that contains the keys. */
export interface MetricCatalogStorePrometheusAuthSigv4SecretRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Key that contains the access key id. @default "access-key-id" */
  readonly accessKeyIdKey: string;
  /** Key that contains the secret access key. @default "secret-access-key" */
  readonly secretAccessKeyKey: string;
  /** Key that contains the session token of temporary keys. If absent, the keys are not temporary. */
  readonly sessionTokenKey?: string;
}

/**
 * OAuth 2.0 client credentials: a token is requested, cached and renewed before it expires. If the store rejects a
 * token with 401, a new one is requested, once per read. The client's credentials are sent in the Authorization header,
 * or in the form if the server rejects them there. The certificates of tls also apply to the token endpoint.
 */
export interface MetricCatalogStorePrometheusAuthOauth2 {
  /** Absolute http or https URL of the token endpoint. Query values are treated as secrets. */
  readonly tokenUrl: string;
  /** Client id, in visible ASCII characters. */
  readonly clientId: string;
  /** Key of a Secret in the same namespace that contains the client secret. */
  readonly secretRef: MetricCatalogStorePrometheusAuthOauth2SecretRef;
  /** Requested scopes. @default [] */
  readonly scopes: readonly string[];
  /** Value of the audience parameter, if the authorization server requires one. */
  readonly audience?: string;
  /** Resource that the token is for, if the authorization server requires one (RFC 8707). */
  readonly resource?: string;
}

/** Key of a Secret in the same namespace that contains the client secret. */
export interface MetricCatalogStorePrometheusAuthOauth2SecretRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Key that contains the client secret. @default "client-secret" */
  readonly key: string;
}

/** A user name and a password. */
export interface MetricCatalogStorePrometheusAuthBasic {
  /** Secret in the same namespace, such as one of type kubernetes.io/basic-auth. */
  readonly secretRef: MetricCatalogStorePrometheusAuthBasicSecretRef;
}

/** Secret in the same namespace, such as one of type kubernetes.io/basic-auth. */
export interface MetricCatalogStorePrometheusAuthBasicSecretRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Key that contains the user name. @default "username" */
  readonly usernameKey: string;
  /** Key that contains the password. @default "password" */
  readonly passwordKey: string;
}

/** A bearer token. */
export interface MetricCatalogStorePrometheusAuthBearer {
  /** Key of a Secret in the same namespace that contains the token. */
  readonly secretRef: MetricCatalogStorePrometheusAuthBearerSecretRef;
}

/** Key of a Secret in the same namespace that contains the token. */
export interface MetricCatalogStorePrometheusAuthBearerSecretRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Key that contains the token. @default "token" */
  readonly key: string;
}

/** CA and client certificates, for an https URL. */
export interface MetricCatalogStorePrometheusTls {
  /**
   * Key of a Secret in the same namespace with the CA certificates to trust, in PEM. Defaults to the CAs that the
   * runtime trusts.
   */
  readonly caSecretRef?: MetricCatalogStorePrometheusTlsCaSecretRef;
  /**
   * Secret in the same namespace, such as one of type kubernetes.io/tls, whose tls.crt and tls.key are presented to the
   * store.
   */
  readonly clientSecretRef?: MetricCatalogStorePrometheusTlsClientSecretRef;
  /** Name that the store's certificate must be valid for. Defaults to the host of the URL. */
  readonly serverName?: string;
}

/**
 * Key of a Secret in the same namespace with the CA certificates to trust, in PEM. Defaults to the CAs that the runtime
 * trusts.
 */
export interface MetricCatalogStorePrometheusTlsCaSecretRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Key in the Secret. @default "ca.crt" */
  readonly key: string;
}

/**
 * Secret in the same namespace, such as one of type kubernetes.io/tls, whose tls.crt and tls.key are presented to the
 * store.
 */
export interface MetricCatalogStorePrometheusTlsClientSecretRef {
  /** Name of the Secret. */
  readonly name: string;
}

/**
 * A runtime in another region, which returns partials from its own stores, according to its own catalog, over mutual
 * TLS. No series leaves its region.
 */
export interface MetricCatalogStorePeer {
  /** Base URL of the runtime, to which /v1/metrics/partials is appended. */
  readonly url: string;
  /**
   * Timeout of a request to the peer. A peer that takes longer makes the response partial, which clients see only if
   * they wait longer than this. @default 1
   */
  readonly timeoutSeconds: number;
  /**
   * How the peer's stores compute increases. Use Plain for VictoriaMetrics, which does not extrapolate. @default
   * "Extrapolated"
   */
  readonly increases: "Extrapolated" | "Plain";
  /** Access token of requests: exactly one of bearer and oauth2. */
  readonly auth: MetricCatalogStorePeerAuth;
  /** CA and client certificates. */
  readonly tls: MetricCatalogStorePeerTls;
}

/** Access token of requests: exactly one of bearer and oauth2. */
export interface MetricCatalogStorePeerAuth {
  /**
   * OAuth 2.0 client credentials: a token with the scope metrics:peer is requested with the certificate of
   * tls.clientSecretRef, to which it must be bound, and cached until shortly before it expires.
   */
  readonly oauth2?: MetricCatalogStorePeerAuthOauth2;
  /** An access token with the scope metrics:peer, bound to the certificate of tls.clientSecretRef. */
  readonly bearer?: MetricCatalogStorePeerAuthBearer;
}

/**
 * OAuth 2.0 client credentials: a token with the scope metrics:peer is requested with the certificate of
 * tls.clientSecretRef, to which it must be bound, and cached until shortly before it expires.
 */
export interface MetricCatalogStorePeerAuthOauth2 {
  /** Absolute https URL of the token endpoint. Query values are treated as secrets. */
  readonly tokenUrl: string;
  /** Client id, in visible ASCII characters. */
  readonly clientId: string;
  /** Key of a Secret in the same namespace that contains the client secret. */
  readonly secretRef: MetricCatalogStorePrometheusAuthOauth2SecretRef;
  /** Resource that the token is for, if the authorization server requires one (RFC 8707). */
  readonly resource?: string;
}

/** An access token with the scope metrics:peer, bound to the certificate of tls.clientSecretRef. */
export interface MetricCatalogStorePeerAuthBearer {
  /** Key of a Secret in the same namespace that contains the token. */
  readonly secretRef: MetricCatalogStorePrometheusAuthBearerSecretRef;
}

/** CA and client certificates. */
export interface MetricCatalogStorePeerTls {
  /**
   * Key of a Secret in the same namespace with the CA certificates to trust, in PEM, also for the token endpoint.
   * Defaults to the CAs that the runtime trusts.
   */
  readonly caSecretRef?: MetricCatalogStorePeerTlsCaSecretRef;
  /**
   * Secret in the same namespace, such as one of type kubernetes.io/tls, whose tls.crt and tls.key are presented to the
   * peer and to the token endpoint.
   */
  readonly clientSecretRef: MetricCatalogStorePeerTlsClientSecretRef;
  /** Name that the peer's certificate must be valid for. Defaults to the host of the URL. */
  readonly serverName?: string;
}

/**
 * Key of a Secret in the same namespace with the CA certificates to trust, in PEM, also for the token endpoint.
 * Defaults to the CAs that the runtime trusts.
 */
export interface MetricCatalogStorePeerTlsCaSecretRef {
  /** Name of the Secret. */
  readonly name: string;
  /** Key in the Secret. @default "ca.crt" */
  readonly key: string;
}

/**
 * Secret in the same namespace, such as one of type kubernetes.io/tls, whose tls.crt and tls.key are presented to the
 * peer and to the token endpoint.
 */
export interface MetricCatalogStorePeerTlsClientSecretRef {
  /** Name of the Secret. */
  readonly name: string;
}

/** One metric. */
export interface MetricCatalogMetric {
  /** Id of the metric, the only name that clients use. */
  readonly id: string;
  /** Category of the metric in the catalog. */
  readonly category: "slo" | "kri" | "business" | "infrastructure" | "api";
  /** Unit of the values, for example ms, ratio or 1/s. */
  readonly unit: string;
  /** Description of the metric. */
  readonly description: string;
  /** Team that owns the metric. Name a team, not a person. Defaults to that of the catalog. */
  readonly owner?: string;
  /** Where the owner is reached, such as a channel, an address or a URL. Defaults to that of the catalog. */
  readonly contact?: string;
  /**
   * Absolute http or https URL of the page that says what to do when the metric is abnormal. Defaults to that of the
   * catalog.
   */
  readonly runbookUrl?: string;
  /** Business domain of the metric, by which the console filters the catalog. Defaults to that of the catalog. */
  readonly domain?: string;
  /** Series of the metric in the stores: exactly one of gauge, counter, ratio and histogram. */
  readonly source: MetricCatalogMetricSource;
  /** Names of the stores that contain the metric. Defaults to all stores of the catalog. */
  readonly stores?: readonly string[];
  /**
   * Minimum step, and minimum window of a point, in seconds. Defaults to four times the largest interval, at least 10.
   */
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
   * Aggregations that clients may request. Gauges and counters support avg, sum, min and max, ratios support avg, and
   * histograms support avg, sum and percentiles.
   */
  readonly aggregations: readonly ("avg" | "sum" | "min" | "max" | "p50" | "p95" | "p99")[];
  /** Aggregation of queries that do not specify one. */
  readonly defaultAggregation: "avg" | "sum" | "min" | "max" | "p50" | "p95" | "p99";
  /** Maximum number of labels that a query may group by. @default 4 */
  readonly maxGroupBy: number;
  /** Kind of regulatory risk. @default "none" */
  readonly sensitivity: "none" | "finance" | "responsible-gaming";
  /** Role that callers need for a sensitive metric. */
  readonly requiredRole?: string;
  /** Declares that aggregates of this metric contain no personal data. If absent, a query stays in one region. */
  readonly complianceScope?: MetricCatalogMetricComplianceScope;
  /** Query class of requests for this metric by clients without a quota. @default "B" */
  readonly queryClass: "A" | "B" | "C";
  /** Deprecated metrics can be queried until their sunset. @default "Active" */
  readonly state: "Active" | "Deprecated";
  /** Metric to use instead. */
  readonly replacedBy?: string;
  /** Time in UTC at which the metric was deprecated. */
  readonly deprecatedAt?: string;
  /** Time in UTC at which the metric is removed, at least 180 days after deprecatedAt. Defaults to 180 days. */
  readonly sunsetAt?: string;
}

/** Series of the metric in the stores: exactly one of gauge, counter, ratio and histogram. */
export interface MetricCatalogMetricSource {
  /** A value that can go up and down. */
  readonly gauge?: MetricCatalogMetricSourceGauge;
  /** A value that only increases, or resets to zero. */
  readonly counter?: MetricCatalogMetricSourceCounter;
  /** The increase of one counter divided by the increase of another. */
  readonly ratio?: MetricCatalogMetricSourceRatio;
  /** A distribution. */
  readonly histogram?: MetricCatalogMetricSourceHistogram;
  /** Scrape interval in seconds. */
  readonly intervalSeconds: number;
  /** Stores with a different scrape interval. @default [] */
  readonly storeIntervals: readonly MetricCatalogMetricSourceStoreInterval[];
}

/** A value that can go up and down. */
export interface MetricCatalogMetricSourceGauge {
  /** Name of the series in the store: any UTF-8 text without control characters, such as http.server.requests. */
  readonly name: string;
  /** Fixed matchers of the series. @default [] */
  readonly matchers: readonly MetricCatalogMetricSourceGaugeMatcher[];
}

/** One matcher. */
export interface MetricCatalogMetricSourceGaugeMatcher {
  /**
   * Name of the label in the store: any UTF-8 text without control characters. le and names that begin with two
   * underscores are not allowed. A name with other characters than letters, digits and underscores requires Prometheus
   * 3.
   */
  readonly label: string;
  /** Operator. Matches and NotMatches use an anchored RE2 expression. @default "Equal" */
  readonly op: "Equal" | "NotEqual" | "Matches" | "NotMatches";
  /** Value or regular expression. */
  readonly value: string;
}

/** A value that only increases, or resets to zero. */
export interface MetricCatalogMetricSourceCounter {
  /** Name of the series in the store: any UTF-8 text without control characters, such as http.server.requests. */
  readonly name: string;
  /** Fixed matchers of the series. @default [] */
  readonly matchers: readonly MetricCatalogMetricSourceGaugeMatcher[];
  /**
   * Extrapolated is increase(), which all stores support. Anchored requires stores with extended range selectors and is
   * additive over time. @default "Extrapolated"
   */
  readonly increase: "Extrapolated" | "Anchored";
}

/** The increase of one counter divided by the increase of another. */
export interface MetricCatalogMetricSourceRatio {
  /** Counter of the numerator. */
  readonly numerator: MetricCatalogMetricSourceRatioNumerator;
  /** Counter of the denominator. */
  readonly denominator: MetricCatalogMetricSourceRatioDenominator;
  /**
   * Extrapolated is increase(), which all stores support. Anchored requires stores with extended range selectors and is
   * additive over time. @default "Extrapolated"
   */
  readonly increase: "Extrapolated" | "Anchored";
}

/** Counter of the numerator. */
export interface MetricCatalogMetricSourceRatioNumerator {
  /** Name of the series in the store: any UTF-8 text without control characters, such as http.server.requests. */
  readonly name: string;
  /** Fixed matchers of the series. @default [] */
  readonly matchers: readonly MetricCatalogMetricSourceGaugeMatcher[];
}

/** Counter of the denominator. */
export interface MetricCatalogMetricSourceRatioDenominator {
  /** Name of the series in the store: any UTF-8 text without control characters, such as http.server.requests. */
  readonly name: string;
  /** Fixed matchers of the series. @default [] */
  readonly matchers: readonly MetricCatalogMetricSourceGaugeMatcher[];
}

/** A distribution. */
export interface MetricCatalogMetricSourceHistogram {
  /**
   * Classic: one series per bound, with the label le. Native: one series whose samples are histograms, with exponential
   * or custom bounds. @default "Classic"
   */
  readonly type: "Classic" | "Native";
  /** Name of the histogram in the store, without _bucket, _sum and _count. */
  readonly name: string;
  /** Fixed matchers of the series. @default [] */
  readonly matchers: readonly MetricCatalogMetricSourceGaugeMatcher[];
  /**
   * Extrapolated is increase(), which all stores support. Anchored requires stores with extended range selectors and is
   * additive over time. @default "Extrapolated"
   */
  readonly increase: "Extrapolated" | "Anchored";
}

/** A store and its scrape interval. */
export interface MetricCatalogMetricSourceStoreInterval {
  /** Name of the store. */
  readonly store: string;
  /** Scrape interval in this store, in seconds. */
  readonly intervalSeconds: number;
}

/** Declares that aggregates of this metric contain no personal data. If absent, a query stays in one region. */
export interface MetricCatalogMetricComplianceScope {
  /** Regions that a query may span. */
  readonly regions: readonly string[];
}

/** An objective for the events that a metric counts, or for the values of a gauge over time. */
export interface MetricCatalogSlo {
  /** Name of the objective, unique within the catalog. */
  readonly name: string;
  /** Title on the status page. Defaults to the name. */
  readonly title?: string;
  /** Business domain that clients can filter objectives by. */
  readonly domain: string;
  /** Metric that counts the events, a ratio or a histogram, or that is judged over time, a gauge. */
  readonly metric: string;
  /** Required ratio of good events or slices, for example 0.999. */
  readonly objective: number;
  /**
   * Whether the events in the numerator of a ratio, or the observations of a histogram up to the threshold, are good or
   * bad. @default "Good"
   */
  readonly counts: "Good" | "Bad";
  /**
   * Upper bound of good observations of a histogram, in the unit of the metric. For a classic histogram, the bound of
   * one of its buckets; for a native one, any number, inside of a bucket by interpolation.
   */
  readonly threshold?: number;
  /**
   * Condition on a gauge. Time is divided into slices that begin at multiples of their length since 1970 in UTC. A
   * slice is good if the value of the metric over it, by the default aggregation of the metric and over all stores,
   * meets the condition. A slice without a value is neither good nor bad.
   */
  readonly over?: MetricCatalogSloOver;
  /** Length of the rolling window of the objective, in days. Not allowed with calendar. @default 30 */
  readonly windowDays: number;
  /**
   * Calendar window instead of a rolling one. The budget is new at midnight of the first day of each period, by the
   * clock of the zone, and counts the events since then. Burn rates have rolling windows: those of 30 days for a month,
   * and of 90 days for a quarter.
   */
  readonly calendar?: MetricCatalogSloCalendar;
  /**
   * Minimum number of events for a conclusion, both in the window of the objective and in the long window of a burn
   * rate. With over, minimum number of slices with a value, but never more than half of the slices in the long window
   * of the fastest burn rate. @default 100
   */
  readonly minimumEvents: number;
  /**
   * Burn rates at which the four tiers fire, if both of their windows exceed them. For 30 days, the windows are 1 h and
   * 5 min, 6 h and 30 min, 1 d and 2 h, 3 d and 6 h; other windows scale proportionally. The first two tiers make the
   * objective critical. Each burn rate must be below 1 / (1 - objective), the burn rate if nothing succeeds: below 2
   * for 0.5, 10 for 0.9, 20 for 0.95 and 100 for 0.99. The defaults require an objective of at least 0.9306. @default
   * [14.4,6,3,1]
   */
  readonly burnRates: readonly number[];
  /**
   * Intervals whose events do not count, such as maintenance. They are left out of the budget and of the burn rates,
   * and no alert fires during one. The figures with all events are shown next to the corrected ones.
   */
  readonly corrections?: readonly MetricCatalogSloCorrection[];
  /** Makes the view available without a token. Requests then specify the tenant. @default false */
  readonly public: boolean;
  /** Tenants whose view is public. If absent, no view is available without a token. */
  readonly publicTenants?: readonly string[];
}

/**
 * Condition on a gauge. Time is divided into slices that begin at multiples of their length since 1970 in UTC. A slice
 * is good if the value of the metric over it, by the default aggregation of the metric and over all stores, meets the
 * condition. A slice without a value is neither good nor bad.
 */
export interface MetricCatalogSloOver {
  /** Relation to the threshold that makes a slice good. */
  readonly operator: "AtMost" | "Below" | "AtLeast" | "Above";
  /** Number that the value of a slice is compared with, in the unit of the metric. */
  readonly threshold: number;
  /**
   * Length of a slice in seconds. A day must be a whole number of slices, and the window of the objective at most
   * 50000.
   */
  readonly sliceSeconds: number;
}

/**
 * Calendar window instead of a rolling one. The budget is new at midnight of the first day of each period, by the clock
 * of the zone, and counts the events since then. Burn rates have rolling windows: those of 30 days for a month, and of
 * 90 days for a quarter.
 */
export interface MetricCatalogSloCalendar {
  /** Calendar month, or quarter that begins in January, April, July or October. */
  readonly period: "Month" | "Quarter";
  /** Zone of the IANA time zone database, for example Europe/Berlin, or UTC. */
  readonly timeZone: string;
}

/** One correction. */
export interface MetricCatalogSloCorrection {
  /** Reason of the correction, as views and the status page show it. */
  readonly reason: string;
  /** Start of a fixed interval, in UTC. */
  readonly from?: string;
  /** End of a fixed interval, in UTC; not included. */
  readonly to?: string;
  /** Repeats the interval, at most once a day. */
  readonly schedule?: MetricCatalogSloCorrectionSchedule;
}

/** Repeats the interval, at most once a day. */
export interface MetricCatalogSloCorrectionSchedule {
  /**
   * Start of each interval: minute, hour, day of the month, month and day of the week. Minute and hour are numbers; the
   * others are *, or lists of numbers, names and ranges, for example "0 2 * * SUN". A day matches either of two
   * restricted day fields.
   */
  readonly cron: string;
  /** Length of each interval, in minutes. */
  readonly durationMinutes: number;
  /** Zone of the IANA time zone database, for example Europe/Berlin, or UTC. */
  readonly timeZone: string;
}
