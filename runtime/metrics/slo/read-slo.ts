import type { MetricConfig, SloConfig } from "../../../crds/config.ts";
import type { Interval } from "../../../crds/time-zone.ts";
import { createByteBudget, type FanOutOptions } from "../../stores/limits/fan-out.ts";
import type { Stores } from "../../stores/store.ts";
import { addedCosts, type Costs, expectedCosts } from "../admission/cost.ts";
import { type Caller, classOf } from "../authorization/access.ts";
import { createMissingParts, ordinalOf } from "../merge/merge-scalars.ts";
import { mergeStatistics } from "../merge/merge.ts";
import { makePlan, type Plan } from "../planning/plan.ts";
import { ownQuery, type Query, type QueryContext } from "../planning/query.ts";
import { eventFractionRecipe } from "../promql/event-recipes.ts";
import { recipeOf } from "../promql/recipe-of.ts";
import type { Recipe, ScalarRecipe } from "../promql/recipe.ts";
import { stalestMs } from "../reads/read-newest.ts";
import type { PartOutcome, PartResult } from "../reads/read-part.ts";
import { gapsOf, type RegionGap, uniqueGaps } from "../reads/region-status.ts";
import { readStores } from "../reads/run-plan.ts";
import type { ResolvedWindow } from "../request/window.ts";
import type { SloView } from "./slo-selection.ts";
import { type CountsByWindow, type EventCounts, sloSeconds, windowsOf } from "./slo-status.ts";
import {
  correctedCounts,
  type CountedWindow,
  correctionStep,
  type ReadPoint,
  sloSpans,
  sloWindows,
} from "./slo-windows.ts";

/** The plans of one view. */
export interface SloPlan {
  readonly view: SloView;
  /** The first ones read the windows, the shortest first; others read what corrections leave out of them. */
  readonly plans: readonly Plan[];
  /** The windows, in order. */
  readonly windows: readonly CountedWindow[];
  /** Expected costs of its reads. */
  readonly costs: Costs;
}

/** The data of one view. */
export interface SloData {
  /** Without the events of corrections. */
  readonly counts: CountsByWindow;
  /** All events of the objective's window, if the objective has corrections. */
  readonly uncorrected?: EventCounts | undefined;
  /** One for each store: a success in all windows, or its first failure. */
  readonly outcomes: readonly PartOutcome[];
  /** Stores that have only a part of the events in some windows. */
  readonly gaps: readonly RegionGap[];
  /** The newest sample of the stalest store, over all windows. */
  readonly stalestMs: number | undefined;
}

/** The query of a view for each window, and the end of its windows at this time. */
interface SloQuery {
  readonly query: (window: ResolvedWindow) => Query;
  /** Unix milliseconds. */
  readonly toMs: number;
}

/** Builds the queries of a view. Their end moves with the smallest step, so that requests of it have equal queries. */
function sloQuery(view: SloView, caller: Caller, quotas: QueryContext["quotas"], nowMs: number): SloQuery {
  const { slo, entry, grant } = view;
  const { metric } = entry;
  const stepMs = metric.minStepSeconds * 1_000;
  const recipe = countingRecipe(metric, slo);
  const parts: Omit<Parameters<typeof ownQuery>[1], "window"> = {
    metrics: grant.metrics.map((granted) => ({ ...granted, aggregation: "avg", recipe, slo: slo.name })),
    filters: new Map(),
    groupBy: [],
    exemplars: false,
    schemaVersion: entry.schemaVersion,
    quota: classOf(caller, [metric], quotas),
  };
  return {
    query: (window) => ownQuery(grant, { ...parts, window }),
    toMs: Math.floor(nowMs / stepMs) * stepMs,
  };
}

/** Plans a view. All windows end at the same time, so that the requests of the next seconds have equal plans. */
export function planSlo(view: SloView, caller: Caller, quotas: QueryContext["quotas"], nowMs: number): SloPlan {
  const { slo, entry } = view;
  const own = sloQuery(view, caller, quotas, nowMs);
  const spans = sloSpans(slo, entry.metric.minStepSeconds, own.toMs);
  return planSpans(view, spans, own, nowMs);
}

function planSpans(view: SloView, spans: readonly Interval[], { query }: SloQuery, nowMs: number): SloPlan {
  const { slo, entry } = view;
  const step = correctionStep(slo, entry.metric.minStepSeconds);
  const { reads, windows } = sloWindows(spans, slo.corrections ?? [], step);
  const plans = reads.map((window) => makePlan(query(window), nowMs));
  return { view, plans, windows, costs: addedCosts(plans.map((plan) => expectedCosts(plan))) };
}

/**
 * Reads the events of every window. A store that fails for one window is left out of all of them, so that the budget
 * and the burn rates count the same events.
 *
 * @throws the signal's reason
 */
export async function readSlo(
  { view, plans, windows }: SloPlan,
  stores: Stores,
  options: FanOutOptions,
): Promise<SloData> {
  const data = await readWindows({ view, plans, windows }, stores, options);
  const { slo, entry } = view;
  const keys = windowsOf(slo, entry.metric.minStepSeconds);
  const counts = keys.flatMap((seconds, index): [number, EventCounts][] => {
    const events = data.counts[index]?.corrected;
    return events === undefined ? [] : [[seconds, events]];
  });
  return {
    ...data,
    counts: new Map(counts),
    ...(slo.corrections === undefined ? {} : { uncorrected: data.counts.at(-1)?.all }),
  };
}

/** Events of one window. */
interface WindowCounts {
  /** Undefined without data. */
  readonly all: EventCounts | undefined;
  /** Without those of corrections. */
  readonly corrected: EventCounts | undefined;
}

type WindowData = Omit<SloData, "counts" | "uncorrected"> & { readonly counts: readonly WindowCounts[] };

/** Reads the events of each window. A store that fails for one plan is left out of all of them. */
async function readWindows(
  { view, plans, windows }: Pick<SloPlan, "view" | "plans" | "windows">,
  stores: Stores,
  options: FanOutOptions,
): Promise<WindowData> {
  const bytes = createByteBudget();
  const read = await Promise.all(plans.map((plan) => readStores(plan, stores, { ...options, bytes })));
  const outcomes = byStore(read);
  const whole = new Set(outcomes.filter(({ outcome }) => outcome.ok).map(({ part }) => part.store.key));
  const results = read.map((own) =>
    own.flatMap(({ part, outcome }) => (outcome.ok && whole.has(part.store.key) ? [outcome.value] : [])),
  );
  const counted = plans.map((plan, index) => countedEvents(view, results[index] ?? [], plan));
  const at = ({ read: index, point }: ReadPoint): EventCounts | undefined => counted[index]?.counts[point];
  return {
    counts: windows.map((window) => ({ all: at(window.all), corrected: correctedCounts(window, at) })),
    outcomes,
    gaps: uniqueGaps(counted.flatMap(({ gaps }) => gaps)),
    stalestMs: stalestMs(plans.map((plan, index) => ({ plan, results: results[index] ?? [] }))),
  };
}

function byStore(windows: readonly (readonly PartOutcome[])[]): readonly PartOutcome[] {
  const stores = Map.groupBy(windows.flat(), ({ part }) => part.store.key);
  return [...stores.values()].flatMap((own) => own.find(({ outcome }) => !outcome.ok) ?? own.slice(0, 1));
}

/**
 * Steps of a history. Each point reads a whole window of the objective, so that the cost grows with the square of the
 * number of points.
 */
const historySteps = 30;

/** The events of an objective at each point of its history. */
export type SloHistory = Omit<SloData, "counts" | "uncorrected"> & {
  /** Oldest first, without the events of corrections; undefined for a point without data. */
  readonly counts: readonly (EventCounts | undefined)[];
};

/** The time between two points of a history, in seconds. */
export function historyStepSeconds(slo: SloView["slo"]): number {
  return sloSeconds(slo) / historySteps;
}

/**
 * Plans the history of a view. Its points are as wide as the window of the objective and lie within one such window.
 * The last one is the point that the objective itself is judged by.
 */
export function planHistory(view: SloView, caller: Caller, quotas: QueryContext["quotas"], nowMs: number): SloPlan {
  const own = sloQuery(view, caller, quotas, nowMs);
  const [widthMs, stepMs] = [sloSeconds(view.slo) * 1_000, historyStepSeconds(view.slo) * 1_000];
  const spans = Array.from({ length: historySteps + 1 }, (_, index): Interval => {
    const toMs = own.toMs - (historySteps - index) * stepMs;
    return { fromMs: toMs - widthMs, toMs };
  });
  return planSpans(view, spans, own, nowMs);
}

/** Reads the events at every point. A store that fails is missing from all of them. @throws the signal's reason */
export async function readHistory(plan: SloPlan, stores: Stores, options: FanOutOptions): Promise<SloHistory> {
  const data = await readWindows(plan, stores, options);
  return { ...data, counts: data.counts.map(({ corrected }) => corrected) };
}

/** The events of an objective at each point of a plan. */
interface CountedEvents {
  /** Undefined for a point without data. */
  readonly counts: readonly (EventCounts | undefined)[];
  /** Stores that have only a part of the events. */
  readonly gaps: readonly RegionGap[];
}

/** Counts the events of an objective as a query of its metric does: a store that lacks a part adds nothing. */
function countedEvents({ slo, entry }: SloView, results: readonly PartResult[], plan: Plan): CountedEvents {
  const { count } = plan.grid;
  const missing = createMissingParts();
  const rows = results.flatMap(({ part, ranges }, store) =>
    ranges.flatMap(({ series }, statistic) =>
      series.map((own) => ({ ...own, store, statistic, ordinal: ordinalOf(part, own.labels) })),
    ),
  );
  const merging = { count, weights: results.map(() => 1), missing };
  const [singledOuts, totals] = mergeStatistics(countingRecipe(entry.metric, slo), rows, merging);
  const valueAt = (points: typeof totals, index: number): number | undefined =>
    points?.present[index] === 1 && Number.isFinite(points.values[index]) ? points.values[index] : undefined;
  const counts = Array.from({ length: count }, (_, index): EventCounts | undefined => {
    const [singledOut, total] = [valueAt(singledOuts, index), valueAt(totals, index)];
    if (total === undefined || singledOut === undefined) return undefined;
    return { good: slo.counts === "Good" ? singledOut : total - singledOut, total };
  });
  const parts = results.map(({ part }) => part);
  return { counts, gaps: gapsOf(missing.all(), parts, plan) };
}

/** A recipe with two statistics: the events that the metric singles out, and all events. */
type CountingRecipe = Recipe & ScalarRecipe;

/**
 * Counts the events of an objective by the same partials as queries of its metric.
 *
 * @throws TypeError for a source that no catalog accepts for an objective
 */
export function countingRecipe(metric: MetricConfig, { threshold }: SloConfig): CountingRecipe {
  if (metric.source.kind === "ratio") {
    const base = recipeOf(metric, "avg");
    if (base.kind === "scalar") return base;
  }
  if (threshold === undefined) throw new TypeError(`${metric.id} is no metric of events`);
  return eventFractionRecipe(metric, threshold);
}
