import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RetryConfig } from "../../../../crds/config.ts";
import { lastAttemptAtMs, scheduledWaitMs, withJitter } from "../../../../runtime/webhooks/settlement/settle.ts";

const policy: RetryConfig = {
  scheduleSeconds: [5, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400],
  maxAgeSeconds: 604_800,
  jitterPercent: 10,
};

describe("the schedule", () => {
  test("waits 5 s, 15 s, 30 s, 1 m, 2 m, 5 m, 10 m, 30 m, 1 h, 3 h, 6 h, 12 h, 24 h, then daily (Webhook Event Delivery §8)", () => {
    const attempts = Array.from({ length: 16 }, (_, index) => index + 1);
    const seconds = [
      5, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 86_400, 86_400, 86_400,
    ];
    expect(attempts.map((attempt) => scheduledWaitMs(policy, attempt) / 1_000)).toEqual(seconds);
  });

  test("of a partner with one wait goes on daily", () => {
    const own = { ...policy, scheduleSeconds: [1] };
    expect([1, 2, 3].map((attempt) => scheduledWaitMs(own, attempt))).toEqual([1_000, 86_400_000, 86_400_000]);
  });

  test("ends at the maximum age", () => {
    expect(lastAttemptAtMs(policy, 1_000)).toBe(604_801_000);
  });
});

describe("jitter", () => {
  test("is added, never subtracted, and stays below its percentage (Webhook Event Delivery §8)", () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.nat(86_400_000), fc.nat(100), random, (waitMs, percent, chance) => {
        const atMs = withJitter(waitMs, percent, () => chance);
        expect(Number.isInteger(atMs)).toBe(true);
        expect(atMs).toBeGreaterThanOrEqual(waitMs);
        expect(atMs).toBeLessThanOrEqual(waitMs * (1 + percent / 100));
      }),
    );
  });

  test("spreads over the whole range", () => {
    expect([0, 0.5, 0.999].map((chance) => withJitter(10_000, 20, () => chance))).toEqual([10_000, 11_000, 11_998]);
  });
});
