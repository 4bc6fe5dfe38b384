import { afterEach, describe, expect, test } from "vitest";
import type { RuntimeConfig, SloConfig } from "../../../crds/config.ts";
import { burnExpression } from "../../../runtime/prometheus/slo-rules.ts";
import { burnTiers } from "../../../runtime/metrics/slo/slo-status.ts";
import { faultsIn } from "../http/openapi/strict-schema.ts";
import {
  nowMs,
  startMetricsServer,
  type HttpAnswer,
  type ScriptedMetricsServer,
} from "../http/routes/metrics-server.ts";
import { json, success, type StoreReply } from "../stores/scripted-store.ts";

/** Stores that lack a part of a value: each case is a store that no rule of PromQL over all series would leave out. */

let server: ScriptedMetricsServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** What a store holds: the increase of each part in every point, by service. No entry is no series. */
type Held = Readonly<Record<string, number | Readonly<Record<string, number>>>>;

const parts: readonly (readonly [part: string, pattern: RegExp])[] = [
  ["ok", /^sum by\([^)]*\)\(increase\(\{__name__="logins_total","?result"?="ok"/u],
  ["all", /^sum by\([^)]*\)\(increase\(\{__name__="logins_total",tenant/u],
  ["good", /^sum by\([^)]*\)\(increase\(\{__name__="latency_bucket",le=~/u],
  ["bucket", /^sum by\([^)]*heliograph_le\)\(label_replace\(increase\(\{__name__="latency_bucket",tenant/u],
  ["count", /^sum by\([^)]*\)\(increase\(\{__name__="latency_count"/u],
  ["sum", /^sum by\([^)]*\)\(increase\(\{__name__="latency_sum"/u],
];

function holding(held: Held): StoreReply {
  return (response, request) => {
    const query = request.form.get("query") ?? "";
    if (request.path.endsWith("/query")) {
      return success({ resultType: "vector", result: [{ metric: {}, value: [0, String(nowMs / 1_000 - 10)] }] })(
        response,
        request,
      );
    }
    const part = parts.find(([, pattern]) => pattern.test(query))?.[0] ?? "";
    const isGrouped = /by\([^)]*service/u.test(query);
    const own = held[part];
    const rows = own === undefined ? [] : typeof own === "number" ? [["", own] as const] : Object.entries(own);
    const result = rows.map(([key, value]) => ({
      metric: part === "bucket" ? { le: key } : isGrouped ? { service: key } : {},
      values: times(request.form).map((seconds) => [seconds, String(value)]),
    }));
    success({ resultType: "matrix", result })(response, request);
  };
}

function times(form: URLSearchParams): readonly number[] {
  const [first = 0, last = 0, step = 1] = ["start", "end", "step"].map((name) => Number(form.get(name)));
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step);
}

const slow: SloConfig = {
  name: "fast",
  domain: "auth",
  metric: "latency",
  objective: 0.9,
  counts: "Good",
  threshold: 300,
  windowDays: 30,
  minimumEvents: 1,
  burnRates: [14.4, 6, 3, 1],
  public: false,
};

async function start(
  stores: Readonly<Record<string, Held>>,
  change: (config: RuntimeConfig) => RuntimeConfig = (config) => config,
): Promise<ScriptedMetricsServer> {
  const replies = Object.fromEntries(Object.entries(stores).map(([region, held]) => [region, holding(held)]));
  server = await startMetricsServer(replies);
  const { config } = server;
  const catalogs = config.catalogs.map((catalog) => ({ ...catalog, slos: [...catalog.slos, slow] }));
  server.apply(change({ ...config, catalogs }));
  return server;
}

interface Region {
  readonly region: string;
  readonly state: string;
  readonly reasons?: readonly { readonly metric: string; readonly code: string; readonly detail: string }[];
}
interface Item {
  readonly metric?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [string, number])[];
  readonly value: number;
}
interface Body {
  readonly data: readonly Item[];
  readonly meta: { readonly partial: boolean; readonly regions: readonly Region[] };
}

const window = "filter%5Btenant%5D=brand-a&from=2026-01-01T11:50:00Z&to=2026-01-01T12:00:00Z&step=1m";
const bodyOf = (answer: HttpAnswer): Body => answer.json() as Body;
const statesOf = (regions: readonly Region[]): string =>
  regions.map(({ region, state }) => `${region}=${state}`).join(" ");
const lacksOf = (regions: readonly Region[]): readonly string[] =>
  regions.flatMap(({ region, reasons = [] }) =>
    reasons.map(({ metric, code, detail }) => `${region} ${metric} ${code} ${/but no ([^;]*);/u.exec(detail)?.[1]}`),
  );

async function ask(stores: Readonly<Record<string, Held>>, pairs: string) {
  const over = await start(stores);
  const answer = await over.get(`/v1/metrics/query?${window}&${pairs}`);
  const { data, meta } = bodyOf(answer);
  return {
    status: answer.status,
    values: [...new Set(data.flatMap(({ points }) => points.map(([, value]) => value)))],
    points: data[0]?.points.length,
    states: statesOf(meta.regions),
    lacks: lacksOf(meta.regions),
    faults: faultsIn(answer.json(), "QueryAnswer"),
  };
}

const whole = { ok: 50, all: 100, good: 100, count: 100, sum: 20, bucket: { "300": 100, "+Inf": 100 } } as const;
const without = (...names: readonly (keyof typeof whole)[]): Held =>
  Object.fromEntries(Object.entries(whole).filter(([name]) => !names.some((own) => own === name)));

describe("a store that lacks a part", () => {
  const rows: readonly (readonly [sentence: string, apac: Held, pairs: string, value: number, lacks: string])[] = [
    ["the denominator of a ratio", { ok: 100 }, "metric=login", 0.5, "denominator"],
    ["the count of a histogram", { ...without("count"), sum: 80 }, "metric=latency&agg=avg", 0.2, "count"],
    [
      "the sum of a histogram",
      { ...without("sum"), count: 300 },
      "metric=latency&agg=avg",
      0.2,
      "sum of the same series as its count",
    ],
    ["the bucket of +Inf", { bucket: { "300": 10, "900": 100 } }, "metric=latency&agg=p50", 150, "bucket of +Inf"],
    [
      "every finite bucket",
      { bucket: { "+Inf": 10 } },
      "metric=latency&agg=p50",
      150,
      "bucket with a finite bound in all of its series",
    ],
  ];
  test.each(rows)("%s adds nothing, and its region is partial", async (_sentence, apac, pairs, value, lacks) => {
    const metric = /metric=(\w+)/u.exec(pairs)?.[1];
    expect(await ask({ apac, eu: whole }, pairs)).toEqual({
      status: 206,
      values: [value],
      points: 10,
      states: "apac=partial eu=ok",
      lacks: [`apac ${metric} part_missing ${lacks}`],
      faults: [],
    });
  });

  test.each(rows)("%s has no points if no other store has them", async (_sentence, apac, pairs) => {
    const { values, states } = await ask({ apac }, pairs);
    expect([values, states]).toEqual([[], "apac=partial"]);
  });

  test("a store without any part of the metric is complete", async () => {
    const { status, values, states } = await ask({ apac: {}, eu: whole }, "metric=login");
    expect([status, values, states]).toEqual([200, [0.5], "apac=ok eu=ok"]);
  });

  test("of one of two metrics is partial for that metric alone", async () => {
    const pairs = "metric=login&metric=latency&agg=avg";
    const { values, lacks } = await ask({ apac: { ...without("sum"), count: 300 }, eu: whole }, pairs);
    expect([values.toSorted((a, b) => a - b), lacks]).toEqual([
      [0.2, 0.5],
      ["apac latency part_missing sum of the same series as its count"],
    ]);
  });

  test("for one group adds to the other groups", async () => {
    const over = await start({
      apac: { ok: { web: 90, pay: 1_000 }, all: { web: 100 } },
      eu: { ok: { web: 10, pay: 50 }, all: { web: 100, pay: 100 } },
    });
    const answer = await over.get(`/v1/metrics/query?${window}&metric=login&group_by=service`);
    const { data, meta } = bodyOf(answer);
    expect(data.map(({ labels, points }) => [labels["service"], points[0]?.[1]])).toEqual([
      ["pay", 0.5],
      ["web", 0.5],
    ]);
    expect(lacksOf(meta.regions)).toEqual(["apac login part_missing denominator"]);
  });

  test("is an error to a caller who requires all data", async () => {
    const over = await start({ apac: { ok: 100 }, eu: whole });
    const answer = await over.get(`/v1/metrics/query?${window}&metric=login&complete=required`);
    expect([answer.status, answer.json()]).toMatchObject([
      502,
      { code: "store_failed", errors: [{ detail: expect.stringContaining("no denominator") as string }] },
    ]);
  });
});

describe("a response without a part has no advice to repeat it", () => {
  const hintsOf = ({ headers }: HttpAnswer): readonly unknown[] =>
    ["retry-after", "x-suggested-step", "x-suggested-downsample"].map((name) => headers[name]);
  const promql = encodeURIComponent('avg(avg_over_time(login{tenant="brand-a"}[5m]))');

  test.each([
    ["a query", `/v1/metrics/query?${window}&metric=login`, 206],
    ["a query that requires all data", `/v1/metrics/query?${window}&metric=login&complete=required`, 502],
    ["an expression", `/prometheus/api/v1/query?query=${promql}&time=${nowMs / 1_000}`, 200],
  ])("%s", async (_what, path, status) => {
    const over = await start({ apac: { ok: 100 }, eu: whole });
    const answer = await over.get(path);
    expect([answer.status, answer.json(), hintsOf(answer)]).toEqual([
      status,
      expect.not.objectContaining({ suggestion: expect.anything() as unknown }),
      [undefined, undefined, undefined],
    ]);
  });

  test("unless a store failed too", async () => {
    server = await startMetricsServer({
      apac: holding({ ok: 100 }),
      eu: holding(whole),
      us: json(500, { status: "error", errorType: "internal", error: "down" }),
    });
    const answer = await server.get(`/v1/metrics/query?${window}&metric=login`);
    expect([answer.status, hintsOf(answer)]).toEqual([206, ["5", "2m", expect.anything()]]);
  });
});

describe("a ratio without its numerator", () => {
  test("is 0 while its denominator is counted", async () => {
    const { status, values, points } = await ask({ eu: { all: 100 } }, "metric=login");
    expect([status, values, points]).toEqual([200, [0], 10]);
  });

  test("is 0 for each group, and lowers the ratio of all stores", async () => {
    const over = await start({ apac: { all: { web: 100 } }, eu: { ok: { pay: 50 }, all: { pay: 100 } } });
    const grouped = bodyOf(await over.get(`/v1/metrics/query?${window}&metric=login&group_by=service`));
    expect(grouped.data.map(({ labels, points }) => [labels["service"], points[0]?.[1]])).toEqual([
      ["pay", 0.5],
      ["web", 0],
    ]);
  });

  test("has no point without an event", async () => {
    const { values, states } = await ask({ eu: { all: 0 } }, "metric=login");
    expect([values, states]).toEqual([[], "eu=ok"]);
  });
});

describe("an objective over a ratio without its numerator", () => {
  test("has no good event in an outage, and no bad one before the first error", async () => {
    const over = await start({ eu: { all: 100 } });
    const of = async () => (await over.get("/v1/metrics/slo?tenant=brand-a&slo=login")).json();
    expect(await of()).toMatchObject({ data: [{ sli: 0, status: "critical", regions: [{ state: "ok" }] }] });
    const catalogs = over.config.catalogs.map((catalog) => ({
      ...catalog,
      slos: catalog.slos.map((slo) => ({ ...slo, counts: "Bad" as const })),
    }));
    over.apply({ ...over.config, catalogs });
    expect(await of()).toMatchObject({ data: [{ sli: 1, status: "ok", regions: [{ state: "ok" }] }] });
  });
});

describe("a window that is asked for again", () => {
  test("keeps its reasons and its points when they come from memory", async () => {
    const over = await start({ apac: { ok: 100 }, eu: whole }, (config) => {
      const A = { ...config.classDefaults.A, memorySeconds: 60, hotTailSeconds: 60 };
      return { ...config, classDefaults: { A, B: A, C: A } };
    });
    const read = async () => over.get(`/v1/metrics/query?${window}&metric=login`);
    const [first, again] = [await read(), await read()];
    expect(again.headers["x-query-cache"]).toMatch(/miss=0;/u);
    expect([again.status, bodyOf(again)]).toEqual([206, bodyOf(first)]);
    expect(lacksOf(bodyOf(again).meta.regions)).toEqual(["apac login part_missing denominator"]);
  });
});

describe("every route over a store that lacks a part", () => {
  const stores = { apac: { ok: 100, count: 10_000 }, eu: whole };
  const token = { authorization: "Bearer everyone" };

  test("instant", async () => {
    const over = await start(stores);
    const { data, meta } = bodyOf(await over.get("/v1/metrics/instant?filter%5Btenant%5D=brand-a&metric=login"));
    expect([data[0]?.value, statesOf(meta.regions)]).toEqual([0.5, "apac=partial eu=ok"]);
  });

  test("bulk", async () => {
    const over = await start(stores);
    const of = (metric: string) => ({
      id: metric,
      metric: [metric],
      filter: { tenant: "brand-a" },
      from: "2026-01-01T11:50:00Z",
      to: "2026-01-01T12:00:00Z",
      step: "1m",
    });
    const answer = await over.post("/v1/metrics/bulk-query", { queries: [of("login"), of("payments")] });
    const found = JSON.stringify(answer.json());
    expect(found).toContain("no denominator");
    expect(found.match(/"state":"partial"/gu)).toHaveLength(1);
  });

  test("slo", async () => {
    const over = await start(stores);
    const answer = await over.get("/v1/metrics/slo?tenant=brand-a", token);
    const { data } = answer.json() as {
      readonly data: readonly {
        readonly name: string;
        readonly sli: number;
        readonly status: string;
        readonly regions: readonly Region[];
      }[];
    };
    expect([answer.status, faultsIn(answer.json(), "SloAnswer")]).toEqual([206, []]);
    // Neither waiting nor another query adds a part.
    expect(answer.headers).not.toHaveProperty("retry-after");
    expect(data.map(({ name, sli, status, regions }) => [name, sli, status, lacksOf(regions).length])).toEqual([
      ["fast", 1, "ok", 1],
      ["login", 0.5, "critical", 1],
    ]);
  });

  test("slo of bad events", async () => {
    const over = await start(stores, (config) => ({
      ...config,
      catalogs: config.catalogs.map((catalog) => ({
        ...catalog,
        slos: catalog.slos.map((slo) => ({ ...slo, counts: "Bad" as const })),
      })),
    }));
    const answer = await over.get("/v1/metrics/slo?tenant=brand-a&slo=login", token);
    expect(answer.json()).toMatchObject({
      data: [{ sli: 0.5, events: { good: 50, total: 100 }, regions: [{ region: "apac", state: "partial" }, {}] }],
    });
  });

  test("slo history", async () => {
    const over = await start(stores);
    const answer = await over.get("/v1/metrics/slo/history?tenant=brand-a&slo=fast", token);
    const { data, meta } = answer.json() as {
      readonly data: readonly { readonly sli: number }[];
      readonly meta: { readonly regions: readonly Region[]; readonly partial: boolean };
    };
    expect([new Set(data.map(({ sli }) => sli)), statesOf(meta.regions)]).toEqual([new Set([1]), "apac=partial eu=ok"]);
    expect([answer.status, meta.partial, faultsIn(answer.json(), "SloHistoryAnswer")]).toEqual([206, true, []]);
  });

  const facade = async (expression: string) => {
    const over = server ?? (await start(stores));
    const answer = await over.get(
      `/prometheus/api/v1/query?query=${encodeURIComponent(expression)}&time=${nowMs / 1_000}`,
    );
    const { data, warnings, isPartial } = answer.json() as {
      readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
      readonly warnings?: readonly string[];
      readonly isPartial?: boolean;
    };
    return { values: data.result.map(({ value }) => value[1]), warnings, isPartial };
  };

  test("the Prometheus API", async () => {
    expect(await facade('avg(avg_over_time(login{tenant="brand-a"}[5m])) < 0.9')).toEqual({
      values: ["0.5"],
      warnings: [
        "data from the region apac is incomplete: partial",
        "a store of apac has a part of login but no denominator; points without it exclude this store",
      ],
      isPartial: true,
    });
    const fraction = 'histogram_fraction(0, 300, sum by (le) (rate(latency{tenant="brand-a"}[5m])))';
    expect((await facade(fraction)).values).toEqual(["1"]);
  });

  test("printed rules", async () => {
    const { config } = await start(stores);
    const metric = config.catalogs[0]?.metrics.find(({ id }) => id === "latency");
    if (metric === undefined) throw new Error("the server has no latency");
    const [tier] = burnTiers(slow, metric.minStepSeconds);
    const expression = burnExpression(
      { slo: slow, metric, matchers: { tenant: "brand-a" }, nowMs: 0 },
      tier ? [tier] : [],
    );
    expect((await facade(expression)).values).toEqual([]);
  });
});

test("an objective whose queries its store rejects is failed alone, and the store keeps serving", async () => {
  const healthy = holding(whole);
  const rejected = json(422, { status: "error", errorType: "execution", error: "too many samples" });
  const reply: StoreReply = (response, request) =>
    (request.form.get("query")?.includes("latency") === true ? rejected : healthy)(response, request);
  server = await startMetricsServer({ eu: reply });
  const { config } = server;
  const catalogs = config.catalogs.map((catalog) => ({ ...catalog, slos: [...catalog.slos, slow] }));
  server.apply({ ...config, catalogs });
  for (let turn = 0; turn < 3; turn += 1) {
    const answer = await server.get("/v1/metrics/slo?tenant=brand-a");
    const { data } = answer.json() as {
      readonly data: readonly { readonly name: string; readonly status: string; readonly regions: readonly Region[] }[];
    };
    const seen = data.map(({ name, status, regions }) => `${name} ${status} ${statesOf(regions)}`);
    expect([answer.status, seen.toSorted()]).toEqual([206, ["fast failed eu=failed", "login critical eu=ok"]]);
  }
});
