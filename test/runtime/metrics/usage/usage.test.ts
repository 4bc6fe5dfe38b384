import { array, assert, asyncProperty, constantFrom, integer, nat, record, subarray, tuple } from "fast-check";
import { describe, expect, test } from "vitest";
import type { PreviewedReaders } from "../../../../api/previews.ts";
import { type UsageAnswer, usageGroups } from "../../../../api/usage.ts";
import { queryClasses } from "../../../../crds/config.ts";
import {
  hourMs,
  UsageCounts,
  type UsageKey,
  type UsageSums,
} from "../../../../runtime/metrics/admission/usage-counts.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import { readUsage } from "../../../../runtime/metrics/usage/read-usage.ts";
import { readRemovedUses, removedUses } from "../../../../runtime/metrics/usage/removed-uses.ts";
import { readUsageQuery } from "../../../../runtime/metrics/usage/usage-query.ts";
import { UsageRecorder } from "../../../../runtime/metrics/usage/usage-recorder.ts";
import { UsageWriter } from "../../../../runtime/metrics/usage/usage-writer.ts";
import { memoryLog } from "../../webhooks/engine-fixture.ts";
import { podsOfATest } from "../admission/pods-of-a-test.ts";
import { configOf, everyone, metricConfig, storeConfig } from "../oracle/universe.ts";
import { keptUsage, type KeptUsage } from "./kept-usage.ts";

const startMs = Date.parse("2026-11-01T00:30:00Z");
const finance: Caller = { ...everyone, scopes: ["metrics:usage"] };
const queryContext = { catalog: new Map(), quotas: configOf([], []) };
const key: UsageKey = { client: "shop", tenant: "acme", metric: "lag", queryClass: "A" };

function writerOf(store: KeptUsage, options: { readonly name?: string; readonly rowsMax?: number } = {}) {
  let lost = 0;
  const { name = "pod", rowsMax = 1_000 } = options;
  const writer = new UsageWriter({
    store,
    writer: name,
    rowsMax: () => rowsMax,
    lost: (requests) => (lost += requests),
  });
  const counts = new UsageCounts(() => store.now());
  const flush = async (): Promise<void> => {
    writer.add(counts.take());
    await writer.flush().catch(() => undefined);
  };
  return { counts, writer, flush, lost: () => lost };
}

function read(store: KeptUsage, params: Readonly<Record<string, string>> = {}, caller = finance): Promise<UsageAnswer> {
  const query = readUsageQuery(new Map(Object.entries(params).map(([name, text]) => [name, [text]])), store.nowMs);
  return readUsage(query, caller, { store, queryContext });
}

const requestsOf = async (store: KeptUsage, params = {}, caller = finance): Promise<number> =>
  (await read(store, params, caller)).meta.total.requests;

describe("stored usage", () => {
  test("counts a write whose reply was lost once", async () => {
    const store = keptUsage(startMs);
    const { counts, flush } = writerOf(store);
    counts.add(key, { requests: 3 });
    store.faults.push("reply lost");
    await flush();
    counts.add(key, { requests: 4 });
    await flush();
    expect(await requestsOf(store)).toBe(7);
    expect(store.messages()).toHaveLength(1);
  });

  test("survives minutes without NATS, and reports what it could not hold", async () => {
    const store = keptUsage(startMs);
    const { counts, flush, lost, writer } = writerOf(store);
    for (let hour = 0; hour < 30; hour += 1) {
      store.nowMs = startMs + hour * hourMs;
      counts.add(key, { requests: 1 });
      store.faults.push("unavailable");
      await flush();
    }
    expect(writer.unsaved).toBe(26);
    expect(lost()).toBe(4);
    await flush();
    expect(writer.unsaved).toBe(0);
    const { meta } = await read(store, { from: "now-30h" });
    expect(meta).toMatchObject({ total: { requests: 26 }, complete: false, lost_requests: 4 });
    expect((await read(store, { from: "now-3h" })).meta).toMatchObject({ complete: true, lost_requests: 0 });
  });

  test("of the hours that a pod holds is written again to a stream that was replaced by an empty one", async () => {
    const store = keptUsage(startMs);
    const { counts, flush } = writerOf(store);
    counts.add(key, { requests: 2 });
    await flush();
    store.nowMs += hourMs;
    counts.add(key, { requests: 3 });
    await flush();
    store.wipe();
    counts.add(key, { requests: 5 });
    await flush();
    await flush();
    const { meta } = await read(store);
    expect(meta).toMatchObject({
      total: { requests: 10 },
      complete: false,
      complete_since: "2026-11-01T01:30:00.000Z",
    });
  });

  test("keeps the sums of an hour to which the clock steps back after the pod has forgotten it", async () => {
    const store = keptUsage(startMs);
    const { counts, flush } = writerOf(store);
    for (const hour of [0, 5, 0, 5]) {
      store.nowMs = startMs + hour * hourMs;
      counts.add(key, { requests: 1 });
      await flush();
      await flush();
    }
    expect(await requestsOf(store, { from: "2026-11-01T00:00:00Z", to: "2026-11-01T01:00:00Z" })).toBe(2);
    expect(await requestsOf(store)).toBe(4);
  });

  test("has at most its bound of rows; the rest are others, which only tokens without limits see", async () => {
    const store = keptUsage(startMs);
    const { counts, flush } = writerOf(store, { rowsMax: 100 });
    for (let index = 0; index < 500; index += 1) counts.add({ ...key, client: `c${index}` }, { requests: 1 });
    await flush();
    const { data, meta } = await read(store, { group_by: "client,tenant" });
    expect(data).toHaveLength(97);
    expect(data.find(({ client }) => client === "other")).toMatchObject({ tenant: "acme", requests: 500 - 96 });
    expect(meta).toMatchObject({ total: { requests: 500 }, complete: true });
    expect(await requestsOf(store, {}, { ...finance, tenants: ["acme"] })).toBe(500);
    expect((await read(store, {}, { ...finance, metrics: ["lag"] })).meta).toMatchObject({
      total: { requests: 96 },
      complete: false,
    });
    expect((await read(store, {}, { ...everyone, client: "other" })).meta.total.requests).toBe(0);
  });

  test("is incomplete until the last time at which a live pod did not count", async () => {
    const store = keptUsage(startMs);
    const { writer, flush } = writerOf(store);
    writer.noteUncounted(startMs);
    await flush();
    expect((await read(store)).meta).toMatchObject({ complete: false, complete_since: "2026-11-01T00:30:00.000Z" });
    store.nowMs += 3 * hourMs;
    await flush();
    expect((await read(store, { from: "now-2h" })).meta.complete).toBe(true);
    writer.noteUncounted(store.nowMs);
    await flush();
    expect((await read(store)).meta.complete_since).toBe("2026-11-01T03:30:00.000Z");
    const before = { from: "2026-11-01T01:00:00.000Z", to: "2026-11-01T03:00:00Z" };
    expect((await read(store, before)).meta).toMatchObject({ complete: true, complete_since: before.from });
  });
});

const name = constantFrom("a", "b", "c");
const anyKey = record({ client: name, tenant: name, metric: name, queryClass: constantFrom(...queryClasses) });
const anyFault = constantFrom("stored", "reply lost", "unavailable");
const anyStep = tuple(
  integer({ min: 0, max: 1 }),
  anyKey,
  nat(50),
  integer({ min: 0, max: 40 }),
  array(anyFault, { maxLength: 2 }),
);

interface Counted extends UsageKey {
  readonly atMs: number;
  readonly sums: UsageSums;
}

test("sums over groups of two pods equal the total exactly, whatever fails, and so do those of narrow tokens", async () => {
  await assert(
    asyncProperty(
      array(anyStep, { maxLength: 40 }),
      subarray([...usageGroups]),
      constantFrom(undefined, "1h", "1d"),
      subarray(["a", "b", "c"]),
      async (steps, groups, step, tenants) => {
        const store = keptUsage(startMs);
        const pods = ["one", "two"].map((own) => writerOf(store, { name: own }));
        const all: Counted[] = [];
        for (const [pod, own, requests, minutes, faults] of steps) {
          store.nowMs += minutes * 60_000;
          const sums = { requests, points: 7 * requests, cachedPoints: requests, bytes: 11, estimate: 3, cost: 2 };
          all.push({ ...own, atMs: store.nowMs, sums });
          pods[pod]?.counts.add(own, sums);
          store.faults.push(...faults);
          await pods[pod]?.flush();
        }
        store.faults.length = 0;
        for (const pod of pods) await pod.flush();
        const params = {
          from: new Date(startMs).toISOString(),
          ...(groups.length === 0 ? {} : { group_by: groups.join(",") }),
          ...(step === undefined ? {} : { step }),
        };
        store.nowMs += 1;
        for (const caller of [finance, { ...finance, tenants }, { ...everyone, client: "a", tenants }]) {
          const seen = all.filter(
            ({ client, tenant }) =>
              (caller.tenants.includes("*") || caller.tenants.includes(tenant)) &&
              (caller.scopes.includes("metrics:usage") || client === caller.client),
          );
          const { data, meta } = await read(store, params, caller);
          for (const [member, of] of [
            ["requests", "requests"],
            ["points", "points"],
            ["cached_points", "cachedPoints"],
            ["bytes", "bytes"],
            ["cost_estimate", "estimate"],
            ["cost", "cost"],
          ] as const) {
            const expected = seen.reduce((sum, { sums }) => sum + sums[of], 0);
            expect(meta.total[member]).toBe(expected);
            expect(data.reduce((sum, item) => sum + item[member], 0)).toBe(expected);
          }
          for (const item of data) {
            const inItem = seen.filter(
              (one) =>
                one.atMs >= Date.parse(item.from) &&
                one.atMs < Date.parse(item.to) &&
                groups.every((group) => item[group] === (group === "class" ? one.queryClass : one[group])),
            );
            expect(item.requests).toBe(inItem.reduce((sum, { sums }) => sum + sums.requests, 0));
          }
        }
      },
    ),
    { numRuns: 60 },
  );
});

test("a recorder notes pods that do not count, and stores the last counts at its end", async () => {
  const store = keptUsage(startMs);
  const installation = podsOfATest();
  const pods = installation.join("one");
  const counts = new UsageCounts(() => store.now());
  const { log } = memoryLog();
  const common = { store, windowSeconds: 300, elapsed: () => performance.now(), log, lost: () => undefined };
  const recorder = new UsageRecorder({ ...common, counts, pods, run: "r1" });
  installation.join("earlier");
  await recorder.check();
  counts.add(key, { requests: 5 });
  store.faults.push("unavailable");
  await recorder.stop(2_000);
  expect((await read(store)).meta).toMatchObject({ total: { requests: 5 }, complete: false });
});

describe("what an edit removes", () => {
  const stores = ["eu", "latam"].map((region) => storeConfig({ name: region, region, url: "http://127.0.0.1:9" }));
  const gauge = { source: { kind: "gauge", name: "m", matchers: [] } } as const;
  const lag = metricConfig("lag", stores, gauge);
  const before = configOf(stores, [lag, metricConfig("old", stores, gauge)]);
  const eu = stores.slice(0, 1);
  const edited = { ...metricConfig("lag", eu, gauge), labels: ["region", "tenant"], aggregations: ["avg"] } as const;
  const after = configOf(eu, [edited]);
  const removed = removedUses(before, after);
  const reader = { client: "platform", tenants: ["*"], metrics: ["*"], seesAllUsage: true };
  const readersOf = (store: KeptUsage | undefined, change: object = {}) =>
    readRemovedUses(removed, { ...reader, ...change }, store, startMs);

  test("are metrics, aggregations, labels and regions", () => {
    expect(removed.map((one) => [one.metric, one.what, one.name])).toEqual([
      ["lag", "aggregation", "sum"],
      ["lag", "aggregation", "min"],
      ["lag", "aggregation", "max"],
      ["lag", "label", "environment"],
      ["lag", "label", "service"],
      ["lag", "region", "latam"],
      ["old", "metric", null],
    ]);
    expect(removedUses(before, before)).toEqual([]);
    expect(removedUses(after, before)).toEqual([]);
  });

  async function usedStore(): Promise<KeptUsage> {
    const store = keptUsage(startMs);
    const { counts, flush } = writerOf(store);
    const uses = [
      ["aggregation max", 1],
      ["label service", 1],
    ] as const;
    counts.add(key, { requests: 1, uses });
    await flush();
    counts.add(key, { requests: 1, uses: uses.slice(0, 1) });
    counts.add({ ...key, client: "bot", tenant: "nova" }, { requests: 5 });
    counts.add({ ...key, metric: "old" }, { requests: 3, uses });
    await flush();
    return store;
  }

  const clientsOf = (found: PreviewedReaders) =>
    Object.fromEntries(found.removed.map((one) => [one.name ?? one.what, one.clients]));

  test("are listed with the clients that used them, and those whose uses were not counted", async () => {
    const found = await readersOf(await usedStore());
    expect(clientsOf(found)).toEqual({
      max: [{ client: "shop", requests: 2 }],
      min: [],
      sum: [],
      environment: [],
      service: [{ client: "shop", requests: 1 }],
      latam: [],
      metric: [{ client: "shop", requests: 3 }],
    });
    expect(found.removed.map(({ unknown_requests: unknown }) => unknown)).toEqual([5, 5, 5, 5, 5, 5, 0]);
    expect(found).toMatchObject({ clients_shown: "all", complete: true, omitted: 0 });
  });

  test("are listed within the rights of the caller", async () => {
    const store = await usedStore();
    const ofNova = await readersOf(store, { tenants: ["nova"] });
    expect(clientsOf(ofNova)).toMatchObject({ max: [], metric: [] });
    expect(ofNova.removed[0]?.unknown_requests).toBe(5);
    const own = await readersOf(store, { seesAllUsage: false, client: "shop" });
    expect(own).toMatchObject({ clients_shown: "own" });
    expect(own.removed.map(({ unknown_requests: unknown }) => unknown)).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect((await readersOf(store, { metrics: ["old"] })).removed).toHaveLength(1);
  });

  test("have no list of clients if usage cannot be read", async () => {
    const broken = { ...keptUsage(startMs), createdAtMs: async () => Promise.reject(new Error("no NATS")) };
    for (const store of [undefined, broken]) {
      const found = await readersOf(store);
      expect(found.unavailable).toMatch(/usage/u);
      expect(found.complete).toBe(false);
      expect(found.removed.map(({ clients }) => clients)).toEqual(removed.map(() => null));
    }
  });

  test("is incomplete while rows beyond the bound may belong to it", async () => {
    const store = await usedStore();
    const { counts, flush } = writerOf(store, { name: "other" });
    counts.add({ ...key, client: "", metric: "" }, { requests: 1 });
    await flush();
    expect((await readersOf(store)).complete).toBe(false);
  });
});
