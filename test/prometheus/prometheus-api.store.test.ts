import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPrometheus, type PrometheusHandle } from "../support/prometheus.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { openMetrics, type GeneratedSeries } from "../runtime/metrics/oracle/generated-series.ts";
import { metricsServerOver, type HttpAnswer, type MetricsServer } from "../runtime/http/routes/metrics-server.ts";

const startMs = Date.parse("2026-01-01T00:00:00Z");
const nowMs = startMs + 3_600_000;
const at = nowMs / 1_000 - 600;

/** An hour of samples, every 15 s. */
function steady(
  name: string,
  labels: Readonly<Record<string, string>>,
  value: (index: number) => number,
): GeneratedSeries {
  const samples = Array.from({ length: 240 }, (_, index) => ({
    ms: startMs + (index + 1) * 15_000,
    value: value(index),
  }));
  return { name, labels: { env: "prod", ...labels }, samples, shard: 0 };
}

const brandA = { tenant: "brand-a" };
const inEurope = [
  steady("lag", { ...brandA, service: "web" }, () => 4),
  steady("lag", { ...brandA, service: "api" }, () => 6),
  steady("lag", { tenant: "brand-b", service: "secret" }, () => 4_711),
  steady("payments_total", { ...brandA, service: "web" }, (index) => index * 3),
  // Some series have no service, some no provider, and one has neither.
  steady("lag", { tenant: "brand-c", service: "web" }, () => 1),
  steady("lag", { tenant: "brand-c", service: "api", psp: "one" }, () => 2),
  steady("lag", { tenant: "brand-c", psp: "one" }, () => 4),
  steady("lag", { tenant: "brand-c" }, () => 8),
];
const inAmerica = [
  steady("lag", { ...brandA, service: "web" }, () => 8),
  steady("lag", { tenant: "brand-c", service: "web" }, () => 16),
  steady("lag", { tenant: "brand-c" }, () => 32),
];

let eu: PrometheusHandle;
let us: PrometheusHandle;
let line: TcpProxy;
let server: MetricsServer;
beforeAll(async () => {
  [eu, us] = (await Promise.all(
    [inEurope, inAmerica].map((series) => startPrometheus({ openMetrics: openMetrics(series) })),
  )) as [PrometheusHandle, PrometheusHandle];
  line = await startTcpProxy(us.url);
  server = metricsServerOver({ eu: eu.url, us: `http://127.0.0.1:${line.port}` }, { now: () => nowMs });
  const { config } = server;
  const catalogs = config.catalogs.map((catalog) => ({
    ...catalog,
    metrics: catalog.metrics.map((metric) => ({ ...metric, labels: [...metric.labels, "psp" as const] })),
  }));
  server.apply({ ...config, catalogs });
});
afterAll(async () => {
  await server?.close();
  await line?.stop();
  await Promise.all([eu?.stop(), us?.stop()]);
});

type Parameters = Readonly<Record<string, string>>;

function ask(path: string, params: Parameters = {}, headers: Parameters = {}): Promise<HttpAnswer> {
  const own = { authorization: "Bearer everyone", "x-scope-orgid": "brand-a", ...headers };
  return server.get(`/prometheus/api/v1/${path}?${new URLSearchParams(params).toString()}`, own);
}

async function dataOf(path: string, params: Parameters = {}, headers: Parameters = {}): Promise<unknown> {
  const { status, text } = await ask(path, params, headers);
  expect({ status, text }).toEqual({ status: 200, text: expect.stringContaining('"status":"success"') as string });
  return (JSON.parse(text) as { readonly data: unknown }).data;
}

/** The same expression in the store itself. */
async function dataOfStore(store: PrometheusHandle, query: string, time = at): Promise<unknown> {
  const params = new URLSearchParams({ query, time: `${time}` });
  const response = await fetch(`${store.url}/api/v1/query?${params.toString()}`);
  return ((await response.json()) as { readonly data: unknown }).data;
}

function sorted(data: unknown): readonly string[] {
  return (data as { readonly result: readonly object[] }).result.map((series) => JSON.stringify(series)).sort();
}

/** The value of a vector of one series. */
function valueOf(data: unknown): number {
  const { result } = data as { readonly result: readonly { readonly value: readonly [number, string] }[] };
  expect(result).toHaveLength(1);
  return Number(result[0]?.value[1]);
}

describe("a client of Prometheus", () => {
  test("reads an expression over all regions of its tenant", async () => {
    const query = "avg by (service) (lag) > 5";
    expect(await dataOf("query", { query, time: `${at}` })).toEqual({
      resultType: "vector",
      result: [
        { metric: { service: "api" }, value: [at, "6"] },
        { metric: { service: "web" }, value: [at, "6"] },
      ],
    });
  });

  test("reads the values that the store has, where one store has them all", async () => {
    const own = 'sum by (service) (rate(payments{region="eu"}[5m])) * 60';
    const stored = 'sum by (service) (rate(payments_total{tenant="brand-a"}[5m])) * 60';
    const [answered, expected] = [
      valueOf(await dataOf("query", { query: own, time: `${at}` })),
      valueOf(await dataOfStore(eu, stored)),
    ];
    expect(expected).toBeGreaterThan(1);
    expect(answered / expected).toBeCloseTo(1, 9);
  });

  test("reads after now what the store has: the samples of the window that are there, and then none", async () => {
    const forms = [
      ['max(max_over_time(lag{region="eu"}[5m]))', 'max(max_over_time(lag{tenant="brand-a"}[5m]))'],
      ['sum(increase(payments{region="eu"}[5m]))', 'sum(increase(payments_total{tenant="brand-a"}[5m]))'],
    ] as const;
    for (const [query, stored] of forms) {
      for (const seconds of [60, 180, 240, 360, 86_400]) {
        const time = nowMs / 1_000 + seconds;
        const read = await dataOf("query", { query, time: `${time}` });
        expect([seconds, read]).toEqual([seconds, await dataOfStore(eu, stored, time)]);
        expect((read as { readonly result: readonly object[] }).result).toHaveLength(seconds < 300 ? 1 : 0);
      }
    }
  });

  test.each([
    "vector(1)",
    "vector(1) + vector(1)",
    "vector(-2.5) * 2",
    "vector(time())",
    "vector(NaN)",
    "time()",
    "time() - 60",
    "-time() / 2 + 1",
    "(time() - time()) / 0",
    "time() > bool 5",
    "vector(1) > 0",
    "vector(1) > 1",
    "vector(3) < bool time()",
    "vector(1) == vector(1)",
    "vector(1) or vector(2)",
    "vector(1) unless vector(2)",
    "1 + 1",
    "2 > bool 1",
  ])("reads the constant %s as the store computes it", async (query) => {
    for (const time of [at, nowMs / 1_000 + 60])
      expect(await dataOf("query", { query, time: `${time}` })).toEqual(await dataOfStore(eu, query, time));
    const range = { query, start: `${at - 60}`, end: `${at}`, step: "30" };
    const response = await fetch(`${eu.url}/api/v1/query_range?${new URLSearchParams(range).toString()}`);
    expect(await dataOf("query_range", range)).toEqual(((await response.json()) as { readonly data: unknown }).data);
  });

  test("reads a range in a form", async () => {
    const form = {
      query: 'max(max_over_time(lag{region=~"eu|us"}[1m]))',
      start: `${at - 60}`,
      end: `${at}`,
      step: "30s",
    };
    const answer = await server.post("/prometheus/api/v1/query_range", new URLSearchParams(form).toString(), {
      "content-type": "application/x-www-form-urlencoded",
      "x-scope-orgid": "brand-a",
    });
    expect(answer.json()).toEqual({
      status: "success",
      data: {
        resultType: "matrix",
        result: [{ metric: {}, values: [at - 60, at - 30, at].map((time) => [time, "8"]) }],
      },
    });
  });

  test("looks up names, labels, values and series of its tenant only", async () => {
    expect(await dataOf("label/__name__/values")).toEqual(expect.arrayContaining(["lag", "payments"]));
    expect(await dataOf("labels", { "match[]": "lag" })).toEqual(expect.arrayContaining(["__name__", "service"]));
    const times = { start: `${at - 3_000}`, end: `${at}` };
    expect(await dataOf("label/service/values", { "match[]": "lag", ...times })).toEqual(["api", "web"]);
    expect(await dataOf("label/region/values", { "match[]": "lag" })).toEqual(["eu", "us"]);
    const series = (await dataOf("series", { "match[]": "lag", ...times })) as readonly Parameters[];
    expect(series.map(({ service, region }) => `${service} ${region}`).sort()).toEqual(["api eu", "web eu", "web us"]);
    const other = { "x-scope-orgid": "brand-b" };
    expect(await dataOf("label/service/values", { "match[]": "lag", ...times }, other)).toEqual(["secret"]);
  });

  const brandC = { "x-scope-orgid": "brand-c" };

  test.each([
    ['service=""', 4 + 8 + 32],
    ['service=~""', 4 + 8 + 32],
    ['service!=""', 1 + 2 + 16],
    ['service=~".+"', 1 + 2 + 16],
    ['service=~"web|"', 1 + 4 + 8 + 16 + 32],
    ['service=~"|api"', 2 + 4 + 8 + 32],
    ['service="", psp=""', 8 + 32],
    ['service!="", psp=""', 1 + 16],
    ['psp!="", service=""', 4],
    ['environment!="", psp!=""', 2 + 4],
    ['environment="", psp!=""', undefined],
  ])("matches series with and without a label as the store does: %s", async (matchers, total) => {
    const grouped = (own: string): string => `sum by (service, psp) (avg_over_time(lag{${own}}[5m]))`;
    const query = grouped(`${matchers}, region="eu"`);
    const inStore = grouped(`${matchers.replace("environment", "env")}, tenant="brand-c"`);
    const read = await dataOf("query", { query, time: `${at}` }, brandC);
    // The order of a vector has no meaning.
    expect(sorted(read)).toEqual(sorted(await dataOfStore(eu, inStore)));
    const all = await dataOf("query", { query: `sum(avg_over_time(lag{${matchers}}[5m]))`, time: `${at}` }, brandC);
    expect((all as { readonly result: readonly object[] }).result).toEqual(
      total === undefined ? [] : [{ metric: {}, value: [at, `${total}`] }],
    );
  });

  test("looks up series with and without a label as the store does", async () => {
    const times = { start: `${at - 3_000}`, end: `${at}` };
    const values = (match: string): Promise<unknown> =>
      dataOf("label/psp/values", { "match[]": match, ...times }, brandC);
    expect(await values('lag{service=""}')).toEqual(["one"]);
    expect(await values('lag{service!="", psp=~"one|two"}')).toEqual(["one"]);
    expect(await values('lag{psp=""}')).toEqual([]);
    const series = (await dataOf(
      "series",
      { "match[]": 'lag{service="", region="eu"}', ...times },
      brandC,
    )) as readonly Parameters[];
    expect(series.map(({ service, psp }) => `${service} ${psp}`).sort()).toEqual([
      "undefined one",
      "undefined undefined",
    ]);
  });

  test.each([
    ['avg(lag{region=""})', "no series is without the label region"],
    ['avg(lag{tenant=""})', "no series is without the label tenant"],
    ['avg(lag{service!~""})', "the matcher !~ is not supported"],
    ['avg(lag{service!="web"})', "the matcher != is not supported"],
  ])("rejects %s", async (query, detail) => {
    const { status, text } = await ask("query", { query, time: `${at}` });
    expect([status, text]).toEqual([400, expect.stringContaining(detail)]);
  });

  test("sees nothing of another tenant, whatever it names", async () => {
    const own = { authorization: "Bearer brandA" };
    for (const params of [
      { query: 'avg(lag{tenant="brand-b"})', time: `${at}` },
      { query: 'avg(lag{tenant=~"brand-a|brand-b"})', time: `${at}` },
      { query: 'avg(lag{service="secret\\",tenant=~\\".+"})', time: `${at}` },
    ]) {
      const { text } = await ask("query", params, { ...own, "x-scope-orgid": "" });
      expect(text).not.toContain("4711");
    }
    const forbidden = await ask("query", { query: "avg(lag)", time: `${at}` }, { ...own, "x-scope-orgid": "brand-b" });
    expect({ status: forbidden.status, body: forbidden.json() }).toMatchObject({
      status: 422,
      body: { errorType: "execution", code: "tenant_forbidden" },
    });
  });
});

describe("a store that is away", () => {
  test("makes a partial answer, or an error for those who want the whole", async () => {
    line.block();
    try {
      const params = { query: "max(max_over_time(lag[2m]))", time: `${at - 120}` };
      const partial = await ask("query", params);
      expect({ status: partial.status, body: partial.json() }).toMatchObject({
        status: 200,
        body: {
          isPartial: true,
          warnings: [expect.stringContaining("us")],
          data: { result: [{ value: [at - 120, "6"] }] },
        },
      });
      for (const more of [{ partial_response: "false" }, { complete: "required" }]) {
        const refused = await ask("query", { ...params, ...more });
        expect({ status: refused.status, body: refused.json() }).toMatchObject({
          status: 503,
          body: { errorType: "unavailable", code: "store_failed" },
        });
      }
      const lost = await ask("query", { query: 'max(max_over_time(lag{region="us"}[2m]))', time: `${at - 120}` });
      expect({ status: lost.status, body: lost.json() }).toMatchObject({ status: 503, body: { status: "error" } });
    } finally {
      line.unblock();
    }
  });
});
