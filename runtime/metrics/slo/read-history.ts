import type { Stores } from "../../stores/store-set.ts";
import { createByteBudget, type FanOutOptions } from "../../stores/limits/fan-out.ts";
import type { Caller } from "../authorization/caller.ts";
import { expectedCosts } from "../admission/cost.ts";
import { type PartOutcome, readStores, stalestMs } from "../reads/read-stores.ts";
import type { RegionGap } from "../reads/region-gaps.ts";
import { makePlan } from "../planning/plan.ts";
import type { QueryContext } from "../planning/query.ts";
import { countedEvents } from "./counted-events.ts";
import { sloQuery, type SloPlan } from "./read-slo.ts";
import type { SloView } from "./slo-selection.ts";
import type { EventCounts } from "./slo-status.ts";
import { sloSeconds } from "./slo-windows.ts";

/**
 * Steps of a history. Each point reads a whole window of the objective, so that the cost grows with the square of the
 * number of points.
 */
export const historySteps = 30;

/** The events of an objective at each point of its history. */
export interface SloHistory {
  /** The oldest first; undefined for a point without data. */
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
