import { array, assert, integer, property } from "fast-check";
import { expect, test } from "vitest";
import { fullBucket, refilled, spent, waitMs, type Bucket } from "../../limits/token-bucket.ts";

const limits = { perSecond: 10, burst: 20 };

test("a bucket refills after tokens were taken, and never above its burst", () => {
  const empty = spent(fullBucket(limits, 0), 20);
  expect(refilled(empty, limits, 500).tokens).toBe(5);
  expect(refilled(empty, limits, 60_000).tokens).toBe(20);
});

test("the wait ends when the bucket has the tokens, and is infinite for more than its burst", () => {
  const empty = spent(fullBucket(limits, 0), 20);
  expect(waitMs(empty, limits, 1)).toBe(100);
  expect(waitMs(empty, limits, 21)).toBe(Number.POSITIVE_INFINITY);
  expect(waitMs(fullBucket(limits, 0), limits, 20)).toBe(0);
});

test("a clock that goes back adds no tokens and removes none", () => {
  const bucket = spent(fullBucket(limits, 1_000), 20);
  expect(refilled(bucket, limits, 0)).toEqual(bucket);
});

test("no caller gets more than the burst and the refill since, in any pattern (Operational Metrics API §8)", () => {
  const pauses = array(integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 300 });
  assert(
    property(pauses, (gaps) => {
      let bucket: Bucket = fullBucket(limits, 0);
      let [nowMs, taken] = [0, 0];
      for (const gap of gaps) {
        nowMs += gap;
        bucket = refilled(bucket, limits, nowMs);
        if (bucket.tokens < 1) continue;
        bucket = spent(bucket, 1);
        taken += 1;
      }
      expect(taken).toBeLessThanOrEqual(limits.burst + (nowMs * limits.perSecond) / 1_000 + 1e-6);
    }),
  );
});
