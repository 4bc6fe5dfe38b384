// Runs a plan: store middleware, reads of parts, bulkheads, region status and exemplars. The bodies and headers of
// responses are elsewhere.
import type { Exemplar, RegionState } from "../../../api/queries.ts";
import type { TimeSlices } from "../../../limits/time-slices.ts";
import { Refusal } from "../../errors/refusal.ts";
import { createByteBudget } from "../../stores/limits/fan-out.ts";
import type { StoreExemplar } from "../../stores/prometheus/prometheus-client.ts";
import type { Stores } from "../../stores/store-set.ts";
import { governedLabels, labelsKey } from "../planning/labels.ts";
import type { Plan } from "../planning/plan.ts";
import type { QueriedMetric } from "../planning/query.ts";
import { formatTime } from "../request/time.ts";
import { type FinishedMetrics, type Finishing, finishMetric } from "./finish-metric.ts";
import type { FinishedSeries } from "./moved-window.ts";
import type { PartResult } from "./read-part.ts";
import { ageSeconds, type PartOutcome, readStores, stalestMs } from "./read-stores.ts";
import { gapsOf, type RegionGap, resultHints } from "./region-gaps.ts";
import { mayRunCheaper, regionReports, requireAnswers, requireParts, retryAfterOf } from "./region-status.ts";

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

export const exemplarsPerSeriesMax = 10;
/** A W3C or a B3 trace id. A free text could hold personal data. */
const traceId = /^(?:[0-9a-f]{16}|[0-9a-f]{32})$/iu;

/** Counts the exemplars that are hidden, since their `trace_id` is not a trace id. */
function countHidden(results: readonly PartResult[]): number {
  return results.reduce((sum, { exemplars }) => sum + exemplars.filter((exemplar) => !isShowable(exemplar)).length, 0);
}

/**
 * The newest exemplars of one metric, by the key of their series' labels. Source: seed "Operational Metrics API" §2.4.
 */
function exemplarsBySeries(results: readonly PartResult[], plan: Plan): ReadonlyMap<string, readonly Exemplar[]> {
  const keyed = results.flatMap(({ part, exemplars }) =>
    exemplars.filter(isShowable).map((exemplar) => ({
      key: labelsKey(governedLabels(part, plan.query.groupBy, exemplar.seriesLabels)),
      exemplar,
    })),
  );
  const groups = Map.groupBy(keyed, ({ key }) => key);
  return new Map([...groups].map(([key, own]) => [key, newest(own.map(({ exemplar }) => exemplar))]));
}

/** Tests if an exemplar has a trace id and finite numbers. */
export function isShowable({ labels, value, timestampMs }: StoreExemplar): boolean {
  return traceId.test(labels["trace_id"] ?? "") && Number.isFinite(value) && Number.isFinite(timestampMs);
}

/** Selects the newest exemplars, each trace once: a bucket and the buckets above it can have the same exemplar. */
function newest(exemplars: readonly StoreExemplar[]): readonly Exemplar[] {
  const byTrace = new Map<string, Exemplar>();
  for (const { labels, value, timestampMs } of [...exemplars].sort((a, b) => b.timestampMs - a.timestampMs)) {
    const id = labels["trace_id"] ?? "";
    if (!byTrace.has(id)) byTrace.set(id, { trace_id: id, timestamp: formatTime(timestampMs), value });
    if (byTrace.size === exemplarsPerSeriesMax) break;
  }
  return [...byTrace.values()];
}
