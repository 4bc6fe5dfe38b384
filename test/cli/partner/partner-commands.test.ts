import { spawn, spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createTcpServer } from "node:net";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { readArguments } from "../../../cli/dispatch.ts";
import { runProgram, startProgram, type Program } from "../../support/heliograph-process.ts";
import { listenOnLoopback } from "../../support/loopback.ts";
import { selfSignedCertificate } from "../../support/tls/self-signed-certificate.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";
import { waitFor } from "../../support/wait.ts";
import { run as runTool } from "../../tools/run.ts";
import { bodyText, newSecret, path, timestamp } from "../../recipients/vector-rows.ts";
import { vectors } from "../../recipients/vectors.ts";

const timeoutMs = 30_000;
let folder: TemporaryFolder;
let programs: Program[];

beforeEach(async () => {
  folder = await temporaryFolder("partner");
  programs = [];
  await write("acme.key", newSecret);
  await write("event.json", bodyText);
});

afterEach(async () => {
  for (const program of programs) {
    program.signal("SIGKILL");
    await program.ended();
  }
  await folder.remove();
});

const write = (name: string, content: string | Buffer) => writeFile(join(folder.path, name), content);
const run = (line: string, environment: Record<string, string> = {}) =>
  runProgram(line.split(" "), { cwd: folder.path, environment });

/** Starts `listen` and waits for its URL. */
async function listen(
  line: string,
  environment: Record<string, string> = {},
): Promise<Program & { readonly url: string }> {
  const program = startProgram(["listen", "--port", "0", ...line.split(" ")], { cwd: folder.path, environment });
  programs.push(program);
  const found = () => /http:\/\/127\.0\.0\.1:\d+/u.exec(program.stderr())?.[0];
  return Object.assign(program, { url: await waitFor(found, { timeoutMs, what: "listen to be ready" }) });
}

const signed = vectors[0]?.headers ?? {};

describe("heliograph sign", () => {
  test("prints the headers of the published vector, whichever way the key is given", async () => {
    const line = `sign event.json --path ${path} --timestamp ${timestamp}`;
    const byFile = await run(`${line} --key-file acme.key`);
    expect(byFile).toMatchObject({ code: 0, stderr: "" });
    for (const name of ["X-Signature", "X-Timestamp", "X-Event-Id", "X-Attempt"])
      expect(byFile.stdout.split("\n")).toContain(`${name}: ${signed[name]}`);
    expect(await run(line, { HELIOGRAPH_KEY: newSecret.toString() })).toEqual(byFile);
  });

  test("reads its standard input from a program, which gives a socket", () => {
    const program = join(import.meta.dirname, "../../../cli/heliograph.ts");
    const words = [program, "sign", "--path", path, "--key-file", join(folder.path, "acme.key")];
    const { status, stdout, stderr } = spawnSync(process.execPath, words, { input: bodyText, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain("X-Signature: ");
  });

  test("and verify fit together in every scheme", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    await write("private.pem", privateKey.export({ type: "pkcs8", format: "pem" }));
    await write("public.pem", publicKey.export({ type: "spki", format: "pem" }));
    const rows = [
      ["StandardWebhooks", "acme.key", "acme.key", path],
      ["HttpMessageSignatures", "private.pem", "public.pem", `https://partner.example${path}`],
      ["HttpMessageSignatures", "private.pem", "public.pem", `https://partner.example${path}?code=a/b%3D`],
    ];
    for (const [scheme, key, verifies, where = ""] of rows) {
      const { stdout } = await run(`sign event.json --scheme ${scheme} --key-file ${key} --path ${where}`);
      const target = where.replace("https://partner.example", "");
      await write("headers.txt", `POST ${target} HTTP/1.1\r\nHost: partner.example:443\r\n${stdout}`);
      const result = await run(`verify event.json --scheme ${scheme} --key-file ${verifies} --headers headers.txt`);
      expect(result).toMatchObject({ code: 0, stdout: expect.stringMatching(/^valid: event evt_1, key /u) });
    }
  });
});

describe("heliograph verify", () => {
  const rows = [
    ["a clock 301 s off", "", { now: "2026-01-02T03:09:06.679Z" }, "timestamp_outside_window", "check the clock"],
    [
      "a line feed in the key",
      "",
      { key: `${newSecret.toString()}\n` },
      "signature_mismatch",
      "for example with printf",
    ],
    ["another body", "", { body: bodyText.replace("1050", "1051") }, "signature_mismatch", "signed text:\n  2026"],
    [
      "a body that was written again",
      "",
      { body: JSON.stringify(JSON.parse(bodyText), null, 1) },
      "signature_mismatch",
      "before a framework",
    ],
    ["another method", " --method PUT", {}, "signature_mismatch", "valid for the method POST"],
  ] as const;

  test("reads a header in two lines as servers do", async () => {
    const lines = Object.entries({ "x-signature": "v2=abc", ...signed }).map(([name, value]) => `${name}: ${value}`);
    await write("headers.txt", lines.join("\n"));
    const line = `verify event.json --headers headers.txt --path ${path} --key-file acme.key --now 2026-01-02T03:04:06.000Z`;
    expect(await run(line)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^valid: event evt_1/u) });
  });

  test.each(rows)("says of %s which check failed, and ends with 1", async (_, flags, change, fault, sentence) => {
    const { now = "2026-01-02T03:04:06.000Z", key, body } = change as { now?: string; key?: string; body?: string };
    await write(
      "headers.txt",
      Object.entries(signed)
        .map(([name, value]) => `${name}: ${value}`)
        .join("\n"),
    );
    if (key !== undefined) await write("acme.key", key);
    if (body !== undefined) await write("event.json", body);
    const line = `verify event.json --headers headers.txt --path ${path} --key-file acme.key --now ${now}${flags}`;
    const { code, stdout } = await run(line);
    expect({ code, first: stdout.split(": ", 2)[1] }).toEqual({ code: 1, first: fault });
    expect(stdout).toContain(sentence);
  });

  test.each([
    ["verify DIR/event.json --headers DIR/missing.txt --key-file DIR/acme.key", "folder", "missing.txt cannot be read"],
    ["verify DIR/event.json --headers DIR/event.json --key-file DIR/acme.key --path /x", "usage", "use NAME: VALUE"],
    [
      "trigger a.b --to http://127.0.0.1:1 --key-file DIR/acme.key -d []",
      "usage",
      "the event data must be a JSON object",
    ],
    ["sign DIR/acme.key --path /x --key-file DIR/acme.key", "usage", "the body is not an event"],
    [
      "sign DIR/event.json --path /x --key-file DIR/acme.key --key-id a",
      "usage",
      "--key-id applies to private keys only",
    ],
    [
      "sign DIR/event.json --path http://x/ --key-file DIR/acme.key --scheme HttpMessageSignatures",
      "usage",
      "needs a different key",
    ],
  ])("%s ends with the code of %s", async (line, exit, sentence) => {
    const words = line.replaceAll("DIR", folder.path).split(" ");
    const invocation = await readArguments(words, {});
    await expect(invocation.run()).rejects.toMatchObject({ exit, message: expect.stringContaining(sentence) });
  });

  test("prints no character that controls a terminal, whatever the headers hold", async () => {
    await write("headers.txt", "POST /x\u001B[31m\nX-Timestamp: 1\u001B[31m\nX-Signature: AAAA\nX-Event-Id: e\n");
    const refused = await run("verify event.json --key-file acme.key --headers headers.txt --path /x");
    await write("headers.txt", "POST /x\n\u001B[31m\n");
    const unreadable = await run("verify event.json --key-file acme.key --headers headers.txt");
    expect([refused.code, unreadable.code]).toEqual([1, 2]);
    expect([refused, unreadable].map(({ stdout, stderr }) => stdout + stderr).join("")).not.toContain("\u001B");
  });
});

describe("heliograph trigger and listen", () => {
  test("send and print one delivery, refuse another key, and end with 0 on SIGINT", async () => {
    const program = await listen("--key-file acme.key");
    const to = `--to ${program.url}${path}`;
    await write("data.json", '{"payout_id":"p-1"}');
    const line = `trigger payout.processed ${to} --key-file acme.key --event-id evt_7 -f data.json`;
    expect(await run(line)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^evt_7: 200 in \d+ ms: the event is delivered\n$/u),
    });
    expect(await run(`trigger payout.processed ${to} -o json`, { HELIOGRAPH_KEY: "k".repeat(32) })).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('"status":401'),
    });
    await waitFor(() => program.stdout().split("\n").length > 2, { timeoutMs, what: "two lines" });
    program.signal("SIGINT");
    const { code, stdout } = await program.ended();
    expect(code).toBe(0);
    expect(stdout).toMatch(/evt_7 payout\.processed attempt 1 valid \(acme\.key\) 200 in \d+ ms\n/u);
    expect(stdout).toMatch(/signature_mismatch 401 in \d+ ms: no key matches the signature/u);
  });

  test("end with 0 when the reader of the output is gone", async () => {
    const program = join(import.meta.dirname, "../../../cli/heliograph.ts");
    const child = spawn(process.execPath, [program, "listen", "--port", "0"], { stdio: ["ignore", "pipe", "pipe"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const ended = once(child, "exit");
    let said = "";
    child.stderr.on("data", (text: Buffer) => (said += text.toString()));
    const ready = () => /http:\/\/127\.0\.0\.1:\d+/u.exec(said)?.[0];
    const url = await waitFor(ready, { timeoutMs, what: "listen to be ready" });
    child.stdout.destroy();
    await fetch(url, { method: "POST", body: bodyText });
    expect(await ended).toEqual([0, null]);
  });

  test("end with 12 and one sentence when nothing responds", async () => {
    const { code, stderr } = await run("trigger a.b --to http://127.0.0.1:1/x --key-file acme.key");
    expect({ code, stderr }).toEqual({
      code: 12,
      stderr: "heliograph: http://127.0.0.1:1 does not respond: ECONNREFUSED; check the URL.\n",
    });
  });

  test("forward a delivery unchanged and answer what the endpoint answers", async () => {
    const seen: { readonly url?: string; readonly headers: IncomingMessage["headers"] }[] = [];
    const server = createServer((request, response) => {
      seen.push({ url: request.url ?? "", headers: request.headers });
      response.writeHead(429, { "Retry-After": "7" }).end('{"error":"busy"}');
    });
    const endpoint = await listenOnLoopback(server);
    const program = await listen(`--key-file acme.key -o json --forward http://127.0.0.1:${endpoint.port}`);
    const result = await run(`trigger a.b --to ${program.url}/v1/a --key-file acme.key -o json`);
    expect(result.code).toBe(1);
    expect(JSON.parse(result.stdout)).toMatchObject({
      status: 429,
      consequence: "the sender would retry",
      headers: { "retry-after": "7" },
      body: '{"error":"busy"}',
    });
    const line = await waitFor(
      () =>
        program
          .stdout()
          .split("\n")
          .find((text) => text !== ""),
      { timeoutMs, what: "a line" },
    );
    const printed = JSON.parse(line) as Record<string, unknown>;
    expect(printed).toMatchObject({ path: "/v1/a", type: "a.b", attempt: "1", result: "valid", status: 429 });
    expect(seen).toMatchObject([{ url: "/v1/a", headers: { "x-event-id": printed["event_id"] } }]);
    expect(seen[0]?.headers["x-signature"]).toMatch(/^v1=/u);
    await endpoint.close();
    expect((await run(`trigger a.b --to ${program.url}/v1/a --key-file acme.key`)).stdout).toContain("502");
  });

  test("forward to the TLS name of the endpoint, and return a compressed body as it came", async () => {
    const identity = selfSignedCertificate(["localhost"]);
    await write("ca.pem", identity.cert);
    const hosts: unknown[] = [];
    const server = createHttpsServer(identity, (request, response) => {
      hosts.push(request.headers.host);
      response.writeHead(200, { "Content-Encoding": "gzip" }).end(gzipSync("compressed ".repeat(100)));
    }).on("secureConnection", (socket) => hosts.push(socket.servername));
    const endpoint = await listenOnLoopback(server);
    onTestFinished(() => endpoint.close());
    const program = await listen(`--forward https://localhost:${endpoint.port}`, {
      NODE_EXTRA_CA_CERTS: join(folder.path, "ca.pem"),
    });
    const response = await fetch(`${program.url}/v1/a`, { method: "POST", body: bodyText });
    expect(await response.text()).toBe("compressed ".repeat(100));
    // The signature may cover the host that the sender names.
    expect(hosts).toEqual(["localhost", new URL(program.url).host]);
  });

  test("show what the sender makes of a response that does not follow HTTP", async () => {
    const text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-Note: a\r\n b\r\nContent-Length: 2\r\n\r\nok";
    const server = createTcpServer((socket) => socket.once("data", () => socket.end(text)));
    const endpoint = await listenOnLoopback(server);
    onTestFinished(() => endpoint.close());
    const line = `trigger a.b --to http://127.0.0.1:${endpoint.port}/x --key-file acme.key --event-id evt_7`;
    const { code, stdout } = await run(line);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^evt_7: 200 in \d+ ms: the event is delivered\nwarning: x-note: folded over several lines .*\nok\n$/u,
      ),
    });
    expect(JSON.parse((await run(`${line} -o json`)).stdout)).toMatchObject({
      status: 200,
      warnings: [expect.stringMatching(/^x-note: folded/u)],
    });
  });

  test("sign what curl sends", async (context) => {
    const { code } = await runTool("curl", ["--version"], { timeoutMs });
    context.skip(code !== 0, "there is no curl on PATH");
    const program = await listen("--key-file acme.key");
    const { stdout } = await run(`sign event.json --key-file acme.key --path ${path}`);
    await write("headers.txt", stdout);
    const args = [
      "--silent",
      "--write-out",
      "%{http_code}",
      "--header",
      "@headers.txt",
      "--data-binary",
      "@event.json",
    ];
    const sent = await runTool("curl", [...args, program.url + path], { cwd: folder.path, timeoutMs });
    expect(sent.stdout).toBe("200");
  });
});

describe("the commands for partners", () => {
  test.each([
    ["listen --forward http://127.0.0.1:1/path", "--forward must be an origin such as http://127.0.0.1:1"],
    ["listen --port 65536", "--port must be an integer from 0 to 65535"],
    ["listen --scheme Other", "--scheme must be one of HmacV1"],
    ["trigger a.b --to http://x -d {} -f x --key-file k", "--data and --file are mutually exclusive"],
    ["sign --path /x --key-file k --timestamp yesterday", "--timestamp must be a UTC time"],
    ["verify --headers - --key-file k", "cannot both be read from standard input"],
    ["trigger --to http://x --key-file k", "trigger needs a TYPE"],
    ["trigger a.b --to ftp://x --key-file k", "--to must be a URL"],
    [
      "trigger a.b --to http://x/v1?x=1 --key-file k",
      "--to must not have a query with HmacV1, which signs only the path",
    ],
    ["trigger a.b --to http://x/v1? --key-file k", "--to must not have a query with HmacV1, which signs only the path"],
    ["verify --headers h", "--key-file or HELIOGRAPH_KEY is required"],
    ["sign --path /x --key-file k --scheme HttpMessageSignatures", "--path must be the full URL"],
  ])("%s is refused", async (line, sentence) => {
    await expect(readArguments(line.split(" "), {})).rejects.toThrow(sentence);
  });

  test.each(["HttpMessageSignatures", "StandardWebhooks"])(
    "trigger takes a URL with a query under %s",
    async (scheme) => {
      const line = `trigger a.b --to http://x/v1?x=1 --key-file k --scheme ${scheme}`;
      await expect(readArguments(line.split(" "), {})).resolves.toMatchObject({ args: { scheme } });
    },
  );

  test("take a key from a file or from the environment, not from both", async () => {
    const line = "listen --key-file k".split(" ");
    await expect(readArguments(line, { HELIOGRAPH_KEY: "x" })).rejects.toThrow("mutually exclusive");
    await expect(readArguments(["listen", "--key", "x"], {})).rejects.toThrow("Unknown option");
  });
});
