import type { MetricConfig, SloConfig } from "../../../crds/config.ts";
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
import { onePoint, type ResolvedWindow } from "../request/window.ts";
import type { SloView } from "./slo-selection.ts";
import { type CountsByWindow, type EventCounts, sloSeconds, windowsOf } from "./slo-status.ts";

/** The plans of one view: one plan of one point for each window, the shortest first. */
export interface SloPlan {
  readonly view: SloView;
  readonly plans: readonly Plan[];
  /** Expected costs of its reads. */
  readonly costs: Costs;
}

/** The data of one view. */
export interface SloData {
  readonly counts: CountsByWindow;
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
  const { query, toMs } = sloQuery(view, caller, quotas, nowMs);
  const plans = windowsOf(slo, entry.metric.minStepSeconds).map((seconds) =>
    makePlan(query(onePoint(toMs, seconds)), nowMs),
  );
  return { view, plans, costs: addedCosts(plans.map((plan) => expectedCosts(plan))) };
}

/**
 * Reads the events of every window. A store that fails for one window is left out of all of them, so that the budget
 * and the burn rates count the same events.
 *
 * @throws the signal's reason
 */
export async function readSlo({ view, plans }: SloPlan, stores: Stores, options: FanOutOptions): Promise<SloData> {
  const bytes = createByteBudget();
  const windows = await Promise.all(plans.map((plan) => readStores(plan, stores, { ...options, bytes })));
  const outcomes = byStore(windows);
  const whole = new Set(outcomes.filter(({ outcome }) => outcome.ok).map(({ part }) => part.store.key));
  const results = windows.map((own) =>
    own.flatMap(({ part, outcome }) => (outcome.ok && whole.has(part.store.key) ? [outcome.value] : [])),
  );
  const counted = plans.map((plan, index) => ({ plan, ...countedEvents(view, results[index] ?? [], plan) }));
  return {
    counts: new Map(counted.flatMap(({ plan, counts }) => countsOf(plan, counts))),
    outcomes,
    gaps: uniqueGaps(counted.flatMap(({ gaps }) => gaps)),
    stalestMs: stalestMs(plans.map((plan, index) => ({ plan, results: results[index] ?? [] }))),
  };
}

function byStore(windows: readonly (readonly PartOutcome[])[]): readonly PartOutcome[] {
  const stores = Map.groupBy(windows.flat(), ({ part }) => part.store.key);
  return [...stores.values()].flatMap((own) => own.find(({ outcome }) => !outcome.ok) ?? own.slice(0, 1));
}

function countsOf({ query }: Plan, [events]: readonly (EventCounts | undefined)[]): readonly [number, EventCounts][] {
  return events === undefined ? [] : [[query.window.widthSeconds, events]];
}

/**
 * Steps of a history. Each point reads a whole window of the objective, so that the cost grows with the square of the
 * number of points.
 */
const historySteps = 30;

/** The events of an objective at each point of its history. */
export interface SloHistory {
  /** Oldest first; undefined for a point without data. */
  readonly counts: readonly (EventCounts | undefined)[];
  /** One for each store. */
  readonly outcomes: readonly PartOutcome[];
  /** Stores that have only a part of the events at some points. */
  readonly gaps: readonly RegionGap[];
  /** The newest sample of the stalest store. */
  readonly stalestMs: number | undefined;
}

/** The time between two points of a history, in seconds. */
export function historyStepSeconds(slo: SloView["slo"]): number {
  return sloSeconds(slo) / historySteps;
}

/**
 * Plans the history of a view. Its points are as wide as the window of the objective and lie within one such window.
 * The last one is the point that the objective itself is judged by.
 */
export function planHistory(view: SloView, caller: Caller, quotas: QueryContext["quotas"], nowMs: number): SloPlan {
  const { query, toMs } = sloQuery(view, caller, quotas, nowMs);
  const [widthSeconds, stepSeconds] = [sloSeconds(view.slo), historyStepSeconds(view.slo)];
  const fromMs = toMs - 2 * widthSeconds * 1_000;
  const plan = makePlan(query({ fromMs, toMs, stepSeconds, widthSeconds, downsample: undefined }), nowMs);
  return { view, plans: [plan], costs: expectedCosts(plan) };
}

/** Reads the events at every point. A store that fails is missing from all of them. @throws the signal's reason */
export async function readHistory(
  { view, plans: [plan] }: SloPlan,
  stores: Stores,
  options: FanOutOptions,
): Promise<SloHistory> {
  if (plan === undefined) throw new Error("a history has one plan");
  const outcomes = await readStores(plan, stores, { ...options, bytes: createByteBudget() });
  const results = outcomes.flatMap(({ outcome }) => (outcome.ok ? [outcome.value] : []));
  return {
    ...countedEvents(view, results, plan),
    outcomes,
    stalestMs: stalestMs([{ plan, results }]),
  };
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
