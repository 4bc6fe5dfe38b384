import { createServer } from "node:http";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { MetricConfig, StoreConfig } from "../../../../crds/config.ts";
import { createMetricsApi } from "../../../../runtime/metrics/api/create-metrics-api.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import type { MetricsApi, MetricsResponse } from "../../../../runtime/metrics/metrics-api.ts";
import { listenOnLoopback, type Loopback } from "../../../support/loopback.ts";
import { type PrometheusHandle, startPrometheus } from "../../../support/prometheus.ts";
import { waitFor } from "../../../support/wait.ts";
import { type GeneratedSeries, openMetrics } from "../oracle/generated-series.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig } from "../oracle/universe.ts";

/** What real stores hold: small, and said by hand, so that each answer can be read off. */

const startMs = Date.parse("2026-01-01T00:00:00Z");
const hourSeconds = 3_600;
const nowMs = startMs + 2 * hourSeconds * 1_000;
const hostilePsp = 'x",tenant=~".+"} or {tenant="brand-b';

type Labels = Readonly<Record<string, string>>;

/** An hour of samples every `interval` seconds. */
function steady(name: string, labels: Labels, value: (index: number) => number, interval = 15): GeneratedSeries {
  const samples = Array.from({ length: hourSeconds / interval }, (_, index) => ({
    ms: startMs + (index + 1) * interval * 1_000,
    value: value(index),
  }));
  return { name, labels, samples, shard: 0 };
}

const inEurope: readonly GeneratedSeries[] = [
  ...["a", "b", "c", "d", "e", "f", "g"].map((service, index) =>
    steady("lag", { tenant: "brand-a", env: "prod", service }, () => index),
  ),
  steady("lag", { tenant: "brand-b", env: "prod", service: "secret" }, () => 4_711),
  steady("lag", { tenant: "brand-a", env: "staging", service: "a" }, () => 1_000),
  steady("lag", { env: "prod", service: "no tenant" }, () => 8_888),
  steady("temperature", { tenant: "brand-a" }, () => 10, 15),
  steady("deposits_total", { tenant: "brand-a", psp: "acme" }, (index) => index),
  steady("deposits_total", { tenant: "brand-a", psp: hostilePsp }, (index) => index * 2),
  steady("deposits_total", { tenant: "brand-b", psp: "acme" }, (index) => index * 1_000),
  steady("cpu", { node: "n1", env: "prod", tenant: "not a tenant" }, () => 0.5),
];
const inLatam: readonly GeneratedSeries[] = [
  steady("temperature", { tenant: "brand-a", region: "moon" }, () => 20, 30),
  steady("lag", { tenant: "brand-a", env: "prod", service: "a" }, () => 100),
];

let eu: PrometheusHandle;
let latam: PrometheusHandle;
let api: MetricsApi;
beforeAll(async () => {
  [eu, latam] = await Promise.all([
    startPrometheus({ openMetrics: openMetrics(inEurope), flags: ["--enable-feature=exemplar-storage"] }),
    startPrometheus({ openMetrics: openMetrics(inLatam) }),
  ]);
  const stores: readonly StoreConfig[] = [
    storeConfig({ name: "eu", region: "eu", url: eu.url }),
    storeConfig({ name: "latam", region: "latam", url: latam.url }),
    storeConfig({ name: "infra", region: "eu", url: eu.url }, { tenancy: "Platform", environment: "prod" }),
  ];
  api = createMetricsApi({
    config: configOf(stores, metricsOf(stores)),
    log: { warn: () => undefined },
    deadlineMs: 20_000,
  });
});
afterAll(async () => {
  await api?.stop();
  await Promise.all([eu?.stop(), latam?.stop()]);
});

function metricsOf(all: readonly StoreConfig[]): readonly MetricConfig[] {
  const named = (name: string) => ({ name, matchers: [] });
  const stores = (...names: readonly string[]): readonly StoreConfig[] =>
    all.filter(({ name }) => names.includes(name));
  const deposits = { labels: ["psp"], aggregations: ["sum", "avg"], defaultAggregation: "sum" } as const;
  return [
    metricConfig("lag", stores("eu"), { source: { kind: "gauge", ...named("lag") } }),
    metricConfig("lag_everywhere", stores("eu", "latam"), { source: { kind: "gauge", ...named("lag") } }),
    metricConfig("temperature", stores("eu", "latam"), {
      source: { kind: "gauge", ...named("temperature") },
      intervalSeconds: { eu: 15, latam: 30 },
      minStepSeconds: 120,
    }),
    metricConfig("deposits", stores("eu"), {
      source: { kind: "counter", increase: "Extrapolated", ...named("deposits_total") },
      ...deposits,
    }),
    metricConfig("deposits_anchored", stores("eu"), {
      source: { kind: "counter", increase: "Anchored", ...named("deposits_total") },
      ...deposits,
    }),
    metricConfig("cpu_util", stores("infra"), {
      source: { kind: "gauge", ...named("cpu") },
      labels: ["region", "tenant", "environment", "component"],
    }),
  ];
}

const brandA: Caller = { ...everyone, tenants: ["brand-a"] };
type Pairs = readonly (readonly [string, string])[];
const context = { correlationId: "id-1", nowMs };
const never = (): AbortSignal => new AbortController().signal;
const window: Pairs = [
  ["from", "2026-01-01T00:30:00Z"],
  ["to", "2026-01-01T00:40:00Z"],
  ["step", "10m"],
];

interface Item {
  readonly metric: string;
  readonly labels: Labels;
  readonly points: readonly (readonly [string, number])[];
}

interface Body {
  readonly data: readonly Item[];
  readonly meta: Readonly<Record<string, unknown>> & { readonly snapshot: string };
}

const ask = (pairs: Pairs, caller = brandA): Promise<MetricsResponse> =>
  api.query(parameters([...window, ...pairs]), caller, never(), context);
const bodyOf = ({ body }: MetricsResponse): Body => body as Body;
const dataOf = async (pairs: Pairs, caller = brandA): Promise<readonly Item[]> => bodyOf(await ask(pairs, caller)).data;
/** Series in short: labels and the one value. */
const valuesOf = async (pairs: Pairs, caller = brandA): Promise<readonly (readonly [Labels, number | undefined])[]> =>
  (await dataOf(pairs, caller)).map(({ labels, points }) => [labels, points[0]?.[1]]);

describe("an answer", () => {
  test("has the body and the headers of the wire decisions", async () => {
    const { status, headers, body } = await ask([
      ["metric", "lag"],
      ["filter[service]", "b"],
      ["filter[environment]", "prod"],
      ["group_by", "service"],
    ]);
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [{ metric: "lag", labels: { service: "b" }, points: [["2026-01-01T00:40:00.000Z", 1]] }],
      meta: {
        correlation_id: expect.stringMatching(/^[\w-]{22}$/u) as string,
        schema_version: "2026-01-01",
        from: "2026-01-01T00:30:00.000Z",
        to: "2026-01-01T00:40:00.000Z",
        step: "10m",
        agg: "avg",
        downsample: "none",
        group_by: ["service"],
        page: 1,
        limit: 50,
        total_series: 1,
        has_more: false,
        snapshot: expect.stringMatching(/^[\w-]{22}$/u) as string,
        partial: false,
        regions: [{ region: "eu", state: "ok" }],
      },
    });
    expect(headers).toEqual({
      "Cache-Control": "no-store",
      "X-Data-Freshness": "4800s",
      "X-Downsample": "none",
      "X-Partial": "false",
      "X-Query-Cost-Estimate": "100",
      "X-Query-Cost": "2",
      "X-RateLimit-Limit": "100000",
      "X-RateLimit-Remaining": expect.stringMatching(/^\d+$/u) as string,
      "X-RateLimit-Reset": expect.stringMatching(/^\d$/u) as string,
      "RateLimit-Policy": '"requests";q=100000;w=10, "cost";q=10000000000;qu="cost-units";w=60',
      RateLimit: expect.stringMatching(/^"requests";r=\d+;t=\d, "cost";r=\d+;t=\d$/u) as string,
      "X-Query-Plan": "class=A, points=1, lag;agg=avg;stores=1;ranges=2",
      "X-Query-Cache": "off",
      "X-Query-Shards": "asked=1, answered=1",
      "Server-Timing": expect.stringMatching(/^query;dur=[\d.]+, stores;dur=[\d.]+, answer;dur=[\d.]+$/u) as string,
    });
  });

  test("echoes what it raised and aligned (Operational Metrics API §4.7.5)", async () => {
    const long = parameters([
      ["metric", "lag"],
      ["from", "2025-12-25T00:00:01Z"],
      ["to", "2026-01-01T01:00:01Z"],
      ["step", "1m"],
    ]);
    const { headers, body } = await api.query(long, brandA, never(), context);
    expect((body as Body).meta).toMatchObject({
      from: "2025-12-25T00:00:00.000Z",
      to: "2026-01-01T01:00:00.000Z",
      step: "1h",
      downsample: "1h",
    });
    expect(headers["X-Downsample"]).toBe("1h");
  });

  test("to several metrics has them by id, each with its own aggregation", async () => {
    const body = bodyOf(
      await ask([
        ["metric", "lag"],
        ["metric", "deposits"],
      ]),
    );
    expect(body.data.map(({ metric }) => metric)).toEqual(["deposits", "lag"]);
    expect(body.meta).toMatchObject({ agg: "mixed", aggregations: { deposits: "sum", lag: "avg" } });
  });

  test("without group_by is one series per metric, with no data none", async () => {
    expect(
      await valuesOf([
        ["metric", "lag"],
        ["filter[environment]", "prod"],
      ]),
    ).toEqual([[{}, 3]]);
    expect(
      await dataOf([
        ["metric", "lag"],
        ["filter[service]", "nobody"],
      ]),
    ).toEqual([]);
  });
});

describe("tenants (Operational Metrics API §1 and §5.7)", () => {
  test("see neither each other's series nor series without a tenant", async () => {
    const services = async (caller: Caller, more: Pairs = []): Promise<readonly (string | undefined)[]> =>
      (await dataOf([["metric", "lag"], ["group_by", "service"], ...more], caller)).map(
        ({ labels }) => labels["service"],
      );
    expect(await services({ ...everyone, tenants: ["brand-b"] })).toEqual(["secret"]);
    expect(await services(brandA)).toEqual(["a", "b", "c", "d", "e", "f", "g"]);
    expect(await services(everyone, [["filter[tenant]", "brand-a"]])).not.toContain("secret");
  });

  test("stay apart with any filter", async () => {
    const value = fc.oneof(
      fc.constantFrom(hostilePsp, "acme", '"} or lag #', '"} or {__name__=~".+"} #', ".*", "|", "\\", "brand-b"),
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).filter((text) => !/\p{Cc}|\d{6}/u.test(text)),
    );
    const increases: Readonly<Record<string, number>> = { acme: 40, [hostilePsp]: 80 };
    await fc.assert(
      fc.asyncProperty(value, async (psp) => {
        const found = await valuesOf([
          ["metric", "deposits"],
          ["filter[psp]", psp],
          ["group_by", "psp"],
        ]);
        const wanted = increases[psp];
        expect(found).toEqual(wanted === undefined ? [] : [[{ psp }, wanted]]);
      }),
      { seed: 5, numRuns: 150 },
    );
  });

  test("have no part in a platform's series, which every tenant may read", async () => {
    expect(
      await valuesOf([
        ["metric", "cpu_util"],
        ["group_by", "tenant,environment,region"],
      ]),
    ).toEqual([[{ environment: "prod", region: "eu" }, 0.5]]);
  });
});

describe("environments", () => {
  test("are narrowed by the token under the store's own label name", async () => {
    const caller = { ...brandA, environments: ["staging", "dev"] };
    expect(
      await valuesOf(
        [
          ["metric", "lag"],
          ["group_by", "environment,service"],
        ],
        caller,
      ),
    ).toEqual([[{ environment: "staging", service: "a" }, 1_000]]);
  });
});

describe("regions", () => {
  test("are those of the stores, not of the labels of a series", async () => {
    expect(
      await valuesOf([
        ["metric", "temperature"],
        ["group_by", "region"],
      ]),
    ).toEqual([
      [{ region: "eu" }, 10],
      [{ region: "latam" }, 20],
    ]);
  });

  test("weigh the same when one is sampled twice as often", async () => {
    expect(await valuesOf([["metric", "temperature"]])).toEqual([[{}, 15]]);
  });

  test("are merged by minimum, maximum and sum", async () => {
    const over = async (agg: string): Promise<unknown> =>
      (
        await valuesOf([
          ["metric", "lag_everywhere"],
          ["agg", agg],
          ["filter[environment]", "prod"],
        ])
      )[0]?.[1];
    expect([await over("min"), await over("max"), await over("sum")]).toEqual([0, 100, 121]);
  });
});

describe("pages", () => {
  const lag: Pairs = [
    ["metric", "lag"],
    ["group_by", "service"],
    ["filter[environment]", "prod"],
    ["limit", "3"],
  ];
  const page = async (number: number, more: Pairs = []): Promise<Body> =>
    bodyOf(await ask([...lag, ["page", String(number)], ...more]));

  test("have one stable order, and the last one is marked", async () => {
    const pages = [await page(1), await page(2), await page(3), await page(4)];
    expect(pages.map(({ data }) => data.map(({ labels }) => labels["service"]).join(""))).toEqual([
      "abc",
      "def",
      "g",
      "",
    ]);
    expect(pages.map(({ meta }) => meta["has_more"])).toEqual([true, true, false, false]);
  });

  test("name their data; another name is refused with 409 (Operational Metrics API §7)", async () => {
    const { meta } = await page(1);
    expect((await page(2, [["snapshot", meta.snapshot]])).meta.snapshot).toBe(meta.snapshot);
    const changed = page(2, [
      ["snapshot", meta.snapshot],
      ["filter[service]", "a"],
    ]);
    await expect(changed).rejects.toMatchObject({ status: 409, code: "snapshot_gone" });
  });
});

describe("an instant (Operational Metrics API §2.1 and §4.3)", () => {
  test("is the value of the point at or before its time", async () => {
    const pairs = parameters([
      ["metric", "deposits"],
      ["filter[psp]", "acme"],
      ["group_by", "psp"],
      ["ts", "2026-01-01T00:30:30Z"],
    ]);
    const { status, body, headers } = await api.instant(pairs, brandA, never(), context);
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [{ metric_id: "deposits", labels: { psp: "acme" }, timestamp: "2026-01-01T00:30:00.000Z", value: 4 }],
      meta: {
        correlation_id: expect.stringMatching(/^[\w-]{22}$/u) as string,
        ts: "2026-01-01T00:30:00.000Z",
        schema_version: "2026-01-01",
        step: "1m",
        agg: "sum",
        downsample: "none",
        group_by: ["psp"],
        page: 1,
        limit: 50,
        total_series: 1,
        has_more: false,
        snapshot: expect.any(String) as string,
        partial: false,
        regions: [{ region: "eu", state: "ok" }],
      },
    });
    expect(headers["X-Query-Plan"]).toContain("points=1");
  });

  test("without samples is no value", async () => {
    const { body } = await api.instant(parameters([["metric", "lag"]]), brandA, never(), context);
    expect((body as Body).data).toEqual([]);
  });
});

describe("a store without anchored ranges", () => {
  test("is unsupported for a metric that needs them, also in the health view", async () => {
    await expect(ask([["metric", "deposits_anchored"]])).rejects.toMatchObject({
      code: "store_failed",
      message:
        "no store responded: eu (unsupported); the store does not support anchored ranges, which the metric " +
        "requires; upgrade it or remove the metric",
    });
    expect((await api.health(everyone)).body).toMatchObject({
      status: "degraded",
      stores: [
        { name: "eu", state: "unsupported" },
        { name: "infra", state: "ok" },
        { name: "latam", state: "ok" },
      ],
    });
  });
});

describe("exemplars (Operational Metrics API §2.4)", () => {
  let target: Loopback;
  let scraping: PrometheusHandle;
  let own: MetricsApi;
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  beforeAll(async () => {
    let total = 0;
    const line = (tenant: string, id: string): string =>
      `paid_total{tenant="${tenant}",service="web"} ${total} # {trace_id="${id}",user="someone"} ${total} ` +
      `${Date.now() / 1_000}\n`;
    target = await listenOnLoopback(
      createServer((_, response) => {
        total += 1;
        const text =
          "# TYPE paid " +
          `counter\n${line("brand-a", trace)}${line("brand-b", "b".repeat(32))}${line("brand-c", "not a trace id")}# ` +
          "EOF\n";
        response
          .writeHead(200, { "content-type": "application/openmetrics-text; version=1.0.0; charset=utf-8" })
          .end(text);
      }),
    );
    scraping = await startPrometheus({
      config:
        "scrape_configs:\n- job_name: target\n  scrape_interval: 1s\n  static_configs: [{targets: " +
        `["127.0.0.1:${target.port}"]}]\n`,
      flags: ["--enable-feature=exemplar-storage"],
    });
    const stores = [storeConfig({ name: "eu", region: "eu", url: scraping.url })];
    const paid = metricConfig("paid", stores, {
      source: { kind: "counter", increase: "Extrapolated", name: "paid_total", matchers: [] },
      minStepSeconds: 10,
      intervalSeconds: { eu: 1 },
    });
    own = createMetricsApi({ config: configOf(stores, [paid]), log: { warn: () => undefined } });
  });
  afterAll(async () => {
    await own?.stop();
    await scraping?.stop();
    await target?.close();
  });

  interface WithExemplars {
    readonly meta?: { readonly exemplars_hidden?: number };
    readonly data: readonly {
      readonly exemplars?: readonly { readonly trace_id: string }[];
      readonly exemplar?: object;
    }[];
  }
  const query = async (tenant: string, exemplars: string): Promise<WithExemplars> => {
    const from = new Date(Date.now() - 120_000).toISOString();
    const pairs = parameters([
      ["metric", "paid"],
      ["filter[tenant]", tenant],
      ["group_by", "service"],
      ["from", from],
      ["exemplars", exemplars],
    ]);
    const answer = await own.query(pairs, everyone, never(), { correlationId: "id-1", nowMs: Date.now() });
    return answer.body as WithExemplars;
  };
  const scraped = (): Promise<WithExemplars> =>
    waitFor(async () => [await query("brand-a", "true")].find(({ data }) => (data[0]?.exemplars?.length ?? 0) > 0), {
      timeoutMs: 30_000,
      what: "an exemplar inside a whole point",
    });

  test("lead to a trace by its id alone, for the query's own tenant", async () => {
    const { data } = await scraped();
    expect(data[0]?.exemplars?.[0]).toEqual({
      trace_id: trace,
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/u) as string,
      value: expect.any(Number) as number,
    });
    expect(data[0]?.exemplars).toHaveLength(1);
  });

  test("are present only on request, and never as free text", async () => {
    await scraped();
    expect((await query("brand-a", "false")).data[0]).not.toHaveProperty("exemplars");
    const hidden = await query("brand-c", "true");
    expect(hidden.data[0]?.exemplars).toEqual([]);
    expect(hidden.meta?.exemplars_hidden).toBeGreaterThan(0);
    expect((await scraped()).meta).not.toHaveProperty("exemplars_hidden");
  });

  test("come one to a value with an instant", async () => {
    await scraped();
    const pairs = parameters([
      ["metric", "paid"],
      ["filter[tenant]", "brand-a"],
      ["exemplars", "true"],
    ]);
    const instant = async (): Promise<WithExemplars> =>
      (await own.instant(pairs, everyone, never(), { correlationId: "id-1", nowMs: Date.now() })).body as WithExemplars;
    const whole = await waitFor(async () => [await instant()].find(({ data }) => data[0]?.exemplar !== undefined), {
      timeoutMs: 30_000,
      what: "an exemplar inside the last whole point",
    });
    expect(whole.data[0]?.exemplar).toMatchObject({ trace_id: trace });
  });
});
