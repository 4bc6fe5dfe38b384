import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { MetricConfig, RuntimeConfig } from "../../../../crds/config.ts";
import { metricConfig } from "../../metrics/oracle/universe.ts";
import {
  nowMs,
  simulated,
  startMetricsServer,
  type HttpAnswer,
  type ScriptedMetricsServer,
} from "../routes/metrics-server.ts";

/** What clients of Prometheus send besides plain queries. */

let server: ScriptedMetricsServer;
beforeAll(async () => {
  server = await startMetricsServer({
    eu: simulated(() => ({ services: ["a", "b"] })),
    us: simulated(() => ({ services: ["b", "c"] })),
  });
});
afterAll(async () => server.close());

const api = "/prometheus/api/v1";
const form = { "content-type": "application/x-www-form-urlencoded" };
const now = Math.floor(nowMs / 1_000);
const tenant = { authorization: "Bearer everyone", "x-scope-orgid": "brand-a" };

interface Answer {
  readonly status: string;
  readonly data: unknown;
  readonly warnings?: readonly string[];
  readonly error?: string;
}
const bodyOf = (answer: HttpAnswer): Answer => answer.json() as Answer;
async function get(path: string): Promise<Answer & { readonly code: number }> {
  const answer = await server.get(path.startsWith("/") ? path : `${api}/${path}`, tenant);
  return { ...bodyOf(answer), code: answer.status };
}

/** A configuration with other metrics in place of its own. */
function withMetrics(
  config: RuntimeConfig,
  make: (stores: RuntimeConfig["catalogs"][number]["stores"]) => readonly MetricConfig[],
) {
  return {
    ...config,
    catalogs: config.catalogs.map((catalog) => ({ ...catalog, metrics: [...make(catalog.stores)], slos: [] })),
  };
}

describe("values of a label without match[]", () => {
  const lag = { kind: "gauge", name: "lag", matchers: [] } as const;

  test("are those of all metrics, however many there are", async () => {
    server.apply(
      withMetrics(server.config, (stores) =>
        Array.from({ length: 40 }, (_, index) => metricConfig(`lag_${index}`, stores, { source: lag })),
      ),
    );
    try {
      expect(await get("label/service/values")).toMatchObject({ code: 200, data: ["a", "b", "c"] });
      expect((await get("label/service/values?match[]={}")).data).toEqual(["a", "b", "c"]);
    } finally {
      server.apply(server.config);
    }
  });

  test("leave out metrics that may not cross regions, and name them", async () => {
    server.apply(
      withMetrics(server.config, (stores) => {
        const { complianceScope: _, ...apart } = metricConfig("kept_apart", stores, { source: lag });
        return [metricConfig("lag", stores.slice(0, 1), { source: lag }), apart];
      }),
    );
    try {
      const { code, data, warnings } = await get("label/service/values");
      expect({ code, data, warnings }).toEqual({
        code: 200,
        data: ["a", "b"],
        warnings: ["metrics that cannot be combined across regions are omitted: kept_apart; add a region matcher"],
      });
      const named = await get(`label/service/values?match[]=${encodeURIComponent('kept_apart{region="us"}')}`);
      expect(named).toMatchObject({ code: 200, data: ["b", "c"] });
      const refused = await get("label/service/values?match[]=kept_apart");
      expect([refused.code, refused.error]).toEqual([
        422,
        'kept_apart cannot be combined across eu, us; select one region with region="…"',
      ]);
      expect((await get("series?match[]=lag&match[]=kept_apart")).warnings?.[0]).toContain("omitted: kept_apart");
    } finally {
      server.apply(server.config);
    }
  });

  test("of a burst of clients are served as far as their tokens reach", async () => {
    const A = { ...server.config.classDefaults.A, burst: 5, requestsPerSecond: 0.001 };
    server.apply({ ...server.config, classDefaults: { ...server.config.classDefaults, A } });
    try {
      const answers = await Promise.all(Array.from({ length: 30 }, async () => get("label/service/values")));
      const statuses = answers.map(({ code }) => code);
      expect([statuses.filter((code) => code === 200).length, statuses.filter((code) => code === 429).length]).toEqual([
        5, 25,
      ]);
      expect(answers.find(({ code }) => code === 200)?.data).toEqual(["a", "b", "c"]);
    } finally {
      server.apply(server.config);
    }
  });
});

test("a region of a list that no store has is a warning", async () => {
  const query = `query?query=${encodeURIComponent('avg(avg_over_time(lag{region=~"eu|mars"}[5m]))')}`;
  const { code, warnings } = await get(query);
  expect({ code, warnings }).toEqual({ code: 200, warnings: ["no store of lag has the region mars"] });
  // The response from the caches has it too.
  expect((await get(query)).warnings).toEqual(warnings);
});

describe("errors name matchers", () => {
  const rows = [
    ["a region of no store", 'avg(lag{region="mars"})', "no store of lag has the region mars; use a different one"],
    [
      "a list with a comma",
      'avg(lag{region="eu,us"})',
      'region="eu,us" is a single value; for several values write region=~"eu|us"',
    ],
  ] as const;
  test.each(rows)("for %s", async (_name, query, sentence) => {
    const { error } = await get(`query?query=${encodeURIComponent(query)}`);
    expect(error).toContain(sentence);
    expect(error).not.toMatch(/filter/u);
  });

  test("for a missing tenant", async () => {
    const answer = await server.get(`${api}/query?query=avg(lag)`);
    expect(bodyOf(answer).error).toBe('the request has no tenant; add tenant="…"');
  });
});

describe("long selectors", () => {
  const values = Array.from({ length: 50 }, (_, index) => `service-${index}-${"x".repeat(140)}`);
  const selector = `lag{service=~"${values.join("|")}"}`.padEnd(8_192, " ");

  test("of 8,192 characters are read by GET and POST", async () => {
    expect(selector).toHaveLength(8_192);
    const target = `series?match[]=${encodeURIComponent(selector)}`;
    expect((await get(target)).code).toBe(200);
    const sent = await server.post(`${api}/series`, `match[]=${encodeURIComponent(selector)}`, { ...tenant, ...form });
    expect(sent.status).toBe(200);
    const tooLong = await get(`series?match[]=${encodeURIComponent(`${selector} `)}`);
    expect([tooLong.code, tooLong.error]).toEqual([400, expect.stringContaining("the limit is 8192") as string]);
  });

  test("fit where every character is escaped", async () => {
    const quoted = `lag{service="${"é".repeat(200)}"}`;
    expect((await get(`series?match[]=${encodeURIComponent(quoted)}&pad=${"%20".repeat(8_000)}`)).code).toBe(200);
  });
});

describe("exemplars", () => {
  const exemplar = nowMs / 1_000 - 60;
  const asked = (query: string, start: number, end: number) =>
    get(`query_exemplars?query=${encodeURIComponent(query)}&start=${start}&end=${end}`);

  test("of several values of a label are returned", async () => {
    const { code, data } = await asked('avg(lag{service=~"a|b"})', now - 3_600, now);
    expect([code, (data as readonly object[]).length]).toEqual([200, 1]);
  });

  test("of a range shorter than a point are those inside of it", async () => {
    expect(await asked("avg(lag)", exemplar - 5, exemplar + 5)).toMatchObject({
      code: 200,
      data: [{ exemplars: [{ timestamp: exemplar }] }],
    });
    expect((await asked("avg(lag)", exemplar - 20, exemplar - 10)).data).toEqual([]);
  });

  test("of a range in the past are asked for with one more point at most, since later ones would displace them", async () => {
    const [start, end] = [now - 7_200, now - 7_100];
    await asked("avg(lag)", start, end);
    const sent = server.stores.flatMap(({ requests }) => requests).filter(({ path }) => path.endsWith("exemplars"));
    const [from, to] = [Number(sent.at(-1)?.form.get("start")), Number(sent.at(-1)?.form.get("end"))];
    expect({ isBefore: from <= start && from > start - 60, isAfter: to >= end && to < end + 60 }).toEqual({
      isBefore: true,
      isAfter: true,
    });
  });

  test("inside of the last point are returned, by the native API too, up to the end of the request", async () => {
    const traces = (list: unknown): readonly unknown[] =>
      (list as readonly { readonly exemplars: readonly { readonly timestamp: unknown }[] }[]).flatMap(({ exemplars }) =>
        exemplars.map(({ timestamp }) => timestamp),
      );
    expect(traces((await asked("avg(lag)", now - 3_600, now)).data)).toEqual([now - 10, now - 60]);
    const native = `/v1/metrics/query?metric=lag&filter[tenant]=brand-a&exemplars=true&step=1m&from=${now - 3_600}`;
    const timesOf = async (url: string) => traces(bodyOf(await server.get(url, tenant)).data);
    const iso = (seconds: number): string => new Date(seconds * 1_000).toISOString();
    expect(await timesOf(native)).toEqual([iso(now - 10), iso(now - 60)]);
    expect(await timesOf(`${native}&to=${now - 20}`)).toEqual([iso(now - 60)]);
    expect(await timesOf(`${native}&to=${now - 5}`)).toEqual([iso(now - 10), iso(now - 60)]);
  });

  test("up to now are read once for equal queries, whatever the millisecond", async () => {
    let clockMs = nowMs;
    const moving = await startMetricsServer({ eu: simulated(() => ({ services: ["a"] })) }, { now: () => clockMs });
    const { A } = moving.config.classDefaults;
    const cachedLimits = { ...A, memorySeconds: 60, hotTailSeconds: 10 };
    moving.apply({ ...moving.config, classDefaults: { A: cachedLimits, B: cachedLimits, C: cachedLimits } });
    try {
      const parts = ["metric=lag", "filter[tenant]=brand-a", "exemplars=true", "step=1m", `from=${now - 3_600}`];
      const cached: unknown[] = [];
      for (const turn of parts.keys()) {
        clockMs += 7;
        // Equal texts would not be parsed again.
        const query = [...parts.slice(turn), ...parts.slice(0, turn)].join("&");
        const { headers } = await moving.get(`/v1/metrics/query?${query}${turn === 4 ? `&to=${now}` : ""}`, tenant);
        cached.push(headers["x-query-cache"]?.startsWith("answer"));
      }
      expect(cached).toEqual([false, true, true, true, false]);
      const sent = moving.stores.flatMap(({ requests }) => requests).filter(({ path }) => path.endsWith("exemplars"));
      expect(sent).toHaveLength(2);
    } finally {
      await moving.close();
    }
  });

  test("of a range that is longer than the class allows are those of its end, with a warning", async () => {
    const least = "-292273086-05-16T16:47:06Z";
    const greatest = encodeURIComponent("292277025-08-18T07:12:54.999999999Z");
    const { code, data, warnings } = await get(
      `query_exemplars?query=${encodeURIComponent("avg(lag)")}&start=${least}&end=${greatest}`,
    );
    expect([code, (data as readonly object[]).length, warnings]).toEqual([
      200,
      1,
      [expect.stringMatching(/longer than this caller's class allows; exemplars before 20\d\d-.* are omitted/u)],
    ]);
    expect(await asked("avg(lag)", now - 86_400, now)).not.toHaveProperty("warnings");
  });

  test("of a range after now are none", async () => {
    expect(await asked("avg(lag)", now + 60, now + 120)).toMatchObject({ code: 200, data: [] });
  });
});

describe("limit", () => {
  const rows = [
    ["labels", "labels?limit=2"],
    ["names of metrics", "label/__name__/values?limit=2"],
    ["metadata", "metadata?limit=2"],
    ["values of a label", "label/service/values?match[]=lag&limit=2"],
    ["series", "series?match[]=lag&limit=2"],
    ["a result", "query?query=avg%20by%20(service)%20(lag)&limit=2"],
  ] as const;
  test.each(rows)("cuts off %s with a warning, and the whole has none", async (_name, path) => {
    expect((await get(path)).warnings).toEqual(["results truncated due to limit"]);
    expect(await get(path.replace("limit=2", "limit=40"))).not.toHaveProperty("warnings");
  });
});

describe("times", () => {
  const least = "-292273086-05-16T16:47:06Z";
  const greatest = encodeURIComponent("292277025-08-18T07:12:54.999999999Z");
  const rows = [
    ["Go's extremes", `start=${least}&end=${greatest}`],
    ["extremes in seconds", "start=-9223309901257974&end=9223309901257974"],
    ["extremes in decimals", "start=-9223372036854775.808&end=9223372036854775.807"],
  ] as const;
  test.each(rows)("of look-ups may be %s", async (_name, times) => {
    expect(await get(`label/service/values?match[]=lag&${times}`)).toMatchObject({ code: 200, data: ["a", "b", "c"] });
    expect((await get(`label/__name__/values?${times}`)).code).toBe(200);
    expect((await get(`labels?${times}`)).code).toBe(200);
  });

  test("of a day that does not exist are refused", async () => {
    for (const time of ["2026-02-30T00:00:00Z", "2026-02-29T00:00:00+02:00", "2026-04-31T10:00:00Z"]) {
      const { code, error } = await get(`query?query=1&time=${encodeURIComponent(time)}`);
      expect([code, error]).toEqual([400, `invalid parameter "time": cannot parse "${time}" to a valid timestamp`]);
    }
    expect((await get(`query?query=1&time=${encodeURIComponent("2028-02-29T00:00:00+02:00")}`)).code).toBe(200);
  });

  test("after now have no data", async () => {
    const range = `start=${now + 600}&end=${now + 1_200}&step=60`;
    for (const query of ["avg(lag)", "1", "vector(1)"]) {
      const { code, data } = await get(`query_range?query=${encodeURIComponent(query)}&${range}`);
      expect({ query, code, data }).toEqual({ query, code: 200, data: { resultType: "matrix", result: [] } });
    }
    expect(await get(`series?match[]=lag&start=${now + 600}&end=${now + 1_200}`)).toMatchObject({
      code: 200,
      data: [],
    });
    expect((await get(`label/service/values?match[]=lag&start=${now + 600}`)).data).toEqual([]);
  });
});

describe("addresses", () => {
  test.each([
    "/prometheus//api/v1/query",
    "//prometheus/api/v1/query",
    "/prometheus/api/v1/query/",
    "/prometheus//api//v1/query//",
  ])("%s are tolerated", async (path) => {
    expect(await get(`${path}?query=1%2B1&time=${now}`)).toMatchObject({ code: 200, data: { result: [now, "2"] } });
  });

  test("of other paths are as strict as before", async () => {
    expect((await server.get("/v1//metrics/catalog")).status).toBe(404);
    expect((await server.get("/v1/metrics/catalog/")).status).toBe(404);
    expect((await server.get("/prometheus/api/v1/querys/")).status).toBe(404);
  });

  test("take a doubled slash in a form too", async () => {
    expect((await server.post("/prometheus//api/v1/query", "query=1", { ...tenant, ...form })).status).toBe(200);
  });
});

describe("probes", () => {
  test("are constants: vector(1), as Flagger sends it, and time()", async () => {
    expect((await get(`query?query=vector(1)&time=${now}`)).data).toEqual({
      resultType: "vector",
      result: [{ metric: {}, value: [now, "1"] }],
    });
    expect((await get(`query?query=time()&time=${now}`)).data).toEqual({
      resultType: "scalar",
      result: [now, String(now)],
    });
    expect((await get(`query_range?query=vector(0.5)&start=${now - 60}&end=${now}&step=60`)).data).toEqual({
      resultType: "matrix",
      result: [
        {
          metric: {},
          values: [
            [now - 60, "0.5"],
            [now, "0.5"],
          ],
        },
      ],
    });
    expect(
      server.stores.flatMap(({ requests }) => requests).some(({ form: sent }) => sent.get("query") === "vector(1)"),
    ).toBe(false);
    const invalid = [
      "vector(lag)",
      "vector(vector(1))",
      "vector(1, 2)",
      "time(1)",
      "time() > 5",
      "vector(1) or 1",
      "sum(vector(1))",
    ];
    for (const query of invalid)
      expect([query, (await get(`query?query=${encodeURIComponent(query)}`)).code]).toEqual([query, 400]);
    const quoted = await get(`query?query=${encodeURIComponent('avg(lag{service="vector(1)"})')}`);
    expect(quoted.code).toBe(200);
    expect((await get("query?query=avg(lag)%20%3E%20vector(1)")).error).toContain("write avg(lag) > 1");
  });

  test("of features list what the language has", async () => {
    const { code, data } = await get("features");
    expect(code).toBe(200);
    expect(data).toMatchObject({
      api: { query_warnings: true },
      promql: { subqueries: false },
      promql_functions: { rate: true, histogram_quantile: true },
      promql_operators: { sum: true, unless: true },
    });
    expect(data).not.toHaveProperty("promql_functions.irate");
  });
});
