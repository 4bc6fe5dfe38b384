import type { CircuitBreakerConfig } from "../../../crds/config.ts";
import type { AttemptOutcome } from "./outcome.ts";
import type { Settlement } from "./settle.ts";
import { settlementRow } from "./settlement-table.ts";

/** Why deliveries to a partner pause: it failed too often in a row, or a `Retry-After` of it has not passed. */
export const openCauses = ["failures", "rate_limited"] as const;
export type OpenCause = (typeof openCauses)[number];

/** Deliveries pause until a time. */
export interface OpenBreaker {
  readonly kind: "open";
  readonly cause: OpenCause;
  /** Start of the pause, probes included. Unix milliseconds by JetStream's clock. */
  readonly sinceMs: number;
  /** Unix milliseconds by JetStream's clock. */
  readonly untilMs: number;
  /** Length of the pause. */
  readonly restMs: number;
  /** Failures in a row. */
  readonly failures: number;
}

/**
 * State of a partner's circuit breaker; `closed` lets deliveries pass.
 *
 * ```
 * closed ── failures in a row ──► open ── time ──► probing ── success ──► closed
 *    │                             ▲ ▲                │
 *    └──── 429 with Retry-After ───┘ └── failure, time doubled; Retry-After
 * ```
 */
export type BreakerState =
  | { readonly kind: "closed"; readonly failures: number }
  | OpenBreaker
  | (Omit<OpenBreaker, "kind" | "untilMs"> & { readonly kind: "probing" });

/** Effect of an attempt on the partner's breaker: `unknown` has none. */
export type Health = "healthy" | "failing" | "unknown";

/** What an attempt showed about its partner. */
export interface Effect {
  readonly health: Health;
  /** Milliseconds for which the partner requested no deliveries. @default 0 */
  readonly pauseMs?: number;
}

export const closedBreaker: BreakerState = { kind: "closed", failures: 0 };

/** Bounds for a partner whose circuit breaker is off: failures never pause deliveries, a `Retry-After` still does. */
const policyWithoutBreaker: CircuitBreakerConfig = { failures: Infinity, openMs: 30_000, maxOpenMs: 600_000 };

const tooManyRequestsStatus = 429;

/**
 * A partner that responds is healthy, even when it rejects the event. A 429 and a failure of this side show nothing
 * about the partner.
 */
export function healthOf(outcome: AttemptOutcome, settlement: Settlement): Health {
  if (outcome.kind === "response" && outcome.status === tooManyRequestsStatus) return "unknown";
  if (outcome.kind === "failure" && (outcome.reason === "aborted" || outcome.reason === "internal")) return "unknown";
  return settlementRow(settlement).health;
}

/**
 * The state after an attempt. Attempts that were in flight when the breaker opened do not close it, but may prolong the
 * pause. A pause that a partner requests lasts for `maxOpenMs` at most.
 *
 * @param policy undefined when the circuit breaker of the partner is off
 */
export function afterAttempt(
  state: BreakerState,
  effect: Effect,
  policy: CircuitBreakerConfig | undefined,
  nowMs: number,
): BreakerState {
  const bounds = policy ?? policyWithoutBreaker;
  const { health } = effect;
  const pauseMs = Math.min(effect.pauseMs ?? 0, bounds.maxOpenMs);
  const step = { health, pauseMs, bounds, nowMs };
  switch (state.kind) {
    case "closed":
      return afterClosed(state.failures, step);
    case "open":
      return afterOpen(state, step);
    case "probing":
      return afterProbe(state, step);
  }
}

interface Step extends Required<Effect> {
  readonly bounds: CircuitBreakerConfig;
  readonly nowMs: number;
}

function afterClosed(failuresBefore: number, step: Step): BreakerState {
  const { health, pauseMs, bounds, nowMs } = step;
  if (health === "healthy") return closedBreaker;
  const failures = failuresBefore + (health === "failing" ? 1 : 0);
  if (failures >= bounds.failures) return openedByFailures(failures, bounds.openMs, nowMs, step);
  return pauseMs > 0 ? rateLimited(failures, nowMs, step) : { kind: "closed", failures };
}

function afterOpen(state: OpenBreaker, step: Step): BreakerState {
  const { health, pauseMs, bounds, nowMs } = step;
  const failures = state.failures + (health === "failing" ? 1 : 0);
  if (state.cause === "rate_limited" && failures >= bounds.failures)
    return openedByFailures(failures, bounds.openMs, nowMs, step);
  const untilMs = Math.max(state.untilMs, nowMs + pauseMs);
  const isSame = untilMs === state.untilMs && (state.cause === "failures" || failures === state.failures);
  return isSame ? state : { ...state, untilMs, failures };
}

function afterProbe(state: Extract<BreakerState, { kind: "probing" }>, step: Step): BreakerState {
  const { health, pauseMs, nowMs } = step;
  const { cause, sinceMs, restMs } = state;
  if (health === "healthy") return closedBreaker;
  if (health === "failing") return afterFailedProbe(state, step);
  if (pauseMs > 0) return rateLimited(state.failures, cause === "failures" ? nowMs : sinceMs, step);
  return { ...state, kind: "open", untilMs: nowMs + restMs };
}

function afterFailedProbe(state: Extract<BreakerState, { kind: "probing" }>, step: Step): BreakerState {
  const { pauseMs, bounds, nowMs } = step;
  const failures = state.failures + 1;
  if (state.cause === "failures")
    return openedByFailures(failures, Math.min(state.restMs * 2, bounds.maxOpenMs), state.sinceMs, step);
  if (pauseMs > 0 && failures < bounds.failures) return rateLimited(failures, state.sinceMs, step);
  // Without a circuit breaker, a failed probe only ends the pause that the partner requested.
  const isOff = bounds === policyWithoutBreaker;
  return isOff ? { kind: "closed", failures } : openedByFailures(failures, bounds.openMs, nowMs, step);
}

function openedByFailures(failures: number, restMs: number, sinceMs: number, { pauseMs, nowMs }: Step): OpenBreaker {
  const untilMs = nowMs + Math.max(restMs, pauseMs);
  return { kind: "open", cause: "failures", sinceMs, untilMs, restMs, failures };
}

function rateLimited(failures: number, sinceMs: number, { pauseMs, nowMs }: Step): OpenBreaker {
  return { kind: "open", cause: "rate_limited", sinceMs, untilMs: nowMs + pauseMs, restMs: pauseMs, failures };
}

/** Why deliveries pause, probes included; undefined when they do not. */
export function causeOf(state: BreakerState): OpenCause | undefined {
  return state.kind === "closed" ? undefined : state.cause;
}

/** The pause that one response requested; undefined without one. */
export function requestedPause(
  { pauseMs = 0 }: Effect,
  policy: CircuitBreakerConfig | undefined,
  nowMs: number,
): OpenBreaker | undefined {
  const state = afterAttempt(closedBreaker, { health: "unknown", pauseMs }, policy, nowMs);
  return state.kind === "open" ? state : undefined;
}

/** The state of an owner that learns of a pause: the later end counts, and failures count as the cause. */
export function joinedPause(state: BreakerState, pause: OpenBreaker): OpenBreaker {
  if (state.kind === "closed") return pause;
  const base = pause.cause === "failures" && state.cause !== "failures" ? pause : state;
  if (state.kind === "probing") return { ...base, kind: "open", untilMs: pause.untilMs };
  return base === state && state.untilMs >= pause.untilMs
    ? state
    : { ...base, kind: "open", untilMs: Math.max(state.untilMs, pause.untilMs) };
}

/** The state in a pod that takes over a partner whose consumers are paused and whose pause is not stored. */
export function takenOver(untilMs: number, policy: CircuitBreakerConfig, nowMs: number): OpenBreaker {
  const { openMs, failures } = policy;
  return { kind: "open", cause: "failures", sinceMs: nowMs, untilMs, restMs: openMs, failures };
}

/** A pause that ends within the bounds of a specification. */
export function boundedPause(state: OpenBreaker, policy: CircuitBreakerConfig | undefined, nowMs: number): OpenBreaker {
  const { maxOpenMs } = policy ?? policyWithoutBreaker;
  return { ...state, untilMs: Math.min(state.untilMs, nowMs + maxOpenMs) };
}

/** Effect of a ping on the breaker: a success shows that the partner is healthy, a failure shows nothing. */
export function healthOfPing({ kind }: Settlement): Health {
  return kind === "delivered" ? "healthy" : "unknown";
}
