import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { simulated, startMetricsServer, type HttpAnswer, type ScriptedMetricsServer } from "./metrics-server.ts";

/** Answers of series over HTTP, where the class keeps them for ten seconds and their tail for five. */

const startMs = Date.parse("2026-01-01T12:00:00Z");
const lag =
  "/v1/metrics/query?metric=lag&filter[tenant]=brand-a&filter[region]=eu&group_by=service&" +
  "from=2026-01-01T10:00:00Z&step=1m";

interface Caching extends ScriptedMetricsServer {
  nowMs: number;
  /** Range queries that the store was sent. */
  reads(): number;
}

const closing: ScriptedMetricsServer[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((server) => server.close()));
});

async function start(): Promise<Caching> {
  const clock = { nowMs: startMs };
  const server = await startMetricsServer(
    { eu: simulated(() => ({ services: ["a", "b", "c"] })) },
    { now: () => clock.nowMs },
  );
  closing.push(server);
  const { config } = server;
  const A = { ...config.classDefaults.A, memorySeconds: 10, hotTailSeconds: 5, requestsPerSecond: 1, burst: 20 };
  server.apply({ ...config, classDefaults: { ...config.classDefaults, A } });
  return Object.assign(clock, server, {
    reads: () =>
      server.stores.flatMap(({ requests }) => requests).filter(({ path }) => path.endsWith("query_range")).length,
  });
}

const as = (token: string, more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${token}`,
  ...more,
});

describe("an equal query within the lifetime of the tail", () => {
  test("is the very same bytes, queries no store, and is counted (Operational Metrics API §8)", async () => {
    const server = await start();
    const first = await server.get(lag);
    const reads = server.reads();
    server.nowMs += 4_000;
    const second = await server.get(lag);
    expect([second.text, second.headers["etag"]]).toEqual([first.text, first.headers["etag"]]);
    expect(server.reads()).toBe(reads);
    expect(second.headers).toMatchObject({
      "x-query-cache": "answer;age=4",
      "x-query-cost": "0",
      "cache-control": "private, max-age=1",
    });
    expect([first, second].map(({ headers }) => headers["x-ratelimit-remaining"])).toEqual(["19", "18"]);
    expect(second.headers["x-correlation-id"]).not.toBe(first.headers["x-correlation-id"]);
  });

  test("reports the present age of its data (Operational Metrics API §6)", async () => {
    const server = await start();
    const before = Number.parseInt((await server.get(lag)).headers["x-data-freshness"] ?? "", 10);
    server.nowMs += 3_000;
    expect((await server.get(lag)).headers["x-data-freshness"]).toBe(`${before + 3}s`);
  });

  test("reads the store again when the lifetime is over", async () => {
    const server = await start();
    await server.get(lag);
    const reads = server.reads();
    server.nowMs += 5_000;
    expect((await server.get(lag)).headers["x-query-cache"]).toMatch(/^memory;/u);
    expect(server.reads()).toBeGreaterThan(reads);
  });

  test("by a caller with other rights is another response, and one with equal rights shares it", async () => {
    const server = await start();
    await server.get(lag);
    const reads = server.reads();
    expect((await server.get(lag, as("explainer"))).headers["x-query-cache"]).toBe("answer;age=0");
    const other = await server.get(lag.replace("brand-a", "brand-b"));
    expect(other.headers["x-query-cache"]).toBe('memory;hit=0;miss=240;extents="store*120"');
    expect(server.reads()).toBeGreaterThan(reads);
  });
});

describe("a strong ETag (Operational Metrics API §6, If-None-Match)", () => {
  test("that the caller has is 304 without a body, with headers of its own", async () => {
    const server = await start();
    const { headers } = await server.get(lag);
    const tag = headers["etag"] ?? "";
    expect(tag).toMatch(/^"[\w-]{22}"$/u);
    for (const sent of [tag, `"other", W/${tag}`, "*"]) {
      const answer: HttpAnswer = await server.get(lag, as("everyone", { "if-none-match": sent }));
      expect([answer.status, answer.text, answer.headers["etag"]]).toEqual([304, "", tag]);
      expect(answer.headers).toHaveProperty("x-ratelimit-remaining");
    }
    expect((await server.get(lag, as("everyone", { "if-none-match": '"other"' }))).status).toBe(200);
  });

  test("is one for each coding, and each coding is the same body", async () => {
    const server = await start();
    const plain = await server.get(lag);
    const coded = (coding: string) => server.get(lag, as("everyone", { "accept-encoding": coding }));
    const [gzip, zstd] = [await coded("gzip"), await coded("gzip, zstd")];
    expect([gzip.headers["content-encoding"], zstd.headers["content-encoding"]]).toEqual(["gzip", "zstd"]);
    expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
    expect(zstdDecompressSync(zstd.bytes).equals(plain.bytes)).toBe(true);
    expect(new Set([plain, gzip, zstd].map(({ headers }) => headers["etag"])).size).toBe(3);
    expect((await coded("br, identity;q=0.5")).headers["content-encoding"]).toBeUndefined();
  });
});

describe("a response whose points are final", () => {
  const moving = lag.replace("step=1m", "step=5m");

  test("may be kept for as long as its points, or as a tail where its window has moved by then (Operational Metrics API §6)", async () => {
    const server = await start();
    const kept: (string | undefined)[] = [];
    for (const seconds of [240, 294, 297]) {
      server.nowMs = startMs + seconds * 1_000;
      kept.push((await server.get(moving)).headers["cache-control"]);
      kept.push((await server.get(`${moving}&to=2026-01-01T12:00:00Z`)).headers["cache-control"]);
    }
    const [whole, tail] = ["private, max-age=10", "private, max-age=5"];
    expect(kept).toEqual([whole, whole, tail, whole, tail, "private, max-age=7"]);
  });

  test("names the class of its own caller, not of the first one", async () => {
    const server = await start();
    const B = { ...server.config.classDefaults.B, memorySeconds: 10, hotTailSeconds: 5 };
    const clients = [{ clientId: "operations", tenants: [], regions: [], environments: [], metrics: [] }];
    const quota = {
      uid: "b",
      namespace: "metrics",
      name: "b",
      generation: 1,
      specDigest: "b",
      class: "B",
      limits: B,
      perMetric: [],
      clients,
    } as const;
    const { config } = server;
    const A = { ...config.classDefaults.A, memorySeconds: 10, hotTailSeconds: 5 };
    server.apply({ ...config, quotas: [quota], classDefaults: { ...config.classDefaults, A, B } });
    const plans = [await server.get(lag), await server.get(lag, as("operations"))].map(
      ({ headers }) => headers["x-query-plan"]?.split(",")[0],
    );
    expect(plans).toEqual(["class=A", "class=B"]);
  });
});
