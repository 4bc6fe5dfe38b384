import { describe, expect, test } from "vitest";
import type { Lifetimes } from "../../../../runtime/metrics/cache/extents.ts";
import { createReadCache, type ReadCache } from "../../../../runtime/metrics/cache/read-cache.ts";
import type { Pods } from "../../../../runtime/pods/pods.ts";
import type { Stores } from "../../../../runtime/stores/store.ts";
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
  wrongPlaces,
} from "./live-store.ts";

/** What pods send each other, and when they send nothing. */

const classC: Lifetimes = { settledMs: 60_000, tailMs: 20_000, sharedMs: 300_000 };

interface Message {
  readonly topic: string;
  /** Of a request and its reply as JSON. */
  readonly bytes: number;
}

interface Installation {
  readonly queryContext: QueryContext;
  readonly stores: Stores;
  readonly pods: PodsOfATest;
  readonly messages: Message[];
  join(name: string): ReadCache;
}

function installation(): Installation {
  const pods = podsOfATest();
  const messages: Message[] = [];
  const queryContext = queryContextAt(startOfDayMs + 3_600_000);
  const sizeOf = (body: unknown): number => JSON.stringify(body).length;
  return {
    queryContext,
    stores: storesOf(queryContext),
    pods,
    messages,
    join(name) {
      const own = pods.join(name);
      const noted: Pods = {
        ...own,
        request: async (pod, topic, body) => {
          const reply = await own.request(pod, topic, body);
          messages.push({ topic, bytes: sizeOf(body) + sizeOf(reply) });
          return reply;
        },
        publish(pod, topic, message) {
          messages.push({ topic, bytes: sizeOf(message) });
          own.publish(pod, topic, message);
        },
      };
      return createReadCache(bytesMax, { pods: noted });
    },
  };
}

/** Reads a window that ends now. */
async function ask({ queryContext, stores }: Installation, cache: ReadCache, { query = "q", count = 180 } = {}) {
  const grid = { endMs: align(queryContext.nowMs), count };
  return read(queryContext, stores, cache, grid, { query, lifetimes: classC });
}

describe("a pod without others", () => {
  test("sends no message", async () => {
    const all = installation();
    const cache = all.join("pod-0");
    for (let step = 0; step < 20; step += 1) {
      all.queryContext.nowMs += stepMs;
      await ask(all, cache);
    }
    expect(all.pods.sent()).toBe(0);
    expect(all.queryContext.asked).toHaveLength(20);
  });

  test("serves its own points for the shared lifetime, and counts them as shared after that of memory", async () => {
    const all = installation();
    const cache = all.join("pod-0");
    const settled = { endMs: all.queryContext.nowMs - 600_000, count: 40 };
    const again = () => read(all.queryContext, all.stores, cache, settled, { lifetimes: classC });
    await again();
    all.queryContext.nowMs += 59_999;
    expect(await again()).toMatchObject({ hit: 40, shared: 0, miss: 0 });
    all.queryContext.nowMs += 1;
    expect(await again()).toMatchObject({ hit: 40, shared: 40, miss: 0 });
    all.queryContext.nowMs += 239_999;
    expect(await again()).toMatchObject({ hit: 40, shared: 40, miss: 0 });
    all.queryContext.nowMs += 1;
    expect(await again()).toMatchObject({ hit: 0, miss: 40 });
  });

  test("reads only the new point of a window that moves after the lifetime of memory", async () => {
    const all = installation();
    const cache = all.join("pod-0");
    await ask(all, cache);
    all.queryContext.nowMs += 4 * stepMs;
    await ask(all, cache);
    // The settled points are a minute old; the tail of that time is read again.
    expect(all.queryContext.asked.at(-1)?.count).toBe(8);
  });

  test("shares with its first query after another pod joined, and sends nothing after that pod left", async () => {
    const all = installation();
    const first = all.join("pod-0");
    await ask(all, first);
    const second = all.join("pod-1");
    const queries = Array.from({ length: 8 }, (_, index) => `after ${index}`);
    for (const query of queries) await ask(all, first, { query });
    for (const query of queries) expect((await ask(all, second, { query })).shared).toBe(180);
    expect(all.queryContext.asked).toHaveLength(1 + queries.length);
    all.pods.lose("pod-1");
    const sent = all.pods.sent();
    all.queryContext.nowMs += stepMs;
    for (const query of queries) await ask(all, first, { query });
    expect(all.pods.sent()).toBe(sent);
  });
});

describe("two pods in turn on a window that moves", () => {
  test("send each other the new points only, and read each point once", async () => {
    const all = installation();
    const caches = [all.join("pod-0"), all.join("pod-1")];
    for (const cache of caches) await ask(all, cache);
    all.messages.length = 0;
    const reads = all.queryContext.asked.length;
    for (let step = 1; step <= 12; step += 1) {
      all.queryContext.nowMs += stepMs;
      for (const cache of caches) await ask(all, cache);
      expect(all.queryContext.asked).toHaveLength(reads + step);
    }
    const pieces = all.messages.filter(({ topic }) => topic === "extents").map(({ bytes }) => bytes);
    expect(pieces).toHaveLength(12);
    expect(Math.max(...pieces)).toBeLessThan(600);
    const others = all.messages.filter(({ topic }) => topic !== "extents").map(({ bytes }) => bytes);
    expect(Math.max(...others)).toBeLessThan(250);
  });

  test("share points of equal phases only", async () => {
    const all = installation();
    const caches = [all.join("pod-0"), all.join("pod-1")] as const;
    const readAt = (cache: ReadCache, phaseMs: number) => {
      const grid = { endMs: align(all.queryContext.nowMs) - 600_000 + phaseMs, count: 40 };
      return read(all.queryContext, all.stores, cache, grid, { lifetimes: classC });
    };
    expect(await readAt(caches[0], 0)).toMatchObject({ shared: 0, miss: 40 });
    expect(await readAt(caches[1], 5_000)).toMatchObject({ shared: 0, miss: 40 });
    expect(await readAt(caches[1], 0)).toMatchObject({ shared: 40, miss: 0 });
    const { series, startMs, ...counts } = await readAt(caches[0], 5_000);
    expect(counts).toMatchObject({ shared: 40, miss: 0 });
    const whole = series.find(({ labels }) => labels["name"] === "whole");
    const { nowMs } = all.queryContext;
    expect(wrongPlaces(whole, "whole", { startMs, count: 40, nowMs }, classC)).toEqual([]);
  });

  test("answer from the store when the pod with the points is gone", async () => {
    const all = installation();
    const caches = [all.join("pod-0"), all.join("pod-1"), all.join("pod-2")];
    const queries = Array.from({ length: 8 }, (_, index) => `q${index}`);
    for (const query of queries) await ask(all, caches[0] as ReadCache, { query });
    all.pods.lose("pod-0");
    for (const query of queries) expect((await ask(all, caches[1] as ReadCache, { query })).series).toHaveLength(2);
    expect(all.queryContext.asked).toHaveLength(2 * queries.length);
  });
});
