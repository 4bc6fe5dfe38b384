import type { Aggregation, QueryClass } from "../../crds/config.ts";
import { metricIds, metrics, regions, settleSeconds, type ProbedMetricId, type Region } from "./catalog.ts";
import { environments, services, tenants } from "./targets.ts";

/** A panel of a dashboard: one question that is asked again and again. */
export interface Panel {
  readonly metrics: readonly ProbedMetricId[];
  readonly agg: Aggregation;
  readonly tenant: string;
  readonly filters: Readonly<Record<string, string>>;
  readonly groupBy: readonly string[];
  readonly step: string | undefined;
  readonly downsample: "1m" | undefined;
  readonly exemplars: boolean;
  readonly window: PanelWindow;
}

/** `live`: the last seconds, at each moment anew. `fixed`: one that had settled when it was made. */
type PanelWindow =
  | { readonly kind: "live"; readonly seconds: number }
  | { readonly kind: "fixed"; readonly fromMs: number; readonly toMs: number };

const steps = [undefined, "10s", "10s", "20s", "30s", "37s", "1m"] as const;
const groupable = ["environment", "region", "service", "tenant"] as const;
/** Data is there for so long before a panel is made. */
const historyMs = 300_000;

/** Any panel. @param next numbers in [0, 1) */
export function randomPanel(next: () => number, nowMs: number): Panel {
  const metric = pick(next, metricIds);
  const agg: Aggregation = pick(next, metrics[metric].aggregations);
  const others = metricIds.filter(
    (other) => other !== metric && (metrics[other].aggregations as readonly Aggregation[]).includes(agg),
  );
  const isPair = next() < 0.12 && others.length > 0;
  return {
    metrics: isPair ? [metric, pick(next, others)] : [metric],
    agg,
    tenant: pick(next, tenants),
    filters: filtersOf(next),
    groupBy: groupable.filter(() => next() < 0.35),
    step: pick(next, steps),
    downsample: next() < 0.15 ? "1m" : undefined,
    exemplars: next() < 0.1,
    window: windowOf(next, nowMs),
  };
}

/** Metrics of one source, whose questions have range queries in common. */
const families: readonly (readonly ProbedMetricId[])[] = [
  ["payments", "payments_success"],
  ["latency_ms"],
  ["queue_lag"],
  ["payments_anchored"],
  ["latency_anchored_ms"],
  ["native_ms"],
];

/** The same panel for another question about the same series. */
export function siblingOf(next: () => number, panel: Panel): Panel {
  const family = families.find((ids) => ids.includes(panel.metrics[0] ?? "queue_lag")) ?? metricIds;
  const metric = pick(next, family);
  return { ...panel, metrics: [metric], agg: pick<Aggregation>(next, metrics[metric].aggregations) };
}

function filtersOf(next: () => number): Readonly<Record<string, string>> {
  return {
    ...(next() < 0.4 ? { region: pick(next, regions) } : {}),
    ...(next() < 0.25 ? { environment: pick(next, environments) } : {}),
    ...(next() < 0.25 ? { service: pick(next, services) } : {}),
  };
}

function windowOf(next: () => number, nowMs: number): PanelWindow {
  if (next() < 0.6) return { kind: "live", seconds: 90 + Math.floor(next() * 150) };
  const toMs = nowMs - settleSeconds * 1_000 - 1_000 - Math.floor(next() * 60_000);
  return { kind: "fixed", fromMs: Math.max(nowMs - historyMs, toMs - 80_000 - Math.floor(next() * 120_000)), toMs };
}

/** One of some values. */
export function pick<Value>(next: () => number, values: readonly Value[]): Value {
  return values[Math.floor(next() * values.length)] as Value;
}

/** The regions that a panel reads. */
export function regionsOf({ filters: { region } }: Panel): readonly Region[] {
  return region === undefined ? regions : regions.filter((other) => other === region);
}

/** The class that its answers are of: the slowest of its metrics. */
export function classOf({ metrics: ids }: Panel): QueryClass {
  return ids.map((id) => metrics[id].queryClass).reduce((one: QueryClass, other) => (one > other ? one : other), "A");
}

type Pairs = readonly (readonly [name: string, value: string])[];

/** The parameters of `query`, with the window as of now. */
export function queryPairs(panel: Panel, nowMs: number): Pairs {
  return [
    ...sharedPairs(panel),
    ...windowPairs(panel, nowMs),
    ...(panel.step === undefined ? [] : [["step", panel.step] as const]),
  ];
}

/** Those of `instant`. */
export function instantPairs(panel: Panel): Pairs {
  return [
    ...sharedPairs(panel),
    ...(panel.window.kind === "fixed" ? [["ts", new Date(panel.window.toMs).toISOString()] as const] : []),
  ];
}

/** One item of a bulk. */
export function bulkItem(panel: Panel, id: string, nowMs: number): object {
  const { metrics: metric, agg, tenant, filters, groupBy, step, downsample, exemplars } = panel;
  return {
    id,
    metric,
    agg,
    filter: { ...filters, tenant },
    group_by: groupBy,
    step,
    downsample,
    exemplars,
    ...Object.fromEntries(windowPairs(panel, nowMs)),
  };
}

function windowPairs({ window }: Panel, nowMs: number): Pairs {
  const from = window.kind === "fixed" ? window.fromMs : Math.floor(nowMs / 10_000) * 10_000 - window.seconds * 1_000;
  const to = window.kind === "fixed" ? [["to", new Date(window.toMs).toISOString()] as const] : [];
  return [["from", new Date(from).toISOString()], ...to];
}

function sharedPairs({ metrics: ids, agg, tenant, filters, groupBy, downsample, exemplars }: Panel): Pairs {
  return [
    ...ids.map((id) => ["metric", id] as const),
    ["agg", agg],
    ["filter[tenant]", tenant],
    ...Object.entries(filters).map(([label, value]) => [`filter[${label}]`, value] as const),
    ...(groupBy.length === 0 ? [] : [["group_by", groupBy.join(",")] as const]),
    ...(downsample === undefined ? [] : [["downsample", downsample] as const]),
    ...(exemplars ? [["exemplars", "true"] as const] : []),
  ];
}
