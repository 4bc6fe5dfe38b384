import type { RetryConfig } from "../../../crds/config.ts";
import type { Health } from "./circuit-breaker.ts";
import type { Outcome } from "./outcome.ts";
import { settle, type AttemptedDelivery, type Settlement } from "./settle.ts";

/** Attempts of a ping: the first one and one retry. */
const attemptsMax = 2;
/** The retry of a ping does not follow the schedule of its partner: a person waits for it. */
const retryPolicy: RetryConfig = { scheduleSeconds: [5], maxAgeSeconds: 3_600, jitterPercent: 0 };

/**
 * Settles one attempt of a ping. It is retried once, after five seconds, unless the ping is older than an hour. A 410
 * rejects the ping and does not disable the partner. Source: docs/decisions/archive/0203.
 *
 * @param nowMs time at which the outcome was known
 */
export function settlePing(outcome: Outcome, delivery: AttemptedDelivery, nowMs: number): Settlement {
  const settlement = settle(outcome, retryPolicy, delivery, nowMs, () => 0);
  if (settlement.kind === "disabled") return { kind: "rejected", reason: settlement.reason };
  const isLast = settlement.kind === "retry" && delivery.attempt >= attemptsMax;
  return isLast ? { kind: "dead", reason: settlement.reason } : settlement;
}

/** Effect of a ping on the breaker: a success shows that the partner is healthy, a failure shows nothing. */
export function healthOfPing({ kind }: Settlement): Health {
  return kind === "delivered" ? "healthy" : "unknown";
}
