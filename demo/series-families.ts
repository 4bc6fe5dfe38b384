/** One regional store of the demo, as a MetricCatalog describes it. */
export interface DemoStore {
  readonly region: string;
  readonly intervalSeconds: number;
  /** What the series' own label `region` says; the store's region beats it. */
  readonly regionLabel: string;
  /** Governed label → its name in this store; a label that is absent keeps its name. */
  readonly labelMap: Readonly<Record<string, string>>;
  readonly psps: readonly string[];
  readonly bankGroups: readonly string[];
  readonly geos: readonly string[];
  /** Hours by which the day's peak comes later than in UTC. */
  readonly peakShiftHours: number;
}

/** The regional stores by name. */
export const demoStores = {
  eu: {
    region: "eu",
    intervalSeconds: 15,
    regionLabel: "eu",
    labelMap: { environment: "env", geo: "country" },
    psps: ["nordpay", "iberpay", "globalpay"],
    bankGroups: ["sepa", "cards"],
    geos: ["de", "es"],
    peakShiftHours: 0,
  },
  latam: {
    region: "latam",
    intervalSeconds: 30,
    regionLabel: "sa-east",
    labelMap: { tenant: "brand", bank_group: "bank" },
    psps: ["pixora", "andespay", "globalpay"],
    bankGroups: ["pix", "cards"],
    geos: ["br", "mx"],
    peakShiftHours: 4,
  },
} as const satisfies Readonly<Record<string, DemoStore>>;

/** The name of one of the demo's stores. */
export type DemoStoreName = keyof typeof demoStores;

/** The tenants whose series both stores hold. */
export const demoTenants = ["lumen", "vega"] as const;

/** Governed labels and the values that a family's series have; every combination is one target. */
export type Dimensions = Readonly<Record<string, readonly string[]>>;

interface FamilyBase {
  /** Name of the series; of a classic histogram without `_bucket`, `_sum`, `_count`. */
  readonly name: string;
  readonly dimensions: (store: DemoStore) => Dimensions;
  /** Whether the first tenant has a staging environment too, in stores that name environments. */
  readonly staging?: true;
}

/** Events that end in one of several ways: one counter per way. */
export interface CounterFamily extends FamilyBase {
  readonly kind: "counter";
  /** Events of one target at the day's peak. */
  readonly perSecond: number;
  readonly label: string;
  /** Share of each way; they sum to 1. */
  readonly shares: Readonly<Record<string, number>>;
  /** The way whose share grows while the store's first payment provider is in trouble. */
  readonly troubled?: string;
}

/** A level that follows the day. */
export interface GaugeFamily extends FamilyBase {
  readonly kind: "gauge";
  /** Value at the day's low. */
  readonly low: number;
  /** Value at the day's peak. */
  readonly peak: number;
  /** Value that a rare burst of some minutes reaches. */
  readonly burst: number;
  readonly decimals: number;
}

/** Durations with a long tail. */
export interface HistogramFamily extends FamilyBase {
  readonly kind: "histogram";
  readonly perSecond: number;
  /** Upper bounds of the buckets without +Inf, ascending. */
  readonly bounds: readonly number[];
  readonly median: number;
  /** Standard deviation of the logarithm. */
  readonly spread: number;
}

/** Series that belong together and share a name. */
export type Family = CounterFamily | GaugeFamily | HistogramFamily;

const devices = ["web", "ios", "android"];

/** Everything that a store of the demo holds. */
export const families: readonly Family[] = [
  {
    kind: "counter",
    name: "auth_attempts_total",
    dimensions: () => ({ service: ["login"], device: devices }),
    perSecond: 4,
    label: "outcome",
    shares: { success: 0.962, failure: 0.035, error: 0.003 },
  },
  {
    kind: "counter",
    name: "http_requests_total",
    dimensions: () => ({ service: ["login", "betting", "wallet"], component: ["api"] }),
    staging: true,
    perSecond: 40,
    label: "code",
    shares: { 200: 0.9815, 400: 0.0175, 503: 0.001 },
  },
  {
    kind: "counter",
    name: "http_requests_total",
    dimensions: () => ({ service: ["metrics-api"], component: ["metrics-api"] }),
    perSecond: 6,
    label: "code",
    shares: { 200: 0.979, 429: 0.02, 504: 0.001 },
  },
  {
    kind: "histogram",
    name: "bet_settle_duration_milliseconds",
    dimensions: () => ({ service: ["settlement"], version: ["1.8.0", "1.9.0"] }),
    perSecond: 12,
    bounds: [25, 50, 100, 200, 400, 800, 1600, 3200, 6400],
    median: 120,
    spread: 0.6,
  },
  {
    kind: "histogram",
    name: "withdrawal_turnaround_milliseconds",
    dimensions: (store) => ({ psp: store.psps.slice(0, 2), bank_group: store.bankGroups }),
    perSecond: 0.3,
    bounds: [1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 14_400_000, 86_400_000],
    median: 90_000,
    spread: 1.4,
  },
  {
    kind: "counter",
    name: "psp_authorizations_total",
    dimensions: (store) => ({ psp: store.psps, bank_group: store.bankGroups }),
    perSecond: 1.5,
    label: "result",
    shares: { approved: 0.9, soft_decline: 0.06, hard_decline: 0.04 },
    troubled: "soft_decline",
  },
  {
    kind: "counter",
    name: "deposits_total",
    dimensions: (store) => ({ psp: store.psps, bank_group: store.bankGroups, geo: store.geos }),
    perSecond: 0.8,
    label: "result",
    shares: { success: 0.945, failed: 0.055 },
    troubled: "failed",
  },
  {
    kind: "counter",
    name: "bets_total",
    dimensions: (store) => ({ geo: store.geos, device: devices }),
    perSecond: 9,
    label: "result",
    shares: { accepted: 0.987, rejected: 0.013 },
  },
  {
    kind: "counter",
    name: "kyc_checks_total",
    dimensions: (store) => ({ geo: store.geos, component: ["documents", "liveness"] }),
    perSecond: 0.2,
    label: "result",
    shares: { pass: 0.83, fail: 0.17 },
  },
  {
    kind: "gauge",
    name: "queue_consumer_lag",
    dimensions: () => ({ component: ["bets", "payouts", "events"] }),
    low: 4,
    peak: 60,
    burst: 2_400,
    decimals: 0,
  },
  {
    kind: "gauge",
    name: "db_replication_lag_seconds",
    dimensions: () => ({ component: ["replica-1", "replica-2"] }),
    low: 0.02,
    peak: 0.15,
    burst: 9,
    decimals: 3,
  },
  {
    kind: "gauge",
    name: "cpu_utilization_ratio",
    dimensions: () => ({ service: ["login", "betting", "wallet", "settlement"], component: ["pod-a", "pod-b"] }),
    staging: true,
    low: 0.12,
    peak: 0.68,
    burst: 0.97,
    decimals: 4,
  },
  {
    kind: "counter",
    name: "cache_requests_total",
    dimensions: () => ({ component: ["session-cache", "odds-cache", "metrics-api"] }),
    perSecond: 30,
    label: "result",
    shares: { hit: 0.93, miss: 0.07 },
  },
  {
    kind: "counter",
    name: "cdn_requests_total",
    dimensions: (store) => ({ geo: store.geos }),
    perSecond: 120,
    label: "action",
    shares: { allow: 0.985, block: 0.015 },
  },
  {
    kind: "histogram",
    name: "http_request_duration_seconds",
    dimensions: () => ({ component: ["metrics-api"] }),
    perSecond: 6,
    bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    median: 0.03,
    spread: 0.9,
  },
  {
    kind: "counter",
    name: "metrics_api_responses_total",
    dimensions: () => ({ component: ["metrics-api"] }),
    perSecond: 6,
    label: "partial",
    shares: { false: 0.997, true: 0.003 },
  },
];
