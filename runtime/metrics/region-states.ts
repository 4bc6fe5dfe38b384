import { Refusal, type Suggestion } from "../errors/refusal.ts";
import { formatDuration } from "./duration.ts";
import type { Query } from "./query.ts";
import type { PartOutcome } from "./read-stores.ts";
import { coarserDownsample, coarserStep } from "./window.ts";

/**
 * How much of a region is in an answer: all of it, some of it, or nothing since its stores failed, were late, or cannot
 * answer this kind of query exactly.
 */
export type RegionState = "ok" | "partial" | "failed" | "late" | "unsupported";

/** One region of an answer. */
export interface RegionReport {
  readonly region: string;
  readonly state: RegionState;
}

const retryAfterSeconds = 5;

/** The regions of a query, sorted, each with what became of its stores. */
export function regionReports(outcomes: readonly PartOutcome[]): readonly RegionReport[] {
  const byRegion = Map.groupBy(outcomes, ({ part }) => part.held.store.region);
  return [...byRegion]
    .map(([region, own]) => ({ region, state: stateOf(own) }))
    .sort((a, b) => (a.region < b.region ? -1 : 1));
}

/**
 * Refuses when no store at all answered; what is missing from one is told in the answer itself. Source: seed
 * "Operational Metrics API" §7.
 *
 * @throws Refusal `store_timeout` when every store was late, else `store_failed`; both suggest a cheaper query
 */
export function requireSomeStore(outcomes: readonly PartOutcome[], query: Query): void {
  const errors = outcomes.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome.error]));
  if (errors.length < outcomes.length) return;
  const allLate = errors.every(({ kind }) => kind === "late");
  const names = regionReports(outcomes).map(({ region, state }) => `${region} (${state})`);
  throw new Refusal(allLate ? "store_timeout" : "store_failed", `no store answered: ${names.join(", ")}`, {
    suggestion: suggestionFor(query),
    retryAfterSeconds,
    cause: new AggregateError(errors, "no store answered"),
  });
}

/** A cheaper form of a query. Source: seed "Operational Metrics API" §7 and §8, "Backpressure". */
export function suggestionFor({ window }: Query): Suggestion {
  const step = coarserStep(window.stepSeconds);
  const downsample = coarserDownsample(window.stepSeconds);
  return {
    ...(step === undefined ? {} : { step: formatDuration(step) }),
    ...(downsample === undefined ? {} : { downsample }),
  };
}

function stateOf(outcomes: readonly PartOutcome[]): RegionState {
  const failures = outcomes.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome.error.kind]));
  const incomplete = outcomes.some(({ outcome }) => outcome.ok && outcome.value.incomplete);
  if (failures.length === 0) return incomplete ? "partial" : "ok";
  if (failures.length < outcomes.length) return "partial";
  if (failures.every((kind) => kind === "late")) return "late";
  return failures.every((kind) => kind === "unsupported") ? "unsupported" : "failed";
}
