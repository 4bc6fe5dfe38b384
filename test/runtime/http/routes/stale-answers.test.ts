import { afterEach, describe, expect, test } from "vitest";
import type { ClassLimits } from "../../../../crds/config.ts";
import { waitFor } from "../../../support/wait.ts";
import type { StoreReply } from "../../stores/scripted-store.ts";
import { simulated, startMetricsServer, type ScriptedMetricsServer } from "./metrics-server.ts";

/** A class whose tail lives for five seconds, and for ten more while it is read again (Operational Metrics API §8). */

const startMs = Date.parse("2026-01-01T12:00:00Z");
const lag =
  "/v1/metrics/query?metric=lag&agg=max&filter[tenant]=brand-a&filter[region]=eu&group_by=service&" +
  "from=2026-01-01T11:00:00Z&to=2026-01-01T12:00:00Z&step=1m";

interface Serving extends ScriptedMetricsServer {
  nowMs: number;
  offset: number;
  /** Range queries that the store was sent. */
  reads(): number;
  /** What the store waits for before it answers range queries. */
  held: Promise<void>;
}

const closing: ScriptedMetricsServer[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((server) => server.close()));
});

async function start(): Promise<Serving> {
  const state = { nowMs: startMs, offset: 0, held: Promise.resolve() };
  const store = simulated(() => ({ services: ["a", "b"], value: (service) => service + state.offset }));
  const held: StoreReply = (response, request) =>
    void (request.path.endsWith("query_range") ? state.held : Promise.resolve()).then(() => store(response, request));
  const server = await startMetricsServer({ eu: held }, { now: () => state.nowMs });
  closing.push(server);
  const caching: Partial<ClassLimits> = { memorySeconds: 30, hotTailSeconds: 5, staleWhileRevalidateSeconds: 10 };
  const config = {
    ...server.config,
    classDefaults: { ...server.config.classDefaults, A: { ...server.config.classDefaults.A, ...caching } },
  };
  server.apply(config);
  return Object.assign(state, server, {
    config,
    reads: () =>
      server.stores.flatMap(({ requests }) => requests).filter(({ path }) => path.endsWith("query_range")).length,
  });
}

const isRead = (server: Serving, reads: number): Promise<boolean> =>
  waitFor(() => server.reads() === reads, { timeoutMs: 20_000, pollMs: 1, what: "the store to be asked again" });

describe("a response whose tail is just too old", () => {
  test("is served at once and marked as stale; it must not be cached; its cost is charged once", async () => {
    const server = await start();
    const first = await server.get(lag);
    const reads = server.reads();
    server.offset = 100;
    server.nowMs += 6_000;
    const { promise, resolve: letGo } = Promise.withResolvers<void>();
    server.held = promise;
    const [stale, again] = [await server.get(lag), await server.get(lag)];
    letGo();
    expect(stale.headers["x-query-cache"]).toMatch(/^memory;hit=60;stale=2;miss=0;extents="memory\*58 stale\*2"$/u);
    expect(stale.headers["cache-control"]).toBe("no-store");
    expect((stale.json() as { readonly data: unknown }).data).toEqual(
      (first.json() as { readonly data: unknown }).data,
    );
    expect(Number(stale.headers["x-query-cost"])).toBeGreaterThan(0);
    expect([again.headers["x-query-cost"], /stale/u.test(again.headers["x-query-cache"] ?? "")]).toEqual(["0", true]);
    await isRead(server, reads + 1);
    const fresh = await waitFor(
      async () => {
        const answer = await server.get(lag);
        return /stale/u.test(answer.headers["x-query-cache"] ?? "") ? false : answer;
      },
      { timeoutMs: 20_000, pollMs: 1, what: "the new tail" },
    );
    expect(fresh === false ? "" : fresh.text).toContain('["2026-01-01T12:00:00.000Z",100]');
    expect(server.reads()).toBe(reads + 1);
  });

  test("must not be cached either where its final points are stale and pods share points for longer", async () => {
    const server = await start();
    const { classDefaults } = server.config;
    server.apply({
      ...server.config,
      classDefaults: { ...classDefaults, A: { ...classDefaults.A, distributedSeconds: 120 } },
    });
    const settled = lag.replace(
      "from=2026-01-01T11:00:00Z&to=2026-01-01T12:00:00Z",
      "from=2026-01-01T09:00:00Z&to=2026-01-01T10:00:00Z",
    );
    expect((await server.get(settled)).headers["cache-control"]).toBe("private, max-age=30");
    server.nowMs += 31_000;
    const { headers } = await server.get(settled);
    expect(headers["x-query-cache"]).toMatch(/stale=60/u);
    expect(headers["cache-control"]).toBe("no-store");
  });

  test("is read while the caller waits when the class allows no more, or rights or the store have changed", async () => {
    const server = await start();
    await server.get(lag);
    server.nowMs += 6_000;
    const narrower = await server.get(lag.replace("brand-a", "brand-b"));
    expect(narrower.headers["x-query-cache"]).toMatch(/^memory;hit=0;miss=60;/u);
    const { config } = server;
    const catalogs = config.catalogs.map((catalog) => ({
      ...catalog,
      stores: catalog.stores.map((store) =>
        store.prometheus === undefined
          ? store
          : { ...store, prometheus: { ...store.prometheus, headers: { "x-other": "1" } } },
      ),
    }));
    server.apply({ ...config, catalogs });
    expect((await server.get(lag)).headers["x-query-cache"]).toMatch(/^memory;hit=0;miss=60;/u);
  });

  test("is not served when its bound is over", async () => {
    const server = await start();
    await server.get(lag);
    server.nowMs += 15_000;
    expect((await server.get(lag)).headers["x-query-cache"]).toMatch(
      /^memory;hit=58;miss=2;extents="memory\*58 store\*2"$/u,
    );
  });
});
