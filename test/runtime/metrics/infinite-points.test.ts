import { afterEach, describe, expect, test } from "vitest";
import { faultsIn } from "../http/openapi/strict-schema.ts";
import { nowMs, startMetricsServer, type ScriptedMetricsServer } from "../http/routes/metrics-server.ts";
import { success, type StoreReply } from "../stores/scripted-store.ts";

/** Samples of +Inf and -Inf: the Prometheus API returns them, and JSON of the native API says that it cannot. */

let server: ScriptedMetricsServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** What a store returns at the last point and at all others, by service; of a ratio or an average, part by part. */
interface Held {
  readonly last: string;
  readonly others: string;
}

const counted = /^sum by\(\w*\)\((?:count_over_time|increase)\(\{__name__="(?:lag|latency_count|logins_total",tenant)/u;

function holding(held: Readonly<Record<string, Held>>, parts: readonly string[] = []): StoreReply {
  return (response, request) => {
    const query = request.form.get("query") ?? "";
    if (request.path.endsWith("/query")) {
      success({ resultType: "vector", result: [{ metric: {}, value: [0, String(nowMs / 1_000)] }] })(response, request);
      return;
    }
    const times = timesOf(request.form);
    const result = Object.entries(held).map(([service, { last, others }]) => ({
      metric: /by\([^)]*service/u.test(query) ? { service } : {},
      values: times.map((seconds) => [
        seconds,
        counted.test(query) ? (parts[0] ?? "1") : seconds === times.at(-1) ? last : others,
      ]),
    }));
    success({ resultType: "matrix", result })(response, request);
  };
}

function isOfPoint(form: URLSearchParams): boolean {
  return form.has("time") && form.get("query")?.includes("max_over_time(") === true;
}

function timesOf(form: URLSearchParams): readonly number[] {
  const [first = 0, last = 0, step = 1] = ["start", "end", "step"].map((name) => Number(form.get(name)));
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step);
}

interface Body {
  readonly data: readonly { readonly points: readonly (readonly [string, number])[]; readonly value?: number }[];
  readonly meta: { readonly infinite_points?: number; readonly total_series: number; readonly partial: boolean };
}
interface PrometheusBody {
  readonly warnings?: readonly string[];
  readonly data: {
    readonly result: readonly { readonly values: readonly (readonly [number, string])[]; readonly value: unknown }[];
  };
}

const tenant = "filter%5Btenant%5D=brand-a";
const window = `${tenant}&from=2026-01-01T11:50:00Z&to=2026-01-01T12:00:00Z&step=1m`;
const from = Date.parse("2026-01-01T11:51:00Z") / 1_000;
const range = (query: string, later = 0): string =>
  `/prometheus/api/v1/query_range?query=${encodeURIComponent(query)}&start=${from + later}&end=${from + later + 540}&step=60`;
const scoped = { authorization: "Bearer everyone", "x-scope-orgid": "brand-a" };

async function start(replies: Readonly<Record<string, StoreReply>>): Promise<ScriptedMetricsServer> {
  server = await startMetricsServer(replies);
  return server;
}

async function natively(pairs: string): Promise<Body> {
  const answer = await server?.get(`/v1/metrics/query?${window}&${pairs}`);
  expect(faultsIn(answer?.json(), "QueryAnswer")).toEqual([]);
  return answer?.json() as Body;
}

async function fromPrometheus(path: string): Promise<PrometheusBody> {
  return (await server?.get(path, scoped))?.json() as PrometheusBody;
}

async function throughPrometheus(query: string): Promise<readonly string[]> {
  return (await fromPrometheus(range(query))).data.result.flatMap(({ values }) => [
    ...new Set(values.map(([, value]) => value)),
  ]);
}

describe("infinite values of a gauge", () => {
  const rows = [
    ["avg", "avg(lag)"],
    ["min", "min(min_over_time(lag[1m]))"],
    ["max", "max(max_over_time(lag[1m]))"],
    ["sum", "sum(avg_over_time(lag[1m]))"],
  ] as const;
  test.each(rows)("are values of the Prometheus API and counted by the native one: %s", async (agg, query) => {
    await start({ eu: holding({ s0: { last: "+Inf", others: "2" } }) });
    expect(await throughPrometheus(query)).toEqual(["2", "+Inf"]);
    const { data, meta } = await natively(`metric=lag&agg=${agg}`);
    expect(data[0]?.points).toHaveLength(9);
    expect(meta).toMatchObject({ infinite_points: 1, partial: false, total_series: 1 });
  });

  test("have their sign and are counted over all series, of which one has no other point", async () => {
    await start({ eu: holding({ s0: { last: "-Inf", others: "-Inf" }, s1: { last: "+Inf", others: "1" } }) });
    expect(await throughPrometheus("max by (service) (max_over_time(lag[1m]))")).toEqual(["-Inf", "1", "+Inf"]);
    const { data, meta } = await natively("metric=lag&agg=max&group_by=service");
    expect(data.map(({ points }) => points.length)).toEqual([9]);
    expect(meta).toMatchObject({ infinite_points: 11, total_series: 1 });
    const listed = await server?.get(`/v1/metrics/labels/service/values?metric=lag&${tenant}`);
    expect(listed?.json()).toMatchObject({ data: ["s0", "s1"] });
  });

  test.each(["max", "sum"])("have no rank, which a hint says: %s", async (agg) => {
    await start({ eu: holding({ s0: { last: "+Inf", others: "-Inf" }, s1: { last: "+Inf", others: "+Inf" } }) });
    const { data, meta } = await natively(`metric=lag&agg=${agg}&group_by=service&top=2`);
    expect(data).toEqual([]);
    expect(meta).toMatchObject({
      top: { metrics: [{ metric: "lag", candidates: 0 }] },
      hints: ["lag: 2 series have no finite value in the time range, and no rank"],
    });
  });

  test("have no hint while each series has a rank", async () => {
    await start({ eu: holding({ s0: { last: "+Inf", others: "1" } }) });
    const { meta } = await natively("metric=lag&agg=max&group_by=service&top=2");
    expect(meta).not.toHaveProperty("hints");
  });

  test("are no item of an instant", async () => {
    await start({ eu: holding({ s0: { last: "+Inf", others: "1" } }) });
    const answer = await server?.get(`/v1/metrics/instant?metric=lag&agg=max&${tenant}`);
    expect(faultsIn(answer?.json(), "InstantAnswer")).toEqual([]);
    expect(answer?.json()).toMatchObject({ data: [], meta: { infinite_points: 1 } });
    const query = encodeURIComponent("max(max_over_time(lag[1m])) > 1e300");
    const { data } = await fromPrometheus(`/prometheus/api/v1/query?query=${query}&time=${nowMs / 1_000}`);
    expect(data.result.map(({ value }) => value)).toEqual([[nowMs / 1_000, "+Inf"]]);
  });

  test("are no cells of a table, whose meta has their number", async () => {
    await start({ eu: holding({ s0: { last: "+Inf", others: "2" } }) });
    const headers = { authorization: "Bearer everyone", accept: "text/csv" };
    const answer = await server?.get(`/v1/metrics/query?${window}&metric=lag&agg=max`, headers);
    expect(answer?.text.trim().split("\r\n")).toHaveLength(10);
    expect(JSON.parse(answer?.headers["x-query-meta"] ?? "")).toMatchObject({ infinite_points: 1 });
  });

  test("stay infinite in cached points, and where a later window moves", async () => {
    let at = nowMs;
    const over = await startMetricsServer({ eu: holding({ s0: { last: "+Inf", others: "+Inf" } }) }, { now: () => at });
    server = over;
    const { classDefaults } = over.config;
    const A = { ...classDefaults.A, memorySeconds: 60, hotTailSeconds: 50 };
    over.apply({ ...over.config, classDefaults: { ...classDefaults, A } });
    const ranges = (): readonly URLSearchParams[] =>
      over.stores.flatMap(({ requests }) =>
        requests.filter(({ path }) => path.endsWith("range")).map(({ form }) => form),
      );
    const query = "max(max_over_time(lag[1m]))";
    expect(await throughPrometheus(query)).toEqual(["+Inf"]);
    expect((await natively("metric=lag&agg=max")).meta.infinite_points).toBe(10);
    expect(ranges()).toHaveLength(1);
    at += 40_000;
    const moved = await over.get(range(query, 60), scoped);
    expect(moved.text.match(/"\+Inf"/gu)).toHaveLength(10);
    // The new point alone is an instant query.
    expect(ranges()).toHaveLength(1);
    const instants = over.stores.flatMap(({ requests }) => requests).filter(({ form }) => isOfPoint(form));
    expect(instants.map(({ form }) => form.get("time"))).toHaveLength(1);
  });

  const merges = [
    ["avg(lag)", "+Inf", "4", ["+Inf"]],
    ["sum(avg_over_time(lag[1m]))", "4", "-Inf", ["-Inf"]],
    ["min(min_over_time(lag[1m]))", "+Inf", "4", ["4"]],
    ["max(max_over_time(lag[1m]))", "-Inf", "4", ["4"]],
    ["max(max_over_time(lag[1m]))", "+Inf", "4", ["+Inf"]],
    ["sum(avg_over_time(lag[1m]))", "+Inf", "-Inf", []],
  ] as const;
  test.each(merges)("of one region are merged as numbers: %s of %s and %s", async (query, eu, latam, expected) => {
    await start({
      eu: holding({ a: { last: eu, others: eu } }),
      latam: holding({ a: { last: latam, others: latam } }),
    });
    expect(await throughPrometheus(query)).toEqual(expected);
  });
});

describe("values that are not a number", () => {
  test.each([
    ["of one store", "NaN", "2"],
    ["as the sum of two stores", "+Inf", "-Inf"],
  ])("are left out, and a hint counts them: %s", async (_name, eu, latam) => {
    await start({
      eu: holding({ a: { last: eu, others: eu } }),
      latam: holding({ a: { last: latam, others: latam } }),
    });
    const { data, meta } = await natively("metric=lag&agg=sum");
    const hint = `points that are not a number are omitted; ${eu === "NaN" ? 10 : 20} of the values from its stores are`;
    expect([data, meta]).toMatchObject([[], { partial: false, hints: [expect.stringContaining(hint)] }]);
    const warned = await fromPrometheus(range("sum(avg_over_time(lag[1m]))"));
    expect(warned.warnings).toEqual([expect.stringContaining("lag: points that are not a number are omitted")]);
    // The response from the caches has it too.
    expect((await fromPrometheus(range("sum(avg_over_time(lag[1m]))"))).warnings).toEqual(warned.warnings);
  });

  test("have no hint while every value is a number", async () => {
    await start({ eu: holding({ a: { last: "1", others: "2" } }) });
    expect((await natively("metric=lag&agg=sum")).meta).not.toHaveProperty("hints");
    expect(await fromPrometheus(range("sum(avg_over_time(lag[1m]))"))).not.toHaveProperty("warnings");
  });
});

test("a metric of which no store has a series has a hint", async () => {
  await start({ eu: holding({}) });
  const { data, meta } = await natively("metric=lag&agg=sum");
  const hint: unknown = expect.stringMatching(/^lag: no store has a series for this .* compare the name and the kind/u);
  expect([data, meta]).toMatchObject([[], { partial: false, hints: [hint] }]);
  const warned = await fromPrometheus(range("sum(avg_over_time(lag[1m])) / sum(avg_over_time(lag[5m]))"));
  expect([warned.data.result, warned.warnings]).toEqual([[], [hint]]);
});

describe("ratios", () => {
  const rows = [
    ["an infinite numerator", "+Inf", "2"],
    ["a denominator of 0", "1", "0"],
    ["nothing at all", "0", "0"],
  ] as const;
  test.each(rows)("have no point for %s", async (_sentence, numerator, denominator) => {
    await start({ eu: holding({ a: { last: numerator, others: numerator } }, [denominator]) });
    const { data, meta } = await natively("metric=login&agg=avg");
    expect(data).toEqual([]);
    expect(meta.infinite_points).toBeUndefined();
    expect(await throughPrometheus("avg(avg_over_time(login[1m]))")).toEqual([]);
  });
});

test("the sum of a histogram with an infinite observation is infinite", async () => {
  await start({ eu: holding({ a: { last: "+Inf", others: "6" } }, ["2"]) });
  expect(await throughPrometheus("histogram_sum(sum(increase(latency[1m])))")).toEqual(["6", "+Inf"]);
  expect(await throughPrometheus("histogram_avg(sum(rate(latency[1m])))")).toEqual(["3", "+Inf"]);
});
