import { createByteBudget, type FanOutOptions } from "../../stores/limits/fan-out.ts";
import type { Stores } from "../../stores/store.ts";
import { addedCosts, type Costs, expectedCosts } from "../admission/cost.ts";
import { type Caller, classOf } from "../authorization/access.ts";
import { makePlan, type Plan } from "../planning/plan.ts";
import { ownQuery, type Query, type QueryContext } from "../planning/query.ts";
import { stalestMs } from "../reads/read-newest.ts";
import type { PartOutcome, PartResult } from "../reads/read-part.ts";
import { type RegionGap, uniqueGaps } from "../reads/region-status.ts";
import { readStores } from "../reads/run-plan.ts";
import { onePoint, type ResolvedWindow } from "../request/window.ts";
import { countedEvents, countedMetric } from "./counted-events.ts";
import { judgeSlices, sliceWindow } from "./judge-slices.ts";
import type { SloView } from "./slo-selection.ts";
import { type CountsByWindow, type EventCounts, sloSeconds, windowsOf } from "./slo-status.ts";

/**
 * The plans of one view: one plan of one point for each window, the shortest first; for time slices one plan of all
 * slices.
 */
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
  const stepMs = (slo.over?.sliceSeconds ?? metric.minStepSeconds) * 1_000;
  const parts: Omit<Parameters<typeof ownQuery>[1], "window"> = {
    metrics: grant.metrics.map((granted) => ({ ...granted, ...countedMetric(metric, slo) })),
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

/**
 * Plans a view. All windows end at the same time, so that the requests of the next seconds have equal plans. The slices
 * of a gauge are read once for all windows.
 */
export function planSlo(view: SloView, caller: Caller, quotas: QueryContext["quotas"], nowMs: number): SloPlan {
  const { slo, entry } = view;
  const { query, toMs } = sloQuery(view, caller, quotas, nowMs);
  const windows =
    slo.over === undefined
      ? windowsOf(slo, entry.metric.minStepSeconds).map((seconds) => onePoint(toMs, seconds))
      : [sliceWindow(slo.over, toMs, sloSeconds(slo))];
  const plans = windows.map((window) => makePlan(query(window), nowMs));
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
  return {
    ...countedWindows(view, plans, results),
    outcomes,
    stalestMs: stalestMs(plans.map((plan, index) => ({ plan, results: results[index] ?? [] }))),
  };
}

type ResultsOfPlans = readonly (readonly PartResult[])[];

function countedWindows(
  view: SloView,
  plans: readonly Plan[],
  results: ResultsOfPlans,
): Pick<SloData, "counts" | "gaps"> {
  const { slo, entry } = view;
  const [plan] = plans;
  if (slo.over !== undefined && plan !== undefined) {
    const { countsOf: countsIn, gaps } = judgeSlices(slo.over, results[0] ?? [], plan);
    const counts = windowsOf(slo, entry.metric.minStepSeconds).map(
      (seconds) => [seconds, countsIn(plan.query.window.toMs, seconds)] as const,
    );
    return { counts: new Map(counts.flatMap(([seconds, events]) => (events ? [[seconds, events]] : []))), gaps };
  }
  const counted = plans.map((own, index) => ({ plan: own, ...countedEvents(view, results[index] ?? [], own) }));
  return {
    counts: new Map(counted.flatMap(({ plan: own, counts }) => countsOf(own, counts))),
    gaps: uniqueGaps(counted.flatMap(({ gaps }) => gaps)),
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
  /** Oldest first. */
  readonly points: readonly HistoryPoint[];
  /** One for each store. */
  readonly outcomes: readonly PartOutcome[];
  /** Stores that have only a part of the events at some points. */
  readonly gaps: readonly RegionGap[];
  /** The newest sample of the stalest store. */
  readonly stalestMs: number | undefined;
}

/** The events of a window of the objective. */
interface HistoryPoint {
  /** End of the window, in Unix milliseconds. */
  readonly atMs: number;
  /** Undefined without data. */
  readonly events: EventCounts | undefined;
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
  const { over } = view.slo;
  const [widthSeconds, stepSeconds] = [sloSeconds(view.slo), historyStepSeconds(view.slo)];
  const fromMs = toMs - 2 * widthSeconds * 1_000;
  const window =
    over === undefined
      ? { fromMs, toMs, stepSeconds, widthSeconds, downsample: undefined }
      : sliceWindow(over, toMs, 2 * widthSeconds);
  const plan = makePlan(query(window), nowMs);
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
    ...countedHistory(view, results, plan),
    outcomes,
    stalestMs: stalestMs([{ plan, results }]),
  };
}

function countedHistory(
  view: SloView,
  results: readonly PartResult[],
  plan: Plan,
): Pick<SloHistory, "points" | "gaps"> {
  const { slo } = view;
  const { toMs } = plan.query.window;
  const stepMs = historyStepSeconds(slo) * 1_000;
  const times = Array.from({ length: historySteps + 1 }, (_, index) => toMs - (historySteps - index) * stepMs);
  if (slo.over !== undefined) {
    const { countsOf: countsIn, gaps } = judgeSlices(slo.over, results, plan);
    return { points: times.map((atMs) => ({ atMs, events: countsIn(atMs, sloSeconds(slo)) })), gaps };
  }
  const { counts, gaps } = countedEvents(view, results, plan);
  return { points: times.map((atMs, index) => ({ atMs, events: counts[index] })), gaps };
}
