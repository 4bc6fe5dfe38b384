import { describe, expect, test } from "vitest";
import {
  afterAttempt,
  closedBreaker,
  healthOf,
  type BreakerState,
} from "../../../../runtime/webhooks/settlement/circuit-breaker.ts";
import type { Outcome } from "../../../../runtime/webhooks/settlement/outcome.ts";

const policy = { failures: 3, openMs: 1_000, maxOpenMs: 3_000 };
const timings = { totalMs: 1 };
const answer = (status: number): Outcome => ({
  kind: "response",
  status,
  headers: {},
  body: "",
  bodyTruncated: false,
  timings,
});
const failure = (reason: "connect" | "aborted"): Outcome => ({ kind: "failure", reason, detail: "", timings });
const retry = { kind: "retry", atMs: 0, reason: "status_500" } as const;

describe("a breaker", () => {
  const after = (state: BreakerState, ...healths: readonly ("healthy" | "failing" | "unknown")[]): BreakerState =>
    healths.reduce((last, health) => afterAttempt(last, health, policy, 10_000), state);
  const open = { kind: "open", untilMs: 11_000, restMs: 1_000 } as const;

  test("opens after failures in a row", () => {
    expect(after(closedBreaker, "failing", "failing")).toEqual({ kind: "closed", failures: 2 });
    expect(after(closedBreaker, "failing", "failing", "failing")).toEqual(open);
  });

  test("starts counting anew after a success, and not after what says nothing", () => {
    expect(after(closedBreaker, "failing", "failing", "healthy", "failing", "failing")).toEqual({
      kind: "closed",
      failures: 2,
    });
    expect(after(closedBreaker, "failing", "unknown", "failing", "unknown", "failing")).toEqual(open);
  });

  test("that is open is not moved by what was under way", () => {
    expect(after(open, "failing", "healthy", "unknown")).toBe(open);
  });

  test("closes after a probe that succeeds", () => {
    expect(after({ kind: "probing", restMs: 1_000 }, "healthy")).toBe(closedBreaker);
  });

  test("rests twice as long after each probe that fails, up to the longest rest", () => {
    const probed = (restMs: number) => after({ kind: "probing", restMs }, "failing");
    expect([1_000, 2_000, 3_000].map(probed)).toEqual([
      { kind: "open", untilMs: 12_000, restMs: 2_000 },
      { kind: "open", untilMs: 13_000, restMs: 3_000 },
      { kind: "open", untilMs: 13_000, restMs: 3_000 },
    ]);
    expect(after({ kind: "probing", restMs: 1_000 }, "unknown")).toEqual(open);
  });
});

describe("an attempt says that its partner is", () => {
  test.each([
    ["healthy: it took the event", answer(200), { kind: "delivered" }, "healthy"],
    ["healthy: it refused the event", answer(404), { kind: "rejected", reason: "status_404" }, "healthy"],
    ["failing: it failed", answer(500), retry, "failing"],
    ["failing: it failed for the last time", answer(500), { kind: "dead", reason: "status_500" }, "failing"],
    ["failing: it cannot be reached", failure("connect"), retry, "failing"],
    ["unknown: it asks to be sent less", answer(429), retry, "unknown"],
    ["unknown: this side gave up", failure("aborted"), retry, "unknown"],
  ] as const)("%s", (_, outcome, settlement, health) => {
    expect(healthOf(outcome, settlement)).toBe(health);
  });
});
