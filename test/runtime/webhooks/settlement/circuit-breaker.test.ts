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

describe("a circuit breaker", () => {
  const after = (state: BreakerState, ...healths: readonly ("healthy" | "failing" | "unknown")[]): BreakerState =>
    healths.reduce((last, health) => afterAttempt(last, health, policy, 10_000), state);
  const open = { kind: "open", untilMs: 11_000, restMs: 1_000 } as const;

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
    expect(after({ kind: "probing", restMs: 1_000 }, "healthy")).toBe(closedBreaker);
  });

  test("opens for twice as long after each failed probe, up to its maximum", () => {
    const probed = (restMs: number) => after({ kind: "probing", restMs }, "failing");
    expect([1_000, 2_000, 3_000].map(probed)).toEqual([
      { kind: "open", untilMs: 12_000, restMs: 2_000 },
      { kind: "open", untilMs: 13_000, restMs: 3_000 },
      { kind: "open", untilMs: 13_000, restMs: 3_000 },
    ]);
    expect(after({ kind: "probing", restMs: 1_000 }, "unknown")).toEqual(open);
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
