import { once } from "node:events";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { pino } from "pino";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPublicServer } from "../../../runtime/http/server/public-server.ts";
import { type HttpLimits, stopServer } from "../../../runtime/http/server/listen-server.ts";
import type { Route } from "../../../runtime/http/server/route.ts";
import type { RequestOutcome } from "../../../runtime/http/server/request-log.ts";
import { stallMsMax, waitFor } from "../../support/wait.ts";

const caller = { client: "c", tenants: [], regions: [], environments: [], metrics: [], roles: [], scopes: ["s"] };
const outcomes: RequestOutcome[] = [];
/** Lets the route `/wait` answer; set when it runs. */
const gate: { release?: () => void } = {};
const shutGate = () => delete gate.release;
let aborted = 0;
let ending = false;

const wait: Route["handle"] = ({ signal }) =>
  new Promise((resolve, reject) => {
    gate.release = () => resolve({ status: 200, body: { waited: true } });
    signal.addEventListener("abort", () => {
      aborted += 1;
      reject(new Error("hung up"));
    });
  });

const makeServer = (limits: Partial<HttpLimits> = {}) =>
  createPublicServer({
    log: pino({ level: "silent" }),
    observe: (outcome) => outcomes.push(outcome),
    now: Date.now,
    isEnding: () => ending,
    limits,
    authenticate: async () => caller,
    routes: [
      {
        method: "POST",
        path: "/take",
        scopes: ["s"],
        bodyBytesMax: 1024,
        handle: async () => ({ status: 202, body: {} }),
      },
      { method: "GET", path: "/wait", scopes: ["s"], handle: wait },
      { method: "POST", path: "/wait-posted", scopes: ["s"], bodyBytesMax: 1024, handle: wait },
    ],
  });

const app = makeServer();
/** Only for requests that never end: to any other, a busy machine may be as slow. */
const impatient = makeServer({ headersTimeoutMs: 200, requestTimeoutMs: 400, timeoutCheckMs: 50 });
let url = "";
let impatientUrl = "";

beforeAll(async () => {
  url = await app.listen({ host: "127.0.0.1", port: 0 });
  impatientUrl = await impatient.listen({ host: "127.0.0.1", port: 0 });
});

afterAll(async () => {
  await stopServer(app, 1000);
  await stopServer(impatient, 1000);
});

/** Sends raw bytes and answers everything that comes back until the server hangs up. */
async function raw(to: string, ...parts: string[]): Promise<string> {
  const socket = connect(Number(new URL(to).port), "127.0.0.1");
  let received = "";
  socket.on("data", (chunk: Buffer) => {
    received += chunk.toString();
  });
  socket.on("error", () => undefined);
  for (const part of parts) socket.write(part);
  await once(socket, "close");
  return received;
}

const problemIn = (response: string): unknown => JSON.parse(response.slice(response.indexOf("\r\n\r\n")));

describe("over a real connection", () => {
  test("an answer ends its connection only when the server is about to end", async () => {
    const ask = "POST /take HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    const kept = await raw(url, ask, ask.replace("host: x", "host: x\r\nconnection: close"));
    expect(kept.match(/HTTP\/1.1 202/gu)).toHaveLength(2);
    ending = true;
    try {
      const closed = await raw(url, ask);
      expect(closed).toMatch(/^connection: close\r$/imu);
    } finally {
      ending = false;
    }
  });

  test.each([
    ["with its length said", true],
    ["in chunks", false],
  ])("a body of 10 MiB %s is answered 413, and the connection stays usable", async (_name, sized) => {
    const body = Buffer.alloc(10 * 1024 * 1024, "x");
    const headers = { "content-type": "application/json" };
    const stream = async function* chunks() {
      for (let offset = 0; offset < body.length; offset += 65_536) yield body.subarray(offset, offset + 65_536);
    };
    const response = await request(`${url}/take`, {
      method: "POST",
      headers,
      body: sized ? body : Readable.from(stream()),
    });
    expect(response.statusCode).toBe(413);
    expect(await response.body.json()).toMatchObject({ code: "body_too_large" });
    const next = await request(`${url}/take`, { method: "POST", headers, body: "{}" });
    expect(next.statusCode).toBe(202);
    await next.body.dump();
  });

  test.each([
    ["no HTTP at all", "\u0016\u0003\u0001 hello\r\n\r\n", 400, "invalid_request"],
    ["a header without a name", "GET /wait HTTP/1.1\r\n: x\r\n\r\n", 400, "invalid_request"],
    [
      "two lengths",
      "POST /take HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      400,
      "invalid_request",
    ],
    [
      "a length beside chunks",
      "POST /take HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
      400,
      "invalid_request",
    ],
    [
      "headers that are too large",
      `GET /wait HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(60_000)}\r\n\r\n`,
      431,
      "headers_too_large",
    ],
    ["headers that never end", "GET /wait HTTP/1.1\r\nHost: a\r\n", 408, "request_timeout"],
    [
      "a body that never ends",
      "POST /take HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
      408,
      "request_timeout",
    ],
  ])("%s is answered as a problem and cut off", async (_name, text, status, code) => {
    const response = await raw(status === 408 ? impatientUrl : url, text);
    expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `, "u"));
    expect(response).toMatch(/content-type: application\/problem\+json/u);
    expect(response).toMatch(/x-correlation-id: [0-9a-f-]{36}/u);
    expect(problemIn(response)).toMatchObject({ status, code });
  });

  test("a caller that hangs up ends the work for it", async () => {
    const before = aborted;
    const hangUp = new AbortController();
    const pending = request(`${url}/wait`, { signal: hangUp.signal });
    shutGate();
    await waitFor(() => gate.release, { timeoutMs: 20_000, what: "the route to run" });
    hangUp.abort();
    await expect(pending).rejects.toThrow(/abort/iu);
    await waitFor(() => aborted > before, { timeoutMs: 20_000, what: "the signal to abort" });
    await waitFor(() => outcomes.some(({ route }) => route === "/wait"), {
      timeoutMs: 20_000,
      what: "the request to be counted",
    });
    // One more round trip, after which a second count would have come.
    await (await request(`${url}/nowhere`)).body.dump();
    expect(outcomes.filter(({ route }) => route === "/wait")).toMatchObject([{ status: 499 }]);
  });
});

describe("work for a request with a body", () => {
  const posted = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" } as const;

  test("goes on after the body was read to its end", async () => {
    shutGate();
    const pending = request(`${url}/wait-posted`, posted);
    await waitFor(() => gate.release, { timeoutMs: 20_000, what: "the route to run" });
    // Two more round trips, in which the end of the body would have been told.
    for (const _ of [1, 2]) await (await request(`${url}/nowhere`)).body.dump();
    gate.release?.();
    const response = await pending;
    expect([response.statusCode, await response.body.json()]).toEqual([200, { waited: true }]);
  });

  test("ends when the caller hangs up", async () => {
    const before = aborted;
    const hangUp = new AbortController();
    shutGate();
    const pending = request(`${url}/wait-posted`, { ...posted, signal: hangUp.signal });
    await waitFor(() => gate.release, { timeoutMs: 20_000, what: "the route to run" });
    hangUp.abort();
    await expect(pending).rejects.toThrow(/abort/iu);
    await waitFor(() => aborted > before, { timeoutMs: 20_000, what: "the signal to abort" });
  });

  test("is answered 503 when it takes too long", async () => {
    const other = makeServer({ responseTimeoutMs: 200 });
    const response = await request(`${await other.listen({ host: "127.0.0.1", port: 0 })}/wait-posted`, posted);
    expect([response.statusCode, await response.body.json()]).toMatchObject([503, { code: "answer_timeout" }]);
    await stopServer(other, 1000);
  });
});

describe("stopping a server", () => {
  test("finishes what is under way, keeps idle connections waiting for nothing and takes no new ones", async () => {
    const other = makeServer();
    const otherUrl = await other.listen({ host: "127.0.0.1", port: 0 });
    const idle = await request(`${otherUrl}/nowhere`);
    await idle.body.dump();
    shutGate();
    const pending = request(`${otherUrl}/wait`);
    await waitFor(() => gate.release, { timeoutMs: 20_000, what: "the route to run" });
    const stopped = stopServer(other, 10_000);
    await waitFor(
      () =>
        request(`${otherUrl}/nowhere`).then(
          () => false,
          () => true,
        ),
      { timeoutMs: 20_000, what: "new connections to be refused" },
    );
    gate.release?.();
    const response = await pending;
    expect(await response.body.json()).toEqual({ waited: true });
    const startedMs = performance.now();
    await stopped;
    expect(performance.now() - startedMs).toBeLessThan(stallMsMax);
  });

  test("cuts off what outlasts the bound", async () => {
    const other = makeServer();
    const otherUrl = await other.listen({ host: "127.0.0.1", port: 0 });
    shutGate();
    const failure = request(`${otherUrl}/wait`).catch((error: unknown) => error);
    await waitFor(() => gate.release, { timeoutMs: 20_000, what: "the route to run" });
    await stopServer(other, 100);
    expect(await failure).toMatchObject({ message: expect.stringMatching(/closed/iu) });
  });
});
