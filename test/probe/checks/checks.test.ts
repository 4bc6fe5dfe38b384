import { describe, expect, test } from "vitest";
import type { ProbeResponse, ResponseBody } from "../responses.ts";
import { cacheOf, schemaVersionOf, settleSeconds } from "../catalog.ts";
import { createHitTally, healthFaults } from "./check-health.ts";
import { compareValues } from "./compare-values.ts";
import { readTimesOf, metadataFaults, type Knowledge } from "./check-metadata.ts";
import type { Panel } from "../panels.ts";
import { createStoreRecord, type StoreRecord } from "../store-record.ts";
import type { Scraped } from "../targets.ts";
import { createTimeline, createVersions } from "../timeline.ts";

/** Each check of the probe finds a wrong response. */

const labels = { tenant: "brand-a", env: "prod", service: "web" };
const panel: Panel = {
  metrics: ["queue_lag"],
  agg: "max",
  tenant: "brand-a",
  filters: { region: "eu" },
  groupBy: [],
  step: "10s",
  downsample: undefined,
  exemplars: false,
  window: { kind: "live", seconds: 100 },
};
const nowMs = Math.floor(Date.now() / 10_000) * 10_000;
const gauge = (ms: number, value: number): Scraped => ({ name: "queue_lag", labels, ms, value, mayBeLate: true });

/** A store that got 5, then 9 for the last point eight seconds ago, then 11 three seconds ago. */
function recordOf(): StoreRecord {
  const record = createStoreRecord("eu");
  const write = (agoMs: number, ...samples: readonly Scraped[]): void =>
    record.add(samples, { sentMs: nowMs - agoMs, ackedMs: nowMs - agoMs + 10 });
  write(20_000, gauge(nowMs - 25_000, 3), gauge(nowMs - 9_000, 5));
  write(8_000, gauge(nowMs - 8_000, 9));
  write(3_000, gauge(nowMs - 4_000, 11));
  return record;
}

function responseOf(
  value: number,
  headers: Readonly<Record<string, string>> = {},
): ProbeResponse & { readonly body: ResponseBody } {
  const grid = { fromMs: nowMs - 10_000, toMs: nowMs, stepSeconds: 10 };
  const body = {
    series: [{ metric: "queue_lag", labels: {}, points: new Map([[nowMs, value]]), exemplars: [] }],
    grid,
    schemaVersion: schemaVersionOf(0),
    partial: false,
    regions: [{ region: "eu", state: "ok" }],
  };
  const reported = {
    "x-query-plan": "class=A, points=1, queue_lag;agg=max;stores=1;ranges=1",
    "x-query-cache": 'memory;hit=1;miss=0;extents="memory*1"',
    "x-data-freshness": "5s",
    "x-partial": "false",
    "cache-control": "private, max-age=1",
  };
  return {
    panel,
    route: "query",
    pod: "pod",
    sentMs: nowMs,
    receivedMs: nowMs + 5,
    status: 200,
    headers: { ...reported, ...headers },
    body,
  };
}

function wrongIn(response: ReturnType<typeof responseOf>): readonly string[] {
  const readTimes = readTimesOf(response, response.body, cacheOf(0, "A"));
  return compareValues({ panel, body: response.body, version: 0, readTimes }, [recordOf()]).wrong;
}

describe("a value", () => {
  const rows = [
    ["of now", 11, {}, 0],
    ["of a moment within the lifetime", 9, { "cache-control": "no-store" }, 0],
    ["of a moment before the lifetime", 5, { "cache-control": "no-store" }, 1],
    ["that was never there", 10, {}, 1],
    [
      "of a moment within the lifetime, where only another part asked the store",
      9,
      {
        "cache-control": "no-store",
        "x-query-cache": 'memory;hit=1;miss=1;extents="store*1"',
      },
      0,
    ],
    ["of a moment that the promise of Cache-Control leaves out", 9, { "cache-control": "private, max-age=4" }, 1],
  ] as const;
  test.each(rows)("%s is %d", (_sentence, value, headers, wrong) => {
    expect(wrongIn(responseOf(value, headers))).toHaveLength(wrong);
  });

  test("that is missing is wrong", () => {
    const response = responseOf(11);
    expect(wrongIn({ ...response, body: { ...response.body, series: [] } })).toHaveLength(1);
  });
});

function knowledge(): Knowledge {
  return { records: [recordOf()], timeline: createTimeline(), catalogs: createVersions(), quotas: createVersions() };
}

describe("what an answer says of itself", () => {
  const rows: readonly (readonly [sentence: string, headers: Readonly<Record<string, string>>, fault: RegExp])[] = [
    ["points that do not add up", { "x-query-cache": 'memory;hit=2;miss=0;extents="memory*1"' }, /^X-Query-Cache/u],
    [
      "an extent that its totals leave out",
      { "x-query-cache": 'memory;hit=1;miss=0;extents="shared*1"' },
      /^X-Query-Cache/u,
    ],
    ["a miss that no extent names", { "x-query-cache": 'memory;hit=0;miss=1;extents="memory*1"' }, /^X-Query-Cache/u],
    ["a lifetime that is too long", { "cache-control": "private, max-age=6" }, /^Cache-Control/u],
    [
      "a lifetime of what is stale",
      { "x-query-cache": 'memory;hit=1;stale=1;miss=0;extents="stale*1"' },
      /^Cache-Control/u,
    ],
    ["data that is too fresh", { "x-data-freshness": "3s" }, /^X-Data-Freshness/u],
    ["data that is too old", { "x-data-freshness": "60s" }, /^X-Data-Freshness/u],
    ["a part that is not missing", { "x-partial": "true" }, /^X-Partial/u],
    ["another class", { "x-query-plan": "class=B, points=1, queue_lag;agg=max;stores=1;ranges=1" }, /^the plan/u],
  ];
  test("is taken when it is so", () => {
    expect(metadataFaults(responseOf(11), knowledge())).toEqual([]);
  });

  test.each(rows)("is a fault when it is %s", (_sentence, headers, fault) => {
    expect(metadataFaults(responseOf(11, headers), knowledge())).toEqual([expect.stringMatching(fault)]);
  });

  test("is taken with the age of its points when the window settles between request and response", () => {
    const window = { kind: "fixed", fromMs: nowMs - 10_000, toMs: nowMs } as const;
    const settlesMs = nowMs + settleSeconds * 1_000;
    const times = { sentMs: settlesMs - 2, receivedMs: settlesMs + 3 };
    const response = { ...responseOf(11, { "x-data-freshness": "51s" }), ...times, panel: { ...panel, window } };
    expect(metadataFaults(response, knowledge())).toEqual([]);
  });

  test("is a fault when it has an exemplar that was never written", () => {
    const response = responseOf(11);
    const exemplars = [{ trace_id: "a".repeat(32), timestamp: new Date(nowMs - 4_000).toISOString(), value: 11 }];
    const series = response.body.series.map((one) => ({ ...one, exemplars }));
    expect(metadataFaults({ ...response, body: { ...response.body, series } }, knowledge())).toEqual([
      expect.stringMatching(/^the exemplar/u),
    ]);
  });

  test("is a fault when a store is said to fail that was well", () => {
    const response = responseOf(11, { "x-partial": "true", "cache-control": "no-store" });
    const body = { ...response.body, partial: true, regions: [{ region: "eu", state: "failed" }] };
    expect(metadataFaults({ ...response, status: 206, body }, knowledge())).toEqual([
      "the store of eu was well and is said to be failed",
    ]);
  });

  test("is a fault when no data is had from a store that was well", () => {
    expect(metadataFaults({ ...responseOf(11), status: 502, body: undefined }, knowledge())).toEqual([
      "502 without Retry-After",
      "status 502 while a store of eu was well",
    ]);
  });
});

describe("the health view", () => {
  const caches = [
    { name: "memory", state: "ok", hit_ratio: 0.5, fallback: "distributed" },
    { name: "distributed", state: "ok", hit_ratio: 0.5, fallback: "stores" },
  ];
  const well = {
    status: "ok",
    error_rate: 0,
    partial_response_rate: 0,
    cache_hit_ratio: 1,
    caches,
    stores: [{ region: "eu", state: "ok" }],
  };
  const rows: readonly (readonly [sentence: string, changes: object, faults: number])[] = [
    ["that is so", {}, 0],
    ["of a store that is well and said to fail", { stores: [{ region: "eu", state: "failing" }], status: "down" }, 1],
    ["whose status is not that of its stores", { status: "degraded" }, 1],
    ["whose caches fall back to nothing", { caches: [{ ...caches[0], fallback: "stores" }, caches[1]] }, 1],
    ["whose ratio is another", { cache_hit_ratio: 0.5 }, 1],
    ["whose shares are none", { error_rate: 1.5 }, 1],
  ];
  test.each(rows)("%s has its faults", (_sentence, changes, faults) => {
    const tally = createHitTally();
    tally.add({ ...responseOf(11), sentMs: nowMs - 500, receivedMs: nowMs - 400 }, 1);
    const reply = {
      sentMs: nowMs,
      receivedMs: nowMs + 5,
      status: 200,
      headers: {},
      bytes: Buffer.from(JSON.stringify({ ...well, ...changes })),
    };
    expect(healthFaults(reply, knowledge(), tally)).toHaveLength(faults);
  });
});
