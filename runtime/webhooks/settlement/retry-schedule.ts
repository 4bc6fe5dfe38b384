import type { RetryConfig } from "../../../crds/config.ts";

const secondMs = 1_000;

/** Wait between the attempts that follow the schedule. Source: seed "Webhook Event Delivery" §8 ("then daily"). */
const dailyWaitSeconds = 86_400;

/** Milliseconds that the schedule puts between failed attempt number `attempt` (from 1) and the next one. */
export function scheduledWaitMs(policy: RetryConfig, attempt: number): number {
  return (policy.scheduleSeconds[attempt - 1] ?? dailyWaitSeconds) * secondMs;
}

/** The longest wait that the schedule names, in milliseconds. */
export function longestStepMs({ scheduleSeconds }: RetryConfig): number {
  return Math.max(0, ...scheduleSeconds) * secondMs;
}

/** When the last attempt of a delivery may start, in Unix milliseconds. */
export function lastAttemptAtMs(policy: RetryConfig, acceptedAtMs: number): number {
  return acceptedAtMs + policy.maxAgeSeconds * secondMs;
}

/**
 * A wait with its random addition: at least `waitMs`, at most `jitterPercent` of it more, so that nobody is asked early
 * and those who failed together do not come back together.
 */
export function withJitter(waitMs: number, jitterPercent: number, random: () => number): number {
  return waitMs + Math.floor(random() * waitMs * (jitterPercent / 100));
}
