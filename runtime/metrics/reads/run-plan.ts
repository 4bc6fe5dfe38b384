// Runs a plan: store middleware, reads of parts, bulkheads, region status and exemplars. The bodies and headers of
// responses are elsewhere.
import type { Exemplar, QueryMeta, RankedMetric, RegionState } from "../../../api/queries.ts";
import type { TimeSlices } from "../../../limits/clock.ts";
import { ApiError } from "../../errors/api-error.ts";
import { type ByteBudget, createByteBudget, fanOut, type FanOutOptions } from "../../stores/limits/fan-out.ts";
import type { Stores } from "../../stores/store.ts";
import type { Plan, PlannedPart } from "../planning/plan.ts";
import type { QueriedMetric, Query } from "../planning/query.ts";
import { countHidden, exemplarsBySeries } from "./exemplars.ts";
import { type FinishedMetrics, type Finishing, finishMetric } from "./finish-metric.ts";
import type { FinishedSeries } from "./moved-window.ts";
import { ageSeconds, stalestMs } from "./read-newest.ts";
import { type PartOutcome, type PartResult, readPart } from "./read-part.ts";
import {
  gapsOf,
  mayRunCheaper,
  type RegionGap,
  regionReports,
  requireResponses,
  requireParts,
  retryAfterOf,
} from "./region-status.ts";

/** One finished series with its metric. */
export interface ResultSeries extends FinishedSeries {
  readonly metric: string;
  /** Undefined when the query requests none. */
  readonly exemplars: readonly Exemplar[] | undefined;
  /** The points of the earlier window, each at the place of its time in the window. */
  readonly previous?: Float64Array;
  /** Its place among the top series of its metric, from 1. */
  readonly rank?: number;
  /** The number of series that it is the sum of. */
  readonly other?: number;
}

/** The result of a query, before it is split into pages. */
export interface Result {
  /** By metric id, then by labels. */
  readonly series: readonly ResultSeries[];
  /** Number of exemplars that are hidden, since they have no trace id. */
  readonly exemplarsHidden: number;
  /** Number of infinite points that `series` lacks. @default 0 */
  readonly infinitePoints?: number;
  /** The earlier window whose points are `previous`. @default none */
  readonly earlier?: QueryMeta["compare"];
  /** How the series were ranked, by metric. @default they were not ranked */
  readonly ranked?: readonly RankedMetric[];
  /** Sentences about missing series and values. @default none */
  readonly hints?: readonly string[];
  /** Metrics whose stores cannot be merged. The other metrics have series. */
  readonly failures: readonly MetricFailure[];
  readonly regions: readonly RegionState[];
  /** Some data is missing. */
  readonly partial: boolean;
  /** A cheaper query may have the missing data. */
  readonly mayRunCheaper: boolean;
  /** Seconds after which the missing data may be read. @default that of a store that failed once */
  readonly retryAfterSeconds?: number;
  /** Undefined without any sample. */
  readonly freshnessSeconds: number | undefined;
  /** Store reads: all, and the successful ones; one for each store and metric. */
  readonly shards: { readonly requested: number; readonly responded: number };
}

/** One metric that failed alone. */
interface MetricFailure {
  readonly metric: string;
  readonly error: ApiError;
}

interface RunOptions {
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  readonly nowMs: number;
  /** Schedules the merge. */
  readonly slices: TimeSlices;
  /** Metrics of earlier windows. */
  readonly finished: FinishedMetrics;
  readonly correlationId: string;
  /** Set when the caller may see the messages of stores that rejected a query. */
  readonly showsMessages: boolean;
  /** Receives the outcome of each part before the merge. */
  readonly observe: (outcomes: readonly PartOutcome[]) => void;
}

/**
 * Reads all parts of a plan and merges them.
 *
 * @throws ApiError when no store responded, a required part is missing, or the parts cannot be merged; the signal's
 *   reason
 */
export async function runPlan(plan: Plan, stores: Stores, options: RunOptions): Promise<Result> {
  const outcomes = await readStores(plan, stores, { ...options, bytes: createByteBudget() });
  options.observe(outcomes);
  requireResponses(outcomes, plan.query, options.showsMessages);
  const results = outcomes.flatMap(({ outcome }) => (outcome.ok ? [outcome.value] : []));
  const errors = outcomes.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome.error]));
  const failures: MetricFailure[] = [];
  const gaps: RegionGap[] = [];
  const failed = (failure: MetricFailure): void => void failures.push(failure);
  const lacking = (own: readonly RegionGap[]): void => void gaps.push(...own);
  const finishing = { plan, finished: options.finished, failed, lacking };
  const finished = await options.slices.collect(finishAll(results, finishing));
  const [first] = failures;
  if (first !== undefined && failures.length === plan.query.metrics.length) throw first.error;
  const regions = regionReports(outcomes, gaps);
  requireParts(regions, plan.query);
  const series = finished.flat();
  const found = new Set(series.map(({ metric }) => metric));
  return {
    series,
    hints: resultHints(plan.query, results, (id) => found.has(id)),
    failures,
    exemplarsHidden: plan.query.exemplars ? countHidden(results) : 0,
    regions,
    partial: regions.some(({ state }) => state !== "ok"),
    mayRunCheaper: mayRunCheaper(errors),
    retryAfterSeconds: retryAfterOf(errors),
    freshnessSeconds: ageSeconds(stalestMs([{ plan, results }]), options.nowMs),
    shards: { requested: outcomes.length, responded: results.length },
  };
}

/** Merges one metric after another. A metric that cannot be merged does not affect the others. */
function* finishAll(
  results: readonly PartResult[],
  { failed, ...finishing }: FinishingAll & { readonly failed: (failure: MetricFailure) => void },
): Generator<readonly ResultSeries[]> {
  for (const metric of finishing.plan.query.metrics) {
    const own = results.filter(({ part }) => part.metric === metric);
    try {
      yield* finishOne(metric, own, finishing);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "incompatible_buckets") throw error;
      failed({ metric: metric.entry.metric.id, error });
    }
  }
}

interface FinishingAll extends Finishing {
  /** Receives the gaps of each metric. */
  readonly lacking: (gaps: readonly RegionGap[]) => void;
}

/** Merges one metric, one series in each step. The last step yields all its series, sorted. */
function* finishOne(
  metric: QueriedMetric,
  own: readonly PartResult[],
  { plan, finished, lacking }: FinishingAll,
): Generator<readonly ResultSeries[]> {
  const { series, missing } = yield* finishMetric(metric, own, { plan, finished });
  const parts = own.map(({ part }) => part);
  lacking(gapsOf(missing, parts, plan));
  const exemplars = plan.query.exemplars ? exemplarsBySeries(own, plan) : undefined;
  yield series.map((one) => ({
    metric: metric.entry.metric.id,
    ...one,
    exemplars: exemplars === undefined ? undefined : (exemplars.get(one.key) ?? []),
  }));
}

interface ReadOptions extends FanOutOptions {
  /** Bounds the bytes of all stores together. */
  readonly bytes: ByteBudget;
  /** Of the request. @default the stores receive none */
  readonly correlationId?: string | undefined;
}

/** Reads every part of a plan concurrently. @throws the signal's reason when the caller leaves */
export async function readStores(
  plan: Plan,
  stores: Stores,
  { bytes, correlationId, ...options }: ReadOptions,
): Promise<readonly PartOutcome[]> {
  const origin =
    correlationId === undefined ? undefined : { correlationId, endsAtMs: performance.now() + options.deadlineMs };
  const read = (part: PlannedPart, signal: AbortSignal): Promise<PartResult> =>
    readPart({ plan, part, store: stores.get(part.store.key) }, { signal, bytes, origin });
  const outcomes = await fanOut({ jobs: plan.parts, storeOf: ({ store }) => store.key, run: read }, options);
  return plan.parts.flatMap((part, index) => {
    const outcome = outcomes[index];
    return outcome === undefined ? [] : [{ part, outcome }];
  });
}

/**
 * Hints about metrics of which no store has a series, and about values that are not a number. JSON cannot represent
 * those, so that their points are left out.
 *
 * @param hasSeries tests if the result has a series of the metric
 */
function resultHints(
  { metrics, filters }: Pick<Query, "metrics" | "filters">,
  results: readonly PartResult[],
  hasSeries: (metric: string) => boolean,
): readonly string[] {
  // Filters of other labels may match nothing.
  const isOfAll = [...filters.keys()].every((label) => ["tenant", "region", "environment"].includes(label));
  return metrics.flatMap((metric) => {
    const { id } = metric.entry.metric;
    const own = results.filter(({ part }) => part.metric === metric);
    if (own.length === 0) return [];
    if (isEmpty(own)) {
      if (!isOfAll) return [];
      return [
        `${id}: no store has a series for this time range; if this persists, compare the name and ` +
          "the kind of its series in the catalog with the stores",
      ];
    }
    const { nan, infinite } = metric.recipe.kind === "scalar" ? countOdd(own) : { nan: 0, infinite: 0 };
    const odd = hasSeries(id) ? nan : nan + infinite;
    if (odd === 0) return [];
    const are = odd === 1 ? "is" : "are";
    return [
      `${id}: points that are not a number are omitted; ${odd} of the values from its stores ${are} NaN or infinite`,
    ];
  });
}

function isEmpty(results: readonly PartResult[]): boolean {
  return results.every(
    ({ ranges, histograms }) => histograms.length + ranges.flatMap((one) => one.series).length === 0,
  );
}

/** It loops by index, because it reads every value of the stores. */
function countOdd(results: readonly PartResult[]): { readonly nan: number; readonly infinite: number } {
  let [nan, infinite] = [0, 0];
  for (const { values, present } of results.flatMap(({ ranges }) => ranges.flatMap(({ series }) => series))) {
    for (let index = 0; index < values.length; index += 1) {
      const value = values[index] ?? 0;
      if (present[index] !== 1 || Number.isFinite(value)) continue;
      if (Number.isNaN(value)) nan += 1;
      else infinite += 1;
    }
  }
  return { nan, infinite };
}
