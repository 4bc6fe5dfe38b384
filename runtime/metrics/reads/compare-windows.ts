import type { TimeSlices } from "../../../limits/clock.ts";
import { compareLabels, type Plan, plansOf } from "../planning/plan.ts";
import type { ErrorBounds } from "../merge/quantile.ts";
import type { Query } from "../planning/query.ts";
import { formatDuration, formatTime } from "../request/time.ts";
import { rankSeries } from "./rank-series.ts";
import type { Result, ResultSeries } from "./run-plan.ts";

/**
 * Reads a window, and at the same time the earlier one that it is compared with. Then the series are ranked.
 *
 * @throws what a read throws, after both have ended
 */
export async function readWindows(
  plan: Plan,
  read: (plan: Plan, index: number) => Promise<Result>,
  slices: TimeSlices,
): Promise<Result> {
  const settled = await Promise.allSettled(plansOf(plan).map(read));
  const [current, earlier] = settled.map(fulfilled);
  if (current === undefined) throw new Error("a plan reads its window");
  const compared = earlier === undefined ? current : compareWindows(current, earlier, plan.query);
  const { query } = plan;
  return query.ranking === undefined ? compared : rankSeries(compared, query, query.ranking, slices);
}

function fulfilled(settled: PromiseSettledResult<Result>): Result {
  if (settled.status === "rejected") throw settled.reason;
  return settled.value;
}

/**
 * The result of a window with the points of an earlier window next to those of the same place in it. Series of the
 * earlier window alone have no points of their own.
 */
export function compareWindows(current: Result, earlier: Result, { earlier: query, compareSeconds }: Query): Result {
  if (query === undefined || compareSeconds === undefined) return current;
  const before = new Map(earlier.series.map((one) => [keyOf(one), one]));
  const series = current.series.map((one): ResultSeries => {
    const previous = before.get(keyOf(one))?.values ?? absent(one);
    before.delete(keyOf(one));
    return { ...one, previous };
  });
  const alone = [...before.values()].map((one): ResultSeries => {
    const text = { written: undefined, moved: undefined };
    return { ...one, values: absent(one), previous: one.values, bounds: undefined, text };
  });
  const failed = new Set(current.failures.map(({ metric }) => metric));
  return {
    ...joined(current, earlier),
    series: alone.length === 0 ? series : [...series, ...alone].sort(compareSeries),
    hints: [...(current.hints ?? []), ...(earlier.hints ?? []).map((hint) => `earlier window: ${hint}`)],
    failures: [...current.failures, ...earlier.failures.filter(({ metric }) => !failed.has(metric))],
    earlier: {
      shift: formatDuration(compareSeconds),
      from: formatTime(query.window.fromMs),
      to: formatTime(query.window.toMs),
      partial: earlier.partial,
      regions: earlier.regions,
    },
  };
}

/** What is missing in either window is missing in the response. */
function joined(current: Result, earlier: Result): Result {
  const waits = [current, earlier].flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  return {
    ...current,
    partial: current.partial || earlier.partial,
    mayRunCheaper: current.mayRunCheaper || earlier.mayRunCheaper,
    ...(waits.length === 0 ? {} : { retryAfterSeconds: Math.max(...waits) }),
    shards: {
      requested: current.shards.requested + earlier.shards.requested,
      responded: current.shards.responded + earlier.shards.responded,
    },
  };
}

function keyOf({ metric, key }: ResultSeries): string {
  return `${metric} ${key}`;
}

function absent({ values }: ResultSeries): Float64Array {
  return new Float64Array(values.length).fill(Number.NaN);
}

function compareSeries(a: ResultSeries, b: ResultSeries): number {
  if (a.metric !== b.metric) return a.metric < b.metric ? -1 : 1;
  return compareLabels(a.labels, b.labels);
}

/**
 * The change of each point as its absolute (`low`) and its relative part (`high`). Both are NaN without an earlier
 * point. The relative part is the absolute one divided by the size of the earlier point; NaN if that is 0.
 */
export function changeOf(values: Float64Array, previous: Float64Array): ErrorBounds {
  const low = values.map((value, index) => value - (previous[index] ?? Number.NaN));
  const high = low.map((change, index) =>
    previous[index] === 0 ? Number.NaN : change / Math.abs(previous[index] ?? 0),
  );
  return { low, high };
}
