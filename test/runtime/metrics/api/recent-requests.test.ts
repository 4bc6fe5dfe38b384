import { describe, expect, test } from "vitest";
import { createRequestLog } from "../../../../runtime/metrics/api/instruments.ts";

describe("the figures of the recent requests", () => {
  test("are zero before the first request", () => {
    expect(createRequestLog(() => 0).figures()).toEqual({ requests: 0, latencyP95Ms: 0, errorRate: 0, partialRate: 0 });
  });

  test("count responses for latency and partial rate, failures for errors, and refused requests for neither", () => {
    const log = createRequestLog(() => 0);
    for (let ms = 1; ms <= 20; ms += 1) log.add(ms <= 5 ? "partial" : "ok", ms);
    for (let turn = 0; turn < 4; turn += 1) log.add("failed", 5_000);
    log.add("refused", 9_000);
    expect(log.figures()).toEqual({ requests: 25, latencyP95Ms: 19, errorRate: 4 / 25, partialRate: 5 / 20 });
  });

  test("exclude requests before the window", () => {
    let nowMs = 0;
    const log = createRequestLog(() => nowMs);
    log.add("failed", 1);
    nowMs = 300_000;
    log.add("ok", 2);
    expect(log.figures().requests).toBe(2);
    nowMs = 300_001;
    expect(log.figures()).toMatchObject({ requests: 1, errorRate: 0 });
  });

  test("cover a bounded number of requests, the newest", () => {
    const log = createRequestLog(() => 0);
    for (let turn = 0; turn < 20_000; turn += 1) log.add(turn < 10_000 ? "failed" : "ok", 1);
    expect(log.figures()).toMatchObject({ requests: 8_192, errorRate: 0 });
  });
});
