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
  /** Where each value of a percentile surely lies; undefined for other aggregations. */
  readonly bounds: ErrorBounds | undefined;
  /** Undefined: none were asked for. */
  readonly exemplars: readonly Exemplar[] | undefined;
}

/** Everything that a query found, before it is paged. */
export interface Result {
  /** By metric id, then by labels. */
  readonly series: readonly ResultSeries[];
  /** Exemplars that are not shown, since what they carry is no trace id. */
  readonly exemplarsHidden: number;
  /** Metrics of several whose stores cannot be merged; of the others there are series. */
  readonly failures: readonly MetricFailure[];
  readonly regions: readonly RegionReport[];
  /** Some data is missing. */
  readonly partial: boolean;
  /** Undefined where no sample was seen. */
  readonly freshnessSeconds: number | undefined;
  /** Stores that were asked and stores that answered, each counted once per metric. */
  readonly shards: { readonly asked: number; readonly answered: number };
}

/** One metric that failed by itself. */
interface MetricFailure {
  readonly metric: string;
  readonly refusal: Refusal;
}

interface RunOptions {
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  readonly nowMs: number;
  /** In which the answer is put together. */
  readonly slices: TimeSlices;
  /** Of the request; undefined: none in particular. */
  readonly correlationId?: string | undefined;
  /** Whether the caller may be told what stores said of queries that they refused. @default false */
  readonly tellsRefusals?: boolean;
  /** Told how each store ended, before anything is made of it. */
  readonly observe: (outcomes: readonly PartOutcome[]) => void;
}

/**
 * Carries a plan out. @throws Refusal when no store answered, too few did, or the parts do not compose; the signal's
 * reason
 */
export async function runPlan(plan: Plan, stores: Stores, options: RunOptions): Promise<Result> {
  const outcomes = await readStores(plan, stores, { ...options, bytes: createByteBudget() });
  options.observe(outcomes);
  requireAnswers(outcomes, plan.query, options.tellsRefusals);
  const answers = outcomes.flatMap(({ outcome }) => (outcome.ok ? [outcome.value] : []));
  const regions = regionReports(outcomes);
  const failures: MetricFailure[] = [];
  const finished = await options.slices.collect(finishAll(answers, plan, (failure) => void failures.push(failure)));
  const [first] = failures;
  if (first !== undefined && failures.length === plan.query.metrics.length) throw first.refusal;
  return {
    series: finished.flat(),
    failures,
    exemplarsHidden: plan.query.exemplars ? countHidden(answers) : 0,
    regions,
    partial: regions.some(({ state }) => state !== "ok"),
    freshnessSeconds: freshnessSeconds(answers, plan, options.nowMs),
    shards: { asked: outcomes.length, answered: answers.length },
  };
}

/** One metric after another; what cannot be merged of one leaves the others as they are. */
function* finishAll(
  answers: readonly PartResult[],
  plan: Plan,
  failed: (failure: MetricFailure) => void,
): Generator<readonly ResultSeries[]> {
  for (const metric of plan.query.metrics) {
    const own = answers.filter(({ part }) => part.metric === metric);
    try {
      yield* finishOne(metric, own, plan);
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== "incompatible_buckets") throw error;
      failed({ metric: metric.entry.metric.id, refusal: error });
    }
  }
}

/** Series of one metric, sorted once all of them are there; nothing while there is more to do. */
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
