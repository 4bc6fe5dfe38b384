import type { CircuitBreakerConfig } from "../../../crds/config.ts";
import type { Outcome } from "./outcome.ts";
import type { Settlement } from "./settle.ts";
import { settlementRow } from "./settlement-table.ts";

/**
 * State of a partner's circuit breaker; `closed` lets deliveries pass.
 *
 * ```
 * closed ── failures in a row ──► open ── time ──► probing ── success ──► closed
 *                                  ▲                  │
 *                                  └── failure, time doubled
 * ```
 */
export type BreakerState =
  | { readonly kind: "closed"; readonly failures: number }
  | { readonly kind: "open"; readonly untilMs: number; readonly restMs: number }
  | { readonly kind: "probing"; readonly restMs: number };

/** Effect of an attempt on the partner's breaker: `unknown` has none. */
export type Health = "healthy" | "failing" | "unknown";

export const closedBreaker: BreakerState = { kind: "closed", failures: 0 };

const tooManyRequestsStatus = 429;

/**
 * A partner that answers is healthy, even when it refuses the event. A 429 and a failure of this side show nothing
 * about the partner.
 */
export function healthOf(outcome: Outcome, settlement: Settlement): Health {
  if (outcome.kind === "response" && outcome.status === tooManyRequestsStatus) {
    return "unknown";
  }
  if (outcome.kind === "failure" && (outcome.reason === "aborted" || outcome.reason === "internal")) {
    return "unknown";
  }
  return settlementRow(settlement).health;
}

/** The state after an attempt. Attempts that were in flight when the breaker opened do not change it. */
export function afterAttempt(
  state: BreakerState,
  health: Health,
  policy: CircuitBreakerConfig,
  nowMs: number,
): BreakerState {
  switch (state.kind) {
    case "closed":
      return afterClosed(state.failures, health, policy, nowMs);
    case "open":
      return state;
    case "probing":
      return afterProbe(state.restMs, health, policy, nowMs);
    default:
      throw new Error(`unknown state ${String(state satisfies never)}`);
  }
}

function afterClosed(failures: number, health: Health, policy: CircuitBreakerConfig, nowMs: number): BreakerState {
  if (health === "unknown") {
    return { kind: "closed", failures };
  }
  if (health === "healthy") {
    return closedBreaker;
  }
  return failures + 1 < policy.failures
    ? { kind: "closed", failures: failures + 1 }
    : { kind: "open", untilMs: nowMs + policy.openMs, restMs: policy.openMs };
}

function afterProbe(restMs: number, health: Health, policy: CircuitBreakerConfig, nowMs: number): BreakerState {
  if (health === "healthy") {
    return closedBreaker;
  }
  const nextMs = health === "failing" ? Math.min(restMs * 2, policy.maxOpenMs) : restMs;
  return { kind: "open", untilMs: nowMs + nextMs, restMs: nextMs };
}

/** The state in a pod that takes over a partner whose consumers are paused. */
export function takenOver(untilMs: number, policy: CircuitBreakerConfig): BreakerState {
  return { kind: "open", untilMs, restMs: policy.openMs };
}
