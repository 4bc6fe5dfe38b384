import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { request as requestOver } from "undici";
import type { RuntimeConfig } from "../../../../crds/config.ts";
import { startNginx, type NginxHandle } from "../../../support/debian/nginx.ts";
import { findDebianServer } from "../../../tools/debian-server.ts";
import { metricConfig } from "../../metrics/oracle/universe.ts";
import type { StoreReply } from "../../stores/scripted-store.ts";
import { simulated, startMetricsServer, type ScriptedMetricsServer } from "../routes/metrics-server.ts";

/** Responses with all that a response can have, for one to 50 metrics. A default proxy takes 4 KB of headers. */

const headBytesMax = 4_096;
const names = Array.from({ length: 50 }, (_, index) => `checkout_component_latency_of_region_${index}_seconds`);
const counts = [1, 28, 50] as const;
const broken: StoreReply = (response) => {
  response.writeHead(500).end();
};
const nginx = await findDebianServer("nginx");

let server: ScriptedMetricsServer;
let proxy: NginxHandle | undefined;

beforeAll(async () => {
  server = await startMetricsServer({ eu: simulated(() => ({ services: ["a", "b"] })), us: broken });
  server.apply(withMetrics(server.config));
  await server.get("/v1/metrics/catalog");
  const { port } = server.app.server.address() as { readonly port: number };
  if (!("missing" in nginx)) proxy = await startNginx(nginx, `http://127.0.0.1:${port}`);
});
afterAll(async () => {
  await proxy?.stop();
  await server.close();
});

/** Every metric is deprecated, with a replacement, and has a quota of its own. */
function withMetrics(config: RuntimeConfig): RuntimeConfig {
  const [catalog] = config.catalogs;
  if (catalog === undefined) return config;
  const metrics = names.map((id, index) =>
    metricConfig(id, catalog.stores, {
      source: { kind: "gauge", name: "lag", matchers: [] },
      defaultAggregation: index % 2 === 0 ? "max" : "min",
      state: "Deprecated",
      replacedBy: `replacement_of_${id}`,
      deprecatedAtMs: Date.parse("2025-12-01T00:00:00Z"),
      sunsetAtMs: Date.parse("2026-06-01T00:00:00Z"),
    }),
  );
  const limits = { requestsPerSecond: 100, burst: 1_000, costUnitsPerMinute: 1e9, burstCostUnits: 1e9 };
  const quota = {
    ...catalog,
    name: "quota",
    class: "A",
    limits: { ...config.classDefaults.A, ...limits, maxSeries: 2 },
    perMetric: names.map((metric) => ({ metric, ...limits })),
    clients: [{ scope: "metrics:read", tenants: [], regions: [], environments: [], metrics: [] }],
  } as unknown as RuntimeConfig["quotas"][number];
  return { ...config, catalogs: [{ ...catalog, metrics }], quotas: [quota] };
}

const query = (count: number, more = ""): string =>
  `?${names
    .slice(0, count)
    .map((name) => `metric=${name}`)
    .join("&")}&filter[tenant]=brand-a${more}`;
const long = `&group_by=service&filter[service]=${"ü".repeat(180)}`;

const rows = counts.flatMap((count): readonly (readonly [string, string, Readonly<Record<string, string>>])[] => [
  [`a query of ${count} metrics`, `/v1/metrics/query${query(count, "&group_by=service")}`, {}],
  [`a query of ${count} metrics with a long filter`, `/v1/metrics/query${query(count, long)}`, {}],
  [`an instant of ${count} metrics`, `/v1/metrics/instant${query(count)}`, {}],
  [`a table of ${count} metrics`, `/v1/metrics/query${query(count)}`, { accept: "text/csv" }],
  [`a refused query of ${count} metrics`, `/v1/metrics/query${query(count, "&complete=required")}`, {}],
  [`a plan of ${count} metrics`, `/v1/metrics/plan${query(count)}`, {}],
  [
    `label values of ${Math.min(count, 10)} metrics`,
    `/v1/metrics/labels/service/values${query(Math.min(count, 10))}`,
    {},
  ],
]);

describe("the head of a response stays below 4 KB", () => {
  test.each(rows)("for %s", async (_name, url, headers) => {
    for (const turn of ["first", "repeated"]) {
      const { rawBytes, status } = await headOf(url, headers);
      expect({ turn, status, isFit: rawBytes < headBytesMax, rawBytes }).toMatchObject({ isFit: true });
    }
  });

  test("and keeps the plan of each metric, the quotas and the next page where they fit", async () => {
    const { headers } = await server.get(`/v1/metrics/query${query(1, "&group_by=service&limit=1")}`);
    expect(headers["x-query-plan"]).toContain(`${names[0]};agg=max;stores=2;ranges=`);
    expect(headers["ratelimit"]).toContain(`"requests:${names[0]}"`);
    expect(headers["link"]).toMatch(/rel="next".*rel="successor-version"/u);
  });

  test("and summarizes the plan of many metrics, whose explanation has all", async () => {
    const url = `/v1/metrics/query${query(28)}`;
    const { headers } = await server.get(url);
    expect(headers["x-query-plan"]).toMatch(/^class=A, points=\d+, metrics=28, stores=2, reads=\d+$/u);
    const explained = await server.get(`${url}&explain=true`, { authorization: "Bearer explainer" });
    const { explain } = explained.json() as {
      readonly explain: { readonly points: number; readonly metrics: readonly object[] };
    };
    expect(explain.points).toBe(Number(/points=(\d+)/u.exec(headers["x-query-plan"] ?? "")?.[1]));
    expect(explain.metrics).toHaveLength(28);
    expect(explain.metrics[0]).toMatchObject({ metric: names[0], aggregation: "max", stores: 2, ranges: 1 });
  });

  test("and omits a next page that does not fit, which the body has", async () => {
    const { headers, json } = await server.get(`/v1/metrics/query${query(50, "&group_by=service")}`);
    expect(headers["link"] ?? "").not.toContain('rel="next"');
    expect(json()).toMatchObject({ meta: { has_more: true, snapshot: expect.any(String) as string } });
  });

  test("and names what the meta of a table leaves out", async () => {
    const accept = { authorization: "Bearer everyone", accept: "text/csv" };
    const few = await server.get(`/v1/metrics/query${query(1)}`, accept);
    expect(JSON.parse(few.headers["x-query-meta"] ?? "")).not.toHaveProperty("omitted");
    const many = await server.get(`/v1/metrics/query${query(50)}`, accept);
    const meta = JSON.parse(many.headers["x-query-meta"] ?? "") as object;
    expect(meta).toMatchObject({ omitted: ["aggregations", "deprecated", "reasons"], partial: true, has_more: true });
    expect(meta).not.toHaveProperty("deprecated");
  });
});

describe.skipIf("missing" in nginx)("nginx with its default buffers", () => {
  test.each(rows)("forwards %s", async (_name, url, headers) => {
    const direct = await server.get(url, { authorization: "Bearer everyone", ...headers });
    const { statusCode, body } = await requestOver(`${proxy?.url}${url}`, {
      headers: { authorization: "Bearer everyone", ...headers },
    });
    const text = await body.text();
    expect({ status: statusCode, start: text.slice(0, 20) }).toEqual({
      status: direct.status,
      start: direct.text.slice(0, 20),
    });
  });
});

/** Bytes of the status line and the headers, as they are sent. */
async function headOf(url: string, headers: Readonly<Record<string, string>>) {
  const answer = await server.get(url, { authorization: "Bearer everyone", ...headers });
  const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return {
    status: answer.status,
    rawBytes: Buffer.byteLength(`HTTP/1.1 200 Partial Content\r\n${lines.join("")}\r\n`),
  };
}
