// Runs a plan: store middleware, reads of parts, bulkheads, region status and exemplars. The bodies and headers of
// responses are elsewhere.
import { Refusal } from "../../errors/refusal.ts";
import type { TimeSlices } from "../../bounds/time-slices.ts";
import { createByteBudget } from "../../stores/limits/byte-budget.ts";
import type { Stores } from "../../stores/store-set.ts";
import { countHidden, exemplarsBySeries, type Exemplar } from "./exemplars.ts";
import { freshnessSeconds } from "./freshness.ts";
import { compareLabels, labelsKey, type Labels } from "../planning/labels.ts";
import { mergeMetric, type MergedSeries } from "../aggregation/merge.ts";
import type { Plan } from "../planning/plan.ts";
import type { QueriedMetric } from "../planning/query.ts";
import type { ErrorBounds } from "../aggregation/quantiles.ts";
import type { PartResult } from "./read-part.ts";
import { readStores, type PartOutcome } from "./read-stores.ts";
import { regionReports, requireAnswers, type RegionReport } from "./region-status.ts";

/** One finished series. */
export interface ResultSeries {
  readonly metric: string;
  readonly labels: Labels;
  /** Over the plan's grid; NaN is a gap. */
  readonly values: Float64Array;
  /** Bounds of each value of a percentile; undefined for other aggregations. */
  readonly bounds: ErrorBounds | undefined;
  /** Undefined when the query requests none. */
  readonly exemplars: readonly Exemplar[] | undefined;
}

/** The result of a query, before it is split into pages. */
export interface Result {
  /** By metric id, then by labels. */
  readonly series: readonly ResultSeries[];
  /** Number of exemplars that are hidden, since they have no trace id. */
  readonly exemplarsHidden: number;
  /** Metrics whose stores cannot be merged. The other metrics have series. */
  readonly failures: readonly MetricFailure[];
  readonly regions: readonly RegionReport[];
  /** Some data is missing. */
  readonly partial: boolean;
  /** Undefined without any sample. */
  readonly freshnessSeconds: number | undefined;
  /** Store reads: all, and the successful ones; one for each store and metric. */
  readonly shards: { readonly asked: number; readonly answered: number };
}

/** One metric that failed alone. */
interface MetricFailure {
  readonly metric: string;
  readonly refusal: Refusal;
}

interface RunOptions {
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  readonly nowMs: number;
  /** Schedules the merge. */
  readonly slices: TimeSlices;
  readonly correlationId: string;
  /** Set when the caller may see the messages of stores that refused a query. */
  readonly showsRefusals: boolean;
  /** Receives the outcome of each part before the merge. */
  readonly observe: (outcomes: readonly PartOutcome[]) => void;
}

/**
 * Reads all parts of a plan and merges them.
 *
 * @throws Refusal when no store answered, a required part is missing, or the parts cannot be merged; the signal's
 *   reason
 */
export async function runPlan(plan: Plan, stores: Stores, options: RunOptions): Promise<Result> {
  const outcomes = await readStores(plan, stores, { ...options, bytes: createByteBudget() });
  options.observe(outcomes);
  requireAnswers(outcomes, plan.query, options.showsRefusals);
  const results = outcomes.flatMap(({ outcome }) => (outcome.ok ? [outcome.value] : []));
  const regions = regionReports(outcomes);
  const failures: MetricFailure[] = [];
  const finished = await options.slices.collect(finishAll(results, plan, (failure) => void failures.push(failure)));
  const [first] = failures;
  if (first !== undefined && failures.length === plan.query.metrics.length) throw first.refusal;
  return {
    series: finished.flat(),
    failures,
    exemplarsHidden: plan.query.exemplars ? countHidden(results) : 0,
    regions,
    partial: regions.some(({ state }) => state !== "ok"),
    freshnessSeconds: freshnessSeconds(results, plan, options.nowMs),
    shards: { asked: outcomes.length, answered: results.length },
  };
}

/** Merges one metric after another. A metric that cannot be merged does not affect the others. */
function* finishAll(
  results: readonly PartResult[],
  plan: Plan,
  failed: (failure: MetricFailure) => void,
): Generator<readonly ResultSeries[]> {
  for (const metric of plan.query.metrics) {
    const own = results.filter(({ part }) => part.metric === metric);
    try {
      yield* finishOne(metric, own, plan);
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== "incompatible_buckets") throw error;
      failed({ metric: metric.entry.metric.id, refusal: error });
    }
  }
}

/** Merges one metric, one series in each step. The last step yields all its series, sorted. */
function* finishOne(metric: QueriedMetric, own: readonly PartResult[], plan: Plan): Generator<readonly ResultSeries[]> {
  const [first] = own;
  if (first === undefined) return;
  const merged: MergedSeries[] = [];
  for (const series of mergeMetric(first.part.metric.recipe, own, plan)) {
    merged.push(series);
    yield [];
  }
  yield finishMetric(metric.entry.metric.id, merged, plan.query.exemplars ? exemplarsBySeries(own, plan) : undefined);
}

type ExemplarsByKey = ReturnType<typeof exemplarsBySeries> | undefined;

function finishMetric(
  metric: string,
  merged: readonly MergedSeries[],
  exemplars: ExemplarsByKey,
): readonly ResultSeries[] {
  return merged
    .toSorted((a, b) => compareLabels(a.labels, b.labels))
    .map(({ labels, values, bounds }) => ({
      metric,
      labels,
      values,
      bounds,
      exemplars: exemplars === undefined ? undefined : (exemplars.get(labelsKey(labels)) ?? []),
    }));
}
