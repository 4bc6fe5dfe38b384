import { afterEach, describe, expect, test } from "vitest";
import type { UsageAnswer } from "../../../../api/usage.ts";
import { type MetricsServer, nowMs, simulated, startMetricsServer } from "../../http/routes/metrics-server.ts";
import { decodeUsage } from "../../../../runtime/metrics/usage/usage-message.ts";
import { keptUsage } from "./kept-usage.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A server that caches what it reads for half a minute. */
async function startServer(): Promise<MetricsServer> {
  const replies = { eu: simulated(() => ({ services: ["a", "b"] })) };
  const server = await startMetricsServer(replies, { usage: keptUsage(nowMs) });
  closing.push(() => server.close());
  const { A, B, C } = server.config.classDefaults;
  const cached = { memorySeconds: 30, hotTailSeconds: 10 };
  const classDefaults = { A: { ...A, ...cached }, B: { ...B, ...cached }, C: { ...C, ...cached } };
  server.apply({ ...server.config, classDefaults });
  return server;
}

async function usageOf(server: MetricsServer, search = ""): Promise<UsageAnswer> {
  await server.stopUsage();
  return (await server.get(`/v1/metrics/usage?${search}`, { authorization: "Bearer usage" })).json() as UsageAnswer;
}

const times = "from=2026-01-01T11:00:00Z&to=2026-01-01T12:00:00Z";
const query = `/v1/metrics/query?metric=lag&filter[tenant]=brand-a&step=1m&${times}`;

describe("usage counts", () => {
  test("cached and repeated responses with their points and bytes, and without a cost", async () => {
    const server = await startServer();
    const responses = [await server.get(query), await server.get(query), await server.get(query)];
    const etag = responses[0]?.headers["etag"] ?? "";
    const known = await server.get(query, { authorization: "Bearer everyone", "if-none-match": etag });
    expect(known.status).toBe(304);
    const cost = responses.map(({ headers }) => Number(headers["x-query-cost"]));
    expect(cost).toEqual([120, 0, 0]);
    const { total } = (await usageOf(server)).meta;
    expect(total).toEqual({
      requests: 4,
      points: 4 * 120,
      cached_points: 3 * 120,
      cache_share: 3 / 4,
      bytes: responses.reduce((sum, { bytes }) => sum + bytes.length, 0),
      cost_estimate: 4 * 120,
      cost: 120,
    });
  });

  test("the aggregation, the labels and the regions of each query", async () => {
    const usage = keptUsage(nowMs);
    const server = await startMetricsServer({ eu: simulated(() => ({ services: ["a"] })) }, { usage });
    closing.push(() => server.close());
    await server.get(`${query}&agg=max&group_by=service&filter[region]=eu`);
    await server.get(`${query}&filter[service]=a`);
    await server.stopUsage();
    const rows = usage.messages().flatMap(({ payload }) => decodeUsage(payload)?.rows ?? []);
    expect(rows.map(({ metric, uses }) => [metric, Object.fromEntries(uses ?? [])])).toEqual([
      ["lag", { "aggregation max": 1, "aggregation avg": 1, "label service": 2, "region eu": 2 }],
    ]);
  });

  test("every query of a bulk, every selector of an expression and every objective, and all bytes once", async () => {
    const server = await startServer();
    const item = (metric: string) => ({
      id: metric,
      metric: [metric],
      from: "2026-01-01T11:00:00Z",
      to: "2026-01-01T12:00:00Z",
      step: "1m",
      filter: { tenant: "brand-a" },
    });
    const bulk = await server.post("/v1/metrics/bulk-query", { queries: [item("lag"), item("payments")] });
    expect(bulk.status).toBe(200);
    const sum = encodeURIComponent(
      'max(max_over_time(lag{tenant="brand-a"}[1m])) + min(min_over_time(lag{tenant="brand-a"}[1m]))',
    );
    const range = "start=2026-01-01T11:00:00Z&end=2026-01-01T11:30:00Z&step=1m";
    const expression = await server.get(`/prometheus/api/v1/query_range?query=${sum}&${range}`);
    expect(expression.status).toBe(200);
    const slo = await server.get("/v1/metrics/slo?tenant=brand-a");
    expect(slo.status).toBe(200);
    const { data, meta } = await usageOf(server, "group_by=metric");
    expect(data.map(({ metric, requests }) => `${metric} ${requests}`).toSorted()).toEqual([
      "lag 3",
      "login 1",
      "payments 1",
    ]);
    expect(meta.total.bytes).toBe(bulk.bytes.length + expression.bytes.length + slo.bytes.length);
    for (const name of ["requests", "points", "bytes", "cost"] as const)
      expect(data.reduce((total, row) => total + row[name], 0)).toBe(meta.total[name]);
  });

  test("callers without a token as one client, with the bytes of a public status", async () => {
    const server = await startServer();
    const status = await server.get("/v1/status/brand-a", {});
    expect(status.status).toBe(200);
    const { data } = await usageOf(server, "group_by=client,tenant");
    expect(data).toMatchObject([{ client: "anonymous", tenant: "brand-a", requests: 1, bytes: status.bytes.length }]);
  });

  test("no rejected request, and no bytes of an error", async () => {
    const server = await startServer();
    for (const wrong of ["metric=nothing", "metric=lag&agg=p99", "metric=lag&step=1s"])
      expect((await server.get(`/v1/metrics/query?${wrong}&filter[tenant]=brand-a`)).status).toBe(400);
    expect((await usageOf(server)).meta.total).toMatchObject({ requests: 0, bytes: 0, cost: 0 });
  });
});

describe("a request for usage is rejected", () => {
  test.each([
    ["an unknown group", "group_by=region", "invalid_group_by"],
    ["a group twice", "group_by=client,client", "invalid_group_by"],
    ["a step that is no whole hour", "step=90m", "invalid_step"],
    ["a start before usage is kept", "from=now-36d", "invalid_window"],
    ["an end before the start", "from=now-1h&to=now-2h", "invalid_window"],
    ["a time that is none", "from=yesterday", "invalid_time"],
    ["an unknown parameter", "groupby=client", "unknown_parameter"],
  ])("for %s", async (_what, search, code) => {
    const server = await startServer();
    const answer = await server.get(`/v1/metrics/usage?${search}`, { authorization: "Bearer usage" });
    expect([answer.status, answer.json()]).toMatchObject([400, { code }]);
  });

  test("without a scope", async () => {
    const server = await startServer();
    expect((await server.get("/v1/metrics/usage", { authorization: "Bearer nobody" })).status).toBe(403);
  });

  test("by an installation that stores none", async () => {
    const server = await startMetricsServer({ eu: simulated(() => ({ services: ["a"] })) });
    closing.push(() => server.close());
    const answer = await server.get("/v1/metrics/usage", { authorization: "Bearer usage" });
    expect([answer.status, answer.json()]).toMatchObject([503, { code: "usage_unavailable" }]);
  });
});
