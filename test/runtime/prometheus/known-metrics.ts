import type { KnownMetric } from "../../../runtime/prometheus/compile/program.ts";

type Metric = KnownMetric["metric"];
const series = (name: string) => ({ name, matchers: [] });

const usual = {
  labels: ["region", "component", "service"],
  minStepSeconds: 60,
  maxGroupBy: 2,
} as const satisfies Partial<Metric>;

const metrics: readonly Metric[] = [
  {
    ...usual,
    id: "queue_consumer_lag",
    source: { kind: "gauge", ...series("lag") },
    aggregations: ["avg", "sum", "min", "max"],
    defaultAggregation: "avg",
  },
  {
    ...usual,
    id: "pool_size_peak",
    labels: [],
    source: { kind: "gauge", ...series("pool") },
    aggregations: ["max"],
    defaultAggregation: "max",
  },
  {
    ...usual,
    id: "requests",
    source: { kind: "counter", increase: "Extrapolated", ...series("requests_total") },
    aggregations: ["avg", "sum", "min", "max"],
    defaultAggregation: "sum",
  },
  {
    ...usual,
    id: "slow_counter",
    minStepSeconds: 3_600,
    maxGroupBy: 0,
    source: { kind: "counter", increase: "Extrapolated", ...series("slow_total") },
    aggregations: ["sum"],
    defaultAggregation: "sum",
  },
  {
    ...usual,
    id: "success_rate",
    source: { kind: "ratio", increase: "Extrapolated", numerator: series("good"), denominator: series("all") },
    aggregations: ["avg"],
    defaultAggregation: "avg",
  },
  {
    ...usual,
    id: "latency",
    source: { kind: "histogram", type: "Classic", increase: "Extrapolated", ...series("latency_seconds") },
    aggregations: ["avg", "sum", "p50", "p95", "p99"],
    defaultAggregation: "p95",
  },
  {
    ...usual,
    id: "native_latency",
    source: { kind: "histogram", type: "Native", increase: "Extrapolated", ...series("native_seconds") },
    aggregations: ["avg", "p99"],
    defaultAggregation: "p99",
  },
];

const thresholds: Readonly<Record<string, readonly number[]>> = { latency: [0.3, 1.5] };

/** Metrics of every kind. */
export const knownMetrics: ReadonlyMap<string, KnownMetric> = new Map(
  metrics.map((metric) => [metric.id, { metric, thresholds: thresholds[metric.id] ?? [] }]),
);
