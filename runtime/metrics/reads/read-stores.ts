import { type ByteBudget, fanOut, type FanOutOptions, type Outcome } from "../../stores/limits/fan-out.ts";
import type { Stores } from "../../stores/store-set.ts";
import type { Plan, PlannedPart } from "../planning/plan.ts";
import { lastPointMs, lastReadAtMs } from "./read-newest.ts";
import { type PartResult, readPart } from "./read-part.ts";

/** The outcome of one part of a plan. */
export interface PartOutcome<Value = PartResult> {
  readonly part: PlannedPart;
  readonly outcome: Outcome<Value>;
}

interface ReadOptions extends FanOutOptions {
  /** Bounds the bytes of all stores together. */
  readonly bytes: ByteBudget;
  /** Of the request. @default the stores receive none */
  readonly correlationId?: string | undefined;
}

/** Reads every part of a plan concurrently. @throws the signal's reason when the caller leaves */
export async function readStores(
  plan: Plan,
  stores: Stores,
  { bytes, correlationId, ...options }: ReadOptions,
): Promise<readonly PartOutcome[]> {
  const origin =
    correlationId === undefined ? undefined : { correlationId, endsAtMs: performance.now() + options.deadlineMs };
  const read = (part: PlannedPart, signal: AbortSignal): Promise<PartResult> =>
    readPart({ plan, part, store: stores.get(part.store.key) }, { signal, bytes, origin });
  const outcomes = await fanOut({ jobs: plan.parts, storeOf: ({ store }) => store.key, run: read }, options);
  return plan.parts.flatMap((part, index) => {
    const outcome = outcomes[index];
    return outcome === undefined ? [] : [{ part, outcome }];
  });
}

/** The results of one plan. */
interface PlanResults {
  readonly plan: Plan;
  readonly results: readonly PartResult[];
}

/**
 * The time of the newest sample behind a response, in the stalest store: of each metric in each store the newest one,
 * over all plans, and of these the oldest. Stores without a sample do not count; undefined without any. Source: seed
 * "Operational Metrics API" §6.
 */
export function stalestMs(read: readonly PlanResults[]): number | undefined {
  const newest = new Map<string, number>();
  for (const { plan, results } of read) {
    for (const result of results) {
      const { metric, store } = result.part;
      const key = JSON.stringify([metric.entry.metric.id, store.key]);
      const ms = newestOf(result, plan);
      if (ms !== undefined) newest.set(key, Math.max(newest.get(key) ?? ms, ms));
    }
  }
  return newest.size === 0 ? undefined : Math.min(...newest.values());
}

/** The age of the newest sample of the stalest store in whole seconds, rounded up. */
export function ageSeconds(newestMs: number | undefined, nowMs: number): number | undefined {
  return newestMs === undefined ? undefined : Math.max(0, Math.ceil((nowMs - newestMs) / 1_000));
}

/** An age some seconds later. */
export function later(seconds: number | undefined, passedSeconds: number): number | undefined {
  return seconds === undefined ? undefined : seconds + passedSeconds;
}

function newestOf(result: PartResult, plan: Plan): number | undefined {
  const { grid, query } = plan;
  const last = lastPointMs(result, grid);
  // A store that lacks a part adds nothing to the response.
  if (last !== undefined && lacksPart(result, plan)) return undefined;
  // A cached point has no sample that is newer than its read.
  if (result.newestMs !== undefined) return Math.min(result.newestMs, lastReadAtMs(result) ?? result.newestMs);
  // The sample lies in the last present point. Its start is the earliest time, so that the age is never too low.
  return last === undefined ? undefined : last - query.window.widthSeconds * 1_000;
}

/** Tests if a store has some parts of a value, and no point of a part that every value needs. */
function lacksPart({ part, ranges }: PartResult, { grid }: Plan): boolean {
  const { recipe } = part.metric;
  if (recipe.kind !== "scalar") return false;
  return ranges.some((range, index) => {
    const isNeeded = recipe.statistics[index]?.absent !== "none";
    return isNeeded && lastPointMs({ ranges: [range], histograms: [] }, grid) === undefined;
  });
}
