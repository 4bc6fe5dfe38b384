import { type ConditionDraft, decideConditions, type Facts, ownConditions, withTimes } from "../conditions.ts";
import type { Condition, ResourceStatus } from "../resource-types.ts";
import { showsColumns } from "./status-columns.ts";

/** What is to become of a status. */
type StatusDecision =
  | { readonly kind: "keep"; readonly againMs?: number }
  | { readonly kind: "write"; readonly status: ResourceStatus; readonly againMs?: number };

/** Moments of one decision, in milliseconds. */
export interface Moments {
  /** Monotonic. */
  readonly nowMs: number;
  /** RFC 3339. */
  readonly now: string;
  /** Since when the object is in a state that passes by itself. */
  readonly pendingSinceMs: number;
  /** When this status was written last; undefined when nobody remembers. */
  readonly writtenAtMs: number | undefined;
}

export interface StatusTimes {
  /** A state that passes within this is not written down, except for an object without a status. */
  readonly graceMs: number;
  /** A message alone is written again at most so often. */
  readonly messageMs: number;
}

export const statusTimesDefault: StatusTimes = { graceMs: 5_000, messageMs: 10_000 };

/**
 * Whether a status is written, and what. An ordinary edit is written once, when every pod obeys it; a new object twice,
 * since it says `Unknown` before anything is done for it.
 */
export function decideStatus(
  facts: Facts,
  before: ResourceStatus | undefined,
  moments: Moments,
  times: StatusTimes,
): StatusDecision {
  const { nowMs } = moments;
  const drafts = decideConditions(facts);
  const own = ownConditions(before);
  const patientUntilMs = patienceOf(facts, moments, times);
  if (isPassing(drafts, facts) && own.length > 0 && nowMs < patientUntilMs) {
    return { kind: "keep", againMs: patientUntilMs - nowMs };
  }
  const status = { ...facts.columns, ...statusOf(drafts, own, moments.now) };
  const difference = compare(before, own, status);
  const quietUntilMs = (moments.writtenAtMs ?? Number.NEGATIVE_INFINITY) + times.messageMs;
  if (difference === "message" && nowMs < quietUntilMs) return { kind: "keep", againMs: quietUntilMs - nowMs };
  const again = againAt(facts, nowMs);
  return difference === "none" ? { kind: "keep", ...again } : { kind: "write", status, ...again };
}

/** Whether something is still to be decided, published or obeyed; a pause leaves it so. */
function isPassing(drafts: readonly ConditionDraft[], { isPaused, result }: Facts): boolean {
  return drafts.some(({ reason }) => reason === "Pending") && !(isPaused && result === undefined);
}

/** Until when a state that passes by itself is not written down. */
function patienceOf({ isPublished, rollout }: Facts, { pendingSinceMs }: Moments, { graceMs }: StatusTimes): number {
  return isPublished && rollout.kind === "waiting" ? rollout.untilMs : pendingSinceMs + graceMs;
}

function againAt({ rollout }: Facts, nowMs: number): { readonly againMs?: number } {
  const restMs = ("untilMs" in rollout ? (rollout.untilMs ?? nowMs) : nowMs) - nowMs;
  return restMs > 0 ? { againMs: restMs } : {};
}

function statusOf(drafts: readonly ConditionDraft[], own: readonly Condition[], now: string): ResourceStatus {
  const generation = readyOf(drafts)?.observedGeneration;
  const conditions = withTimes(drafts, own, now);
  return generation === undefined ? { conditions } : { observedGeneration: generation, conditions };
}

function readyOf<T extends Pick<Condition, "type">>(conditions: readonly T[]): T | undefined {
  return conditions.find(({ type }) => type === "Ready");
}

function compare(
  before: ResourceStatus | undefined,
  own: readonly Condition[],
  after: ResourceStatus,
): "none" | "message" | "state" {
  const conditions = after.conditions ?? [];
  if (!showsColumns(before, after)) return "state";
  if (before?.observedGeneration !== after.observedGeneration || own.length !== conditions.length) return "state";
  const known = new Map(own.map((condition) => [condition.type, condition]));
  const pairs = conditions.map((condition) => ({ condition, earlier: known.get(condition.type) }));
  if (pairs.some(({ condition, earlier }) => earlier === undefined || stateOf(condition) !== stateOf(earlier)))
    return "state";
  return pairs.every(({ condition, earlier }) => condition.message === earlier?.message) ? "none" : "message";
}

function stateOf({ type, status, reason, observedGeneration }: ConditionDraft): string {
  return JSON.stringify([type, status, reason, observedGeneration]);
}
