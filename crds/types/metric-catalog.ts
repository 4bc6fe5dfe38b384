// Generated from the definitions in crds/*.yaml by `npm run generate`. Edit those instead.

/** Stores, metrics and SLOs. */
export interface MetricCatalogSpec {
  /** Version that answers carry as schema_version. It changes when the meaning of a metric does. */
  readonly schemaVersion: string;
  /** The stores that the metrics are read from, each in one region. */
  readonly stores: readonly MetricCatalogStore[];
  /** The metrics, each under the id that clients use. */
  readonly metrics: readonly MetricCatalogMetric[];
  /** Objectives, shown in the catalog entry of their metric. @default [] */
  readonly slos: readonly MetricCatalogSlo[];
}

/** One store that speaks the HTTP API of Prometheus. */
export interface MetricCatalogStore {
  /** Name of the store among the catalog's stores. */
  readonly name: string;
  /** Region of everything in the store; beats a region label of the series. */
  readonly region: string;
  /** Where the store's data must stay. When absent, the region. */
  readonly residency?: string;
  /** Environment of everything in the store; beats an environment label of the series. */
  readonly environment?: string;
  /** With Labelled the series carry the tenant label. With Platform they belong to no tenant. @default "Labelled" */
  readonly tenancy: "Labelled" | "Platform";
  /** From the governed label (region, tenant, environment, service, psp, bank_group, geo, device, version, component) to the name of that label in this store. A label that is absent keeps its name. @default {} */
  readonly labelMap: Readonly<Record<string, string>>;
  /** Age at which the store's samples no longer change, at least its out-of-order window and two intervals. @default 300 */
  readonly settleSeconds: number;
  /** How the store is reached. */
  readonly prometheus: MetricCatalogStorePrometheus;
}

/** How the store is reached. */
export interface MetricCatalogStorePrometheus {
  /** Base URL; /api/v1 and what follows is appended. */
  readonly url: string;
  /** Bound on one request to the store. A store that is later makes the answer partial, which clients see only when they wait longer than this. @default 1 */
  readonly timeoutSeconds: number;
}

/** One metric. */
export interface MetricCatalogMetric {
  /** The only name that clients use. */
  readonly id: string;
  /** Group of the metric in the catalog that clients read. */
  readonly category: "slo" | "kri" | "business" | "infrastructure" | "api";
  /** Unit of the values, for example ms, ratio or 1/s. */
  readonly unit: string;
  /** What the metric says, in a sentence. */
  readonly description: string;
  /** What the metric is in the stores, exactly one of gauge, counter, ratio and histogram. */
  readonly source: MetricCatalogMetricSource;
  /** Names of the stores that hold the metric. When absent, every store of the catalog. */
  readonly stores?: readonly string[];
  /** Smallest step, and smallest window of one point. When absent, four times the largest interval, and at least 10. */
  readonly minStepSeconds?: number;
  /** Governed labels that clients may filter and group by. @default [] */
  readonly labels: readonly ("region" | "tenant" | "environment" | "service" | "psp" | "bank_group" | "geo" | "device" | "version" | "component")[];
  /** Aggregations that clients may ask for. A gauge and a counter have avg, sum, min and max, a ratio has avg, a histogram has avg, sum and the percentiles. */
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

/** What the metric is in the stores, exactly one of gauge, counter, ratio and histogram. */
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
  /** Extrapolated is increase() as every store has it. Anchored needs stores with extended range selectors and is additive over time. @default "Extrapolated" */
  readonly increase: "Extrapolated" | "Anchored";
}

/** The increase of one counter over the increase of another. */
export interface MetricCatalogMetricSourceRatio {
  /** The counter above the line. */
  readonly numerator: MetricCatalogMetricSourceRatioNumerator;
  /** The counter below the line. */
  readonly denominator: MetricCatalogMetricSourceRatioDenominator;
  /** Extrapolated is increase() as every store has it. Anchored needs stores with extended range selectors and is additive over time. @default "Extrapolated" */
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
  /** Classic is one series for each bound, with the label le. @default "Classic" */
  readonly type: "Classic";
  /** Name of the histogram in the store, without _bucket, _sum and _count. */
  readonly name: string;
  /** Fixed matchers of the series. @default [] */
  readonly matchers: readonly MetricCatalogMetricSourceGaugeMatcher[];
  /** Extrapolated is increase() as every store has it. Anchored needs stores with extended range selectors and is additive over time. @default "Extrapolated" */
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

/** One objective. */
export interface MetricCatalogSlo {
  /** Name of the objective among the catalog's objectives. */
  readonly name: string;
  /** Metric that the objective is about. */
  readonly metric: string;
  /** Share of good events, for example 0.999. */
  readonly objective: number;
}
