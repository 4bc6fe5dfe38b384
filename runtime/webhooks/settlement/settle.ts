import type { RetryConfig } from "../../../crds/config.ts";
import { outcomeCode, type Outcome, type OutcomeCode } from "./outcome.ts";
import { retryAfterMs } from "./retry-after.ts";
import { lastAttemptAtMs, longestStepMs, scheduledWaitMs, withJitter } from "./retry-schedule.ts";

/**
 * What becomes of a delivery after one attempt. Source: seed "Webhook Event Delivery" §3 and §7.
 *
 * - `delivered`: any 2xx.
 * - `retry`: again at `atMs`, Unix milliseconds.
 * - `rejected`: the partner said explicitly that it will not take this event.
 * - `dead`: the next attempt would come too late; this is the exhausted kind.
 * - `disabled`: 410; this delivery is dead-lettered and the partner gets nothing more until its resource is edited.
 *
 * `reason` is the outcome that led here; a subject token may be made of it.
 */
export type Settlement =
  | { readonly kind: "delivered" }
  | { readonly kind: "retry"; readonly atMs: number; readonly reason: OutcomeCode }
  | { readonly kind: "rejected"; readonly reason: OutcomeCode }
  | { readonly kind: "dead"; readonly reason: OutcomeCode }
  | { readonly kind: "disabled"; readonly reason: OutcomeCode };

/** The delivery that was attempted. */
interface AttemptedDelivery {
  /**
   * Number of the attempt in its generation, from 1: a replay starts the schedule anew, though `X-Attempt` counts on.
   */
  readonly attempt: number;
  /** When the event was accepted or, for a replay, the replay; Unix milliseconds. */
  readonly acceptedAtMs: number;
}

/** Statuses that say "not this event, ever". Source: seed "Webhook Event Delivery" §7. */
const rejectingStatuses: ReadonlySet<number> = new Set([400, 401, 403, 404, 422]);

/** Statuses whose `Retry-After` counts. Source: seed "Webhook Event Delivery" §7, RFC 9110 §10.2.3. */
const askingStatuses: ReadonlySet<number> = new Set([429, 503]);

const goneStatus = 410;

/**
 * Settles one attempt. `nowMs` is when the outcome was known, `random` gives [0, 1) for the jitter.
 *
 * The base of the next time is the later of the schedule and what the partner asks, which counts up to the longest step
 * of the schedule; jitter is only added to it. Only the schedule ends a delivery: chance never does, and a partner that
 * asks for a later time gets one more attempt in the last moment.
 */
export function settle(
  outcome: Outcome,
  policy: RetryConfig,
  delivery: AttemptedDelivery,
  nowMs: number,
  random: () => number,
): Settlement {
  return settledByStatus(outcome) ?? retryOrDead(outcome, policy, delivery, nowMs, random);
}

function settledByStatus(outcome: Outcome): Settlement | undefined {
  if (outcome.kind === "failure") {
    return undefined;
  }
  const { status } = outcome;
  if (status >= 200 && status <= 299) {
    return { kind: "delivered" };
  }
  if (status === goneStatus) {
    return { kind: "disabled", reason: outcomeCode(outcome) };
  }
  return rejectingStatuses.has(status) ? { kind: "rejected", reason: outcomeCode(outcome) } : undefined;
}

function retryOrDead(
  outcome: Outcome,
  policy: RetryConfig,
  delivery: AttemptedDelivery,
  nowMs: number,
  random: () => number,
): Settlement {
  const reason = outcomeCode(outcome);
  const scheduledMs = scheduledWaitMs(policy, delivery.attempt);
  const askedMs = askedWaitMs(outcome, nowMs);
  const endMs = lastAttemptAtMs(policy, delivery.acceptedAtMs);
  const isExhausted = askedMs === undefined ? nowMs + scheduledMs > endMs : nowMs >= endMs;
  if (isExhausted) {
    return { kind: "dead", reason };
  }
  const waitMs = Math.max(scheduledMs, Math.min(askedMs ?? 0, longestStepMs(policy)));
  const atMs = Math.min(nowMs + withJitter(waitMs, policy.jitterPercent, random), endMs);
  return { kind: "retry", atMs, reason };
}

/** Undefined when the answer asks nothing. */
function askedWaitMs(outcome: Outcome, nowMs: number): number | undefined {
  const asks = outcome.kind === "response" && askingStatuses.has(outcome.status);
  return asks ? retryAfterMs(outcome.headers, nowMs) : undefined;
}
