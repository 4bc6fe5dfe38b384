import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import type { FastifyInstance } from "fastify";
import { pino } from "pino";
import { request } from "undici";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import { stallMsMax, waitFor } from "../../../support/wait.ts";

/** Clients of Prometheus send forms. A route answers with what it got and says how it is answered again. */

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
const form = "application/x-www-form-urlencoded";

let app: FastifyInstance;
let port: number;
let asked: number;
let again: number;
let isRepeatable: boolean;
let ended: string[];

beforeEach(async () => {
  [asked, again, isRepeatable, ended] = [0, 0, true, []];
  const authenticate = async (given: string | undefined): Promise<Caller> => {
    if (given === undefined) throw new Error("no token");
    return caller;
  };
  app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: ({ method, status }) => void ended.push(`${method} ${status}`),
    now: Date.now,
    authenticate: Object.assign(authenticate, { isStill: (own: Caller) => own === caller }),
    routes: [
      {
        method: "POST",
        path: "/form",
        scopes: ["s"],
        takesForms: true,
        bodyBytesMax: 65_536,
        handle: async ({ query }) => {
          asked += 1;
          const repeat = (): Readonly<Record<string, string>> | undefined =>
            isRepeatable ? { "X-Again": String((again += 1)) } : undefined;
          const body = Buffer.from(JSON.stringify([...query]));
          return { status: 200, headers: { ETag: '"tag"', "X-Again": "0" }, body, revalidate: repeat };
        },
      },
    ],
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  ({ port } = app.server.address() as AddressInfo);
});

afterEach(() => app.close());

async function post(body: string, headers: Record<string, string> = {}, path = "/form") {
  const answer = await request(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { authorization, "content-type": form, ...headers },
    body,
  });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
}

const head = (length: number): string =>
  `POST /form HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nContent-Type: ${form}\r\n` +
  `Content-Length: ${length}\r\nConnection: close\r\n\r\n`;

describe("a repeated form", () => {
  test("does not reach its route, gets current headers and is counted", async () => {
    const first = await post("query=up&time=1");
    const second = await post("query=up&time=1");
    expect([asked, again]).toEqual([1, 1]);
    expect([second.status, second.text]).toEqual([200, first.text]);
    expect(second.headers["x-again"]).toBe("1");
    await waitFor(() => ended.length === 2, { timeoutMs: stallMsMax, what: "the end of both requests" });
    expect(ended).toEqual(["POST 200", "POST 200"]);
  });

  test("gets its bytes again, also when it names their tag", async () => {
    await post("query=up&time=1");
    const repeated = await post("query=up&time=1", { "if-none-match": "*" });
    const fresh = await post("query=up&time=2", { "if-none-match": "*" });
    expect([repeated.status, fresh.status]).toEqual([200, 200]);
    expect(repeated.text).not.toBe("");
  });

  test("reaches its route with another body of the same length, which it gets whole", async () => {
    await post("query=up&time=1");
    expect((await post("query=up&time=2")).text).toBe('[["query",["up"]],["time",["2"]]]');
    expect([asked, again]).toEqual([2, 0]);
  });

  test("without a body is that of its address, as vmalert sends it", async () => {
    const json = { "content-type": "application/json" };
    const first = await post("", json, "/form?query=up");
    const second = await post("", json, "/form?query=up");
    expect([first.text, asked, again]).toEqual(['[["query",["up"]]]', 1, 1]);
    expect(second.text).toBe(first.text);
  });

  test.each<readonly [string, string, Record<string, string>, string]>([
    ["another address", "query=up", {}, "/form?time=1"],
    ["another token", "query=up", { authorization: "Bearer other" }, "/form"],
    ["another tenant", "query=up", { "x-scope-orgid": "brand-b" }, "/form"],
    ["another type", "query=up", { "content-type": `${form};charset=utf-8` }, "/form"],
    ["a proof", "query=up", { dpop: "x" }, "/form"],
  ])("reaches its route with %s", async (_what, body, headers, path) => {
    await post("query=up");
    await post(body, headers, path);
    expect([asked, again]).toEqual([2, 0]);
  });

  test("of more than 8 KiB reaches its route each time", async () => {
    const long = `query=${"u".repeat(9_000)}`;
    for (const count of [1, 2]) {
      expect((await post(long)).text).toContain("uuu");
      expect([asked, again]).toEqual([count, 0]);
    }
  });

  test("that is no longer repeatable reaches its route with its body", async () => {
    await post("query=up");
    isRepeatable = false;
    expect((await post("query=up")).text).toBe('[["query",["up"]]]');
    expect(asked).toBe(2);
  });

  test.each([
    ["the same", "query=up", 1],
    ["another one", "query=no", 2],
  ])("whose body arrives in pieces is read whole: %s", async (_what, body, expected) => {
    await post("query=up");
    const socket = connect(port, "127.0.0.1");
    const answer = text(socket);
    for (const piece of [head(body.length), body.slice(0, 3), body.slice(3, 7), body.slice(7)])
      await new Promise<void>((resolve) => socket.write(piece, () => resolve()));
    expect(await answer).toContain(JSON.stringify([["query", [body.slice(6)]]]));
    expect(asked).toBe(expected);
  });

  test("whose sender leaves before its body has arrived harms no other", async () => {
    await post("query=up");
    const socket = connect(port, "127.0.0.1");
    await new Promise<void>((resolve) => socket.write(`${head(8)}que`, () => resolve()));
    socket.destroy();
    expect((await post("query=up")).status).toBe(200);
    expect([asked, again]).toEqual([1, 1]);
  });

  test("is answered on a connection that several forms use in turn", async () => {
    const socket = connect(port, "127.0.0.1");
    const keep = (body: string): string => head(body.length).replace("close", "keep-alive") + body;
    const answer = text(socket);
    socket.write(keep("query=up") + keep("query=up") + keep("query=no") + head(8) + "query=up");
    const bodies = [...(await answer).matchAll(/"query",\["(\w+)"\]/gu)].map(([, name]) => name);
    expect(bodies).toEqual(["up", "up", "no", "up"]);
  });
});
