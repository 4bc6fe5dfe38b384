import type { Interval } from "../../../crds/time-zone.ts";
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
import type { ResolvedWindow } from "../request/window.ts";
import { countedEvents, countedMetric } from "./counted-events.ts";
import { judgeSlices } from "./judge-slices.ts";
import { readPoints } from "./read-points.ts";
import type { SloView } from "./slo-selection.ts";
import { ownSpan, sloSpans } from "./calendar-rest.ts";
import { type CountsByWindow, type EventCounts, sloSeconds } from "./slo-status.ts";
import { correctedCounts, correctionStep, placeOf, sloWindows, type WindowReads } from "./slo-windows.ts";

/**
 * The plans of one view: one plan of one point for each window, the objective's own last and the others the shortest
 * first; for time slices one plan of all slices.
 */
export interface SloPlan extends Pick<WindowReads, "windows" | "places"> {
  readonly view: SloView;
  /** The first ones read the windows; others read what corrections leave out of them. */
  readonly plans: readonly Plan[];
  /** The number of the first ones whose points are read together. @default none are */
  readonly joined?: number;
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
  const stepMs = correctionStep(slo, metric.minStepSeconds) * 1_000;
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
  const own = sloQuery(view, caller, quotas, nowMs);
  const { minStepSeconds } = entry.metric;
  const spans = sloSpans(slo, minStepSeconds, ownSpan(slo, minStepSeconds, own.toMs));
  return planReads(view, sloWindows(slo, spans, minStepSeconds), own, nowMs);
}

function planReads(view: SloView, { reads, ...windows }: WindowReads, { query }: SloQuery, nowMs: number): SloPlan {
  const plans = reads.map((window) => makePlan(query(window), nowMs));
  return { view, plans, ...windows, costs: addedCosts(plans.map((plan) => expectedCosts(plan))) };
}

/**
 * Reads the events of every window. A store that fails for one window is left out of all of them, so that the budget
 * and the burn rates count the same events.
 *
 * @throws the signal's reason
 */
export async function readSlo(plan: SloPlan, stores: Stores, options: FanOutOptions): Promise<SloData> {
  const { windows, ...data } = await readWindows(plan, stores, options);
  const counts = plan.windows.flatMap(({ all: { fromMs, toMs } }, index): [number, EventCounts][] => {
    const events = windows[index]?.corrected;
    return events === undefined ? [] : [[(toMs - fromMs) / 1_000, events]];
  });
  const uncorrected = plan.view.slo.corrections === undefined ? {} : { uncorrected: windows.at(-1)?.all };
  return { ...data, counts: new Map(counts), ...uncorrected };
}

/** Events of one window. */
interface WindowCounts {
  /** Undefined without data. */
  readonly all: EventCounts | undefined;
  /** Without those of corrections. */
  readonly corrected: EventCounts | undefined;
}

type WindowData = Omit<SloData, "counts" | "uncorrected"> & { readonly windows: readonly WindowCounts[] };

/** Reads the events of each window. A store that fails for one plan is left out of all of them. */
async function readWindows(plan: SloPlan, stores: Stores, options: FanOutOptions): Promise<WindowData> {
  const { plans, windows } = plan;
  const bytes = createByteBudget();
  const read = await readPlans(plan, (own) => readStores(own, stores, { ...options, bytes }));
  const outcomes = byStore(read);
  const whole = new Set(outcomes.filter(({ outcome }) => outcome.ok).map(({ part }) => part.store.key));
  const results = read.map((own) =>
    own.flatMap(({ part, outcome }) => (outcome.ok && whole.has(part.store.key) ? [outcome.value] : [])),
  );
  const { countsOf, gaps } = countedSpans(plan, results);
  return {
    windows: windows.map((window) => ({ all: countsOf(window.all), corrected: correctedCounts(window, countsOf) })),
    outcomes,
    gaps,
    stalestMs: stalestMs(plans.map((own, index) => ({ plan: own, results: results[index] ?? [] }))),
  };
}

async function readPlans({ plans, joined = 0 }: SloPlan, read: (plan: Plan) => Promise<readonly PartOutcome[]>) {
  const [together, alone] = await Promise.all([
    readPoints(plans.slice(0, joined), read),
    Promise.all(plans.slice(joined).map(read)),
  ]);
  return [...together, ...alone];
}

interface CountedSpans {
  readonly countsOf: (span: Interval) => EventCounts | undefined;
  readonly gaps: readonly RegionGap[];
}

function countedSpans({ view, plans, places }: SloPlan, results: readonly (readonly PartResult[])[]): CountedSpans {
  const { over } = view.slo;
  const [plan] = plans;
  if (over !== undefined && plan !== undefined) {
    const { countsOf, gaps } = judgeSlices(over, results[0] ?? [], plan);
    return { countsOf: ({ fromMs, toMs }) => countsOf(toMs, (toMs - fromMs) / 1_000), gaps };
  }
  const counted = plans.map((own, index) => countedEvents(view, results[index] ?? [], own));
  return {
    countsOf(span) {
      const { read, point } = placeOf(places, span);
      return counted[read]?.counts[point];
    },
    gaps: uniqueGaps(counted.flatMap(({ gaps }) => gaps)),
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
 * Plans the history of a view. Its points are the windows of the objective at times within one such window. The last
 * one is the point that the objective itself is judged by. Calendar windows have different widths, so each is a plan;
 * it costs as much as a point of rolling windows that is as wide. Requests read several of them.
 */
export function planHistory(view: SloView, caller: Caller, quotas: QueryContext["quotas"], nowMs: number): SloPlan {
  const own = sloQuery(view, caller, quotas, nowMs);
  const { slo, entry } = view;
  const { minStepSeconds } = entry.metric;
  const stepSeconds = historyStepSeconds(slo);
  // Parts of a calendar period end with a point of the metric.
  const unitMs = slo.calendar === undefined ? 1 : correctionStep(slo, minStepSeconds) * 1_000;
  const spans = Array.from({ length: historySteps + 1 }, (_, index) => {
    const toMs = own.toMs - (historySteps - index) * stepSeconds * 1_000;
    return ownSpan(slo, minStepSeconds, Math.floor(toMs / unitMs) * unitMs);
  });
  const singleStepSeconds = slo.calendar && stepSeconds;
  const plan = planReads(view, sloWindows(slo, spans, minStepSeconds, singleStepSeconds), own, nowMs);
  return slo.calendar && slo.over === undefined ? { ...plan, joined: spans.length } : plan;
}

/** Reads the events at every point. A store that fails is missing from all of them. @throws the signal's reason */
export async function readHistory(plan: SloPlan, stores: Stores, options: FanOutOptions): Promise<SloHistory> {
  const { windows, ...data } = await readWindows(plan, stores, options);
  const points = plan.windows.map(({ all }, index) => ({ atMs: all.toMs, events: windows[index]?.corrected }));
  return { ...data, points };
}
