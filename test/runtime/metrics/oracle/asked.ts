import type { Aggregation } from "../../../../crds/config.ts";

/** A query in the words of a test. */
export interface AskedSeries {
  readonly metric: MetricId;
  readonly agg: Aggregation;
  readonly tenant: string;
  /** Governed label → value. */
  readonly filters: Readonly<Record<string, string>>;
  /** Governed labels, never the region. */
  readonly groupBy: readonly string[];
}

/** The points an answer says it has. */
export interface ResponseGrid {
  readonly fromMs: number;
  readonly toMs: number;
  readonly stepSeconds: number;
  /** @default stepSeconds */
  readonly widthSeconds?: number;
}

/** The time that each point covers. */
export function widthOf({ stepSeconds, widthSeconds = stepSeconds }: ResponseGrid): number {
  return widthSeconds;
}

/** What the generated metrics are, said a second time and apart from the catalog. */
export const kinds = {
  queue_lag: { kind: "gauge", name: "queue_lag" },
  flappy: { kind: "gauge", name: "flappy" },
  payments: { kind: "counter", name: "payments_total" },
  payments_anchored: { kind: "anchored", name: "payments_total" },
  payments_success: { kind: "ratio", name: "payments_total" },
  latency_ms: { kind: "histogram", name: "latency_ms" },
  latency_anchored_ms: { kind: "anchoredHistogram", name: "latency_ms" },
  uneven_ms: { kind: "histogram", name: "uneven_ms" },
  native_ms: { kind: "native", name: "native_ms" },
  sizes: { kind: "native", name: "sizes" },
  uneven_sizes: { kind: "native", name: "uneven_sizes" },
  slow_gauge: { kind: "gauge", name: "slow_gauge" },
  slow: { kind: "counter", name: "slow_total" },
} as const;
export type MetricId = keyof typeof kinds;

export const quantiles: Readonly<Partial<Record<Aggregation, number>>> = { p50: 0.5, p95: 0.95, p99: 0.99 };

/** The label in the stores. */
export function inStore(label: string): string {
  return label === "environment" ? "env" : label;
}

/** End of each point. */
export function ends(grid: ResponseGrid): readonly number[] {
  const { fromMs, toMs, stepSeconds } = grid;
  const times: number[] = [];
  for (let ms = fromMs + widthOf(grid) * 1_000; ms <= toMs; ms += stepSeconds * 1_000) times.push(ms);
  return times;
}

/** Points by the key of their series' labels. */
export type SeriesPoints<Value> = ReadonlyMap<string, ReadonlyMap<number, Value>>;

/** The key of labels in governed names; absent and empty are one. */
export function keyOf(groupBy: readonly string[], value: (label: string) => string | undefined): string {
  return JSON.stringify([...groupBy].sort().map((label) => [label, value(label) ?? ""]));
}
