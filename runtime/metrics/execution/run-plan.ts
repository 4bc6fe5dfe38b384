// Runs a plan: store middleware, reads of parts, bulkheads, region status and exemplars. The bodies and headers of
// responses are elsewhere.
import { Refusal } from "../../errors/refusal.ts";
import type { TimeSlices } from "../../../limits/time-slices.ts";
import { createByteBudget } from "../../stores/limits/fan-out.ts";
import type { Stores } from "../../stores/store-set.ts";
import { countHidden, exemplarsBySeries, type Exemplar } from "./exemplars.ts";
import { ageSeconds, stalestMs } from "./freshness.ts";
import { finishMetric, type Finishing } from "./finish-metric.ts";
import type { FinishedMetrics } from "./finished-metrics.ts";
import type { FinishedSeries } from "./moved-window.ts";
import type { Plan } from "../planning/plan.ts";
import type { QueriedMetric } from "../planning/query.ts";
import type { PartResult } from "./read-part.ts";
import { readStores, type PartOutcome } from "./read-stores.ts";
import { resultHints } from "./result-hints.ts";
import { gapsOf, type RegionGap } from "./region-gaps.ts";
import {
  mayRunCheaper,
  regionReports,
  retryAfterOf,
  requireAnswers,
  requireParts,
  type RegionReport,
} from "./region-status.ts";

/** One finished series with its metric. */
export interface ResultSeries extends FinishedSeries {
  readonly metric: string;
  /** Undefined when the query requests none. */
  readonly exemplars: readonly Exemplar[] | undefined;
}

/** The result of a query, before it is split into pages. */
export interface Result {
  /** By metric id, then by labels. */
  readonly series: readonly ResultSeries[];
  /** Number of exemplars that are hidden, since they have no trace id. */
  readonly exemplarsHidden: number;
  /** Number of infinite points that `series` lacks. @default 0 */
  readonly infinitePoints?: number;
  /** Sentences about missing series and values. @default none */
  readonly hints?: readonly string[];
  /** Metrics whose stores cannot be merged. The other metrics have series. */
  readonly failures: readonly MetricFailure[];
  readonly regions: readonly RegionReport[];
  /** Some data is missing. */
  readonly partial: boolean;
  /** A cheaper query may have the missing data. */
  readonly mayRunCheaper: boolean;
  /** Seconds after which the missing data may be read. @default that of a store that failed once */
  readonly retryAfterSeconds?: number;
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
  /** Metrics of earlier windows. */
  readonly finished: FinishedMetrics;
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
  const failures: MetricFailure[] = [];
  const gaps: RegionGap[] = [];
  const failed = (failure: MetricFailure): void => void failures.push(failure);
  const lacking = (own: readonly RegionGap[]): void => void gaps.push(...own);
  const finishing = { plan, finished: options.finished, failed, lacking };
  const finished = await options.slices.collect(finishAll(results, finishing));
  const [first] = failures;
  if (first !== undefined && failures.length === plan.query.metrics.length) throw first.refusal;
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
    mayRunCheaper: mayRunCheaper(outcomes),
    retryAfterSeconds: retryAfterOf(outcomes.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome.error]))),
    freshnessSeconds: ageSeconds(stalestMs([{ plan, results }]), options.nowMs),
    shards: { asked: outcomes.length, answered: results.length },
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
      if (!(error instanceof Refusal) || error.code !== "incompatible_buckets") throw error;
      failed({ metric: metric.entry.metric.id, refusal: error });
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
