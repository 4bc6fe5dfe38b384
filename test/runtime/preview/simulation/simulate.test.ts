import { array, assert, boolean, constant, integer, property, record, tuple } from "fast-check";
import { describe, expect, test } from "vitest";
import type { RetryConfig } from "../../../../crds/config.ts";
import { figuresOf, recordedCourse } from "../../../../runtime/preview/simulation/figures.ts";
import type { MadeAttempt, RecordedDelivery } from "../../../../runtime/preview/simulation/course.ts";
import {
  simulate as simulateInSteps,
  type SimulatedPolicy,
  type Simulation,
} from "../../../../runtime/preview/simulation/simulate.ts";
import { settle, type Settlement } from "../../../../runtime/webhooks/settlement/settle.ts";

const retry = { scheduleSeconds: [1, 2, 4], maxAgeSeconds: 3_600, jitterPercent: 0 };
const base: SimulatedPolicy = { retry, delivery: { maxInFlight: 64 }, untilMs: 100_000 };
const enough = 1_000;

function simulate(...given: Parameters<typeof simulateInSteps>): Simulation {
  const steps = simulateInSteps(...given);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

function made(startMs: number, status: number, durationMs = 10): MadeAttempt {
  const timings = { totalMs: durationMs };
  const outcome = { kind: "response" as const, status, headers: {}, body: "", bodyTruncated: false, timings };
  return { startMs, endMs: startMs + durationMs, outcome };
}

interface Rest {
  readonly end?: Settlement["kind"];
  readonly exact?: number;
  readonly isMoved?: boolean;
  readonly acceptedAtMs?: number;
}

function delivery(attempts: readonly MadeAttempt[], rest: Rest = {}): RecordedDelivery {
  const { end = "delivered", exact = attempts.length, isMoved = false, acceptedAtMs = 0 } = rest;
  return { acceptedAtMs, attempts, end, exact, isMoved };
}

const startsOf = (one: { readonly attempts: readonly { readonly startMs: number }[] } | undefined) =>
  one?.attempts.map(({ startMs }) => startMs);

describe("the simulation of one partner", () => {
  test("delivers a dead letter that the edit tries again while the partner answers", () => {
    const dead = delivery([made(0, 500), made(1_010, 500), made(3_020, 500)], { end: "dead", isMoved: true });
    const other = delivery([made(7_000, 200)], { acceptedAtMs: 7_000 });
    const { courses, ...rest } = simulate([dead, other], base, enough);
    expect(startsOf(courses[0])).toEqual([0, 1_010, 3_020, 7_030]);
    expect(courses.map(({ end }) => end)).toEqual(["delivered", "delivered"]);
    expect(rest).toEqual({ estimated: 1, farthestMs: 30, isComplete: true });
    // Delivered after 7,040 and 10 ms; the first waits until then, the second from 7,000 to 7,010.
    expect(figuresOf(courses)).toEqual({
      delivered: 2,
      dead_letters: 0,
      pending: 0,
      backlog: 2,
      in_flight: 1,
      p95_ms: 7_040,
    });
    expect(figuresOf([dead, other].map(recordedCourse))).toMatchObject({ delivered: 1, dead_letters: 1, backlog: 1 });
  });

  test("ends a delivery whose next attempt comes too late", () => {
    const was = delivery([made(0, 500), made(1_010, 500), made(3_020, 200)], { exact: 2, isMoved: true });
    const short = { ...base, retry: { ...retry, maxAgeSeconds: 2 } };
    const [course] = simulate([was], short, enough).courses;
    expect(startsOf(course)).toEqual([0, 1_010]);
    expect(course?.end).toBe("dead");
  });

  test("takes the earlier of two equally near answers", () => {
    const failing = delivery([made(0, 500, 0), made(1_000, 500, 0)], { exact: 1, isMoved: true, end: "dead" });
    const later = delivery([made(19_000, 200, 0)], { acceptedAtMs: 19_000 });
    const policy = { ...base, retry: { scheduleSeconds: [10], maxAgeSeconds: 60, jitterPercent: 0 } };
    const { courses, farthestMs } = simulate([failing, later], policy, enough);
    expect(startsOf(courses[0])).toEqual([0, 10_000]);
    expect(courses[0]?.end).toBe("dead");
    expect(farthestMs).toBe(9_000);
  });

  test.each([
    ["one attempt at a time", { maxInFlight: 1 }, [0, 1_000, 2_000], { in_flight: 1, backlog: 3, p95_ms: 3_000 }],
    ["two at a time", { maxInFlight: 2 }, [0, 0, 1_000], { in_flight: 2, backlog: 3, p95_ms: 2_000 }],
    [
      "one in a second after two at once",
      { maxInFlight: 64, rate: { perSecond: 1, burst: 2 } },
      [0, 0, 1_000],
      { in_flight: 2, backlog: 3, p95_ms: 2_000 },
    ],
  ])("begins %s", (_, limits, starts, figures) => {
    const three = Array.from({ length: 3 }, () => delivery([made(0, 200, 1_000)], { exact: 0, isMoved: true }));
    const { courses } = simulate(three, { ...base, delivery: limits }, enough);
    expect(courses.flatMap(startsOf)).toEqual(starts);
    expect(figuresOf(courses)).toMatchObject(figures);
  });

  test("keeps a refusal with its own delivery", () => {
    const refused = delivery([made(0, 422)], { exact: 0, isMoved: true, end: "rejected" });
    const other = delivery([made(5_000, 200)], { exact: 0, isMoved: true });
    const { courses } = simulate([refused, other], base, enough);
    expect(courses.map(({ end }) => end)).toEqual(["rejected", "delivered"]);
  });

  test("leaves a delivery pending whose next attempt is not over by now, and stops at its limit", () => {
    const waiting = delivery([made(0, 500)], { end: "retry", isMoved: true });
    const soon = { ...base, untilMs: 900 };
    expect(simulate([waiting], soon, enough)).toMatchObject({ courses: [{ end: "retry" }], isComplete: true });
    const cut = simulate([waiting], base, 2);
    expect(startsOf(cut.courses[0])).toEqual([0, 1_010]);
    expect(cut).toMatchObject({ courses: [{ end: "retry" }], isComplete: false });
  });
});

const policies = record({
  scheduleSeconds: array(integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 5 }),
  maxAgeSeconds: integer({ min: 1, max: 300 }),
  jitterPercent: constant(0),
});
const seconds = integer({ min: 0, max: 200 }).map((count) => count * 1_000);
const outages = array(tuple(seconds, seconds), { maxLength: 3 });

/** A partner whose answer depends on the instant alone, and its record of one delivery. */
function recordOf(policy: RetryConfig, acceptedAtMs: number, isDown: (ms: number) => boolean): RecordedDelivery {
  const attempts: MadeAttempt[] = [];
  for (let atMs = acceptedAtMs; ;) {
    const one = made(atMs, isDown(atMs) ? 503 : 200);
    attempts.push(one);
    const settlement = settle(one.outcome, policy, { attempt: attempts.length, acceptedAtMs }, one.endMs, () => 0);
    if (settlement.kind !== "retry") {
      return delivery(attempts, { acceptedAtMs, end: settlement.kind, exact: 0, isMoved: true });
    }
    atMs = settlement.atMs;
  }
}

test("an equal policy simulates what was recorded, be it exact or estimated", () => {
  const cases = tuple(policies, array(seconds, { minLength: 1, maxLength: 20 }), outages, boolean());
  assert(
    property(cases, ([policy, accepted, down, isExact]) => {
      const isDown = (ms: number): boolean => down.some(([from, length]) => ms >= from && ms < from + length);
      const records = accepted.map((acceptedAtMs) => {
        const recorded = recordOf(policy, acceptedAtMs, isDown);
        return isExact ? { ...recorded, exact: recorded.attempts.length, isMoved: false } : recorded;
      });
      const loose = { retry: policy, delivery: { maxInFlight: enough }, untilMs: Number.MAX_SAFE_INTEGER };
      const { courses, farthestMs } = simulate(records, loose, 100_000);
      const plain = records.map(recordedCourse).map(({ attempts, ...rest }) => {
        return { ...rest, attempts: attempts.map(({ startMs, endMs }) => ({ startMs, endMs })) };
      });
      expect(courses).toEqual(plain);
      expect(farthestMs).toBe(0);
      expect(figuresOf(courses)).toEqual(figuresOf(plain));
    }),
  );
});

test("simulated attempts obey the limits", () => {
  const limits = record({
    maxInFlight: integer({ min: 1, max: 4 }),
    rate: record({ perSecond: integer({ min: 1, max: 5 }), burst: integer({ min: 1, max: 5 }) }),
  });
  assert(
    property(limits, array(seconds, { minLength: 1, maxLength: 30 }), (allowed, accepted) => {
      const records = accepted.map((acceptedAtMs) =>
        delivery([made(acceptedAtMs, 200, 3_000)], { acceptedAtMs, exact: 0, isMoved: true }),
      );
      const { courses } = simulate(records, { ...base, delivery: allowed, untilMs: Number.MAX_SAFE_INTEGER }, enough);
      expect(figuresOf(courses).in_flight).toBeLessThanOrEqual(allowed.maxInFlight);
      const starts = courses.flatMap((one) => startsOf(one) ?? []).toSorted((one, other) => one - other);
      const { perSecond, burst } = allowed.rate;
      const gaps = starts.slice(burst).map((start, index) => start - (starts[index] ?? 0));
      expect(gaps.filter((gap) => gap < 1_000 / perSecond - 1e-3)).toEqual([]);
    }),
  );
});
