import {
  inStore,
  keyOf,
  kinds,
  type ResponseGrid,
  type AskedSeries,
  type SeriesPoints,
} from "../../runtime/metrics/oracle/asked.ts";
import {
  anchoredIncrease,
  countOverTime,
  increase,
  sumOverTime,
  type RangeFunction,
} from "../../runtime/metrics/oracle/range-functions.ts";
import type { Expected, RawSeries } from "../../runtime/metrics/oracle/recompute.ts";
import { deadlineMs } from "../catalog.ts";
import { rawOf, type RawSource } from "./raw-sources.ts";
import type { States } from "./possible-states.ts";

/** One point of an average. */
interface TornQuestion {
  readonly asked: AskedSeries;
  readonly sources: readonly RawSource[];
  readonly states: States;
  readonly keep: (series: RawSeries) => boolean;
  readonly ms: number;
  readonly grid: ResponseGrid;
}

/** Requests of one part go out together, so that their answers are of times this far apart at most. */
const apartMsMax = deadlineMs;

interface Half {
  readonly name: string;
  readonly fn: RangeFunction;
  readonly wanted: Readonly<Record<string, string>>;
}

/**
 * What an average may be whose numerator and denominator a store answered one after the other, in two requests of one
 * query. Empty for what is one request.
 */
export function tornPoint(question: TornQuestion): readonly SeriesPoints<Expected>[] {
  const halves = halvesOf(question.asked);
  if (halves === undefined) return [];
  const { moments } = question.states;
  const apartMs = (one: number, other: number): number =>
    Math.max(one, other) - Math.min(endOf(moments, one), endOf(moments, other));
  return moments.flatMap(([aboveMs, above]) =>
    moments
      .filter(([belowMs]) => apartMs(aboveMs, belowMs) <= apartMsMax)
      .map(([, below]) => ratioOf(question, halves, [above, below])),
  );
}

/** When the state that began at a moment ended. */
function endOf(moments: States["moments"], beganMs: number): number {
  return moments.find(([atMs]) => atMs > beganMs)?.[0] ?? Number.POSITIVE_INFINITY;
}

function halvesOf({ metric, agg }: AskedSeries): readonly [above: Half, below: Half] | undefined {
  const { kind, name } = kinds[metric];
  if (agg !== "avg") return undefined;
  if (kind === "gauge") {
    return [
      { name, fn: sumOverTime, wanted: {} },
      { name, fn: countOverTime, wanted: {} },
    ];
  }
  if (kind === "ratio") {
    return [
      { name, fn: increase, wanted: { result: "ok" } },
      { name, fn: increase, wanted: {} },
    ];
  }
  if (kind !== "histogram" && kind !== "anchoredHistogram") return undefined;
  const fn = kind === "histogram" ? increase : anchoredIncrease;
  return [
    { name: `${name}_sum`, fn, wanted: {} },
    { name: `${name}_count`, fn, wanted: {} },
  ];
}

function ratioOf(
  question: TornQuestion,
  [above, below]: readonly [Half, Half],
  [aboveStates, belowStates]: readonly [readonly number[], readonly number[]],
): SeriesPoints<Expected> {
  const [tops, bottoms] = [sumsOf(question, above, aboveStates), sumsOf(question, below, belowStates)];
  const points = [...tops].flatMap(([key, top]) => {
    const value = top / (bottoms.get(key) ?? Number.NaN);
    return Number.isFinite(value) ? [[key, new Map([[question.ms, { low: value, high: value }]])] as const] : [];
  });
  return new Map(points);
}

function sumsOf(
  { asked, sources, keep, ms, grid }: TornQuestion,
  { name, fn, wanted }: Half,
  states: readonly number[],
): ReadonlyMap<string, number> {
  const filters = { ...asked.filters, tenant: asked.tenant, ...wanted };
  const sums = new Map<string, number>();
  for (const { labels, samples } of rawOf(sources, states, keep)(name)) {
    if (!Object.entries(filters).every(([label, value]) => labels[inStore(label)] === value)) continue;
    const value = fn(samples, ms, grid.stepSeconds * 1_000);
    const key = keyOf(asked.groupBy, (label) => labels[inStore(label)]);
    if (value !== undefined) sums.set(key, (sums.get(key) ?? 0) + value);
  }
  return sums;
}
