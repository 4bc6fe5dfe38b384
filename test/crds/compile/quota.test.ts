import { describe, expect, test } from "vitest";
import type { Changes } from "../valid-objects.ts";
import { compiled, first, resourceOf } from "./resources.ts";

const quotaWith = (changes: Changes) => first(compiled([resourceOf("QueryClassQuota", changes)]).config.quotas);

describe("a compiled quota", () => {
  test("has the built-in limits of its class by default (Operational Metrics API §8)", () => {
    expect(quotaWith({ class: "C", "limits.maxSeries": 20 }).limits).toEqual({
      maxSeries: 20,
      maxWindowSeconds: 34_560_000,
      minStepSeconds: 10,
      maxGroupBy: 4,
      requestsPerSecond: 10,
      burst: 120,
      costUnitsPerMinute: 80_000_000,
      burstCostUnits: 80_000_000,
      maxConcurrent: 40,
      memorySeconds: 60,
      distributedSeconds: 300,
      hotTailSeconds: 20,
      staleWhileRevalidateSeconds: 20,
    });
  });

  test("takes no limit of another quota of its class", () => {
    const quota = resourceOf("QueryClassQuota", {}, { name: "one" });
    const classQuota = resourceOf("QueryClassQuota", { clients: [], "limits.maxSeries": 1 }, { name: "two" });
    const { config } = compiled([quota, classQuota]);
    expect(config.quotas.map(({ limits }) => limits.maxSeries)).toEqual([50, 1]);
  });

  test("serves what may change no longer than what may not", () => {
    expect(quotaWith({ class: "C", cache: { memorySeconds: 5 } }).limits).toMatchObject({
      memorySeconds: 5,
      hotTailSeconds: 5,
    });
    expect(
      quotaWith({ class: "C", cache: { memorySeconds: 0, hotTailSeconds: 0, distributedSeconds: 60 } }).limits,
    ).toMatchObject({ distributedSeconds: 0, staleWhileRevalidateSeconds: 0 });
  });

  test("holds the bounds of single metrics by metric", () => {
    const perMetric = [
      { metric: "kyc_pass_rate", costUnitsPerMinute: 5 },
      { metric: "cpu_util", requestsPerSecond: 2 },
    ];
    expect(quotaWith({ perMetric }).perMetric).toEqual(perMetric.toReversed());
  });

  test("holds client ids before scopes, each with its narrowing", () => {
    const clients = [
      { scope: "metrics:read", metrics: ["cpu_util", "api_5xx_rate"] },
      { clientId: "reports", regions: ["latam", "eu"] },
      { clientId: "dashboards", environments: ["prod"] },
    ];
    const none = { tenants: [], regions: [], environments: [], metrics: [] };
    expect(quotaWith({ clients }).clients).toEqual([
      { ...none, clientId: "dashboards", environments: ["prod"] },
      { ...none, clientId: "reports", regions: ["eu", "latam"] },
      { ...none, scope: "metrics:read", metrics: ["api_5xx_rate", "cpu_util"] },
    ]);
  });
});

describe("the configuration", () => {
  test("has the limits of every class without any quota (Operational Metrics API §2.6)", () => {
    const { config } = compiled([]);
    const shared = { maxSeries: 50, minStepSeconds: 10, maxGroupBy: 4, requestsPerSecond: 10, burst: 120 };
    expect(config).toEqual({
      schema: 1,
      partners: [],
      catalogs: [],
      quotas: [],
      classDefaults: {
        A: {
          maxWindowSeconds: 604_800,
          costUnitsPerMinute: 20_000_000,
          burstCostUnits: 20_000_000,
          maxConcurrent: 40,
          memorySeconds: 10,
          distributedSeconds: 30,
          hotTailSeconds: 5,
          staleWhileRevalidateSeconds: 0,
          ...shared,
        },
        B: {
          maxWindowSeconds: 2_678_400,
          costUnitsPerMinute: 40_000_000,
          burstCostUnits: 40_000_000,
          maxConcurrent: 40,
          memorySeconds: 30,
          distributedSeconds: 120,
          hotTailSeconds: 10,
          staleWhileRevalidateSeconds: 10,
          ...shared,
        },
        C: {
          maxWindowSeconds: 34_560_000,
          costUnitsPerMinute: 80_000_000,
          burstCostUnits: 80_000_000,
          maxConcurrent: 40,
          memorySeconds: 60,
          distributedSeconds: 300,
          hotTailSeconds: 20,
          staleWhileRevalidateSeconds: 20,
          ...shared,
        },
      },
      material: {},
    });
  });
});
