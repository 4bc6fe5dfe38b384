import { afterEach, describe, expect, test } from "vitest";
import { simulated, startMetricsServer, type ScriptedMetricsServer } from "./metrics-server.ts";

/** Every route of `/v1/metrics` counts requests (Operational Metrics API §8, "Request rate per client"). */

let server: ScriptedMetricsServer;
afterEach(() => server.close());

const burst = 5;
async function start(hasSlos = true): Promise<void> {
  server = await startMetricsServer({ eu: simulated(() => ({ services: ["a"] })) });
  const { config } = server;
  const limited = Object.entries(config.classDefaults).map(
    ([name, limits]) => [name, { ...limits, requestsPerSecond: 0.001, burst }] as const,
  );
  const catalogs = hasSlos ? config.catalogs : config.catalogs.map((catalog) => ({ ...catalog, slos: [] }));
  server.apply({ ...config, catalogs, classDefaults: Object.fromEntries(limited) as typeof config.classDefaults });
}

const tenant = "filter[tenant]=brand-a";
const routes = [
  ["query", `query?metric=lag&${tenant}`],
  ["instant", `instant?metric=lag&${tenant}`],
  ["plan", `plan?metric=lag&${tenant}`],
  ["catalog", "catalog"],
  ["health", "health"],
  ["quota", "quota"],
  ["labels", `labels/region/values?metric=lag&${tenant}`],
  ["slo", "slo?tenant=brand-a"],
  ["slo of no objective", "slo?tenant=brand-a"],
  ["slo/history", "slo/history?tenant=brand-a&slo=login"],
] as const;

const lag = encodeURIComponent('lag{tenant="brand-a"}');
const facade = [
  ["query", "query?query=1"],
  ["format_query", "format_query?query=up"],
  ["labels", "labels"],
  ["names", "label/__name__/values"],
  ["values", "label/region/values?match[]=lag"],
  ["values after now", "label/service/values?match[]=lag&start=4000000000&end=4000000060"],
  ["exemplars of no metric", "query_exemplars?query=test&start=0&end=60"],
  ["series after now", "series?match[]=lag&start=4000000000&end=4000000060"],
  ["metadata", "metadata"],
  ["build information", "status/buildinfo"],
  ["features", "features"],
  ["rules", "rules"],
  ["alerts", "alerts"],
] as const;

describe("a client that sends more requests than its burst", () => {
  test.each(routes)("is limited: %s", async (name, path) => {
    await start(name !== "slo of no objective");
    const statuses: number[] = [];
    for (let sent = 0; sent <= burst; sent += 1) statuses.push((await server.get(`/v1/metrics/${path}`)).status);
    expect(statuses).toEqual([...Array.from({ length: burst }, () => 200), 429]);
    const refused = await server.get(`/v1/metrics/${path}`);
    expect(refused.json()).toMatchObject({ code: "rate_exceeded" });
    expect(refused.headers["retry-after"]).toMatch(/^\d+$/u);
  });

  test.each(facade)("is limited in Prometheus' HTTP API: %s", async (_name, path) => {
    await start();
    const left: unknown[] = [];
    const send = () => server.get(`/prometheus/api/v1/${path.replaceAll("lag", lag)}`);
    for (let sent = 0; sent < burst; sent += 1) left.push((await send()).headers["x-ratelimit-remaining"]);
    expect(left).toEqual(["4", "3", "2", "1", "0"]);
    const refused = await send();
    expect([refused.status, refused.json()]).toEqual([
      429,
      expect.objectContaining({ error: expect.stringContaining("needs 1 request token of this class") as string }),
    ]);
  });

  test("has an error of their own when it reads its quotas too often", async () => {
    await start();
    for (let sent = 0; sent < burst; sent += 1) await server.get("/v1/metrics/quota");
    const refused = await server.get("/v1/metrics/quota");
    expect(refused.json()).toMatchObject({
      detail: "the rate limit for reading quotas is exceeded; it is separate from the rate limit of the class",
    });
    expect(refused.headers).not.toHaveProperty("x-ratelimit-remaining");
    expect((await server.get("/v1/metrics/health")).headers["x-ratelimit-remaining"]).toBe("4");
  });

  test("still reads its quotas, which show what is left", async () => {
    await start();
    for (let sent = 0; sent <= burst; sent += 1) await server.get("/v1/metrics/health");
    expect((await server.get("/v1/metrics/catalog")).status).toBe(429);
    const answer = await server.get("/v1/metrics/quota");
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({
      data: [{ client: "test", requests: { remaining: expect.any(Number) } }],
    });
  });

  test("sees what is left in the headers of cheap routes", async () => {
    await start();
    for (const [path, left] of [
      ["health", 4],
      ["catalog", 3],
    ] as const) {
      const { headers } = await server.get(`/v1/metrics/${path}`);
      expect([headers["x-ratelimit-limit"], headers["x-ratelimit-remaining"]]).toEqual([`${burst}`, `${left}`]);
    }
  });
});

test.each([
  ["catalog", "catalog?category=kri"],
  ["slo", "slo?tenant=brand-a"],
])("the schema version of a response about no metric is not empty: %s", async (_name, path) => {
  await start(false);
  expect((await server.get(`/v1/metrics/${path}`)).json()).toMatchObject({
    data: [],
    meta: { schema_version: "none" },
  });
});

test("the schema version of a bulk without a successful item is not empty", async () => {
  await start();
  const answer = await server.post("/v1/metrics/bulk-query", { queries: [{ id: "a", metric: "unknown" }] });
  expect(answer.json()).toMatchObject({ meta: { schema_version: "none" } });
});
