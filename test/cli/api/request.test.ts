import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Given, parseFlags } from "../../../cli/command-line/flags.ts";
import { connectionFlags, connectionOf, type ApiConnection } from "../../../cli/api/connection.ts";
import { httpErrorOf, withFlagHints } from "../../../cli/api/http-error.ts";
import { pagesOf, send, sendForJson } from "../../../cli/api/request.ts";
import { commands } from "../../../cli/commands.ts";
import { eventPath } from "../../../cli/webhooks/event-forms.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";

const connect = (argv: readonly string[], environment: Record<string, string> = {}) => {
  const { values } = parseFlags("heliograph", argv, connectionFlags, { allowPositionals: false });
  return connectionOf(new Given(values, connectionFlags, environment))();
};

async function serve(answer: RequestListener): Promise<ApiConnection> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return connect(["--url", `http://127.0.0.1:${(server.address() as AddressInfo).port}/base/`]);
}

async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  return Buffer.concat(await collect<Buffer>(request)).toString();
}

describe("the token", () => {
  test("comes from its file for each request, before the environment", async () => {
    const folder = await temporaryFolder("token");
    onTestFinished(() => folder.remove());
    const file = join(folder.path, "token");
    await writeFile(file, "one\n");
    const connection = await connect(["--token-file", file], { HELIOGRAPH_TOKEN: "other" });
    expect(await connection.token()).toBe("one");
    await writeFile(file, "two\n");
    expect(await connection.token()).toBe("two");
  });

  test("comes from the environment without a file, and never from the command line", async () => {
    expect(await (await connect([], { HELIOGRAPH_TOKEN: "abc" })).token()).toBe("abc");
    expect(await (await connect([])).token()).toBeUndefined();
    await expect(async () => connect(["--token", "abc"])).rejects.toThrow("Unknown option '--token'");
  });

  test.each([
    ["that is no token", { HELIOGRAPH_TOKEN: "a b" }, [], /^the token is not a valid bearer token/u],
    ["whose file is missing", {}, ["--token-file", "/nowhere/t"], /^the token file \/nowhere\/t cannot/u],
  ])("%s is refused with a sentence", async (_name, environment, argv, sentence) => {
    const connection = await connect(argv, environment);
    await expect(connection.token()).rejects.toMatchObject({ exit: "usage", message: expect.stringMatching(sentence) });
  });
});

test.each([["ftp://a"], ["http://a?b=c"], ["nowhere"], ["http://user@a"]])("the URL %s is refused", async (url) => {
  await expect(async () => connect(["--url", url])).rejects.toThrow(/^--url /u);
});

test("a kept connection that the server closes is replaced once, and never for what may not be repeated", async () => {
  const used = new Set<unknown>();
  const paths: string[] = [];
  const connection = await serve(({ socket, method, url = "" }, response) => {
    paths.push(`${method} ${url}`);
    // The second request of each connection finds it closed.
    if (used.has(socket)) return void socket.destroy();
    used.add(socket);
    response.end("{}");
  });
  for (const path of ["/a", "/b", "/c"]) await send(connection, { path });
  expect(paths).toEqual(["GET /base/a", "GET /base/b", "GET /base/b", "GET /base/c", "GET /base/c"]);
  await expect(send(connection, { path: "/d", method: "POST" })).rejects.toMatchObject({ exit: "unreachable" });
  expect(paths.filter((line) => line === "POST /base/d")).toHaveLength(1);
});

test("a connection that knows why it reaches no server says that in place of the error of the socket", async () => {
  const connection = {
    ...(await connect(["--url", "http://127.0.0.1:9"])),
    failure: () => "no pod is ready; look at them",
  };
  await expect(send(connection, { path: "/" })).rejects.toMatchObject({
    exit: "unreachable",
    message: "no pod is ready; look at them",
  });
});

test.each(["..", ".", "a.b", "a/b"])("a request for the event %s names it in its path", async (eventId) => {
  const connection = await serve((request, response) => {
    response.end(JSON.stringify({ url: request.url }));
  });
  const { url } = await sendForJson<{ readonly url: string }>(connection, {
    path: eventPath(eventId),
    query: { a: 1 },
  });
  const [, segment = ""] = /^\/base\/webhooks\/events\/([^/]+)\?a=1$/u.exec(url) ?? [];
  expect(decodeURIComponent(segment)).toBe(eventId);
});

test("a request has the path below the URL, its parameters and its body", async () => {
  const connection = await serve((request, response) => {
    const { method, url, headers } = request;
    const told = (body: string) => JSON.stringify({ method, url, authorization: headers.authorization, body });
    void bodyOf(request).then((body) => response.end(told(body)));
  });
  const asked = {
    method: "POST",
    path: "/a",
    query: { b: "c d", e: undefined, f: ["1", "2"] },
    body: { g: 1 },
  } as const;
  expect(await sendForJson({ ...connection, token: async () => "secret" }, asked)).toEqual({
    method: "POST",
    url: "/base/a?b=c+d&f=1&f=2",
    authorization: "Bearer secret",
    body: '{"g":1}',
  });
});

describe("a response that refuses", () => {
  const refused = async (status: number, body: string, headers: Record<string, string> = {}) => {
    const connection = await serve((_request, response) => response.writeHead(status, headers).end(body));
    return send(connection, { path: "/" }).catch((error: unknown) => error);
  };

  test("becomes a sentence with the fields at fault", async () => {
    const errors = [{ field: "to", code: "invalid", detail: "to must be later than from" }];
    const problem = { code: "invalid_request", detail: "The request is not valid", errors };
    expect(await refused(400, JSON.stringify(problem))).toMatchObject({
      exit: "refused",
      status: 400,
      code: "invalid_request",
      message:
        "the server rejected the request with 400 invalid_request: The request is not valid; to must be later " +
        "than from",
    });
  });

  test("says when to try again", async () => {
    const problem = JSON.stringify({ code: "rate_exceeded", detail: "Too many requests." });
    expect(await refused(429, problem, { "retry-after": "7" })).toMatchObject({
      retryAfterSeconds: 7,
      message: "the server rejected the request with 429 rate_exceeded: Too many requests; try again in 7 s",
    });
  });

  test("asks for a token, and cannot control the terminal", async () => {
    expect(await refused(401, JSON.stringify({ code: "token_missing", detail: "\u001B[31mno" }))).toMatchObject({
      message: "the server rejected the request with 401 token_missing:  [31mno; set --token-file or HELIOGRAPH_TOKEN",
    });
  });

  test.each([
    "<html>",
    "null",
    "7",
    '{"detail":7,"title":{},"code":[],"errors":{"length":3},"suggestion":"x"}',
    '{"errors":[null,7,{"detail":{}}],"suggestion":{"step":{}}}',
  ])("of another program is named by its status: %s", async (body) => {
    expect(await refused(502, body)).toMatchObject({
      message: "the server rejected the request with 502: no reason was given",
    });
  });
});

describe("a server is unreachable", () => {
  const failing = async (connection: ApiConnection, timeoutMs?: number) =>
    sendForJson(connection, { path: "/", ...(timeoutMs === undefined ? {} : { timeoutMs }) }).catch(
      (error: unknown) => error,
    );

  test("when nothing listens", async () => {
    const connection = await connect(["--url", "http://127.0.0.1:1"]);
    expect(await failing(connection)).toMatchObject({
      exit: "unreachable",
      message: expect.stringMatching(/^http:\/\/127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/u),
    });
  });

  test("when it ends the response early, or sends no JSON", async () => {
    const cut = await serve((_request, response) => {
      response.writeHead(200, { "content-length": "10" }).write("{");
      response.socket?.destroy();
    });
    expect(await failing(cut)).toMatchObject({ exit: "unreachable" });
    const html = await serve((_request, response) => response.end("<html>"));
    expect(await failing(html)).toMatchObject({ message: expect.stringContaining("the response is not JSON") });
  });

  test("when it is silent", async () => {
    const connection = await serve(() => undefined);
    expect(await failing(connection, 50)).toMatchObject({
      message: expect.stringContaining("no response within 0.05 s"),
    });
  });
});

describe("a list", () => {
  /** Three pages of numbers. */
  const listed = (meta: object) =>
    serve((request, response) => {
      const { searchParams } = new URL(request.url ?? "", "http://host");
      const start = Number(searchParams.get("cursor") ?? 0);
      const end = Math.min(start + Math.min(2, Number(searchParams.get("limit"))), 5);
      const data = Array.from({ length: end - start }, (_, index) => start + index);
      response.end(JSON.stringify({ data, meta: { cursor: end < 5 ? String(end) : null, ...meta } }));
    });
  const read = async (limit: number, meta: object = {}) => {
    const said: string[] = [];
    const options = { limit, onMore: () => said.push("more"), onIncomplete: () => said.push("incomplete") };
    const pages = pagesOf(await listed(meta), { path: "/", query: {} }, options);
    return { pages: await collect(pages), said };
  };

  test("is read to its end", async () => {
    expect(await read(100)).toEqual({ pages: [[0, 1], [2, 3], [4]], said: [] });
  });

  test("ends at the limit and says that there is more", async () => {
    expect(await read(3)).toEqual({ pages: [[0, 1], [2]], said: ["more"] });
  });

  test.each([
    ["null", /did not return a list of this API/u],
    ['{"data":{},"meta":{"cursor":null}}', /did not return a list of this API/u],
    ['{"data":[]}', /did not return a list of this API/u],
    ['{"data":[],"meta":{"cursor":7}}', /did not return a list of this API/u],
    ['{"data":[1],"meta":{"cursor":"again"}}', /never ends: pages repeat/u],
  ])("of another server ends with a sentence: %s", async (body, sentence) => {
    const connection = await serve((_request, response) => response.end(body));
    const pages = collect(pagesOf(connection, { path: "/", query: {} }, { limit: 100 }));
    await expect(pages).rejects.toMatchObject({ exit: "unreachable", message: expect.stringMatching(sentence) });
  });

  test("with empty pages and new cursors ends too", async () => {
    let count = 0;
    const connection = await serve((_request, response) => {
      count += 1;
      response.end(JSON.stringify({ data: [], meta: { cursor: String(count) } }));
    });
    const pages = collect(pagesOf(connection, { path: "/", query: {} }, { limit: 100 }));
    await expect(pages).rejects.toMatchObject({ message: expect.stringContaining("or are empty") });
    expect(count).toBe(1_001);
  });

  test("says once when the server left items out", async () => {
    expect(await read(100, { complete: false })).toMatchObject({ said: ["incomplete"] });
    expect(await read(3, { complete: false })).toMatchObject({ said: ["more", "incomplete"] });
    expect(await read(100, { complete: true })).toMatchObject({ said: [] });
  });
});

describe("a request without something required names the flag that sets it", () => {
  const required = (field: string) => ({ errors: [{ field, code: "required", detail: `${field} is required` }] });
  const coded = (code: string, field: string) => ({ code, errors: [{ field, code, detail: "it has none" }] });
  const detail = "tenant is required: the token and the partner share no tenant by its name";

  test.each<[string, object, string]>([
    ["partners ping", { errors: [{ field: "tenant", code: "invalid_request", detail }] }, "set --tenant"],
    ["query", coded("tenant_required", "filter[tenant]"), "set --tenant"],
    ["slo", coded("tenant_required", "tenant"), "set --tenant"],
    ["gate", coded("tenant_required", "tenant"), "set --tenant"],
    ["dlq ack", { code: "tenant_required", detail: "add its tenant" }, "set --tenant"],
    ["replay", required("from"), "set --since"],
    ["dlq redrive", required("partner"), "set --partner"],
    ["send", required("data"), "set --body"],
    ["query", required("filter[region]"), "set --filter region=VALUE"],
  ])("%s %j", async (name, problem, hint) => {
    const flags = (await commands[name]?.())?.flags ?? [];
    const body = Buffer.from(JSON.stringify(problem));
    const error = withFlagHints(httpErrorOf({ status: 400, headers: {}, body }, true), flags) as Error;
    expect(error.message.endsWith(`; ${hint}`)).toBe(true);
  });

  test("and any other error stays as it is", () => {
    const body = Buffer.from(JSON.stringify({ errors: [{ field: "from", code: "invalid_time", detail: "no time" }] }));
    const error = httpErrorOf({ status: 400, headers: {}, body }, true);
    expect(withFlagHints(error, connectionFlags)).toBe(error);
  });
});
