import * as fc from "fast-check";
import { expect, test } from "vitest";
import { RateLimiter } from "../../limits/token-bucket.ts";

test("a bucket allows its burst at once and then one token after the other", () => {
  const bucket = new RateLimiter({ perSecond: 10, burst: 3 }, 0);
  expect([0, 0, 0, 0, 0].map((nowMs) => bucket.take(nowMs))).toEqual([0, 0, 0, 100, 200]);
  expect(bucket.available(200)).toBe(0);
  expect(bucket.available(300)).toBe(1);
});

test("a bucket never holds more than its burst, also after it was made smaller", () => {
  const bucket = new RateLimiter({ perSecond: 10, burst: 3 }, 0);
  expect(bucket.available(60_000)).toBe(3);
  bucket.change({ perSecond: 10, burst: 1 }, 60_000);
  expect(bucket.available(120_000)).toBe(1);
});

test("a bucket returns the time until tokens exist, at most until it is full", () => {
  const bucket = new RateLimiter({ perSecond: 10, burst: 2 }, 0);
  expect(bucket.waitMs(2, 0)).toBe(0);
  bucket.take(0);
  bucket.take(0);
  expect([bucket.waitMs(1, 0), bucket.waitMs(16, 0)]).toEqual([100, 200]);
});

test("a clock that stands still or goes back adds no tokens", () => {
  const bucket = new RateLimiter({ perSecond: 1_000, burst: 1 }, 1_000);
  bucket.take(1_000);
  expect([bucket.available(500), bucket.available(1_000)]).toEqual([0, 0]);
  expect(bucket.available(1_001)).toBe(1);
});

test("a caller that waits the returned time never exceeds burst + rate × time", () => {
  const asks = fc.array(fc.nat(500), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 20 }), asks, (perSecond, burst, gaps) => {
      const bucket = new RateLimiter({ perSecond, burst }, 0);
      let nowMs = 0;
      const startsMs = gaps.map((gapMs) => {
        nowMs += gapMs;
        return nowMs + bucket.take(nowMs);
      });
      startsMs.forEach((fromMs, from) => {
        startsMs.slice(from).forEach((toMs, count) => {
          expect(count + 1).toBeLessThanOrEqual(burst + ((toMs - fromMs) * perSecond) / 1_000 + 1 + 1e-6);
        });
      });
    }),
  );
});
