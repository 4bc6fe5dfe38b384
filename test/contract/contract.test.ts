import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { fastify } from "fastify";
import { expect, test } from "vitest";
import { faultsOf } from "./contract.ts";
import { exchangesOf, lineOf, recordingVariables, type Exchange } from "./exchange.ts";
import { takeFaults } from "./setup.ts";

const me = {
  client: "c",
  tenants: ["*"],
  partners: null,
  regions: ["*"],
  environments: ["*"],
  metrics: ["*"],
  roles: [],
  scopes: [],
  expires_at: null,
  is_console_admin: false,
  version: "0.0.0",
};

const exchangeOf = (body: object, more: Partial<Exchange> = {}): Exchange => ({
  method: "GET",
  route: "/v1/me",
  target: "/v1/me",
  status: 200,
  requestBody: undefined,
  mediaType: "application/json",
  responseBody: JSON.stringify(body),
  ...more,
});

test("an exchange that the document describes has no fault", () => {
  expect(faultsOf(exchangeOf(me))).toEqual([]);
});

test.each([
  ["a member that is not described", exchangeOf({ ...me, more: 1 }), /additional properties.*more/u],
  ["a missing member", exchangeOf({ ...me, client: undefined }), /required property 'client'/u],
  ["a member of another type", exchangeOf({ ...me, tenants: "*" }), /tenants must be array/u],
  ["a parameter that is not described", exchangeOf(me, { target: "/v1/me?x=1" }), /parameter x is not described/u],
  ["a status that is not described", exchangeOf(me, { status: 206 }), /status is not described/u],
  ["a media type that is not described", exchangeOf(me, { mediaType: "text/csv" }), /media type text\/csv/u],
  [
    "an error without a code",
    exchangeOf({ title: "x" }, { status: 400, mediaType: "application/problem+json" }),
    /code/u,
  ],
])("%s is a fault", (_what, exchange, fault) => {
  expect(faultsOf(exchange).join()).toMatch(fault);
});

test("a request body between regions is compared too, and one that is rejected is not", () => {
  const body = (points: object): Partial<Exchange> => ({
    method: "POST",
    route: "/v1/metrics/partials",
    target: "/v1/metrics/partials",
    requestBody: Buffer.from(JSON.stringify({ version: 1, ask: { ...ask, points }, over: { start_ms: 0, count: 1 } })),
  });
  const ask = {
    schema_version: "v",
    region: "eu",
    regions: ["eu"],
    metric: "m",
    agg: "avg",
    part: "sum",
    tenant: "a",
    filters: {},
    group_by: [],
  };
  const points = { width_ms: 60_000, step_ms: 120_000, interval_seconds: 15, increases: "Plain" };
  expect(faultsOf(exchangeOf({}, body(points)))).toEqual([]);
  expect(faultsOf(exchangeOf({}, body({ ...points, width: 1 }))).join()).toMatch(/additional properties.*width/u);
  const problem = { type: "u:x", title: "t", status: 400, detail: "d", code: "c", errors: [], correlation_id: "i" };
  const rejected = { ...body({ width: 1 }), status: 400, mediaType: "application/problem+json" };
  expect(faultsOf(exchangeOf(problem, rejected))).toEqual([]);
});

test("every server of a test is compared with the document", async () => {
  const app = fastify();
  app.get("/v1/me", async () => ({ ...me, more: 1 }));
  await app.inject("/v1/me");
  expect((await takeFaults()).join()).toMatch(/more/u);
  await app.close();
});

test.each([
  ["gzip", gzipSync],
  ["zstd", zstdCompressSync],
])("a response in %s is compared", (coding, compress) => {
  const coded = (body: object): Exchange => exchangeOf({}, { coding, responseBody: compress(JSON.stringify(body)) });
  expect(faultsOf(coded(me))).toEqual([]);
  expect(faultsOf(coded({ ...me, more: 1 })).join()).toMatch(/more/u);
});

test("what a child process records is compared, without the half line of one that was killed", () => {
  const sent = exchangeOf({ ...me, more: 1 }, { requestBody: Buffer.from("{}"), coding: undefined });
  const [read, ...others] = exchangesOf(lineOf(sent) + lineOf(sent).slice(0, 9));
  expect(others).toEqual([]);
  expect(read).toEqual({ ...sent, responseBody: Buffer.from(JSON.stringify({ ...me, more: 1 })) });
  expect(read && faultsOf(read).join()).toMatch(/more/u);
});

test("a server in a child process is compared with the document", async () => {
  const program =
    'import { fastify } from "fastify"; const app = fastify(); app.get("/v1/me", async () => ({ more: 1 }));' +
    'await app.inject("/v1/me");';
  const args = ["--import", new URL("record.ts", import.meta.url).href, "--input-type=module", "--eval", program];
  await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...recordingVariables() } });
  expect((await takeFaults()).join()).toMatch(/more/u);
});
