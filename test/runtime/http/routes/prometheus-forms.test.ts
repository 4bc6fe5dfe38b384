import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { errorTable, type ErrorCode } from "../../../../runtime/errors/table.ts";
import { prometheusError } from "../../../../runtime/http/server/problem.ts";
import { faultsIn } from "../openapi/strict-schema.ts";
import { nowMs, simulated, startMetricsServer, type ScriptedMetricsServer } from "./metrics-server.ts";

let server: ScriptedMetricsServer;

beforeAll(async () => {
  server = await startMetricsServer({ eu: simulated(() => ({ services: ["a", "b"] })) });
});
afterAll(async () => server.close());

const api = "/prometheus/api/v1";
const authorization = "Bearer brandA";
const at = Math.floor(nowMs / 1_000) - 60;
const get = (path: string, params: Readonly<Record<string, string>> = {}) =>
  server.get(`${api}/${path}?${new URLSearchParams(params).toString()}`, { authorization });

describe("a body below /prometheus has the members of its schema", () => {
  const range = { start: `${at - 60}`, end: `${at}` };
  test.each([
    ["PrometheusResult", "query", { query: "avg(lag)" }],
    ["PrometheusResult", "query_range", { query: "avg(lag)", ...range, step: "60" }],
    ["PrometheusExemplars", "query_exemplars", { query: "avg(lag)", ...range }],
    ["PrometheusText", "format_query", { query: "avg(lag)" }],
    ["PrometheusNames", "labels", {}],
    ["PrometheusNames", "label/service/values", { "match[]": "lag" }],
    ["PrometheusSeries", "series", { "match[]": "lag" }],
    ["PrometheusMetadata", "metadata", {}],
    ["PrometheusObject", "status/buildinfo", {}],
    ["PrometheusObject", "features", {}],
    ["PrometheusObject", "rules", {}],
    ["PrometheusError", "query", { query: "lag" }],
    ["PrometheusError", "nothing", {}],
  ])("%s of %s", async (schema, path, params) => {
    const answer = await get(path, params);
    expect(faultsIn(answer.json(), schema)).toEqual([]);
    expect(answer.status >= 400).toBe(schema === "PrometheusError");
  });
});

test("exemplars are those of the native query, with the labels of their series", async () => {
  const answer = await get("query_exemplars", {
    query: "avg by (service) (lag) > 0",
    start: `${at - 600}`,
    end: `${at}`,
  });
  const { data } = answer.json() as { readonly data: readonly { readonly exemplars: readonly object[] }[] };
  expect(data).toHaveLength(2);
  expect(data[0]).toMatchObject({
    seriesLabels: { __name__: "lag", service: "a" },
    exemplars: [{ labels: { trace_id: expect.any(String) as string }, value: expect.any(String) as string }],
  });
});

test("HEAD has the headers of GET and no body", async () => {
  const url = `${api}/query?query=1&time=4`;
  const head = await server.send(url, { method: "HEAD", headers: { authorization } });
  expect([head.status, head.text, head.headers["content-type"]]).toEqual([200, "", "application/json"]);
});

test("a path that is no URL is refused in the form of Prometheus", async () => {
  const { status, json } = await server.send(`${api}/label/%zz/values`, { headers: { authorization } });
  expect({ status, body: json() }).toMatchObject({ status: 400, body: { status: "error", errorType: "bad_data" } });
});

test("a quota that is used up is 429 with the time of the next try", async () => {
  const { config } = server;
  const limits = { ...config.classDefaults.C, requestsPerSecond: 0.001, burst: 1 };
  server.apply({ ...config, classDefaults: { A: limits, B: limits, C: limits } });
  try {
    await get("query", { query: "1", time: "1" });
    const { status, headers, json } = await get("query", { query: "1", time: "2" });
    expect({ status, body: json() }).toMatchObject({ status: 429, body: { code: "rate_exceeded" } });
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
  } finally {
    server.apply(config);
  }
});

test("a store that fails is 503 for an expression over it", async () => {
  const failing = await startMetricsServer({ eu: (response) => void response.writeHead(500).end("no") });
  try {
    const url = `${api}/query?query=avg(lag)&time=${at}`;
    const { status, json } = await failing.get(url, { authorization });
    expect({ status, body: json() }).toMatchObject({
      status: 503,
      body: { status: "error", errorType: "unavailable", code: "store_failed" },
    });
  } finally {
    await failing.close();
  }
});

describe("the error table in the form of Prometheus", () => {
  /** Statuses whose bodies clients read, and those that HTTP and its authentication define. */
  const statuses = [400, 422, 503, 401, 404, 405, 408, 413, 414, 429, 431, 500];

  test.each(Object.keys(errorTable) as ErrorCode[])("%s has a status that clients handle", (code) => {
    const { status, body } = prometheusError(new ApiError(code, "detail"));
    expect(statuses).toContain(status);
    expect(body).toEqual({ status: "error", errorType: expect.any(String) as string, error: "detail", code });
    expect(status >= 500).toBe(errorTable[code].status >= 500);
  });
});
