import { expect, test } from "vitest";
import { createHitLog } from "../../../../runtime/metrics/cache/hit-ratio.ts";

test("the hit ratio is that of the last five minutes (Operational Metrics API §2.5)", () => {
  let nowMs = 0;
  const log = createHitLog(() => nowMs);
  expect(log.ratio()).toBe(0);
  log.add({ hit: 0, miss: 100 });
  nowMs = 200_000;
  log.add({ hit: 75, miss: 25 });
  expect(log.ratio()).toBe(0.375);
  nowMs = 310_000;
  expect(log.ratio()).toBe(0.75);
});
