import { expect, test } from "vitest";
import { createHitRatios } from "../../../../runtime/metrics/cache/read-cache.ts";

test("the hit ratios are those of the last five minutes, for each cache (Operational Metrics API §2.5)", () => {
  let nowMs = 0;
  const hits = createHitRatios(() => nowMs);
  expect(hits.ratios()).toEqual({ all: 0, memory: 0, distributed: 0 });
  hits.add({ hit: 0, miss: 100 });
  nowMs = 200_000;
  hits.add({ hit: 75, miss: 25, shared: 50, isSharing: true });
  expect(hits.ratios()).toEqual({ all: 0.375, memory: 0.125, distributed: 50 / 75 });
  nowMs = 310_000;
  expect(hits.ratios()).toEqual({ all: 0.75, memory: 0.25, distributed: 50 / 75 });
});
