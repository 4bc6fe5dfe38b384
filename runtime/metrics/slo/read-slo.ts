import type { Stores } from "../../stores/store-set.ts";
import { createByteBudget, type FanOutOptions } from "../../stores/limits/fan-out.ts";
import { classOf } from "../authorization/access.ts";
import type { Caller } from "../authorization/caller.ts";
import { addedCosts, expectedCosts, type Costs } from "../admission/cost.ts";
import { type PartOutcome, readStores, stalestMs } from "../reads/read-stores.ts";
import { makePlan, type Plan } from "../planning/plan.ts";
import { ownQuery, type Query, type QueryContext } from "../planning/query.ts";
import { onePoint, type ResolvedWindow } from "../request/window.ts";
import { type RegionGap, uniqueGaps } from "../reads/region-gaps.ts";
import { countedEvents } from "./counted-events.ts";
import { countingRecipe } from "./slo-recipe.ts";
import type { SloView } from "./slo-selection.ts";
import type { CountsByWindow, EventCounts } from "./slo-status.ts";
import { windowsOf } from "./slo-windows.ts";

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
export function sloQuery(view: SloView, caller: Caller, quotas: QueryContext["quotas"], nowMs: number): SloQuery {
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
