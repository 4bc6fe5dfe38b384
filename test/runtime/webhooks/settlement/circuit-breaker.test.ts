import { describe, expect, test } from "vitest";
import {
  afterAttempt,
  closedBreaker,
  healthOf,
  type BreakerState,
  type Effect,
} from "../../../../runtime/webhooks/settlement/circuit-breaker.ts";
import type { AttemptOutcome } from "../../../../runtime/webhooks/settlement/outcome.ts";

const policy = { failures: 3, openMs: 1_000, maxOpenMs: 3_000 };
const timings = { totalMs: 1 };
const answer = (status: number): AttemptOutcome => ({
  kind: "response",
  status,
  headers: {},
  body: "",
  bodyTruncated: false,
  timings,
});
const failure = (reason: "connect" | "aborted"): AttemptOutcome => ({ kind: "failure", reason, detail: "", timings });
const retry = { kind: "retry", atMs: 0, reason: "status_500" } as const;

describe("a circuit breaker", () => {
  type Step = Effect["health"] | Effect;
  const effectOf = (step: Step): Effect => (typeof step === "string" ? { health: step } : step);
  const after = (state: BreakerState, ...steps: readonly Step[]): BreakerState =>
    steps.reduce((last, step) => afterAttempt(last, effectOf(step), policy, 10_000), state);
  const open = {
    kind: "open",
    cause: "failures",
    sinceMs: 10_000,
    untilMs: 11_000,
    restMs: 1_000,
    failures: 3,
  } as const;
  const { untilMs: _untilMs, ...ended } = open;
  const probing = { ...ended, kind: "probing", sinceMs: 4_000 } as const;

  test("opens after failures in a row", () => {
    expect(after(closedBreaker, "failing", "failing")).toEqual({ kind: "closed", failures: 2 });
    expect(after(closedBreaker, "failing", "failing", "failing")).toEqual(open);
  });

  test("restarts its count after a success, and not after an unknown health", () => {
    expect(after(closedBreaker, "failing", "failing", "healthy", "failing", "failing")).toEqual({
      kind: "closed",
      failures: 2,
    });
    expect(after(closedBreaker, "failing", "unknown", "failing", "unknown", "failing")).toEqual(open);
  });

  test("that is open ignores attempts that were in flight", () => {
    expect(after(open, "failing", "healthy", "unknown")).toBe(open);
  });

  test("closes after a probe that succeeds", () => {
    expect(after(probing, "healthy")).toBe(closedBreaker);
  });

  test("opens for twice as long after each failed probe, up to its maximum", () => {
    const probed = (restMs: number) => after({ ...probing, restMs }, "failing");
    const again = { ...open, sinceMs: 4_000, failures: 4 };
    expect([1_000, 2_000, 3_000].map(probed)).toEqual([
      { ...again, untilMs: 12_000, restMs: 2_000 },
      { ...again, untilMs: 13_000, restMs: 3_000 },
      { ...again, untilMs: 13_000, restMs: 3_000 },
    ]);
    expect(after(probing, "unknown")).toEqual({ ...open, sinceMs: 4_000 });
  });

  describe("with a Retry-After", () => {
    const limited = (pauseMs: number): Effect => ({ health: "unknown", pauseMs });
    const busy = (pauseMs: number): Effect => ({ health: "failing", pauseMs });
    const paused = { ...open, cause: "rate_limited", untilMs: 12_000, restMs: 2_000, failures: 0 } as const;
    const { untilMs: _ended, ...over } = paused;
    const probe = { ...over, kind: "probing", sinceMs: 4_000 } as const;

    test.each<[string, BreakerState, readonly Step[], BreakerState]>([
      ["pauses the partner", closedBreaker, [limited(2_000)], paused],
      [
        "pauses it for the longest pause at most",
        closedBreaker,
        [limited(9_000)],
        { ...paused, untilMs: 13_000, restMs: 3_000 },
      ],
      ["of zero does not", closedBreaker, [limited(0)], closedBreaker],
      ["counts the failure of a 503", closedBreaker, [busy(2_000)], { ...paused, failures: 1 }],
      [
        "of a last failure in a row opens it for the longer time",
        { kind: "closed", failures: 2 },
        [busy(2_000)],
        { ...open, untilMs: 12_000 },
      ],
      [
        "of an attempt in flight prolongs a pause",
        paused,
        [limited(2_500), limited(1_000)],
        { ...paused, untilMs: 12_500 },
      ],
      [
        "of an attempt in flight prolongs the pause after failures",
        open,
        [limited(2_500)],
        { ...open, untilMs: 12_500 },
      ],
      ["is not ended by attempts in flight", paused, ["healthy", "unknown"], paused],
      ["gives way to failures of attempts in flight", paused, ["failing", "failing", "failing"], open],
      ["ends with a probe that succeeds", probe, ["healthy"], closedBreaker],
      [
        "is repeated by a probe that gets another",
        probe,
        [limited(500)],
        { ...paused, sinceMs: 4_000, untilMs: 10_500, restMs: 500 },
      ],
      [
        "is repeated by a 503 to a probe until failures in a row open it",
        { ...probe, failures: 1 },
        [busy(500)],
        { ...paused, sinceMs: 4_000, untilMs: 10_500, restMs: 500, failures: 2 },
      ],
      ["of a 503 to a probe opens it after failures in a row", { ...probe, failures: 2 }, [busy(500)], open],
      ["lasts as long again after a 429 without one", probe, ["unknown"], { ...paused, sinceMs: 4_000 }],
      ["turns into an open breaker when its probe fails", probe, ["failing"], { ...open, failures: 1 }],
      ["to a probe after failures is the new reason", probing, [limited(2_000)], { ...paused, failures: 3 }],
    ])("%s", (_, state, steps, expected) => {
      expect(after(state, ...steps)).toEqual(expected);
    });

    test("counts without a circuit breaker too, and failures still do not", () => {
      const without = (state: BreakerState, effect: Effect) => afterAttempt(state, effect, undefined, 10_000);
      expect(without(closedBreaker, limited(2_000))).toEqual(paused);
      expect(without(closedBreaker, limited(86_400_000))).toMatchObject({ untilMs: 610_000 });
      expect(without({ kind: "closed", failures: 5_000 }, effectOf("failing"))).toMatchObject({ kind: "closed" });
      expect(without(probe, effectOf("failing"))).toEqual({ kind: "closed", failures: 1 });
    });
  });
});

describe("the health of a partner after an attempt is", () => {
  test.each([
    ["healthy after a 2xx", answer(200), { kind: "delivered" }, "healthy"],
    ["healthy after a refusal", answer(404), { kind: "rejected", reason: "status_404" }, "healthy"],
    ["failing after a 5xx", answer(500), retry, "failing"],
    ["failing after the last attempt", answer(500), { kind: "dead", reason: "status_500" }, "failing"],
    ["failing without a connection", failure("connect"), retry, "failing"],
    ["unknown after a 429", answer(429), retry, "unknown"],
    ["unknown after this side aborted", failure("aborted"), retry, "unknown"],
  ] as const)("%s", (_, outcome, settlement, health) => {
    expect(healthOf(outcome, settlement)).toBe(health);
  });
});
