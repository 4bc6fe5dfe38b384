import type { MissingPart } from "../aggregation/complete-parts.ts";
import { mergeMetric, mergedSeriesMax, type MergedSeries } from "../aggregation/merge.ts";
import type { Plan } from "../planning/plan.ts";
import type { QueriedMetric } from "../planning/query.ts";
import { metricIdentityOf } from "../planning/query-identity.ts";
import type { EarlierWindow, FinishedMetrics } from "./finished-metrics.ts";
import {
  cutParts,
  moveMissing,
  moveSeries,
  readsOf,
  sortedByLabels,
  type FinishedMetric,
  type FinishedSeries,
} from "./moved-window.ts";
import type { PartResult } from "./read-part.ts";
import { newText } from "./series-text.ts";

/** What finishing needs besides the parts. */
export interface Finishing {
  readonly plan: Plan;
  readonly finished: FinishedMetrics;
}

/** What a step yields: its series come together, sorted, at the end. */
type Step = readonly never[];
const noSeries: Step = [];

/**
 * Finishes one metric, one series in each step. It returns the series sorted by labels, and the parts that stores lack.
 * A point depends on the reads of its own time only. Points that an earlier window has from the same reads are
 * therefore not merged again.
 *
 * @throws Refusal `incompatible_buckets`, `result_too_large`
 */
export function* finishMetric(
  metric: QueriedMetric,
  parts: readonly PartResult[],
  { plan, finished }: Finishing,
): Generator<Step, Pick<FinishedMetric, "series" | "missing">> {
  const { grid, query } = plan;
  // A single point shares nothing with a later one.
  const reads = grid.count > 1 ? readsOf(parts, grid, finished.numberOf) : undefined;
  if (reads === undefined) return yield* finishAfresh(metric, parts, plan);
  const stores = parts.map(({ part }) => part.store);
  const key = metricIdentityOf(query, metric, stores);
  const earlier = finished.find(key, grid, reads);
  const moved = earlier && (yield* finishMoved(metric, parts, { plan, earlier }));
  const made = moved ?? (yield* finishAfresh(metric, parts, plan));
  finished.add(key, { grid, reads, ...made }, earlier?.metric);
  return made;
}

type Made = Pick<FinishedMetric, "series" | "groupsMax" | "missing">;

function* finishAfresh({ recipe }: QueriedMetric, parts: readonly PartResult[], plan: Plan): Generator<Step, Made> {
  const { merged, groups, missing } = yield* mergeAll(recipe, parts, plan);
  const series = sortedByLabels(merged.map((one) => ({ ...one, text: newText() })));
  return { series, groupsMax: groups, missing };
}

/** Merges the points of the span only. Undefined when all groups together could be too many. */
function* finishMoved(
  { recipe }: QueriedMetric,
  parts: readonly PartResult[],
  { plan, earlier: { metric, span } }: { readonly plan: Plan; readonly earlier: EarlierWindow },
): Generator<Step, Made | undefined> {
  const { startMs, stepMs } = plan.grid;
  const grid = { startMs: startMs + span.begin * stepMs, stepMs, count: span.end - span.begin };
  const { merged, groups, missing } =
    grid.count === 0
      ? { merged: [], groups: 0, missing: [] }
      : yield* mergeAll(recipe, cutParts(parts, span), { ...plan, grid });
  const known = new Set(metric.series.map(({ key }) => key));
  const added = merged.filter(({ key }) => !known.has(key)).length;
  const groupsMax = metric.groupsMax + added + groups - merged.length;
  if (groupsMax > mergedSeriesMax) return undefined;
  const series: FinishedSeries[] = [];
  for (const one of moveSeries(metric, plan.grid, { span, changed: merged })) {
    series.push(one);
    yield noSeries;
  }
  return {
    series: added === 0 ? series : sortedByLabels(series),
    groupsMax,
    missing: moveMissing(metric, plan.grid, { span, changed: missing }),
  };
}

interface MergedAll {
  readonly merged: readonly MergedSeries[];
  readonly groups: number;
  readonly missing: readonly MissingPart[];
}

function* mergeAll(...[recipe, parts, plan]: Parameters<typeof mergeMetric>): Generator<Step, MergedAll> {
  const merging = mergeMetric(recipe, parts, plan);
  const merged: MergedSeries[] = [];
  let next = merging.next();
  for (; next.done !== true; next = merging.next()) {
    merged.push(next.value);
    yield noSeries;
  }
  return { merged, ...next.value };
}
