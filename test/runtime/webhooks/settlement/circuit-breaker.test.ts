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
  const after = (state: BreakerState, ...healths: readonly ("well" | "sick" | "neither")[]): BreakerState =>
    healths.reduce((last, health) => afterAttempt(last, health, policy, 10_000), state);
  const open = { kind: "open", untilMs: 11_000, restMs: 1_000 } as const;

  test("opens after failures in a row", () => {
    expect(after(closedBreaker, "sick", "sick")).toEqual({ kind: "closed", failures: 2 });
    expect(after(closedBreaker, "sick", "sick", "sick")).toEqual(open);
  });

  test("starts counting anew after a success, and not after what says nothing", () => {
    expect(after(closedBreaker, "sick", "sick", "well", "sick", "sick")).toEqual({ kind: "closed", failures: 2 });
    expect(after(closedBreaker, "sick", "neither", "sick", "neither", "sick")).toEqual(open);
  });

  test("that is open is not moved by what was under way", () => {
    expect(after(open, "sick", "well", "neither")).toBe(open);
  });

  test("closes after a probe that succeeds", () => {
    expect(after({ kind: "probing", restMs: 1_000 }, "well")).toBe(closedBreaker);
  });

  test("rests twice as long after each probe that fails, up to the longest rest", () => {
    const probed = (restMs: number) => after({ kind: "probing", restMs }, "sick");
    expect([1_000, 2_000, 3_000].map(probed)).toEqual([
      { kind: "open", untilMs: 12_000, restMs: 2_000 },
      { kind: "open", untilMs: 13_000, restMs: 3_000 },
      { kind: "open", untilMs: 13_000, restMs: 3_000 },
    ]);
    expect(after({ kind: "probing", restMs: 1_000 }, "neither")).toEqual(open);
  });
});

describe("an attempt says that its partner is", () => {
  test.each([
    ["well: it took the event", answer(200), { kind: "delivered" }, "well"],
    ["well: it refused the event", answer(404), { kind: "rejected", reason: "status_404" }, "well"],
    ["sick: it failed", answer(500), retry, "sick"],
    ["sick: it failed for the last time", answer(500), { kind: "dead", reason: "status_500" }, "sick"],
    ["sick: it cannot be reached", failure("connect"), retry, "sick"],
    ["neither: it asks to be sent less", answer(429), retry, "neither"],
    ["neither: this side gave up", failure("aborted"), retry, "neither"],
  ] as const)("%s", (_, outcome, settlement, health) => {
    expect(healthOf(outcome, settlement)).toBe(health);
  });
});
