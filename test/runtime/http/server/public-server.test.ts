import { pino } from "pino";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import type { RequestOutcome } from "../../../../runtime/http/server/request-log.ts";
import type { ApiRequest, Route } from "../../../../runtime/http/server/route.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";

const caller: Caller = {
  client: "dashboards",
  tenants: ["acme"],
  regions: ["*"],
  environments: ["*"],
  metrics: ["*"],
  roles: [],
  scopes: ["things:read", "things:write"],
};

let seen: ApiRequest | undefined;
let answer: Route["handle"];
let logLines: Record<string, unknown>[] = [];
let outcomes: RequestOutcome[] = [];

const take = (request: ApiRequest): Promise<Awaited<ReturnType<Route["handle"]>>> => {
  seen = request;
  return answer(request);
};

const app = createPublicServer({
  log: pino({}, { write: (line: string) => logLines.push(JSON.parse(line) as Record<string, unknown>) }),
  observe: (outcome) => outcomes.push(outcome),
  now: () => 1_767_225_600_000,
  limits: { responseTimeoutMs: 1_000 },
  authenticate: async (authorization) => {
    if (authorization === undefined) throw new ApiError("token_missing", "Send a token.");
    return authorization === "Bearer narrow" ? { ...caller, scopes: ["other"] } : caller;
  },
  routes: [
    { method: "GET", path: "/things/:id", scopes: ["things:read", "things:all"], handle: take },
    { method: "POST", path: "/things", scopes: ["things:write"], bodyBytesMax: 64, handle: take },
  ],
});

const authorization = "Bearer token";
const json = { authorization, "content-type": "application/json" };
const get = (url: string, headers: Record<string, string> = { authorization }) => app.inject({ url, headers });
const post = (payload: string | Buffer, headers: Record<string, string> = json) =>
  app.inject({ method: "POST", url: "/things", payload, headers });

beforeEach(() => {
  seen = undefined;
  answer = async () => ({ status: 200, headers: { "X-Thing": "1" }, body: { thing: true } });
  logLines = [];
  outcomes = [];
});

afterAll(async () => app.close());

describe("a request reaches its route", () => {
  test("with its caller, path, query, correlation id and time", async () => {
    const response = await get("/things/a%2Fb?metric=x&metric=y", { authorization, "x-correlation-id": "req-1" });
    expect(response.statusCode).toBe(200);
    expect(response.json()).toEqual({ thing: true });
    expect(response.headers["x-thing"]).toBe("1");
    expect(seen).toMatchObject({ caller, correlationId: "req-1", nowMs: 1_767_225_600_000, path: { id: "a/b" } });
    expect([...(seen?.query ?? [])]).toEqual([["metric", ["x", "y"]]]);
  });

  test("with the very bytes of its body", async () => {
    const bytes = Buffer.from('{ "a" : 1.0,\t"b":"\\u00e9é" }\n');
    await post(bytes);
    expect(Buffer.from(seen?.body ?? [])).toEqual(bytes);
  });

  test("whose charset parameter changes nothing", async () => {
    expect((await post("{}", { ...json, "content-type": "application/json; charset=utf-8" })).statusCode).toBe(200);
  });

  test("by HEAD as by GET, without a body", async () => {
    const response = await app.inject({ method: "HEAD", url: "/things/1", headers: { authorization } });
    expect([response.statusCode, response.body]).toEqual([200, ""]);
  });
});

describe("every response", () => {
  test("repeats a well-formed correlation id, in header and problem", async () => {
    const response = await get("/nowhere", { "x-correlation-id": "req-2" });
    expect(response.headers["x-correlation-id"]).toBe("req-2");
    expect(response.json()).toMatchObject({ correlation_id: "req-2" });
  });

  test("has a correlation id of its own when the caller's is not well-formed", async () => {
    const response = await get("/things/1", { authorization, "x-correlation-id": "a b" });
    expect(response.headers["x-correlation-id"]).toMatch(/^[0-9a-f-]{36}$/u);
  });

  test.each(["/things/1", "/nowhere", "/%zz"])("of %s may not be kept, sniffed or framed", async (url) => {
    expect((await get(url)).headers).toMatchObject({
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "referrer-policy": "no-referrer",
    });
  });
});

describe("a request is refused", () => {
  const cases: [string, () => ReturnType<typeof get>, number, string, Record<string, string>?][] = [
    [
      "without a token",
      () => get("/things/1", {}),
      401,
      "token_missing",
      { "www-authenticate": 'Bearer realm="heliograph", DPoP algs="ES256 ES384 ES512 EdDSA Ed25519 PS256 RS256"' },
    ],
    [
      "without one of the scopes",
      () => get("/things/1", { authorization: "Bearer narrow" }),
      403,
      "scope_missing",
      { "www-authenticate": 'Bearer realm="heliograph", error="insufficient_scope", scope="things:read things:all"' },
    ],
    ["for a path that is none", () => get("/nowhere"), 404, "not_found"],
    ["for a path with broken encoding", () => get("/things/%zz"), 400, "invalid_request"],
    ["for a query with broken encoding", () => get("/things/1?a=%zz"), 400, "invalid_request"],
    ["for a target that is too long", () => get(`/things/1?a=${"x".repeat(8192)}`), 414, "uri_too_long"],
    ["for a segment that is too long", () => get(`/things/${"x".repeat(513)}`), 414, "uri_too_long"],
    [
      "for a method that the path does not take",
      () => app.inject({ method: "DELETE", url: "/things/1" }),
      405,
      "method_not_allowed",
      { allow: "GET, HEAD" },
    ],
    ["for GET where only POST is taken", () => get("/things"), 405, "method_not_allowed", { allow: "POST" }],
    ["for a body that is too large", () => post("x".repeat(65)), 413, "body_too_large"],
    [
      "for a body of another type",
      () => post("a=1", { authorization, "content-type": "application/x-www-form-urlencoded" }),
      415,
      "unsupported_media_type",
    ],
    ["for a body without a type", () => post(Buffer.from("{}"), { authorization }), 415, "unsupported_media_type"],
    [
      "for a body that is encoded",
      () => post("{}", { ...json, "content-encoding": "gzip" }),
      415,
      "unsupported_media_type",
    ],
  ];

  test.each(cases)("%s", async (_name, send, status, code, headers = {}) => {
    const response = await send();
    expect(response.statusCode).toBe(status);
    expect(response.headers["content-type"]).toBe("application/problem+json");
    expect(response.json()).toMatchObject({ status, code });
    expect(response.headers).toMatchObject(headers);
    expect(seen).toBeUndefined();
  });

  test("as unauthenticated before its body is read", async () => {
    expect((await post("x".repeat(65), { "content-type": "text/plain" })).statusCode).toBe(401);
  });
});

describe("what a route throws", () => {
  test("is the problem of the refusal, with its hints", async () => {
    answer = async () => {
      throw new ApiError("store_failed", "Every store failed.", { retryAfterSeconds: 3, suggestion: { step: "5m" } });
    };
    const response = await get("/things/1");
    expect(response.statusCode).toBe(502);
    expect(response.headers).toMatchObject({ "retry-after": "3", "x-suggested-step": "5m" });
    expect(response.json()).toMatchObject({ code: "store_failed", suggestion: { step: "5m" } });
  });

  test("is a 500 without details when it is no API error, and the log has the cause", async () => {
    answer = async () => {
      throw new Error("nats://user:hunter2@host refused");
    };
    const response = await get("/things/1");
    expect(response.statusCode).toBe(500);
    expect(response.body).not.toContain("hunter2");
    expect(response.json()).toMatchObject({ code: "internal" });
    await expect.poll(() => logLines.length).toBe(1);
    expect(logLines[0]).toMatchObject({
      level: 50,
      code: "internal",
      status: 500,
      err: { message: expect.stringMatching(/hunter2/u) },
    });
  });

  test("is 503 when the response takes too long, and the route is aborted", async () => {
    answer = ({ signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("aborted")));
      });
    const response = await get("/things/1");
    expect(response.json()).toMatchObject({ status: 503, code: "answer_timeout" });
    expect(seen?.signal.aborted).toBe(true);
  });
});

describe("the log and the metrics of a request", () => {
  test("hold one line with what it came to, and never the token", async () => {
    await get("/things/1?metric=x", { authorization: "Bearer secret-token", "x-correlation-id": "req-3" });
    await expect.poll(() => logLines.length).toBe(1);
    expect(logLines[0]).toMatchObject({
      correlationId: "req-3",
      method: "GET",
      route: "/things/:id",
      status: 200,
      client: "dashboards",
    });
    expect(JSON.stringify(logLines)).not.toContain("secret-token");
  });

  test("hold a line of audit for a refusal of access, and for no other fault", async () => {
    await get("/things/1", { authorization: "Bearer narrow" });
    await get("/nowhere");
    const audited = logLines.filter(({ audit }) => audit === "refused");
    expect(audited).toMatchObject([
      {
        code: "scope_missing",
        method: "GET",
        route: "/things/:id",
        address: "127.0.0.1",
        correlationId: expect.any(String),
      },
    ]);
    expect(JSON.stringify(audited)).not.toMatch(/narrow/u);
  });

  test("hold a line of audit for each refused part of a successful request", async () => {
    const rejected = [
      { item: "a", apiError: new ApiError("region_forbidden", "not there") },
      { item: "b", apiError: new ApiError("invalid_step", "too fine") },
    ];
    answer = async () => ({ status: 200, body: {}, rejected });
    await get("/things/1");
    expect(logLines.filter(({ audit }) => audit === "refused")).toMatchObject([
      { code: "region_forbidden", item: "a", client: "dashboards", route: "/things/:id" },
    ]);
  });

  test("name the pattern of the route, not the target", async () => {
    await get("/things/1");
    await get("/nowhere/at/all");
    await expect
      .poll(() => outcomes.map(({ route, status }) => [route, status]))
      .toEqual([
        ["/things/:id", 200],
        ["unknown", 404],
      ]);
  });
});
