import type { FailureReason, Outcome } from "../../webhooks/settlement/outcome.ts";
import type { MadeAttempt, RecordedDelivery } from "./course.ts";
import { placeOf } from "./sorted-place.ts";

/** Estimates what a partner answers at instants that were never tried. */
export interface Answers {
  at(startMs: number, delivery: RecordedDelivery): { readonly outcome: Outcome; readonly durationMs: number };
  /** The number of estimates, and the longest time between one and its source. */
  used(): { readonly estimated: number; readonly farthestMs: number };
}

/** Failures that tell nothing about the partner. */
const ownFailures: ReadonlySet<FailureReason> = new Set([
  "internal",
  "backlog_full",
  "held_expired",
  "partner_removed",
  "aborted",
]);

/**
 * The answer is that of the recorded attempt that began nearest, of two equally near ones the earlier. A refusal
 * concerns one event: it is lent to no other delivery, and its own delivery is refused where others would be delivered.
 */
export function createAnswers(deliveries: readonly RecordedDelivery[]): Answers {
  const lent = deliveries.flatMap((one) => (isRefused(one) ? one.attempts.slice(0, -1) : one.attempts));
  const sources = lent.filter(isAnswer).toSorted((one, other) => one.startMs - other.startMs);
  let [estimated, farthestMs] = [0, 0];
  return {
    at: (startMs, delivery) => {
      const last = delivery.attempts.at(-1) as MadeAttempt;
      const near = nearest(sources, startMs) ?? last;
      const source = isRefused(delivery) && isDelivered(near) ? last : near;
      estimated += 1;
      farthestMs = Math.max(farthestMs, Math.abs(near.startMs - startMs));
      return { outcome: source.outcome, durationMs: source.endMs - source.startMs };
    },
    used: () => ({ estimated, farthestMs }),
  };
}

function nearest(sources: readonly MadeAttempt[], startMs: number): MadeAttempt | undefined {
  const next = placeOf(sources, (source) => source.startMs > startMs);
  const [before, after] = [sources[next - 1], sources[next]];
  if (before === undefined || after === undefined) return before ?? after;
  return after.startMs - startMs < startMs - before.startMs ? after : before;
}

function isRefused({ end }: RecordedDelivery): boolean {
  return end === "rejected" || end === "disabled";
}

function isAnswer({ outcome }: MadeAttempt): boolean {
  return outcome.kind === "response" || !ownFailures.has(outcome.reason);
}

function isDelivered({ outcome }: MadeAttempt): boolean {
  return outcome.kind === "response" && outcome.status >= 200 && outcome.status <= 299;
}
