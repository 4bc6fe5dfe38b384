import type { RetryConfig } from "../../../crds/config.ts";

const secondMs = 1_000;

/** Wait between attempts after the end of the schedule. Source: seed "Webhook Event Delivery" §8 ("then daily"). */
const dailyWaitSeconds = 86_400;

/** Milliseconds between failed attempt number `attempt` (from 1) and the next one, by the schedule. */
export function scheduledWaitMs(policy: RetryConfig, attempt: number): number {
  return (policy.scheduleSeconds[attempt - 1] ?? dailyWaitSeconds) * secondMs;
}

/** Longest wait of the schedule, in milliseconds. */
export function longestStepMs({ scheduleSeconds }: RetryConfig): number {
  return Math.max(0, ...scheduleSeconds) * secondMs;
}

/** Latest start of the last attempt of a delivery, in Unix milliseconds. */
export function lastAttemptAtMs(policy: RetryConfig, acceptedAtMs: number): number {
  return acceptedAtMs + policy.maxAgeSeconds * secondMs;
}

/**
 * Adds jitter to a wait: up to `jitterPercent` of it, never less than `waitMs`. Deliveries that failed together are
 * then retried at different times, and none before its time.
 */
export function withJitter(waitMs: number, jitterPercent: number, random: () => number): number {
  return waitMs + Math.floor(random() * waitMs * (jitterPercent / 100));
}
