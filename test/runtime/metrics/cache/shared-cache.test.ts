import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { classDefaults } from "../../../../crds/compile/class-defaults.ts";
import type { ClassLimits } from "../../../../crds/config.ts";
import { decodeExtents, encodeExtents } from "../../../../runtime/metrics/cache/encode-extents.ts";
import type { CachedExtent, Lifetimes } from "../../../../runtime/metrics/cache/extents.ts";
import { createReadCache, type ReadCache } from "../../../../runtime/metrics/cache/read-cache.ts";
import { histogramSeries, numberSeries } from "../../../../runtime/metrics/cache/series-kind.ts";
import type { HistogramSeries, StoreSeries } from "../../../../runtime/stores/prometheus/matrix.ts";
import { StoreError } from "../../../../runtime/stores/store-error.ts";
import type { Stores } from "../../../../runtime/stores/store.ts";
import { settle } from "../../../support/manual-clock.ts";
import { runsOf } from "../../../support/soak.ts";
import { waitFor } from "../../../support/wait.ts";
import { type PodsOfATest, podsOfATest } from "../admission/pods-of-a-test.ts";
import {
  align,
  bytesMax,
  type QueryContext,
  queryContextAt,
  read,
  startOfDayMs,
  stepMs,
  storesOf,
  truth,
  wrongPlaces,
} from "./live-store.ts";

const sharing: Lifetimes = { settledMs: 30_000, tailMs: 10_000, sharedMs: 120_000 };

interface Shared {
  readonly queryContext: QueryContext;
  readonly stores: Stores;
  readonly caches: readonly ReadCache[];
  readonly pods: PodsOfATest;
}

/** Pods over one store, which share what they read. */
function startShared(count = 2, residency?: string): Shared {
  const pods = podsOfATest();
  const queryContext = queryContextAt(startOfDayMs + 3_600_000);
  const members = Array.from({ length: count }, (_, index) => pods.join(`pod-${index}`));
  const caches = members.map((own) => createReadCache(bytesMax, { pods: own, residency }));
  return { queryContext, stores: storesOf(queryContext), caches, pods };
}

const window = { endMs: startOfDayMs + 3_000_000, count: 40 };

async function ask({ queryContext, stores, caches }: Shared, pod: number, grid = window) {
  const cache = caches[pod];
  if (cache === undefined) throw new Error("no such pod");
  return read(queryContext, stores, cache, grid, { lifetimes: sharing });
}

describe("extents that one pod read", () => {
  test("are not read from the store by another pod, and count as shared", async () => {
    const all = startShared();
    const first = await ask(all, 0);
    const second = await ask(all, 1);
    expect(all.queryContext.asked).toHaveLength(1);
    expect(second).toMatchObject({ hit: 40, shared: 40, miss: 0 });
    expect(second.series).toEqual(first.series);
  });

  test("outlive the memory of their pod, up to the lifetime of the class", async () => {
    const all = startShared();
    await ask(all, 0);
    all.queryContext.nowMs += 119_999;
    expect((await ask(all, 0)).miss).toBe(0);
    expect((await ask(all, 1)).miss).toBe(0);
    all.queryContext.nowMs += 1;
    expect((await ask(all, 1)).miss).toBe(40);
  });

  test("are read once when all pods request them concurrently", async () => {
    const all = startShared(3);
    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => ask(all, index % 3)));
    expect(all.queryContext.asked).toHaveLength(1);
    expect(answers.every(({ series }) => series.length === 2)).toBe(true);
  });

  test("fail for all waiting pods after one request", async () => {
    const all = startShared(3);
    all.queryContext.failure = new StoreError("status", "HTTP 500");
    const answers = await Promise.allSettled(Array.from({ length: 9 }, (_, index) => ask(all, index % 3)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 9 }, () => "rejected"));
    expect(all.queryContext.asked).toHaveLength(1);
    all.queryContext.failure = undefined;
    expect((await ask(all, 1)).miss).toBe(40);
  });

  test("are shared only when the response was complete", async () => {
    const all = startShared();
    all.queryContext.warning = "incomplete";
    await ask(all, 0);
    expect((await ask(all, 1)).miss).toBe(40);
  });

  test("stay in the memory of their pod while the pods are disconnected", async () => {
    const all = startShared();
    all.pods.isCut = true;
    expect((await ask(all, 0)).miss).toBe(40);
    expect((await ask(all, 0)).hit).toBe(40);
  });

  test("are not shared outside of their residency", async () => {
    const all = startShared(2, "elsewhere");
    await Promise.all([ask(all, 0), ask(all, 1)]);
    expect(all.queryContext.asked).toHaveLength(2);
  });

  test("are not used for another configuration of their store", async () => {
    const all = startShared();
    await ask(all, 0);
    expect((await ask({ ...all, stores: storesOf(all.queryContext) }, 1)).miss).toBe(40);
  });

  test("include a late sample after the lifetime of the tail", async () => {
    const all = startShared();
    const tail = { endMs: align(all.queryContext.nowMs), count: 2 };
    await ask(all, 0, tail);
    all.queryContext.nowMs += 9_999;
    expect((await ask(all, 1, tail)).miss).toBe(0);
    all.queryContext.nowMs += 1;
    const { series } = await ask(all, 1, tail);
    expect(series[0]?.values[1]).toBe(truth("whole", tail.endMs, all.queryContext.nowMs));
  });
});

describe("callers with other lifetimes", () => {
  const lifetimesOf = ({
    memorySeconds,
    distributedSeconds = 0,
    hotTailSeconds,
    staleWhileRevalidateSeconds = 0,
  }: ClassLimits): Lifetimes => ({
    settledMs: memorySeconds * 1_000,
    tailMs: hotTailSeconds * 1_000,
    sharedMs: distributedSeconds * 1_000,
    staleMs: staleWhileRevalidateSeconds * 1_000,
  });
  const [quick, renewing, slow] = [
    lifetimesOf(classDefaults.A),
    lifetimesOf(classDefaults.B),
    lifetimesOf(classDefaults.C),
  ];
  const readAs = ({ queryContext, stores, caches: [cache] }: Shared, lifetimes: Lifetimes) =>
    read(queryContext, stores, cache as ReadCache, window, { lifetimes });

  test("join a read only if they accept the age of its points", async () => {
    const all = startShared();
    await readAs(all, slow);
    all.queryContext.nowMs += 200_000;
    const [patient, hasty] = await Promise.all([readAs(all, slow), readAs(all, quick)]);
    expect(patient).toMatchObject({ shared: 40, miss: 0 });
    expect(hasty).toMatchObject({ shared: 0, miss: 40 });
    expect(all.queryContext.asked).toHaveLength(2);
  });

  test("wait for one request without cached points", async () => {
    const all = startShared();
    await Promise.all([readAs(all, slow), readAs(all, quick), readAs(all, slow)]);
    expect(all.queryContext.asked).toHaveLength(1);
  });

  test.each([
    ["one pod", 1],
    ["two pods", 2],
  ])(
    "get fresher settled points after each renewal, with the default lifetimes of a class and %s",
    async (_name, pods) => {
      const all = startShared(pods);
      await readAs(all, renewing);
      for (const asked of [2, 3, 4]) {
        await settle();
        all.queryContext.nowMs += renewing.settledMs;
        expect(await readAs(all, renewing)).toMatchObject({ stale: 40, miss: 0 });
        await waitFor(() => all.queryContext.asked.length >= asked, {
          timeoutMs: 20_000,
          pollMs: 1,
          what: "a renewal that asks the store",
        });
        await settle();
        expect(await readAs(all, renewing)).toMatchObject({
          stale: 0,
          miss: 0,
          oldest: { settledMs: all.queryContext.nowMs },
        });
      }
    },
  );

  test("get the points of another pod as their background refresh", async () => {
    const all = startShared();
    await readAs(all, renewing);
    all.queryContext.nowMs += renewing.settledMs;
    const other = read(all.queryContext, all.stores, all.caches[1] as ReadCache, window, {
      lifetimes: { ...quick, sharedMs: 1 },
    });
    expect((await other).miss).toBe(40);
    expect(await readAs(all, renewing)).toMatchObject({ stale: 40 });
    await settle();
    await waitFor(async () => (await readAs(all, renewing)).stale === 0, {
      timeoutMs: 20_000,
      pollMs: 1,
      what: "fresh points",
    });
    expect(all.queryContext.asked).toHaveLength(2);
  });
});

describe("2,000 queries that slide, jump and overlap over three pods, while samples come late", () => {
  test("have at each point a value that the store had within the lifetime", async () => {
    const step = fc.record({
      waitMs: fc.integer({ min: 0, max: 45_000 }),
      count: fc.integer({ min: 1, max: 60 }),
      back: fc.constantFrom(0, 0, 0, 1, 5, 40),
      pod: fc.nat({ max: 2 }),
    });
    let queries = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 25, maxLength: 25 }), async (steps) => {
        const all = startShared(3);
        for (const { waitMs, count, back, pod } of steps) {
          queries += 1;
          all.queryContext.nowMs += waitMs;
          const { series, startMs } = await ask(all, pod, {
            endMs: align(all.queryContext.nowMs) - back * stepMs,
            count,
          });
          for (const name of ["whole", "gappy"]) {
            const own = series.find(({ labels }) => labels["name"] === name);
            expect(wrongPlaces(own, name, { startMs, count, nowMs: all.queryContext.nowMs }, sharing)).toEqual([]);
          }
        }
      }),
      { numRuns: runsOf(80) },
    );
    expect(queries).toBeGreaterThanOrEqual(runsOf(2_000));
  });
});

const series = fc.record({
  labels: fc.dictionary(fc.string(), fc.string({ unit: "binary" })),
  values: fc.array(fc.oneof(fc.double(), fc.constant(undefined)), { minLength: 5, maxLength: 5 }),
});

function storeSeries({
  labels,
  values,
}: {
  labels: Record<string, string>;
  values: readonly (number | undefined)[];
}): StoreSeries {
  const present = Uint8Array.from(values, (value) => (value === undefined ? 0 : 1));
  return { labels, values: Float64Array.from(values, (value) => value ?? 0), present };
}

const extentOf = <Series>(all: readonly Series[]): CachedExtent<Series> => ({
  startMs: 0,
  stepMs: 15_000,
  count: 5,
  readAtMs: 7,
  settledUntilMs: 30_000,
  series: all,
});

describe("the bytes of extents", () => {
  test("decode to the same extents with any labels and numbers", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(series, { maxLength: 3 }), { maxLength: 3 }), async (all) => {
        const extents = all.map((own) => extentOf(own.map(storeSeries)));
        expect(await decodeExtents(numberSeries, "key", await encodeExtents(numberSeries, "key", extents))).toEqual(
          extents,
        );
      }),
      { numRuns: 100 },
    );
  });

  test("hold native histograms too", async () => {
    const histogram = { count: 3, sum: Number.NaN, buckets: [{ lower: -Infinity, upper: 0.1, count: 3 }] };
    const own: HistogramSeries = {
      labels: { a: "b" },
      histograms: [undefined, histogram, undefined, histogram, undefined],
    };
    expect(
      await decodeExtents(histogramSeries, "key", await encodeExtents(histogramSeries, "key", [extentOf([own])])),
    ).toEqual([extentOf([own])]);
  });

  test("decode to no extents when they are cut, changed, foreign or of another query", async () => {
    const bytes = await encodeExtents(numberSeries, "key", [
      extentOf([storeSeries({ labels: { a: "b" }, values: [1, 2, 3, 4, 5] })]),
    ]);
    for (let place = 0; place < bytes.length; place += 1) {
      const changed = Uint8Array.from(bytes);
      changed[place] = (bytes[place] ?? 0) ^ 0x40;
      expect(await decodeExtents(numberSeries, "key", changed)).toEqual([]);
      expect(await decodeExtents(numberSeries, "key", bytes.subarray(0, place))).toEqual([]);
    }
    expect(await decodeExtents(numberSeries, "key", Buffer.from("of somebody else"))).toEqual([]);
    expect(await decodeExtents(numberSeries, "another key", bytes)).toEqual([]);
  });
});
