import { runPeriodically, msToNextRun } from "../../limits/clock.ts";
import { assert, integer, nat, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { waitFor } from "../support/wait.ts";

describe("periodic runs", () => {
  test("are at multiples of their period, at least half of one away and at most one and a half", () => {
    const atMultiples = property(integer({ min: 1, max: 10_000 }), nat(10_000_000), (periodMs, nowMs) => {
      const waitMs = msToNextRun(periodMs, nowMs);
      expect(waitMs).toBeGreaterThanOrEqual(periodMs / 2);
      expect(waitMs).toBeLessThanOrEqual(periodMs * 1.5);
      expect((nowMs + waitMs) % periodMs).toBe(0);
    });
    assert(atMultiples);
  });

  test("continue after a failed one, one at a time, until they are stopped", async () => {
    let turns = 0;
    let atOnce = 0;
    let most = 0;
    const stop = runPeriodically(2, async () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await new Promise(setImmediate);
      atOnce -= 1;
      turns += 1;
      if (turns === 2) throw new Error("no answer");
    });
    await waitFor(() => turns > 4, { timeoutMs: 20_000, what: "turns" });
    stop();
    expect(most).toBe(1);
  });
});
