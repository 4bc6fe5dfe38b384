import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { type Dispatcher, request } from "undici";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import type { RequestOutcome } from "../../../../runtime/http/server/request-log.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";

/**
 * A route that says how it is answered again; that repeats are answered as if they were new is the matter of
 * `repeats-alike.test.ts`.
 */

const caller: Caller = {
  client: "dashboards",
  tenants: [],
  regions: [],
  environments: [],
  metrics: [],
  roles: [],
  scopes: ["s"],
};
const authorization = "Bearer token";

let app: FastifyInstance;
let port: number;
let asked: number;
let again: number;
let isEnding: boolean;
let lines: Record<string, unknown>[];
let outcomes: RequestOutcome[];

beforeEach(async () => {
  [asked, again, isEnding, lines, outcomes] = [0, 0, false, [], []];
  app = createPublicServer({
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }),
    observe: (outcome) => void outcomes.push(outcome),
    now: Date.now,
    authenticate: Object.assign(async () => caller, { isStill: (own: Caller) => own === caller }),
    isEnding: () => isEnding,
    routes: [
      {
        method: "GET",
        path: "/bytes",
        scopes: ["s"],
        handle: async () => {
          asked += 1;
          const changing = (): Readonly<Record<string, string>> => ({ "X-Again": String((again += 1)) });
          return {
            status: 200,
            headers: { ETag: '"tag"', "Content-Type": "text/plain", "Content-Encoding": "gzip", "X-Again": "0" },
            body: Buffer.from("bytes"),
            revalidate: changing,
          };
        },
      },
    ],
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  ({ port } = app.server.address() as AddressInfo);
});

afterEach(() => app.close());

async function get(headers: Record<string, string> = {}, method: Dispatcher.HttpMethod = "GET") {
  const answer = await request(`http://127.0.0.1:${port}/bytes`, { method, headers: { authorization, ...headers } });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
}

/** What a connection answers to bytes that no client library would send. */
async function raw(head: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(`GET /bytes HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nConnection: close\r\n${head}\r\n`);
  return text(socket);
}

describe("a repeated request", () => {
  test("does not reach its route, and gets current headers", async () => {
    await get();
    const { status, headers, text: body } = await get({ "x-correlation-id": "mine" });
    expect([asked, again]).toEqual([1, 1]);
    expect([status, body]).toEqual([200, "bytes"]);
    expect(headers).toMatchObject({
      "x-again": "1",
      "x-correlation-id": "mine",
      "content-length": "5",
      "content-encoding": "gzip",
      "x-content-type-options": "nosniff",
    });
  });

  test("is counted and logged as the first was", async () => {
    await get({ "x-correlation-id": "first" });
    await get({ "x-correlation-id": "second" });
    await vi.waitFor(() => expect(outcomes).toHaveLength(2));
    const told = outcomes.map(({ method, route, status }) => ({ method, route, status }));
    expect(told[1]).toEqual(told[0]);
    const [first, second] = lines.filter(({ msg }) => msg === "request");
    expect(second).toMatchObject({
      correlationId: "second",
      method: "GET",
      route: "/bytes",
      status: 200,
      client: "dashboards",
      durationMs: expect.any(Number) as number,
    });
    expect(Object.keys(second ?? {})).toEqual(Object.keys(first ?? {}));
  });

  test("with the tag of the bytes is 304, without a word on bytes that are not sent (RFC 9110 §15.4.5)", async () => {
    const tagged = { "if-none-match": '"tag"' };
    for (const expected of [1, 2]) {
      const { status, headers, text: body } = await get(tagged);
      expect([status, body, headers["etag"], asked]).toEqual([304, "", '"tag"', 1]);
      for (const name of ["content-type", "content-encoding", "content-length"])
        expect(headers).not.toHaveProperty(name);
      expect(headers["x-again"]).toBe(String(expected - 1));
    }
  });

  test.each([
    ["another token", () => get({ authorization: "Bearer other" })],
    ["another Accept", () => get({ accept: "text/plain" })],
    ["another Accept-Encoding", () => get({ "accept-encoding": "gzip" })],
    ["a proof", () => get({ dpop: "x" })],
    ["another method", () => get({}, "HEAD")],
    ["a body", () => raw("Content-Length: 2\r\n\r\n{}")],
    ["a body in pieces", () => raw("Transfer-Encoding: chunked\r\n\r\n0\r\n")],
  ])("reaches its route with %s", async (_what, send) => {
    await get();
    await send();
    expect([asked, again]).toEqual([2, 0]);
  });

  test.each([
    ["with two Host headers", () => raw("Host: b\r\n"), /^HTTP\/1\.1 400/u],
    ["with an encoded body", () => raw("Content-Encoding: gzip\r\n"), /^HTTP\/1\.1 415/u],
  ])("%s is refused as ever", async (_what, send, expected) => {
    await get();
    expect(await send()).toMatch(expected);
    expect([asked, again]).toEqual([1, 0]);
  });

  test("ends its connection when the server soon will", async () => {
    await get();
    isEnding = true;
    const { headers } = await get();
    expect([headers["connection"], again]).toEqual(["close", 0]);
  });
});
