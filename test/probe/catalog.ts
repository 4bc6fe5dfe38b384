import type { Aggregation, QueryClass } from "../../crds/config.ts";
import { plainObject } from "../crds/valid-objects.ts";
import { kinds, type MetricId } from "../runtime/metrics/oracle/asked.ts";

/** The regions of the probe, each with one store of the same name. */
export const regions = ["apac", "eu", "latam"] as const;
export type Region = (typeof regions)[number];

/** Scrape interval of every target. */
export const intervalSeconds = 2;
/** Age at which samples no longer change. The writer drops what would arrive later. */
export const settleSeconds = 40;
/** Bound on all stores of one query. Longer than in an installation, so that a busy machine is no failure. */
export const deadlineMs = 4_000;
const timeoutSeconds = 3;

/** Lifetimes of one class, in seconds. */
export interface ClassCache {
  readonly memorySeconds: number;
  readonly distributedSeconds: number;
  readonly hotTailSeconds: number;
  readonly staleWhileRevalidateSeconds: number;
}

/** Lifetimes by version of the quotas: an even version and an odd one. */
const caches: readonly Readonly<Record<QueryClass, ClassCache>>[] = [
  { A: lifetimes(10, 30, 5, 0), B: lifetimes(20, 60, 6, 6), C: lifetimes(30, 120, 10, 8) },
  { A: lifetimes(6, 12, 2, 5), B: lifetimes(30, 90, 8, 0), C: lifetimes(12, 40, 4, 10) },
];

function lifetimes(memory: number, distributed: number, hot: number, stale: number): ClassCache {
  return {
    memorySeconds: memory,
    distributedSeconds: distributed,
    hotTailSeconds: hot,
    staleWhileRevalidateSeconds: stale,
  };
}

/** What a version of the quotas says of a class. */
export function cacheOf(version: number, queryClass: QueryClass): ClassCache {
  const all = caches[version % caches.length] ?? caches[0];
  if (all === undefined) throw new Error("there are no lifetimes");
  return all[queryClass];
}

/** A metric of the probe: its class and what may be asked of it. */
interface ProbedMetric {
  readonly queryClass: QueryClass;
  readonly aggregations: readonly Aggregation[];
  readonly source: object;
}

const scalars: readonly Aggregation[] = ["avg", "sum", "min", "max"];
const distributions: readonly Aggregation[] = ["avg", "sum", "p50", "p95", "p99"];
const counter = (increase: string): object => ({ counter: { name: "payments_total", increase } });
const histogram = (name: string, type: string, increase: string): object => ({ histogram: { name, type, increase } });

/** Every kind of source. */
export const metrics = {
  queue_lag: { queryClass: "A", aggregations: scalars, source: { gauge: { name: "queue_lag" } } },
  payments: { queryClass: "B", aggregations: scalars, source: counter("Extrapolated") },
  payments_anchored: { queryClass: "C", aggregations: scalars, source: counter("Anchored") },
  payments_success: {
    queryClass: "A",
    aggregations: ["avg"],
    source: {
      ratio: {
        numerator: { name: "payments_total", matchers: [{ label: "result", value: "ok" }] },
        denominator: { name: "payments_total" },
      },
    },
  },
  latency_ms: {
    queryClass: "B",
    aggregations: distributions,
    source: histogram("latency_ms", "Classic", "Extrapolated"),
  },
  latency_anchored_ms: {
    queryClass: "C",
    aggregations: distributions,
    source: histogram("latency_ms", "Classic", "Anchored"),
  },
  native_ms: { queryClass: "A", aggregations: distributions, source: histogram("native_ms", "Native", "Extrapolated") },
} as const satisfies Partial<Record<MetricId, ProbedMetric>>;
export type ProbedMetricId = keyof typeof metrics;
export const metricIds = Object.keys(metrics) as readonly ProbedMetricId[];

/** The label value that odd versions of the catalog leave out of the gauge. */
const leftOut = "pay";

/** Whether a version of the catalog counts a series among those of a metric. */
export function isInCatalog(version: number, metric: MetricId, labels: Readonly<Record<string, string>>): boolean {
  return kinds[metric].kind !== "gauge" || version % 2 === 0 || labels["service"] !== leftOut;
}

/** `schema_version` of a version of the catalog. */
export function schemaVersionOf(version: number): string {
  return `v${version}`;
}

/** @param urls of the store of each region */
export function catalogText(version: number, urls: Readonly<Record<Region, string>>): string {
  const stores = regions.map((region) => ({
    name: region,
    region,
    labelMap: { environment: "env" },
    settleSeconds,
    prometheus: { url: urls[region], timeoutSeconds },
  }));
  return JSON.stringify(
    plainObject("MetricCatalog", {
      schemaVersion: schemaVersionOf(version),
      stores,
      metrics: metricIds.map((id) => metricSpec(id, version)),
    }),
  );
}

function metricSpec(id: ProbedMetricId, version: number): object {
  const { queryClass, aggregations, source } = metrics[id];
  const matchers = version % 2 === 0 ? [] : [{ label: "service", op: "NotEqual", value: leftOut }];
  const own = id === "queue_lag" ? { gauge: { name: "queue_lag", matchers } } : source;
  return {
    id,
    category: "infrastructure",
    unit: "1",
    description: `The probe's ${id}.`,
    source: { ...own, intervalSeconds },
    minStepSeconds: 10,
    labels: ["region", "tenant", "environment", "service"],
    aggregations,
    defaultAggregation: aggregations[0],
    complianceScope: { regions },
    queryClass,
  };
}

/** The client whose quota is small enough to be spent. */
export const limitedClient = { id: "limited", requestsPerSecond: 3, burst: 6 } as const;

const wide = {
  requestsPerSecond: 10_000,
  burst: 100_000,
  costUnitsPerMinute: 10_000_000_000,
  burstCostUnits: 10_000_000_000,
  maxConcurrent: 1_000,
};

/** One quota for each class, and one for the client that spends all it has. */
export function quotasText(version: number): string {
  const classes = ["A", "B", "C"] as const;
  const quotas = classes.map((queryClass) =>
    plainObject(
      "QueryClassQuota",
      { class: queryClass, limits: wide, cache: cacheOf(version, queryClass), clients: undefined },
      `class-${queryClass.toLowerCase()}`,
    ),
  );
  const { id: clientId, requestsPerSecond, burst } = limitedClient;
  const limited = plainObject(
    "QueryClassQuota",
    {
      class: "A",
      limits: { ...wide, requestsPerSecond, burst },
      cache: cacheOf(version, "A"),
      clients: [{ clientId }],
    },
    "limited",
  );
  return [...quotas, limited].map((object) => JSON.stringify(object)).join("\n---\n");
}
