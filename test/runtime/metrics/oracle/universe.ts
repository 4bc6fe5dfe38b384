import type {
  Aggregation,
  ClassLimits,
  LabelName,
  MetricConfig,
  PeerStoreConfig,
  QueriedStoreConfig,
  RuntimeConfig,
  StoreConfig,
  StoreFlavour,
} from "../../../../crds/config.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import { coarseIntervalSeconds, fineIntervalSeconds } from "./generated-series.ts";

/** A store of a test and the shards it holds. */
export interface TestStore {
  readonly name: string;
  readonly region: string;
  readonly url: string;
  /** @default "Prometheus" */
  readonly flavour?: StoreFlavour;
}

export const wideLimits: ClassLimits = {
  maxSeries: 50,
  maxWindowSeconds: 400 * 86_400,
  minStepSeconds: 10,
  maxGroupBy: 4,
  requestsPerSecond: 10_000,
  burst: 100_000,
  costUnitsPerMinute: 10_000_000_000,
  burstCostUnits: 10_000_000_000,
  maxConcurrent: 1_000,
  memorySeconds: 0,
  hotTailSeconds: 0,
};

const origin = { uid: "uid", namespace: "metrics", name: "generated", generation: 1, specDigest: "digest" };

/** A store as the catalog says it; its environment label has a name of its own. */
export function storeConfig(
  { name, region, url, flavour = "Prometheus" }: TestStore,
  changes: Partial<QueriedStoreConfig> = {},
): QueriedStoreConfig {
  return {
    name,
    region,
    residency: region,
    tenancy: "Labelled",
    labelMap: { environment: "env" },
    settleSeconds: 120,
    prometheus: { url, timeoutMs: 10_000, flavour, headers: {} },
    ...changes,
  };
}

/** A region that another runtime reads. Pinned digests hold all of its members. */
export const peerStore: PeerStoreConfig = {
  name: "us",
  region: "us",
  residency: "us",
  tenancy: "Labelled",
  labelMap: {},
  settleSeconds: 60,
  peer: {
    url: "https://us.example",
    timeoutMs: 1_000,
    increases: "Extrapolated",
    auth: { kind: "bearer", token: "default/peer/token" },
    tls: { client: { certificate: "default/peer/cert", key: "default/peer/key" } },
  },
};

/** A configuration with one catalog. */
export function configOf(stores: readonly StoreConfig[], metrics: readonly MetricConfig[]): RuntimeConfig {
  return {
    schema: 1,
    partners: [],
    catalogs: [{ ...origin, schemaVersion: "2026-01-01", stores, metrics, slos: [] }],
    quotas: [],
    classDefaults: { A: wideLimits, B: wideLimits, C: wideLimits },
    material: {},
  };
}

/** A metric that every named store holds, in every region. */
export function metricConfig(
  id: string,
  stores: readonly Pick<StoreConfig, "name" | "region">[],
  changes: Pick<MetricConfig, "source"> & Partial<MetricConfig>,
): MetricConfig {
  return {
    id,
    category: "infrastructure",
    unit: "1",
    description: id,
    intervalSeconds: Object.fromEntries(stores.map(({ name }) => [name, fineIntervalSeconds])),
    minStepSeconds: fineIntervalSeconds * 4,
    labels: ["region", "tenant", "environment", "service"],
    aggregations: ["avg", "sum", "min", "max"],
    defaultAggregation: "avg",
    maxGroupBy: 4,
    sensitivity: "none",
    complianceScope: { regions: [...new Set(stores.map(({ region }) => region))].sort() },
    queryClass: "A",
    state: "Active",
    slos: [],
    ...changes,
  };
}

const paymentLabels: readonly LabelName[] = ["region", "tenant", "environment", "service", "psp"];
const histogramAggregations: readonly Aggregation[] = ["avg", "sum", "p50", "p95", "p99"];

/** The metrics over the generated series, one or more of every kind. */
export function generatedMetrics(stores: readonly StoreConfig[]): readonly MetricConfig[] {
  const make = (id: string, changes: Parameters<typeof metricConfig>[2]): MetricConfig =>
    metricConfig(id, stores, changes);
  const named = (name: string): { readonly name: string; readonly matchers: [] } => ({ name, matchers: [] });
  const ok = { label: "result", op: "Equal", value: "ok" } as const;
  const coarse = {
    intervalSeconds: Object.fromEntries(stores.map(({ name }) => [name, coarseIntervalSeconds])),
    minStepSeconds: coarseIntervalSeconds * 4,
  };
  return [
    make("queue_lag", { source: { kind: "gauge", ...named("queue_lag") } }),
    make("flappy", { source: { kind: "gauge", ...named("flappy") } }),
    make("payments", {
      source: { kind: "counter", increase: "Extrapolated", ...named("payments_total") },
      labels: paymentLabels,
    }),
    make("payments_anchored", {
      source: { kind: "counter", increase: "Anchored", ...named("payments_total") },
      labels: paymentLabels,
    }),
    make("payments_success", {
      source: {
        kind: "ratio",
        increase: "Extrapolated",
        numerator: { name: "payments_total", matchers: [ok] },
        denominator: named("payments_total"),
      },
      labels: paymentLabels,
      aggregations: ["avg"],
    }),
    make("latency_ms", {
      source: { kind: "histogram", type: "Classic", increase: "Extrapolated", ...named("latency_ms") },
      aggregations: histogramAggregations,
    }),
    make("latency_anchored_ms", {
      source: { kind: "histogram", type: "Classic", increase: "Anchored", ...named("latency_ms") },
      aggregations: histogramAggregations,
    }),
    ...["native_ms", "sizes", "uneven_sizes"].map((name) =>
      make(name, {
        source: { kind: "histogram", type: "Native", increase: "Extrapolated", ...named(name) },
        aggregations: histogramAggregations,
      }),
    ),
    make("uneven_ms", {
      source: { kind: "histogram", type: "Classic", increase: "Extrapolated", ...named("uneven_ms") },
      aggregations: histogramAggregations,
    }),
    make("slow_gauge", { source: { kind: "gauge", ...named("slow_gauge") }, ...coarse }),
    make("slow", { source: { kind: "counter", increase: "Extrapolated", ...named("slow_total") }, ...coarse }),
  ];
}

/** A caller who may read everything. */
export const everyone: Caller = {
  client: "test",
  tenants: ["*"],
  regions: ["*"],
  environments: ["*"],
  metrics: ["*"],
  roles: [],
  scopes: ["metrics:read"],
};

/** Query parameters as the HTTP layer decodes them. */
export function parameters(
  pairs: readonly (readonly [name: string, value: string])[],
): ReadonlyMap<string, readonly string[]> {
  const decoded = new Map<string, string[]>();
  for (const [name, value] of pairs) decoded.set(name, [...(decoded.get(name) ?? []), value]);
  return decoded;
}
