import type { DeliveryConfig, RetryConfig } from "../../../crds/config.ts";
import { settle } from "../../webhooks/settlement/settle.ts";
import type { Course, MadeAttempt, RecordedDelivery } from "./course.ts";
import { createDueQueue } from "./due-queue.ts";
import { createAnswers, type Answers } from "./nearest-answer.ts";
import { createLimits, type Limits } from "./limits.ts";

/** The edited partner, up to an instant. */
export interface SimulatedPolicy {
  readonly retry: RetryConfig;
  readonly delivery: Pick<DeliveryConfig, "maxInFlight" | "rate">;
  /** Unix milliseconds. No attempt is simulated after it. */
  readonly untilMs: number;
}

/** The simulated courses, in the order of the deliveries. */
export interface Simulation {
  readonly courses: readonly Course[];
  /** Attempts whose outcome is estimated. */
  readonly estimated: number;
  /** The longest time between such an attempt and the one that lends its outcome. */
  readonly farthestMs: number;
  /** False when the limit of attempts ended the simulation. */
  readonly isComplete: boolean;
}

interface Simulated {
  readonly recorded: RecordedDelivery;
  readonly attempts: Course["attempts"][number][];
  end: Course["end"];
}

interface Run {
  readonly policy: SimulatedPolicy;
  readonly answers: Answers;
  readonly limits: Limits;
}

/** Attempts between two pauses. */
const stepAttempts = 500;

/**
 * Simulates the deliveries of one partner under an edited policy, in the order of time. Exact attempts stay as they
 * are. An attempt at an instant that was never tried begins when the limits permit it. It has the outcome and the
 * duration of the recorded attempt that began nearest. Jitter, the circuit breaker and the bound of the backlog are no
 * part of it. Yields where the caller may rest.
 *
 * @param attemptsMax further attempts are not simulated
 */
export function* simulate(
  deliveries: readonly RecordedDelivery[],
  policy: SimulatedPolicy,
  attemptsMax: number,
): Generator<void, Simulation, void> {
  const run = { policy, answers: createAnswers(deliveries), limits: createLimits(policy.delivery) };
  const all = deliveries.map((recorded): Simulated => ({ recorded, attempts: [], end: "retry" }));
  const queue = createDueQueue<Simulated>();
  for (const one of all) queue.push(firstAtMs(one.recorded), one);
  let made = 0;
  let due = queue.pop();
  for (; due !== undefined && made < attemptsMax; due = queue.pop()) {
    made += 1;
    if (made % stepAttempts === 0) yield;
    const nextMs = attempt(run, due.item, due.atMs);
    if (nextMs !== undefined) queue.push(nextMs, due.item);
  }
  const courses = all.map(({ recorded: { acceptedAtMs }, attempts, end }) => ({ acceptedAtMs, attempts, end }));
  return { courses, ...run.answers.used(), isComplete: due === undefined };
}

function firstAtMs({ acceptedAtMs, attempts, exact }: RecordedDelivery): number {
  return exact > 0 ? (attempts[0]?.startMs ?? acceptedAtMs) : acceptedAtMs;
}

/** Makes the next attempt of a delivery. @returns the instant of the one after it, if there is one */
function attempt(run: Run, one: Simulated, atMs: number): number | undefined {
  const { recorded, attempts } = one;
  const number = attempts.length + 1;
  const made = number <= recorded.exact ? recorded.attempts[number - 1] : estimatedAttempt(run, recorded, atMs);
  if (made === undefined) return undefined;
  const { startMs, endMs, outcome } = made;
  run.limits.add(startMs, endMs);
  attempts.push({ startMs, endMs });
  if (number < recorded.exact) return recorded.attempts[number]?.startMs;
  if (number === recorded.exact && !recorded.isMoved) {
    one.end = recorded.end;
    return undefined;
  }
  const { retry, untilMs } = run.policy;
  const delivery = { attempt: number, acceptedAtMs: recorded.acceptedAtMs };
  const settlement = settle(outcome, retry, delivery, endMs, () => 0);
  one.end = settlement.kind;
  return settlement.kind === "retry" && settlement.atMs <= untilMs ? settlement.atMs : undefined;
}

/** Undefined for an attempt that is not over by now. */
function estimatedAttempt(run: Run, recorded: RecordedDelivery, atMs: number): MadeAttempt | undefined {
  const startMs = run.limits.startMs(atMs);
  if (startMs > run.policy.untilMs) return undefined;
  const { outcome, durationMs } = run.answers.at(startMs, recorded);
  return { startMs, endMs: startMs + durationMs, outcome };
}
