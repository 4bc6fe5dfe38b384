import { mkdir, symlink, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ConsoleSettings } from "../../../../runtime/config/settings/settings.ts";
import { consoleRoutes, type ConsoleFiles } from "../../../../runtime/http/routes/console.ts";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import { readConsoleFiles } from "../../../../runtime/program/serve-apis.ts";
import { temporaryFolder, type TemporaryFolder } from "../../../support/temp-folder.ts";

const page = "<!doctype html><title>console</title>";
const script = `console.log(${JSON.stringify("x".repeat(4_000))});`;
const secret = "a secret beside the folder";
const asset = "/console/assets/app-1a2b3c4d.js";

let outside: TemporaryFolder;
let files: ConsoleFiles | undefined;
const apps: ReturnType<typeof createPublicServer>[] = [];

beforeAll(async () => {
  outside = await temporaryFolder("console-files");
  const folder = join(outside.path, "console");
  await mkdir(join(folder, "assets"), { recursive: true });
  await writeFile(join(outside.path, "secret.txt"), secret);
  await symlink(join(outside.path, "secret.txt"), join(folder, "assets", "link.txt"));
  await symlink(outside.path, join(folder, "above"));
  await writeFile(join(folder, "index.html"), page);
  await writeFile(join(folder, "assets", "app-1a2b3c4d.js"), script);
  await writeFile(join(folder, "assets", "app-1a2b3c4d.js.gz"), gzipSync(script));
  await writeFile(join(folder, "assets", "app-1a2b3c4d.js.br"), brotliCompressSync(script));
  files = await readConsoleFiles(folder);
});
afterAll(async () => {
  await Promise.all(apps.map(async (app) => app.close()));
  await outside.remove();
});

interface Given {
  readonly files?: ConsoleFiles | undefined;
  readonly settings?: ConsoleSettings;
}

function serverWith(options: Given = { files }) {
  const app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: () => undefined,
    now: Date.now,
    authenticate: async () => {
      throw new Error("the console needs no token");
    },
    routes: consoleRoutes({
      files: options.files,
      settings: options.settings ?? { enabled: true },
      local: {
        proveOrigin: async (nonce, origin) => `${nonce} ${origin}`,
        bindToKey: async (token, jkt) =>
          token === "valid" ? { token: `${token} ${jkt}`, expiresAtMs: Date.now() + 60_000 } : undefined,
        dataFolder: "/home/one/data",
        program: "heliograph",
      },
      version: "1.2.3",
    }),
  });
  apps.push(app);
  return app;
}

const get = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  serverWith().inject({ url, headers: { ...headers } });

describe("the page", () => {
  test.each([
    "/console",
    "/console/",
    "/console/index.html",
    "/console/partners/shop/one",
    "/console/events/a%2Fb?status=5xx",
    "/console/licenses",
    "/console/config.json/more",
  ])("is the answer to %s, to be asked for again each time", async (url) => {
    const { statusCode, headers, body } = await get(url);
    expect([statusCode, body]).toEqual([200, page]);
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      vary: "Accept-Encoding",
    });
  });

  test("may run only files of this server and speak to nobody else", async () => {
    const { headers } = await get("/console/");
    expect(String(headers["content-security-policy"]).split("; ")).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]);
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
    });
    expect(headers["set-cookie"]).toBeUndefined();
  });

  test("may also speak to the origin of its issuer, and to no path of it", async () => {
    const settings = { enabled: true, issuer: "https://id.example:8443/realms/one", clientId: "console" };
    const { headers } = await serverWith({ files, settings }).inject({ url: "/console/" });
    expect(headers["content-security-policy"]).toContain("; connect-src 'self' https://id.example:8443; ");
  });

  test("is not sent to a browser that has it", async () => {
    const { headers } = await get("/console/");
    const again = await get("/console/partners", { "if-none-match": String(headers["etag"]) });
    expect([again.statusCode, again.body]).toEqual([304, ""]);
    expect(again.headers["content-security-policy"]).toBe(headers["content-security-policy"]);
    expect((await get("/console/", { "if-none-match": '"other"' })).statusCode).toBe(200);
  });
});

describe("a file", () => {
  test.each([
    ["as it is", undefined, undefined, (bytes: Buffer) => bytes],
    ["as it is to a client that takes nothing else", "identity;q=1, *;q=0", undefined, (bytes: Buffer) => bytes],
    ["by gzip", "gzip", "gzip", gunzipSync],
    ["by Brotli, which is smaller", "gzip, deflate, br, zstd", "br", brotliDecompressSync],
    ["by the coding that the client prefers", "br;q=0.5, gzip", "gzip", gunzipSync],
  ] as const)("is sent %s", async (_name, accepted, coding, decode) => {
    const { statusCode, headers, rawPayload } = await get(
      asset,
      accepted === undefined ? {} : { "accept-encoding": accepted },
    );
    expect([statusCode, headers["content-encoding"]]).toEqual([200, coding]);
    expect(decode(rawPayload).toString()).toBe(script);
    expect(headers).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "public, max-age=31536000, immutable",
      vary: "Accept-Encoding",
      "x-content-type-options": "nosniff",
    });
  });

  test("has one tag for each coding, and 304 by that tag only", async () => {
    const codings = ["br", "gzip", "identity"];
    const tags = await Promise.all(
      codings.map(async (coding) => String((await get(asset, { "accept-encoding": coding })).headers["etag"])),
    );
    expect(new Set(tags).size).toBe(3);
    const [br = ""] = tags;
    const statusOf = async (coding: string): Promise<number> =>
      (await get(asset, { "accept-encoding": coding, "if-none-match": br })).statusCode;
    expect([await statusOf("br"), await statusOf("gzip")]).toEqual([304, 200]);
  });

  test("that is not there is 404, never the page in its place", async () => {
    const { statusCode, headers, body } = await get("/console/assets/app-of-another-version.js");
    expect([statusCode, headers["content-type"], headers["cache-control"]]).toEqual([
      404,
      "application/problem+json",
      "no-store",
    ]);
    expect(JSON.parse(body)).toMatchObject({
      code: "not_found",
      detail: expect.stringContaining("reload the page"),
    });
  });

  test("has its head", async () => {
    const { statusCode, body, headers } = await serverWith().inject({ method: "HEAD", url: asset });
    expect([statusCode, body, headers["content-length"]]).toEqual([200, "", String(script.length)]);
  });

  test.each(["POST", "PUT", "DELETE"] as const)("refuses %s", async (method) => {
    const { statusCode, headers } = await serverWith().inject({ method, url: asset });
    expect([statusCode, headers["allow"]]).toEqual([405, "GET, HEAD"]);
  });
});

describe("no path leads out of the folder:", () => {
  const attacks = [
    "/console/../secret.txt",
    "/console/assets/../../secret.txt",
    "/console/assets/..%2f..%2fsecret.txt",
    "/console/%2e%2e/secret.txt",
    "/console/%2e%2e%2fsecret.txt",
    "/console/%252e%252e%252fsecret.txt",
    "/console/..\\secret.txt",
    "/console/..%5csecret.txt",
    "/console/assets/..;/secret.txt",
    "/console/assets/link.txt",
    "/console/above/secret.txt",
    "/console//etc/passwd",
    "/console/%00secret.txt",
    "/console/assets/app-1a2b3c4d.js%00.html",
    "/console/assets/%c0%ae%c0%ae/secret.txt",
    "/console/%",
    "/console/file:///etc/passwd",
    "/console/__proto__",
    "/console/assets/constructor",
    "/console/assets/app-1a2b3c4d.js/../../../secret.txt",
    "http://127.0.0.1/console/../secret.txt",
  ];

  test.each(attacks)("%s", async (target) => {
    const app = serverWith();
    if (!app.server.listening) await app.listen({ host: "127.0.0.1", port: 0 });
    const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
    // By hand: clients would resolve the dots before they send.
    socket.write(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);
    const answer = await text(socket);
    expect(answer).not.toContain(secret);
    expect(answer).toMatch(/^HTTP\/1\.1 (?:400|404) |^HTTP\/1\.1 200 [^]*<title>console<\/title>$/u);
  });

  test("links are not read, nor folders behind them", () => {
    expect([...(files ?? new Map<string, unknown>()).keys()].sort()).toEqual(["assets/app-1a2b3c4d.js", "index.html"]);
  });
});

describe("the configuration", () => {
  test("of a program on one machine names no issuer", async () => {
    const { statusCode, headers, body } = await get("/console/config.json");
    expect(statusCode).toBe(200);
    expect(headers["cache-control"]).toBe("no-store");
    expect(JSON.parse(body)).toEqual({
      issuer: null,
      client_id: null,
      scopes: null,
      is_local: true,
      open_command: null,
      version: "1.2.3",
    });
  });

  test("has a nonce and the origin of the connection signed, whatever the Host header says", async () => {
    const app = serverWith();
    await app.listen({ host: "127.0.0.1", port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const own = `http://127.0.0.1:${port}`;
    const nonce = "n".repeat(22);
    const read = async (query: string) =>
      fetch(`${own}/console/config.json${query}`, { headers: { host: "x.example" } });
    expect(await (await read(`?nonce=${nonce}`)).json()).toMatchObject({ proof: `${nonce} ${own}` });
    expect((await read("?nonce=short")).status).toBe(400);
  });

  test("names the issuer, the client and its scopes", async () => {
    const settings = {
      enabled: true,
      issuer: "https://id.example",
      clientId: "console",
      scopes: "openid webhooks:read",
    };
    const { body } = await serverWith({ settings }).inject({ url: "/console/config.json" });
    expect(JSON.parse(body)).toMatchObject({
      issuer: "https://id.example",
      client_id: "console",
      scopes: "openid webhooks:read",
    });
  });
});

test("a console that was not built says how to build it", async () => {
  expect(await readConsoleFiles(join(outside.path, "absent"))).toBeUndefined();
  const { statusCode, headers, body } = await serverWith({}).inject({ url: "/console/" });
  expect([statusCode, headers["content-type"]]).toEqual([404, "application/problem+json"]);
  expect(JSON.parse(body)).toMatchObject({ code: "not_found", detail: expect.stringContaining("npm run console") });
});
