import { hash } from "node:crypto";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { connect, createServer as createRelay, type AddressInfo, type Server } from "node:net";
import { join } from "node:path";
import { calculateJwkThumbprint, decodeJwt, exportJWK, generateKeyPair, SignJWT } from "jose";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defaultSettings } from "../../../runtime/config/settings/settings-schema.ts";
import { createAuthenticate } from "../../../runtime/http/authentication/authenticate.ts";
import { programName } from "../../../runtime/program/start-standalone.ts";
import { openDevIssuer } from "../../../runtime/http/authentication/dev-issuer.ts";
import { consoleRoutes, type ConsoleFiles } from "../../../runtime/http/routes/console.ts";
import { meRoute } from "../../../runtime/http/routes/me.ts";
import { createPublicServer } from "../../../runtime/http/server/public-server.ts";
import { findBrowserStarter, openConsole } from "../../../cli/serving/open-console.ts";
import { runProgram } from "../../support/heliograph-process.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";

let folder: TemporaryFolder;
let data: string;
const apps: ReturnType<typeof createPublicServer>[] = [];
let local: string;
let elsewhere: string;
let off: string;
let unbuilt: string;
/** Passes connections on to `local`. */
let relay: Server;
let relayed: string;
const pageBytes = { bytes: Buffer.from("<!doctype html>"), etag: '"1"' };
const builtPage: ConsoleFiles = new Map([
  ["index.html", { mediaType: "text/html; charset=utf-8", codings: new Map([["identity", pageBytes]]) }],
]);

beforeAll(async () => {
  folder = await temporaryFolder("open");
  data = join(folder.path, "data");
  await openDevIssuer(data);
  await openDevIssuer(join(folder.path, "other"));
  [local, elsewhere, off, unbuilt] = await Promise.all([
    serve({ isLocal: true, files: builtPage }),
    serve({ isLocal: false, files: builtPage }),
    serve(undefined),
    serve({ isLocal: true, files: undefined }),
  ]);
  relay = createRelay((socket) => {
    const onward = connect(Number(new URL(local).port), "127.0.0.1");
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) end.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  relayed = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`;
});
afterAll(async () => {
  relay.close();
  await Promise.all(apps.map(async (app) => app.close()));
  await folder.remove();
});

/** A server that trusts the issuer of the data folder. @param console undefined where the console is off */
async function serve(
  console: { readonly isLocal: boolean; readonly files: ConsoleFiles | undefined } | undefined,
): Promise<string> {
  const { trusted } = await openDevIssuer(data);
  const own = { settings: { enabled: true }, version: "1.2.3" };
  const app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: () => undefined,
    now: Date.now,
    authenticate: createAuthenticate([trusted], defaultSettings.claims, Date.now),
    routes: [
      meRoute({ version: "1.2.3" }),
      ...(console === undefined
        ? []
        : consoleRoutes({
            ...own,
            files: console.files,
            local: console.isLocal
              ? { ...trusted, dataFolder: data, program: programName({ npm_command: "exec" }) }
              : undefined,
          })),
    ],
  });
  apps.push(app);
  await app.listen({ host: "127.0.0.1", port: 0 });
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}

const open = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  runProgram(["open", ...args], { environment: { XDG_CONFIG_HOME: folder.path, ...environment } });

describe("heliograph open", () => {
  test("prints the console of a server of this machine with the token of an administrator", async () => {
    const { code, stdout, stderr } = await open(["--url", local, "--data", data, "--role", "sre", "--ttl", "30m"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [address, token = ""] = stdout.trim().split("#token=");
    expect(address).toBe(`${local}/console/`);
    const { iat = 0, exp = 0, aud } = decodeJwt(token);
    expect(exp - iat).toBe(1_800);
    expect(aud).toBe(local);
    const me = await fetch(`${local}/v1/me`, { headers: { authorization: `Bearer ${token}` } });
    expect(await me.json()).toMatchObject({
      client: "console",
      tenants: ["*", "-"],
      partners: null,
      roles: ["sre"],
      is_console_admin: true,
    });
  });

  test("gets a token that the page binds to its key; a copy of the bound token is useless without the key", async () => {
    const { stdout } = await open(["--url", local, "--data", data, "--ttl", "30m"]);
    const token = stdout.trim().split("#token=")[1] ?? "";
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    const jwk = await exportJWK(publicKey);
    const bind = async (body: unknown) => {
      const response = await fetch(`${local}/console/token`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
    };
    const jkt = await calculateJwkThumbprint(jwk);
    const bound = await bind({ token, jkt });
    const { token: access, expires_in: seconds } = bound.body;
    expect([bound.status, Math.abs(Number(seconds) - 1_800) < 30]).toEqual([200, true]);
    expect(decodeJwt(String(access))).toMatchObject({ ...decodeJwt(token), cnf: { jkt } });

    const proof = await new SignJWT({
      htm: "GET",
      htu: `${local}/v1/me`,
      ath: hash("sha256", String(access), "base64url"),
    })
      .setProtectedHeader({ alg: "ES256", typ: "dpop+jwt", jwk })
      .setJti("one")
      .setIssuedAt()
      .sign(privateKey);
    const me = async (headers: Readonly<Record<string, string>>) => (await fetch(`${local}/v1/me`, { headers })).status;
    expect(await me({ authorization: `DPoP ${String(access)}`, dpop: proof })).toBe(200);
    expect(await me({ authorization: `Bearer ${String(access)}` })).toBe(401);
    expect(await me({ authorization: `DPoP ${String(access)}`, dpop: proof })).toBe(401);

    const other = await calculateJwkThumbprint(await exportJWK((await generateKeyPair("ES256")).publicKey));
    expect(await bind({ token: access, jkt: other })).toMatchObject({ status: 401, body: { code: "token_invalid" } });
    expect(await bind({ token: `${token}x`, jkt })).toMatchObject({ status: 401 });
    expect(await bind({ token, jkt: "short" })).toMatchObject({ status: 400, body: { code: "invalid_request" } });
    expect(await bind([])).toMatchObject({ status: 400 });
  });

  test("is the command that the page of this program prints", async () => {
    expect(programName({})).toBe("heliograph");
    const config = (await (await fetch(`${local}/console/config.json`)).json()) as { readonly open_command: string };
    expect(config.open_command).toBe(`npx heliograph open --data ${data} --url ${local}`);
    const { code, stdout } = await runProgram(config.open_command.split(" ").slice(2), { environment: {} });
    expect([code, stdout.startsWith(`${local}/console/#token=`)]).toEqual([0, true]);
    const far = (await (await fetch(`${elsewhere}/console/config.json`)).json()) as { readonly open_command: unknown };
    expect(far.open_command).toBeNull();
  });

  test("prints the console of any other server without a token", async () => {
    expect(await open(["--url", elsewhere, "--data", data])).toEqual({
      code: 0,
      stdout: `${elsewhere}/console/\n`,
      stderr: "",
    });
  });

  test("asks the server of the login", async () => {
    const config = join(folder.path, "config");
    await mkdir(join(config, "heliograph"), { recursive: true });
    await writeFile(join(config, "heliograph", "login.json"), JSON.stringify({ url: elsewhere }));
    expect((await open([], { XDG_CONFIG_HOME: config })).stdout).toBe(`${elsewhere}/console/\n`);
    await writeFile(
      join(config, "heliograph", "login.json"),
      JSON.stringify({ kubernetes: { serviceAccount: "shop/reader" } }),
    );
    const refused = await open([], { XDG_CONFIG_HOME: config });
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("forward a port with kubectl")]);
  });

  test.each([
    [
      "of another data folder",
      () => ["--url", local, "--data", join(folder.path, "other")],
      11,
      /does not have the key of the data folder/u,
    ],
    [
      "that passes everything on to one of this machine",
      () => ["--url", relayed, "--data", data],
      11,
      /forwards requests to http:\/\/127\.0\.0\.1:\d+, so no token is sent/u,
    ],
    ["whose data folder is not known", () => ["--url", local, "--data", join(folder.path, "x")], 2, /set --data/u],
    [
      "whose console is not built",
      () => ["--url", unbuilt, "--data", data],
      11,
      /is not built; run `npm run console`/u,
    ],
    ["without a console", () => ["--url", off, "--data", data], 11, /serves no console/u],
    ["that does not answer", () => ["--url", "http://127.0.0.1:1", "--data", data], 12, /cannot be reached/u],
  ] as const)("refuses a server %s", async (_name, args, code, sentence) => {
    const outcome = await open(args());
    expect(outcome).toMatchObject({ code, stdout: "" });
    expect(outcome.stderr).toMatch(sentence);
  });

  test("gives nothing to whatever claims to be a local server", async () => {
    const seen: string[] = [];
    const liar = createServer((request, response) => {
      seen.push(`${request.url?.split("?", 1)[0]} ${request.headers.authorization ?? "-"}`);
      response.setHeader("content-type", "application/json").end('{"is_local":true,"proof":"e30.e30.e30"}');
    });
    await new Promise<void>((resolve) => liar.listen(0, "127.0.0.1", resolve));
    const { port } = liar.address() as AddressInfo;
    const { code, stdout } = await open(["--url", `http://127.0.0.1:${port}`, "--data", data]);
    liar.close();
    expect({ code, stdout, seen }).toEqual({ code: 11, stdout: "", seen: ["/console/config.json -"] });
  });

  test("tells what to do with a local server of an earlier version, which proves nothing", async () => {
    const earlier = createServer((_request, response) => {
      response.setHeader("content-type", "application/json").end('{"is_local":true}');
    });
    await new Promise<void>((resolve) => earlier.listen(0, "127.0.0.1", resolve));
    const { port } = earlier.address() as AddressInfo;
    const { code, stdout, stderr } = await open(["--url", `http://127.0.0.1:${port}`, "--data", data]);
    earlier.close();
    expect({ code, stdout }).toEqual({ code: 11, stdout: "" });
    expect(stderr).toMatch(/runs an earlier version.*; restart it with this version, or use `heliograph open`/u);
  });

  test("makes a token that another server of the folder refuses", async () => {
    const { stdout } = await open(["--url", local, "--data", data]);
    const [, token = ""] = stdout.trim().split("#token=");
    const headers = { authorization: `Bearer ${token}` };
    const answers = await Promise.all([local, unbuilt].map(async (url) => fetch(`${url}/v1/me`, { headers })));
    expect(answers.map(({ status }) => status)).toEqual([200, 401]);
  });

  test("refuses a token of more than 12 hours", async () => {
    const { code, stderr } = await open(["--url", local, "--data", data, "--ttl", "13h"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("at most 12h, not 13h")]);
  });

  test("in a terminal gives the browser a file that only its user reads, and no token", async () => {
    const bin = join(folder.path, "bin");
    const said = join(folder.path, "said");
    await mkdir(bin);
    await writeFile(join(bin, "xdg-open"), `#!/bin/sh\necho "$1" > '${said}.new' && mv '${said}.new' '${said}'\n`);
    await chmod(join(bin, "xdg-open"), 0o755);
    let printed = "";
    const terminal = { isTTY: true, write: (text: string | Uint8Array) => (printed += String(text)) !== "" };
    const args = { url: local, dataFolder: data, roles: [], ttlSeconds: 60, isPrinted: false };
    await openConsole(args, { PATH: bin, DISPLAY: ":0", XDG_CONFIG_HOME: folder.path }, terminal);
    const page = join(data, "open-console.html");
    await expect.poll(async () => readFile(said, "utf8").catch(() => ""), { timeout: 30_000 }).toBe(`${page}\n`);
    expect((await stat(page)).mode & 0o777).toBe(0o600);
    expect(await readFile(page, "utf8")).toContain(`content="0;url=${printed.trim()}"`);
  });
});

describe("the program that opens a browser", () => {
  test.each([
    ["is none without a screen", { PATH: "/usr/bin:/bin" }, "linux"],
    ["is none where PATH has none", { PATH: "/nowhere", DISPLAY: ":0" }, "linux"],
    ["is none on a screen without PATH", { WAYLAND_DISPLAY: "wayland-0" }, "darwin"],
  ] as const)("%s", (_name, environment, platform) => {
    expect(findBrowserStarter(environment, platform)).toBeUndefined();
  });
});
