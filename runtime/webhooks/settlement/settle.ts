// Settlement: outcome of an attempt, its settlement, retry schedule and circuit breaker. It does no I/O.
import type { RetryConfig } from "../../../crds/config.ts";
import { outcomeCode, type FailureOutcome, type Outcome, type OutcomeCode } from "./outcome.ts";
import { retryAfterMs } from "./retry-after.ts";
import { lastAttemptAtMs, longestStepMs, scheduledWaitMs, withJitter } from "./retry-schedule.ts";

/**
 * How an attempt settles its delivery. Source: seed "Webhook Event Delivery" §3 and §7.
 *
 * - `delivered`: any 2xx.
 * - `retry`: the next attempt starts at `atMs`, Unix milliseconds.
 * - `rejected`: the partner explicitly refused this event.
 * - `dead`: the next attempt would come too late; the delivery is exhausted.
 * - `disabled`: 410; the delivery is dead-lettered and the partner gets nothing more until its resource is edited.
 *
 * `reason` is the code of the outcome; it is safe as a subject token.
 */
export type Settlement =
  | { readonly kind: "delivered" }
  | { readonly kind: "retry"; readonly atMs: number; readonly reason: OutcomeCode }
  | { readonly kind: "rejected"; readonly reason: OutcomeCode }
  | { readonly kind: "dead"; readonly reason: OutcomeCode }
  | { readonly kind: "disabled"; readonly reason: OutcomeCode };

/** The attempted delivery. */
export interface AttemptedDelivery {
  /** Number of the attempt in its generation, from 1. A replay restarts the schedule, while `X-Attempt` counts on. */
  readonly attempt: number;
  /** Time at which the event or the replay was accepted; Unix milliseconds. */
  readonly acceptedAtMs: number;
}

/** Statuses with which a partner refuses an event for good. Source: seed "Webhook Event Delivery" §7. */
const rejectingStatuses: ReadonlySet<number> = new Set([400, 401, 403, 404, 422]);

/** Statuses whose `Retry-After` counts. Source: seed "Webhook Event Delivery" §7, RFC 9110 §10.2.3. */
const throttlingStatuses: ReadonlySet<number> = new Set([429, 503]);

const goneStatus = 410;

/**
 * Settles one attempt. `nowMs` is the time at which the outcome was known; `random` returns [0, 1) for the jitter.
 *
 * The next attempt waits for the longer of the schedule and `Retry-After`, which counts up to the longest step of the
 * schedule; jitter is added to that. Only the schedule ends a delivery, jitter does not. After a `Retry-After` beyond
 * the maximum age, the partner gets one more attempt at the latest permitted time.
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
  const requestedMs = requestedWaitMs(outcome, nowMs);
  const endMs = lastAttemptAtMs(policy, delivery.acceptedAtMs);
  const isExhausted = requestedMs === undefined ? nowMs + scheduledMs > endMs : nowMs >= endMs;
  if (isExhausted) {
    return { kind: "dead", reason };
  }
  const waitMs = Math.max(scheduledMs, Math.min(requestedMs ?? 0, longestStepMs(policy)));
  const atMs = Math.min(nowMs + withJitter(waitMs, policy.jitterPercent, random), endMs);
  return { kind: "retry", atMs, reason };
}

/** The `Retry-After` of another response on which an attempt depends, for the failure of the attempt. */
export function retryAfterOf(outcome: Outcome, nowMs: number): Pick<FailureOutcome, "retryAfterMs"> {
  const retryAfter = requestedWaitMs(outcome, nowMs);
  return retryAfter === undefined ? {} : { retryAfterMs: retryAfter };
}

/** Milliseconds for which the response requests no further request; undefined without a `Retry-After` that counts. */
export function requestedWaitMs(outcome: Outcome, nowMs: number): number | undefined {
  if (outcome.kind === "failure") {
    return outcome.retryAfterMs;
  }
  return throttlingStatuses.has(outcome.status) ? retryAfterMs(outcome.headers, nowMs) : undefined;
}
