import type { Pace } from "../bounds/pace.ts";
import type { ByteBudget } from "../stores/byte-budget.ts";
import type { StoreSet } from "../stores/store-set.ts";
import { exemplarsBySeries, type Exemplar } from "./exemplars.ts";
import { freshnessSeconds } from "./freshness.ts";
import { compareLabels, labelsKey, type Labels } from "./labels.ts";
import { mergeMetric, type MergedSeries } from "./merge.ts";
import type { Plan } from "./plan.ts";
import type { ErrorBounds } from "./quantiles.ts";
import type { StoreAnswer } from "./read-part.ts";
import { readStores, type PartOutcome } from "./read-stores.ts";
import { regionReports, requireAnswers, type RegionReport } from "./region-states.ts";

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
  readonly regions: readonly RegionReport[];
  /** Some data is missing. */
  readonly partial: boolean;
  readonly freshnessSeconds: number;
  /** Stores that were asked and stores that answered, each counted once per metric. */
  readonly shards: { readonly asked: number; readonly answered: number };
}

export interface RunOptions {
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /** What all stores together may answer. */
  readonly bytes: ByteBudget;
  readonly nowMs: number;
  /** In which the answer is put together. */
  readonly pace: Pace;
  /** Of the request; undefined: none in particular. */
  readonly correlationId?: string | undefined;
  /** Told how each store ended, before anything is made of it. */
  readonly observe: (outcomes: readonly PartOutcome[]) => void;
}

/** Carries a plan out. @throws Refusal when no store answered, too few did, or the parts do not compose; the signal's reason */
export async function runPlan(plan: Plan, stores: StoreSet, options: RunOptions): Promise<Result> {
  const outcomes = await readStores(plan, stores, options);
  options.observe(outcomes);
  requireAnswers(outcomes, plan.query);
  const answers = outcomes.flatMap(({ outcome }) => (outcome.ok ? [outcome.value] : []));
  const regions = regionReports(outcomes);
  const finished = await options.pace.collect(finishAll(answers, plan));
  return {
    series: finished.flat(),
    regions,
    partial: regions.some(({ state }) => state !== "ok"),
    freshnessSeconds: freshnessSeconds(answers, plan, options.nowMs),
    shards: { asked: outcomes.length, answered: answers.length },
  };
}

/** Series of one metric after another, sorted once all of a metric are there; nothing while there is more of it to do. */
function* finishAll(answers: readonly StoreAnswer[], plan: Plan): Generator<readonly ResultSeries[]> {
  for (const metric of plan.query.metrics) {
    const own = answers.filter(({ part }) => part.metric === metric);
    const [first] = own;
    if (first === undefined) continue;
    const merged: MergedSeries[] = [];
    for (const series of mergeMetric(first.part.metric.recipe, own, plan)) {
      merged.push(series);
      yield [];
    }
    yield finishMetric(metric.entry.metric.id, merged, plan.query.exemplars ? exemplarsBySeries(own, plan) : undefined);
  }
}

type ExemplarsByKey = ReturnType<typeof exemplarsBySeries> | undefined;

function finishMetric(metric: string, merged: readonly MergedSeries[], exemplars: ExemplarsByKey): readonly ResultSeries[] {
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
