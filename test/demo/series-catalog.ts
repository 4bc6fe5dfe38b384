/** A label of a store's series and the value it must have, or a pattern for it. */
type SeriesMatcher = Readonly<Record<string, string>>;

/** How one metric id stands in the stores of the demo. */
interface SeriesCatalogEntry {
  /** The id that clients use. Source: seed "Operational Metrics API" §2.2. */
  readonly metric: string;
  readonly kind: "gauge" | "ratio" | "histogram";
  /** Name of the series; of a classic histogram without `_bucket`, `_sum`, `_count`. */
  readonly series: string;
  readonly unit: string;
  /** Fixed matchers of every query for it; they use no label that differs in name between the stores. */
  readonly matchers?: SeriesMatcher;
  /** Of a ratio: further matchers of its numerator, as anchored patterns. */
  readonly numerator?: SeriesMatcher;
  /** Governed labels that the series carry, besides `region`, `tenant` and `environment`, which all carry. */
  readonly labels: readonly string[];
}

/** Every metric id of the seed, by category. The demo's MetricCatalog is written against this table. */
export const seriesCatalog: readonly SeriesCatalogEntry[] = [
  {
    metric: "auth_success_rate",
    kind: "ratio",
    series: "auth_attempts_total",
    numerator: { outcome: "success" },
    unit: "ratio",
    labels: ["service", "device"],
  },
  {
    metric: "bet_settle_p99_ms",
    kind: "histogram",
    series: "bet_settle_duration_milliseconds",
    unit: "ms",
    labels: ["service", "version"],
  },
  {
    metric: "withdraw_tat_p95_ms",
    kind: "histogram",
    series: "withdrawal_turnaround_milliseconds",
    unit: "ms",
    labels: ["psp", "bank_group"],
  },
  {
    metric: "api_5xx_rate",
    kind: "ratio",
    series: "http_requests_total",
    matchers: { component: "api" },
    numerator: { code: "5.." },
    unit: "ratio",
    labels: ["service", "component"],
  },
  {
    metric: "queue_consumer_lag",
    kind: "gauge",
    series: "queue_consumer_lag",
    unit: "messages",
    labels: ["component"],
  },
  {
    metric: "db_replication_lag",
    kind: "gauge",
    series: "db_replication_lag_seconds",
    unit: "s",
    labels: ["component"],
  },
  {
    metric: "psp_soft_decline_rate",
    kind: "ratio",
    series: "psp_authorizations_total",
    numerator: { result: "soft_decline" },
    unit: "ratio",
    labels: ["psp", "bank_group"],
  },
  {
    metric: "deposits_success_pct",
    kind: "ratio",
    series: "deposits_total",
    numerator: { result: "success" },
    unit: "ratio",
    labels: ["psp", "bank_group", "geo"],
  },
  {
    metric: "bets_success_pct",
    kind: "ratio",
    series: "bets_total",
    numerator: { result: "accepted" },
    unit: "ratio",
    labels: ["geo", "device"],
  },
  {
    metric: "kyc_pass_rate",
    kind: "ratio",
    series: "kyc_checks_total",
    numerator: { result: "pass" },
    unit: "ratio",
    labels: ["geo", "component"],
  },
  {
    metric: "cpu_util",
    kind: "gauge",
    series: "cpu_utilization_ratio",
    unit: "ratio",
    labels: ["service", "component"],
  },
  {
    metric: "cache_hit_ratio",
    kind: "ratio",
    series: "cache_requests_total",
    numerator: { result: "hit" },
    unit: "ratio",
    labels: ["component"],
  },
  {
    metric: "cdn_waf_block_rate",
    kind: "ratio",
    series: "cdn_requests_total",
    numerator: { action: "block" },
    unit: "ratio",
    labels: ["geo"],
  },
  {
    metric: "p95_latency",
    kind: "histogram",
    series: "http_request_duration_seconds",
    matchers: { component: "metrics-api" },
    unit: "s",
    labels: ["component"],
  },
  {
    metric: "error_rate",
    kind: "ratio",
    series: "http_requests_total",
    matchers: { component: "metrics-api" },
    numerator: { code: "5.." },
    unit: "ratio",
    labels: ["service", "component"],
  },
  {
    metric: "partial_response_rate",
    kind: "ratio",
    series: "metrics_api_responses_total",
    matchers: { component: "metrics-api" },
    numerator: { partial: "true" },
    unit: "ratio",
    labels: ["component"],
  },
];
