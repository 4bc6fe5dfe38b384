// Ranks the series of each metric after the exact merge of all stores. Stores return every group, because the top
// series of a single store need not be those of all stores together.
import { type RankedMetric, rankedSeriesMax } from "../../../api/queries.ts";
import type { TimeSlices } from "../../../limits/clock.ts";
import { invalidField } from "../../errors/api-error.ts";
import type { QueriedMetric, Query } from "../planning/query.ts";
import type { Recipe } from "../promql/recipe.ts";
import type { Ranking } from "../request/read-comparison.ts";
import type { Result, ResultSeries } from "./run-plan.ts";

/**
 * The result with the top series of each metric, in the order of their ranks, and then the sum of all others. Equal
 * values are ordered by labels. Infinite values do not count, since responses leave them out: a series without finite
 * values is not ranked.
 *
 * @throws ApiError `too_many_candidates`
 */
export async function rankSeries(
  result: Result,
  { metrics }: Pick<Query, "metrics">,
  ranking: Ranking,
  slices: TimeSlices,
): Promise<Result> {
  const ranked: RankedMetric[] = [];
  const hints: string[] = [];
  const own = Map.groupBy(result.series, ({ metric }) => metric);
  const all = metrics.map((metric) => ({ metric, series: own.get(metric.entry.metric.id) ?? [] }));
  const add = (one: RankedMetric, unranked: number): void => {
    ranked.push(one);
    if (unranked > 0) hints.push(`${one.metric}: ${unrankedText(unranked)}`);
  };
  const series = await slices.collect(rankAll(all, ranking, add));
  return { ...result, series: series.flat(), ranked, hints: [...(result.hints ?? []), ...hints] };
}

function unrankedText(count: number): string {
  const have = count === 1 ? "1 series has" : `${count} series have`;
  return `${have} no finite value in the time range, and no rank`;
}

interface Candidates {
  readonly metric: QueriedMetric;
  /** Sorted by labels. */
  readonly series: readonly ResultSeries[];
}

interface Ranked {
  readonly one: ResultSeries;
  readonly value: number;
}

/** Ranks one metric after another, one series in each step. The last step of a metric yields its series. */
function* rankAll(
  all: readonly Candidates[],
  ranking: Ranking,
  add: (ranked: RankedMetric, unranked: number) => void,
): Generator<readonly ResultSeries[]> {
  for (const { metric, series } of all) {
    const { id } = metric.entry.metric;
    const candidates: Ranked[] = [];
    for (const one of series) {
      const value = rankedValue(one.values, ranking.by);
      if (!Number.isNaN(value)) candidates.push({ one, value });
      yield [];
    }
    requireFew(id, candidates.length);
    const sign = ranking.order === "desc" ? -1 : 1;
    // The sort is stable, so that equal values stay in the order of their labels.
    const top = candidates.sort((a, b) => sign * (a.value - b.value)).slice(0, ranking.count);
    const chosen = new Set(top.map(({ one }) => one));
    const rest = series.filter((one) => !chosen.has(one));
    const reason = rest.length === 0 ? undefined : reasonWithoutSum(metric.recipe);
    const about = reason === undefined ? {} : { reason };
    add(
      { metric: id, candidates: candidates.length, omitted: rest.length, ...about },
      series.length - candidates.length,
    );
    yield top.map(({ one }, index) => ({ ...one, rank: index + 1 }));
    if (rest.length > 0 && reason === undefined) yield* otherOf(rest);
  }
}

function requireFew(id: string, count: number): void {
  if (count <= rankedSeriesMax) return;
  const advice = "filter more or group by fewer labels";
  const detail = `${id} has ${count} series to rank, more than ${rankedSeriesMax}; ${advice}`;
  throw invalidField("too_many_candidates", "top", detail);
}

/** The value that a series is ranked by, over its finite points; NaN without any. It loops by index for speed. */
export function rankedValue(values: Float64Array, by: Ranking["by"]): number {
  let [sum, count, most, last] = [0, 0, Number.NaN, Number.NaN];
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? Number.NaN;
    if (!Number.isFinite(value)) continue;
    sum += value;
    count += 1;
    last = value;
    if (!(value <= most)) most = value;
  }
  switch (by) {
    case "max":
      return most;
    case "last":
      return last;
    case "avg":
      return Number.isFinite(sum) ? sum / count : meanOfParts(values, count);
    default:
      return by satisfies never;
  }
}

/** The mean of values whose sum is too large for a number. */
function meanOfParts(values: Float64Array, count: number): number {
  return values.reduce((mean, value) => (Number.isFinite(value) ? mean + value / count : mean), 0);
}

/** The reason for which values of groups have no sum; undefined for sums, counts and rates, whose sum is exact. */
function reasonWithoutSum(recipe: Recipe): string | undefined {
  if (recipe.kind === "quantile") return "percentiles of groups do not add up";
  const [statistic, ...others] = recipe.statistics;
  if (others.length > 0) return "averages and ratios of groups do not add up";
  return statistic?.merge === "sum" ? undefined : "minima and maxima of groups do not add up";
}

/** Sums the series that are not among the top, one series in each step. */
function* otherOf(rest: readonly ResultSeries[]): Generator<readonly ResultSeries[]> {
  const [first] = rest;
  if (first === undefined) return;
  const sum = createSum(first.values.length);
  const earlier = createSum(first.values.length);
  for (const { values, previous } of rest) {
    sum.add(values);
    if (previous !== undefined) earlier.add(previous);
    yield [];
  }
  yield [
    {
      metric: first.metric,
      labels: {},
      key: "other",
      values: sum.values(),
      bounds: undefined,
      text: { written: undefined, moved: undefined },
      exemplars: first.exemplars && [],
      ...(first.previous === undefined ? {} : { previous: earlier.values() }),
      other: rest.length,
    },
  ];
}

/** Adds series point by point. A point that all of them lack is absent. */
function createSum(count: number) {
  const [sums, present] = [new Float64Array(count), new Uint8Array(count)];
  return {
    add(values: Float64Array): void {
      for (let index = 0; index < count; index += 1) {
        const value = values[index] ?? Number.NaN;
        if (Number.isNaN(value)) continue;
        sums[index] = (sums[index] ?? 0) + value;
        present[index] = 1;
      }
    },
    values: () => sums.map((value, index) => (present[index] === 1 ? value : Number.NaN)),
  };
}
