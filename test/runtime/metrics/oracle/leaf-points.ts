import * as fc from "fast-check";
import { expect } from "vitest";
import type { LabelName } from "../../../../crds/config.ts";
import type { SelectorTimes } from "../../../../runtime/metrics/request/selector.ts";
import type { MetricsApi } from "../../../../runtime/metrics/metrics-api.ts";
import { keyOf, type AskedSeries, type MetricId, type ResponseGrid, type SeriesPoints } from "./asked.ts";
import { nowMs } from "./layouts.ts";
import { randomQuery } from "./random-query.ts";
import { everyone } from "./universe.ts";

/** Leaves as a caller would ask for them, and the points that they are defined by. */

const daySeconds = 86_400;
const responseMsMax = 30_000;
/** After all times of random leaves: no stamp is in the future. */
const readAtMs = nowMs + 10 * daySeconds * 1_000;

/** One leaf over the generated data; its times are aligned to nothing. */
export interface RandomLeaf extends AskedSeries {
  readonly times: SelectorTimes;
  readonly widthSeconds: number | undefined;
}

/** The smallest steps of the generated metrics. */
const smallestOf = (metric: MetricId): number => (metric === "slow" || metric === "slow_gauge" ? 1_200 : 60);

/** Leaves over the generated data: of steps that are multiples of the smallest step, or none, or below it. */
export function randomLeaf(metrics: readonly MetricId[], more: readonly string[] = []): fc.Arbitrary<RandomLeaf> {
  const shape = fc.record({
    isInstant: fc.constantFrom(false, false, false, true),
    step: fc.constantFrom(0.5, 1, 1, 2, 5, 77 / 60),
    wider: fc.option(fc.constantFrom(0, 17, 60, 240, 3_000), { nil: undefined }),
  });
  return fc.tuple(randomQuery(metrics, more), shape).map(([query, { isInstant, step, wider }]) => {
    const { metric, agg, tenant, filters, groupBy, fromMs, seconds } = query;
    const smallest = smallestOf(metric);
    const range = { startMs: fromMs, endMs: fromMs + seconds * 1_000, stepMs: Math.round(smallest * step) * 1_000 };
    return {
      metric,
      agg,
      tenant,
      filters,
      groupBy,
      times: isInstant ? { timeMs: range.endMs } : range,
      widthSeconds: wider === undefined ? undefined : smallest + wider,
    };
  });
}

/** The same leaf some seconds later. */
export function laterLeaf(selector: RandomLeaf, seconds: number): RandomLeaf {
  const { times } = selector;
  const ms = seconds * 1_000;
  const later =
    "timeMs" in times
      ? { timeMs: times.timeMs + ms }
      : { ...times, startMs: times.startMs + ms, endMs: times.endMs + ms };
  return { ...selector, times: later };
}

/** The stamps of a leaf, and the points that these have: t has the one that ends at ⌊t/L⌋·L. */
export interface LeafPoints {
  readonly stamps: readonly number[];
  readonly grid: ResponseGrid;
  readonly endOf: (stampMs: number) => number;
}

/** The points of a leaf from the definition alone: none of the product's code. */
export function pointsOf({ metric, times, widthSeconds }: RandomLeaf): LeafPoints {
  const smallest = smallestOf(metric);
  const stamps = stampsOf(times);
  const [firstMs = 0, lastMs = firstMs] = [stamps[0], stamps.at(-1)];
  const stepSeconds = "timeMs" in times ? 0 : times.stepMs / 1_000;
  const covered = (lastMs - firstMs) / 1_000 + (widthSeconds ?? Math.max(smallest, stepSeconds));
  const unit = Math.max(smallest, downsampleOf(covered));
  const endOf = (ms: number): number => Math.floor(ms / (unit * 1_000)) * unit * 1_000;
  const width = widthSeconds ?? (stepSeconds === 0 ? smallest : Math.max(unit, stepSeconds));
  const readSeconds = stepSeconds > 0 && stepSeconds % unit === 0 ? stepSeconds : unit;
  const window = { fromMs: endOf(firstMs) - width * 1_000, toMs: endOf(lastMs) };
  return { stamps, endOf, grid: { ...window, stepSeconds: readSeconds, widthSeconds: width } };
}

function stampsOf(times: SelectorTimes): readonly number[] {
  if ("timeMs" in times) return [times.timeMs];
  const stamps: number[] = [];
  for (let ms = times.startMs; ms <= times.endMs; ms += times.stepMs) stamps.push(ms);
  return stamps;
}

function downsampleOf(coveredSeconds: number): number {
  if (coveredSeconds > 7 * daySeconds) return 3_600;
  return coveredSeconds > daySeconds ? 300 : 0;
}

/** The value of each stamp, from those of the points. */
export function atStamps<Value>(points: SeriesPoints<Value>, { stamps, endOf }: LeafPoints): SeriesPoints<Value> {
  const placed = [...points].map(([key, own]) => {
    const found = stamps.flatMap((ms) => {
      const value = own.get(endOf(ms));
      return value === undefined ? [] : [[ms, value] as const];
    });
    return [key, new Map(found)] as const;
  });
  return new Map(placed.filter(([, own]) => own.size > 0));
}

/** Asks for one leaf. Fails when the response is not whole. */
export async function askLeaf(
  api: MetricsApi,
  selector: RandomLeaf,
): Promise<{ readonly points: SeriesPoints<number>; readonly cache: string }> {
  const filters = Object.entries({ ...selector.filters, tenant: selector.tenant }) as readonly [LabelName, string][];
  const asked = {
    metric: selector.metric,
    measure: { kind: "aggregation", aggregation: selector.agg },
    filters: new Map(filters.map(([label, value]) => [label, [value]])),
    groupBy: [...selector.groupBy].sort() as LabelName[],
    widthSeconds: selector.widthSeconds,
  } as const;
  const request = { selectors: [asked], times: selector.times, tenant: undefined, isCompleteRequired: true };
  const context = { correlationId: "test", nowMs: readAtMs };
  const answered = await api.selectors(request, everyone, AbortSignal.timeout(responseMsMax), context);
  const { startMs, stepMs, count } = answered.stamps;
  const { stamps } = pointsOf(selector);
  expect([startMs, count]).toEqual([stamps[0], stamps.length]);
  const series = (answered.selectors[0]?.series ?? []).map(({ labels, values }) => {
    const points = [...values].flatMap((value, index) =>
      Number.isNaN(value) ? [] : [[startMs + index * stepMs, value] as const],
    );
    return [keyOf(selector.groupBy, (label) => labels[label as LabelName]), new Map(points)] as const;
  });
  return { points: new Map(series), cache: answered.headers["X-Query-Cache"] ?? "" };
}
