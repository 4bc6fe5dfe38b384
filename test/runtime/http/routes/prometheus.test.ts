import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { json as replyJson } from "../../stores/scripted-store.ts";
import { nowMs, startMetricsServer, simulated, type HttpAnswer, type ScriptedMetricsServer } from "./metrics-server.ts";

let server: ScriptedMetricsServer;

beforeAll(async () => {
  server = await startMetricsServer({ eu: simulated(() => ({ services: ["a", "b"] })) });
  const { config } = server;
  const A = { ...config.classDefaults.A, memorySeconds: 30, hotTailSeconds: 30 };
  server.apply({ ...config, classDefaults: { ...config.classDefaults, A } });
});
afterAll(async () => server.close());

const api = "/prometheus/api/v1";
const form = { "content-type": "application/x-www-form-urlencoded" };
const error = (code: string, errorType: string) => {
  return { status: "error", errorType, code, error: expect.any(String) as string };
};
const bearer = (name: string) => ({ authorization: `Bearer ${name}` });

async function dataOf(answer: Promise<HttpAnswer>): Promise<unknown> {
  const { status, json } = await answer;
  expect({ status, json: json() }).toMatchObject({ status: 200, json: { status: "success" } });
  return (json() as { readonly data: unknown }).data;
}

describe("fixed answers", () => {
  test("name a version of Prometheus without features", async () => {
    const data = await dataOf(server.get(`${api}/status/buildinfo`));
    expect(data).toMatchObject({ version: expect.stringMatching(/^3\.\d+\.\d+$/u) as string });
    expect(data).not.toHaveProperty("features");
  });

  test("hold no rules and no alerts", async () => {
    expect(await dataOf(server.get(`${api}/rules`))).toEqual({ groups: [] });
    expect(await dataOf(server.get(`${api}/alerts`))).toEqual({ alerts: [] });
  });

  test("greet a client without a token at the address of the server", async () => {
    for (const path of ["/prometheus", "/prometheus/"]) {
      const { status, text } = await server.get(path, {});
      expect({ status, text }).toEqual({ status: 200, text: expect.stringContaining("/prometheus/api/v1/query") });
    }
  });
});

test("look-ups name the regions whose data is missing", async () => {
  const broken = replyJson(500, {});
  const half = await startMetricsServer({ eu: simulated(() => ({ services: ["a"] })), latam: broken });
  try {
    const lag = encodeURIComponent('lag{tenant="brand-a"}');
    for (const path of [`label/service/values?match[]=${lag}`, `series?match[]=${lag}`]) {
      const answer = (await half.get(`${api}/${path}`)).json();
      expect(answer).toMatchObject({ warnings: ["data from the region latam is incomplete: failed"] });
    }
    const native = await half.get("/v1/metrics/labels/service/values?metric=lag&tenant=brand-a");
    expect([native.status, native.json()]).toMatchObject([
      206,
      { data: ["a"], meta: { partial: true, regions: [{ region: "eu" }, { region: "latam", state: "failed" }] } },
    ]);
    const lost = await half.get(
      `${api}/series?match[]=${lag}&match[]=${encodeURIComponent('payments{region="latam",tenant="brand-a"}')}`,
    );
    expect(lost.json()).toMatchObject({
      warnings: ["data from the region latam is incomplete: failed", "no store responded: latam (failed)"],
    });
  } finally {
    await half.close();
  }
});

describe("look-ups of the catalog", () => {
  test("list types, help and units of the metrics, without those past their sunset", async () => {
    const data = await dataOf(server.get(`${api}/metadata`));
    expect(data).toMatchObject({
      lag: [{ type: "gauge" }],
      payments: [{ type: "counter" }],
      latency: [{ type: "histogram" }],
      login: [{ type: "gauge" }],
    });
    expect(data).not.toHaveProperty("gone_lag");
    expect(await dataOf(server.get(`${api}/metadata?metric=lag`))).toEqual({
      lag: [{ type: "gauge", help: expect.any(String) as string, unit: expect.any(String) as string }],
    });
    expect(await dataOf(server.get(`${api}/metadata?metric=payments`))).toMatchObject({
      payments: [{ help: "payments\nOwner: payments (#payments)\nRunbook: https://runbooks.example/payments" }],
    });
    expect(Object.keys((await dataOf(server.get(`${api}/metadata?limit=1`))) as object)).toHaveLength(1);
  });

  test("list the labels of all metrics", async () => {
    const labels = (await dataOf(server.get(`${api}/labels`))) as readonly string[];
    expect(labels).toEqual([...labels].sort());
    expect(labels).toEqual(expect.arrayContaining(["__name__", "region", "service", "tenant"]));
  });

  test("take a form with parameters that stand before those of the target", async () => {
    const answer = server.post(`${api}/labels?limit=5&match[]={}`, "limit=2&unknown=1", form);
    expect(await dataOf(answer)).toHaveLength(2);
  });

  test("list the names of all metrics, however a client writes that", async () => {
    const names = await dataOf(server.get(`${api}/label/__name__/values`));
    expect(names).toEqual(["lag", "latency", "login", "old_lag", "payments"]);
    for (const all of ["{}", '{__name__!=""}', '{__name__=~".+"}']) {
      const url = `${api}/label/__name__/values?match[]=${encodeURIComponent(all)}`;
      expect({ all, names: await dataOf(server.get(url)) }).toEqual({ all, names });
    }
  });
});

describe("look-ups of series", () => {
  const ask = (path: string, params: string) => server.get(`${api}/${path}?${params}`, bearer("brandA"));

  test("list the values of a label, within the rights, with times of any kind", async () => {
    expect(await dataOf(ask("label/service/values", "match[]=lag"))).toEqual(["a", "b"]);
    expect(await dataOf(ask("label/region/values", ""))).toEqual(["eu"]);
    const year = 31_536_000;
    const now = Math.floor(nowMs / 1_000);
    const wide = `match[]=lag&start=${now - year}.5&end=${now + year}`;
    expect(await dataOf(ask("label/service/values", wide))).toEqual(["a", "b"]);
    expect(await dataOf(ask("label/service/values", "match[]=lag&limit=1"))).toEqual(["a"]);
  });

  test("list the label sets of series", async () => {
    const data = await dataOf(ask("series", `match[]=${encodeURIComponent('lag{region="eu"}')}`));
    expect(data).toEqual([
      expect.objectContaining({ __name__: "lag", service: "a" }),
      expect.objectContaining({ __name__: "lag", service: "b" }),
    ]);
  });

  const refused = [
    ["series without a selector", "series", "", "invalid_request"],
    ["an unknown metric", "series", "match[]=nothing", "unknown_metric"],
    ["a label that is none", "label/job/values", "match[]=lag", "invalid_request"],
    ["a label of personal data", "label/player_id/values", "match[]=lag", "forbidden_label"],
    ["a selector without a metric", "series", "match[]={region%3D%22eu%22}", "invalid_expression"],
    ["an expression", "series", "match[]=sum(lag)", "invalid_expression"],
  ] as const;
  test.each(refused)("refuse %s", async (_name, path, params, code) => {
    const { status, json } = await ask(path, params);
    expect({ status, body: json() }).toMatchObject({ status: 400, body: { errorType: "bad_data", code } });
  });
});

describe("errors below /prometheus", () => {
  const rows: readonly (readonly [string, () => Promise<HttpAnswer>, number, object])[] = [
    ["no token", () => server.get(`${api}/query?query=1`, {}), 401, error("token_missing", "unauthorized")],
    [
      "a token without a scope",
      () => server.get(`${api}/query?query=1`, bearer("nobody")),
      422,
      error("scope_missing", "execution"),
    ],
    ["no such path", () => server.get(`${api}/admin/tsdb/snapshot`), 404, error("not_found", "not_found")],
    ["remote read", () => server.post(`${api}/read`, "", form), 404, error("not_found", "not_found")],
    ["federation", () => server.get("/prometheus/federate?match[]=up"), 404, error("not_found", "not_found")],
    ["another method", () => server.post(`${api}/metadata`, "", form), 405, error("method_not_allowed", "bad_data")],
    [
      "a body above the bound",
      () => server.post(`${api}/labels`, `a=${"b".repeat(70_000)}`, form),
      413,
      error("body_too_large", "bad_data"),
    ],
    [
      "a target above the bound",
      () => server.get(`${api}/labels?a=${"b".repeat(33_000)}`),
      414,
      error("uri_too_long", "bad_data"),
    ],
    [
      "a body of JSON",
      () => server.post(`${api}/labels`, '{"limit": 1}'),
      400,
      error("unsupported_media_type", "bad_data"),
    ],
    ["a limit that is no number", () => server.get(`${api}/labels?limit=x`), 400, error("invalid_limit", "bad_data")],
    ["no expression", () => server.get(`${api}/query`), 400, error("invalid_expression", "bad_data")],
    [
      "several tenants",
      () => server.get(`${api}/labels`, { ...bearer("everyone"), "x-scope-orgid": "brand-a|brand-b" }),
      400,
      error("invalid_request", "bad_data"),
    ],
    [
      "a tenant of another caller",
      () => server.get(`${api}/metadata`, { ...bearer("brandA"), "x-scope-orgid": "brand-b" }),
      422,
      error("tenant_forbidden", "execution"),
    ],
  ];

  test.each(rows)("have Prometheus' form: %s", async (_name, ask, status, body) => {
    const answer = await ask();
    expect({ status: answer.status, body: answer.json() }).toEqual({ status, body });
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.headers["x-correlation-id"]).toBeDefined();
  });

  test("challenge a caller without a token, and name the methods of a path", async () => {
    const unknown = await server.get(`${api}/query?query=1`, {});
    expect(unknown.headers["www-authenticate"]).toContain("Bearer");
    const other = await server.post(`${api}/metadata`, "", form);
    expect(other.headers["allow"]).toBe("GET, HEAD");
  });

  test("stay problem documents elsewhere", async () => {
    const { status, headers } = await server.get("/prometheusx");
    expect({ status, type: headers["content-type"] }).toEqual({ status: 404, type: "application/problem+json" });
    const native = await server.post("/v1/metrics/bulk-query", "a=b", form);
    expect({ status: native.status, body: native.json() }).toMatchObject({
      status: 415,
      body: { code: "unsupported_media_type", detail: "Send the body as application/json." },
    });
  });
});

test("an empty body of JSON is no body", async () => {
  expect(await dataOf(server.post(`${api}/labels?limit=1`, ""))).toHaveLength(1);
});

test("an answer has a tag that a later request may name", async () => {
  const first = await server.get(`${api}/labels`);
  const headers = { ...bearer("everyone"), "if-none-match": first.headers["etag"] ?? "" };
  const again = await server.get(`${api}/labels`, headers);
  expect([first.status, again.status, first.headers["vary"]]).toEqual([
    200,
    304,
    "Authorization, Accept-Encoding, X-Scope-OrgID",
  ]);
  const posted = await server.send(`${api}/labels`, { method: "POST", headers: { ...headers, ...form }, body: "" });
  expect([posted.status, posted.text]).toEqual([200, first.text]);
});

describe("expressions", () => {
  const at = Math.floor(nowMs / 1_000) - 60;
  const ask = (path: string, params: Readonly<Record<string, string>>, token = "brandA") =>
    server.get(`${api}/${path}?${new URLSearchParams(params).toString()}`, bearer(token));

  test("of numbers need no metric, and are charged as one request", async () => {
    const answer = await ask("query", { query: "1+1", time: "4" });
    expect([answer.status, answer.text]).toEqual([
      200,
      '{"status":"success","data":{"resultType":"scalar","result":[4,"2"]}}',
    ]);
    expect(Object.keys(answer.headers)).toEqual(expect.arrayContaining(["x-ratelimit-remaining"]));
  });

  test("of numbers have a value at each time of a range, none after now", async () => {
    const data = await dataOf(ask("query_range", { query: "2", start: "10", end: "30", step: "10" }));
    const values = [10, 20, 30].map((time) => [time, "2"]);
    expect(data).toEqual({ resultType: "matrix", result: [{ metric: {}, values }] });
    const late = ask("query_range", { query: "2", start: `${at}`, end: `${at + 600}`, step: "1m" });
    expect(await dataOf(late)).toMatchObject({
      result: [
        {
          values: [
            [at, "2"],
            [at + 60, "2"],
          ],
        },
      ],
    });
  });

  test("over a metric give a vector and a matrix with whole seconds", async () => {
    const query = "sum by (service) (avg_over_time(lag[1m]))";
    expect(await dataOf(ask("query", { query, time: `${at}` }))).toEqual({
      resultType: "vector",
      result: ["a", "b"].map((service, index) => ({ metric: { service }, value: [at, `${index + 1}`] })),
    });
    const range = { query, start: `${at - 120}`, end: `${at}`, step: "60" };
    expect(await dataOf(ask("query_range", range))).toMatchObject({
      resultType: "matrix",
      result: [
        {
          metric: { service: "a" },
          values: [
            [at - 120, "1"],
            [at - 60, "1"],
            [at, "1"],
          ],
        },
        {},
      ],
    });
  });

  test("are read from a form, however many clients send them", async () => {
    const body = new URLSearchParams({ query: "1", time: "1.5", timeout: "1s", stats: "all", nocache: "1" });
    const answer = server.post(`${api}/query?query=2`, body.toString(), { ...form, ...bearer("brandA") });
    expect(await dataOf(answer)).toEqual({ resultType: "scalar", result: [1.5, "1"] });
    const inTarget = server.post(`${api}/query?query=1&time=7&step=300s`, "", bearer("brandA"));
    expect(await dataOf(inTarget)).toEqual({ resultType: "scalar", result: [7, "1"] });
  });

  test("have a canonical text", async () => {
    expect(await dataOf(ask("format_query", { query: "1+ ( 2 )" }))).toBe("1 + (2)");
  });

  const refused: readonly (readonly [string, string, Readonly<Record<string, string>>, number, string, RegExp])[] = [
    [
      "a metric without an aggregation",
      "query",
      { query: "1 + payments" },
      400,
      "invalid_expression",
      /: 1:5: .*rate/u,
    ],
    ["text that is no expression", "query", { query: "1 +" }, 400, "invalid_expression", /1:\d+: /u],
    ["types that do not fit", "format_query", { query: "1 == 2" }, 400, "invalid_expression", /bool/u],
    ["an unknown metric", "query", { query: "avg(lagg)" }, 400, "invalid_expression", /lagg/u],
    ["a metric past its sunset", "query", { query: "avg(gone_lag)" }, 422, "metric_gone", /gone_lag/u],
    ["no step", "query_range", { query: "1", start: "1", end: "2" }, 400, "invalid_step", /step/u],
    ["a step of nothing", "query_range", { query: "1", start: "1", end: "2", step: "0" }, 400, "invalid_step", /zero/u],
    ["no start", "query_range", { query: "1", end: "2", step: "1" }, 400, "invalid_time", /start/u],
    [
      "an end before its start",
      "query_range",
      { query: "1", start: "3", end: "2", step: "1" },
      400,
      "invalid_window",
      /end/u,
    ],
    [
      "too many points",
      "query_range",
      { query: "1", start: "0", end: "11001", step: "1" },
      400,
      "invalid_step",
      /11,000/u,
    ],
    [
      "too many points, with a step that every metric takes",
      "query_range",
      { query: "1", start: "0", end: "2592000", step: "1" },
      400,
      "invalid_step",
      /\(\?step=240\)/u,
    ],
    [
      "too many points over a range that no step helps",
      "query_range",
      { query: "lag", start: "-9223372036854775", end: "9223372036854775", step: "1d" },
      400,
      "invalid_step",
      /Try a shorter range/u,
    ],
    ["a time that is none", "query", { query: "1", time: "x" }, 400, "invalid_time", /timestamp/u],
  ];
  test.each(refused)("are refused with a sentence that helps: %s", async (_name, path, params, status, code, text) => {
    const answer = await ask(path, params);
    expect({ status: answer.status, body: answer.json() }).toMatchObject({ status, body: { status: "error", code } });
    expect(answer.text).toMatch(text);
  });

  test("name a tenant in the header, in a matcher, or in both", async () => {
    const named = (query: string, tenant: string) =>
      server.get(`${api}/query?query=${encodeURIComponent(query)}`, { ...bearer("everyone"), "x-scope-orgid": tenant });
    expect((await named("avg(lag)", "brand-a")).status).toBe(200);
    expect((await named('avg(lag{tenant="brand-a"})', "brand-a")).status).toBe(200);
    expect((await named('avg(lag{tenant="brand-a"})', "brand-b")).status).toBe(400);
    expect((await ask("query", { query: "avg(lag)" }, "everyone")).json()).toMatchObject({ code: "tenant_required" });
  });

  test("have no exemplars where nothing is such a query, whatever the times", async () => {
    const probe = { query: "test", start: `${nowMs - 60_000}`, end: `${nowMs}` };
    expect(await dataOf(ask("query_exemplars", probe))).toEqual([]);
  });

  test("are repeated from memory, but not for another tenant", async () => {
    const url = `${api}/query?query=avg(lag)&time=${at}`;
    const headers = (tenant: string) => ({ ...bearer("everyone"), "x-scope-orgid": tenant });
    await server.get(url, headers("brand-a"));
    await server.get(url, headers("brand-a"));
    const asked = server.stores[0]?.requests.length;
    const again = await server.get(url, headers("brand-a"));
    expect(again.headers["x-query-cache"]).toMatch(/^answer/u);
    expect(server.stores[0]?.requests.length).toBe(asked);
    const other = await server.get(url, headers("brand-b"));
    expect(other.status).toBe(200);
    expect(server.stores[0]?.requests.length).toBeGreaterThan(asked ?? 0);
  });
});
