import { array, assert, asyncProperty, constantFrom, integer, record } from "fast-check";
import { describe, expect, test } from "vitest";
import type { Lifetimes } from "../../../../runtime/metrics/cache/extents.ts";
import {
  createBackgroundRefreshes,
  createReadCache,
  type ReadCache,
  refreshesMax,
} from "../../../../runtime/metrics/cache/read-cache.ts";
import { waitFor } from "../../../support/wait.ts";
import {
  align,
  type Asked,
  bytesMax,
  read,
  startOfDayMs,
  stepMs,
  storesOf,
  truth,
  queryContextAt,
  wrongPlaces,
  type QueryContext,
} from "./live-store.ts";

/** Points whose lifetime is just over are served once more while they are read again. */

const renewing: Lifetimes = { settledMs: 30_000, tailMs: 10_000, staleMs: 15_000 };
/** What may be served at all. */
const served: Lifetimes = { settledMs: 45_000, tailMs: 25_000 };

interface Renewing {
  readonly queryContext: QueryContext;
  readonly stores: ReturnType<typeof storesOf>;
  readonly cache: ReadCache;
  /** What renewals ended with. */
  readonly ended: unknown[];
}

function start(): Renewing {
  const queryContext = queryContextAt(startOfDayMs + 3_600_000);
  const ended: unknown[] = [];
  const refreshes = createBackgroundRefreshes({ ended: (failure) => void ended.push(failure) });
  return { queryContext, stores: storesOf(queryContext), cache: createReadCache(bytesMax, { refreshes }), ended };
}

const ask = (
  { queryContext, stores, cache }: Renewing,
  grid: { endMs: number; count: number },
  asked: Omit<Asked, "lifetimes"> = {},
) => read(queryContext, stores, cache, grid, { lifetimes: renewing, ...asked });
const renewed = ({ ended }: Renewing, count = 1): Promise<boolean> =>
  waitFor(() => ended.length >= count, { timeoutMs: 20_000, pollMs: 1, what: "a renewal" });

describe("a point whose lifetime has just ended", () => {
  test("is served at once and refreshed for the next caller", async () => {
    const all = start();
    const grid = { endMs: align(all.queryContext.nowMs), count: 2 };
    const before = await ask(all, grid);
    all.queryContext.nowMs += renewing.tailMs;
    const stale = await ask(all, grid);
    expect(stale.series).toEqual(before.series);
    expect(stale).toMatchObject({ hit: 2, stale: 2, renewed: 2, miss: 0 });
    await renewed(all);
    const after = await ask(all, grid);
    expect(after).toMatchObject({ hit: 2, stale: 0, renewed: 0, miss: 0 });
    expect(after.series[0]?.values[1]).toBe(truth("whole", grid.endMs, all.queryContext.nowMs));
    expect(all.queryContext.asked).toHaveLength(2);
  });

  test("is refreshed once for all callers, and counts for the first one only", async () => {
    const all = start();
    const grid = { endMs: align(all.queryContext.nowMs), count: 2 };
    await ask(all, grid);
    all.queryContext.nowMs += renewing.tailMs;
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask(all, grid)));
    expect(answers.map((answer) => answer.renewed)).toEqual([2, ...Array.from({ length: 49 }, () => 0)]);
    await renewed(all);
    expect([all.queryContext.asked.length, all.ended.length]).toEqual([2, 1]);
  });

  test("is read before the response when it is older than the class allows, to the millisecond", async () => {
    const all = start();
    const grid = { endMs: align(all.queryContext.nowMs), count: 2 };
    await ask(all, grid);
    all.queryContext.nowMs += served.tailMs;
    expect(await ask(all, grid)).toMatchObject({ hit: 0, stale: 0, miss: 2 });
    all.queryContext.nowMs += served.tailMs - 1;
    expect(await ask(all, grid)).toMatchObject({ stale: 2, miss: 0 });
  });

  test("is not served together with new points, which the response waits for", async () => {
    const all = start();
    const grid = { endMs: align(all.queryContext.nowMs), count: 2 };
    await ask(all, grid);
    all.queryContext.nowMs += stepMs;
    const { stale, miss } = await ask(all, { endMs: align(all.queryContext.nowMs), count: 3 });
    expect([stale, miss]).toEqual([0, 3]);
  });

  test("is served until its end while the store fails; a failed refresh fails no request", async () => {
    const all = start();
    const grid = { endMs: align(all.queryContext.nowMs), count: 2 };
    await ask(all, grid);
    all.queryContext.failure = new Error("down");
    all.queryContext.nowMs += renewing.tailMs;
    for (let turn = 1; turn <= 3; turn += 1) {
      expect(await ask(all, grid)).toMatchObject({ stale: 2 });
      await renewed(all, turn);
    }
    expect(all.ended).toEqual([all.queryContext.failure, all.queryContext.failure, all.queryContext.failure]);
    all.queryContext.nowMs += served.tailMs - renewing.tailMs;
    await expect(ask(all, grid)).rejects.toThrow("down");
  });

  test("is not served to another query, tenant or configuration of the store", async () => {
    const all = start();
    const grid = { endMs: align(all.queryContext.nowMs), count: 2 };
    const own = { tenant: "acme" };
    await ask(all, grid, own);
    all.queryContext.nowMs += renewing.tailMs;
    expect(await ask(all, grid, { ...own, query: "narrower" })).toMatchObject({ hit: 0, stale: 0, miss: 2 });
    expect(await ask(all, grid, { tenant: "zeta" })).toMatchObject({ hit: 0, stale: 0, miss: 2 });
    expect(await ask(all, grid)).toMatchObject({ hit: 0, stale: 0, miss: 2 });
    expect(await ask({ ...all, stores: storesOf(all.queryContext) }, grid, own)).toMatchObject({
      hit: 0,
      stale: 0,
      miss: 2,
    });
    // They are still there, for callers of their own tenant.
    expect(await ask(all, grid, own)).toMatchObject({ hit: 2, stale: 2, miss: 0 });
  });

  test("has a value that the store had within its lifetime and the stale time, while data moves", async () => {
    let stales = 0;
    const step = record({
      waitMs: integer({ min: 0, max: 30_000 }),
      count: integer({ min: 1, max: 40 }),
      backSteps: constantFrom(0, 0, 1, 5),
      stays: constantFrom(true, true, false),
      waits: constantFrom(true, false),
    });
    await assert(
      asyncProperty(array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const all = start();
        const { queryContext } = all;
        let grid = { endMs: align(queryContext.nowMs), count: 10 };
        for (const { waitMs, count, backSteps, stays, waits } of steps) {
          queryContext.nowMs += waitMs;
          if (!stays) grid = { endMs: align(queryContext.nowMs) - backSteps * stepMs, count };
          const { series, startMs, stale, renewed: begun } = await ask(all, grid);
          stales += stale;
          if (begun > 0 && waits) await renewed(all, all.ended.length + 1);
          for (const name of ["whole", "gappy"]) {
            const own = series.find(({ labels }) => labels["name"] === name);
            expect(wrongPlaces(own, name, { startMs, count: grid.count, nowMs: queryContext.nowMs }, served)).toEqual(
              [],
            );
          }
        }
      }),
      { numRuns: 150 },
    );
    // Else nothing was tried.
    expect(stales).toBeGreaterThan(100);
  });
});

describe("background refreshes", () => {
  const never = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));

  test("are bounded, and one of each name", () => {
    const refreshes = createBackgroundRefreshes();
    const begun = Array.from({ length: refreshesMax + 5 }, (_, index) => [
      refreshes.begin(`read ${index}`, "eu", never),
      refreshes.begin(`read ${index}`, "eu", never),
    ]);
    expect(begun).toEqual([
      ...Array.from({ length: refreshesMax }, () => [true, false]),
      ...Array.from({ length: 5 }, () => [false, false]),
    ]);
    refreshes.stop();
  });

  test("of a store that hangs take nothing from those of another", () => {
    const refreshes = createBackgroundRefreshes();
    for (let index = 0; index < refreshesMax; index += 1) refreshes.begin(`read ${index}`, "hung", never);
    expect([refreshes.begin("another", "hung", never), refreshes.begin("read", "eu", never)]).toEqual([false, true]);
    refreshes.stop();
  });

  test("end at their own deadline", async () => {
    const ended: unknown[] = [];
    const refreshes = createBackgroundRefreshes({ deadlineMs: 5, ended: (failure) => void ended.push(failure) });
    refreshes.begin("read", "eu", never);
    await waitFor(() => ended.length === 1, { timeoutMs: 20_000, pollMs: 1, what: "the deadline" });
    expect(String(ended[0])).toContain("not refreshed in 5 ms");
    expect(refreshes.begin("read", "eu", never)).toBe(true);
    refreshes.stop();
  });

  test("end when the program stops, and none starts afterwards", async () => {
    const refreshes = createBackgroundRefreshes();
    const { promise, resolve } = Promise.withResolvers<unknown>();
    refreshes.begin("read", "eu", (signal) => never(signal).catch(resolve));
    refreshes.stop();
    expect(String(await promise)).toContain("stops");
    expect(refreshes.begin("other", "eu", never)).toBe(false);
  });
});
