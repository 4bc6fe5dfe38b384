import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createServer as createHttpsServer, type ServerOptions } from "node:https";
import { createServer as createTcpServer, type Server, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import type { AttemptOutcome } from "../../../../runtime/webhooks/settlement/outcome.ts";
import { responseBodyBytesMax } from "../../../../runtime/webhooks/sending/exchange.ts";
import {
  createSender,
  type Sender,
  type SenderOptions,
  type SendRequest,
} from "../../../../runtime/webhooks/sending/send.ts";
import { listenOnLoopback, type Loopback } from "../../../support/loopback.ts";
import { startFrozenServer } from "../../../network/frozen-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { selfSignedCertificate } from "../../../support/tls/self-signed-certificate.ts";

const body = new TextEncoder().encode('{"event_id":"evt_1","attempt":1}');
const networks = { allowCidrs: ["127.0.0.0/8"], allowPlaintext: true };
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

async function start(server: Server, host?: string): Promise<Loopback> {
  const loopback = await listenOnLoopback(server, host);
  closers.push(() => loopback.close());
  return loopback;
}

function serve(listener: RequestListener): Promise<Loopback> {
  return start(createHttpServer(listener));
}

/** A server of raw bytes. The callback gets each connection after its first bytes. */
function serveRaw(answer: (socket: Socket) => void): Promise<Loopback> {
  return start(createTcpServer((socket) => socket.once("data", () => answer(socket))));
}

/** Starts a server in a thread, so that it responds after `delayMs` also while this thread is busy. */
async function serveInThread(delayMs: number): Promise<string> {
  const code = `
    const { createServer } = require("node:http");
    const server = createServer((_, response) => setTimeout(() => response.end("ok"), ${delayMs}));
    server.listen(0, "127.0.0.1", () => require("node:worker_threads").parentPort.postMessage(server.address().port));`;
  const worker = new Worker(code, { eval: true });
  closers.push(async () => void (await worker.terminate()));
  const port = await new Promise<number>((resolve) => worker.once("message", resolve));
  return `http://partner.test:${port}/hooks`;
}

/** Keeps this thread busy, so that timers fire late. */
function keepBusy(forMs: number): void {
  const endMs = performance.now() + forMs;
  while (performance.now() < endMs);
}

function newSender(options: SenderOptions = {}): Sender {
  const sender = createSender({ resolve: async () => ["127.0.0.1"], ...options });
  closers.push(() => sender.close());
  return sender;
}

function requestTo(url: string, change: Partial<SendRequest> = {}): SendRequest {
  return { url: new URL(url), headers: { "X-Event-Id": "evt_1" }, body, timeoutMs: 5_000, networks, ...change };
}

function at({ port }: Loopback, path = "/hooks"): string {
  return `http://partner.test:${port}${path}`;
}

function failure(reason: string): object {
  return { kind: "failure", reason };
}

const ok = (_: IncomingMessage, response: ServerResponse): void => void response.end("ok");

describe("a request", () => {
  test("is one POST of exactly the bytes and headers given (Webhook Event Delivery §4.1)", async () => {
    const seen: unknown[] = [];
    const server = await serve((request, response) => {
      const { "x-event-id": eventId, "content-length": length, host } = request.headers;
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        seen.push([request.method, request.url, eventId, length, host, Buffer.concat(chunks).toString()]);
        response.writeHead(202, { "X-Trace-Id": "t1" }).end("taken");
      });
    });
    const outcome = await newSender().send(requestTo(at(server, "/a%20b")));
    expect(outcome).toMatchObject({ kind: "response", status: 202, body: "taken", bodyTruncated: false });
    expect(outcome).toMatchObject({ headers: { "x-trace-id": "t1" } });
    const text = new TextDecoder().decode(body);
    expect(seen).toEqual([["POST", "/a%20b", "evt_1", String(body.length), `partner.test:${server.port}`, text]]);
  });

  test("measures the phases that happened", async () => {
    const sender = newSender();
    const server = await serve(ok);
    const first = await sender.send(requestTo(at(server)));
    const second = await sender.send(requestTo(at(server)));
    expect(Object.keys(first.timings)).toEqual(["dnsMs", "connectMs", "firstByteMs", "totalMs"]);
    expect(Object.keys(second.timings)).toEqual(["firstByteMs", "totalMs"]);
  });

  test("that HTTP does not allow is an internal failure", async () => {
    const server = await serve(ok);
    const outcome = await newSender().send(requestTo(at(server), { headers: { "bad name": "x" } }));
    expect(outcome).toMatchObject(failure("internal"));
  });
});

describe("connections", () => {
  test("are kept alive for the next attempt", async () => {
    const sender = newSender();
    const server = await serve(ok);
    for (let count = 0; count < 20; count += 1) await sender.send(requestTo(at(server)));
    expect(server.connections()).toBe(1);
  });

  test.each<[string, () => Promise<Loopback>, boolean]>([
    ["do not respond", () => serve(({ url }, response) => void (url === "/hooks" && response.end("ok"))), false],
    ["do not end their handshakes", () => start(createTcpServer()), true],
  ])("to servers that %s never keep another request to the same origin from its own", async (_, listen, isTls) => {
    const sender = newSender();
    const server = await listen();
    const url = isTls ? `https://partner.test:${server.port}/hooks` : at(server);
    const stop = new AbortController();
    const held = Array.from({ length: 300 }, () =>
      sender.send(requestTo(new URL("/held", url).href, { signal: stop.signal, timeoutMs: 60_000 })),
    );
    await waitFor(() => server.connections() === 300, {
      timeoutMs: 10_000,
      what: "the requests that hold connections",
    });
    const outcome = sender.send(requestTo(url, { timeoutMs: isTls ? 200 : 5_000 }));
    await waitFor(() => server.connections() === 301, { timeoutMs: 10_000, what: "one more" });
    expect(await outcome).toMatchObject(isTls ? failure("connect_timeout") : { kind: "response", status: 200 });
    stop.abort();
    expect((await Promise.all(held)).filter((one) => one.kind === "response")).toEqual([]);
  });

  test("are used again by as many partners with their own networks as there are, and dropped after a while", async () => {
    let timeMs = 0;
    const sender = newSender({ monotonicMs: () => timeMs });
    // The client keeps a connection for as long as the server announces.
    const server = await start(createHttpServer({ keepAliveTimeout: 60_000 }, ok));
    const all = Array.from({ length: 1_100 }, (_, place) => ({
      allowCidrs: [...networks.allowCidrs, `10.${place >> 8}.${place & 255}.0/24`],
      allowPlaintext: true,
    }));
    const send = async (some: typeof all): Promise<void> => {
      await Promise.all(some.map((one) => sender.send(requestTo(at(server), { networks: one }))));
    };
    for (let count = 0; count < 2; count += 1) {
      for (let from = 0; from < all.length; from += 100) await send(all.slice(from, from + 100));
      timeMs += 1_000;
    }
    expect(server.connections()).toBe(1_100);
    timeMs += 120_000;
    await send(all.slice(-1));
    await send(all.slice(0, 1));
    expect(server.connections()).toBe(1_101);
  });

  test("are not shared by partners that may reach different networks", async () => {
    const sender = newSender();
    const server = await serve(ok);
    await sender.send(requestTo(at(server)));
    const outcome = await sender.send(requestTo(at(server), { networks: { allowCidrs: [], allowPlaintext: true } }));
    expect(outcome).toMatchObject(failure("guard"));
    expect(server.connections()).toBe(1);
  });

  test("are not shared by partners with different TLS identities", async () => {
    const identity = selfSignedCertificate(["partner.test"]);
    const sender = newSender();
    const server = await start(createHttpsServer(identity, ok));
    const url = `https://partner.test:${server.port}/`;
    const first = await sender.send(requestTo(url, { tls: { ca: identity.cert } }));
    const second = await sender.send(requestTo(url, { tls: { ca: identity.cert, ...selfSignedCertificate(["a"]) } }));
    expect([first.kind, second.kind]).toEqual(["response", "response"]);
    expect(server.connections()).toBe(2);
  });

  test("close with the sender, and attempts under way fail", async () => {
    const sender = newSender();
    const asked = Promise.withResolvers<void>();
    const server = await serve(() => asked.resolve());
    const outcome = sender.send(requestTo(at(server)));
    await asked.promise;
    await sender.close();
    expect(await outcome).toMatchObject(failure("aborted"));
    expect(await sender.send(requestTo(at(server)))).toMatchObject(failure("aborted"));
    expect(server.connections()).toBe(1);
  });
});

describe("a partner that does not respond", () => {
  test("in time is a first_byte_timeout", async () => {
    const server = await serve(() => {});
    const outcome = await newSender().send(requestTo(at(server), { timeoutMs: 100 }));
    expect(outcome).toMatchObject(failure("first_byte_timeout"));
  });

  test("with a complete status line in time is a first_byte_timeout, even while bytes arrive", async () => {
    const server = await serveRaw((socket) => {
      socket.write("HTTP/1.1 200 ");
      const drip = setInterval(() => socket.write("x"), 10);
      socket.on("close", () => clearInterval(drip));
    });
    const outcome = await newSender().send(requestTo(at(server), { timeoutMs: 150 }));
    expect(outcome).toMatchObject(failure("first_byte_timeout"));
  });

  test("because no server listens is a connect failure", async () => {
    const server = await listenOnLoopback(createHttpServer());
    await server.close();
    const outcome = await newSender().send(requestTo(at(server)));
    expect(outcome).toMatchObject({ ...failure("connect"), detail: "partner.test: ECONNREFUSED" });
  });

  test("to the handshake in time is a connect_timeout", async () => {
    const server = await start(createTcpServer());
    const sender = newSender({ connectTimeoutMs: 100 });
    const outcome = await sender.send(requestTo(`https://partner.test:${server.port}/`));
    expect(outcome).toMatchObject({ ...failure("connect_timeout"), detail: "partner.test: no tls in time" });
  });

  test("to the handshake before the attempt is over is a connect_timeout too", async () => {
    const server = await start(createTcpServer());
    const outcome = await newSender().send(requestTo(`https://partner.test:${server.port}/`, { timeoutMs: 100 }));
    expect(outcome).toMatchObject(failure("connect_timeout"));
  });

  test("but whose response arrived in time while this process was busy counts by its status", async () => {
    const sender = newSender();
    const url = await serveInThread(50);
    await sender.send(requestTo(url));
    const outcome = sender.send(requestTo(url, { timeoutMs: 100 }));
    await nextTurn();
    keepBusy(400);
    expect(await outcome).toMatchObject({ kind: "response", status: 200 });
  });

  test.each([
    ["resets the connection", (socket: Socket) => void socket.resetAndDestroy(), "reset"],
    ["closes the connection", (socket: Socket) => void socket.end(), "reset"],
    ["closes it inside the status line", (socket: Socket) => void socket.end("HTTP/1.1 200 OK"), "reset"],
    ["answers with garbage", (socket: Socket) => void socket.end("\u0000\u0001 garbage\r\n\r\n"), "response_invalid"],
    ["answers with another protocol", (socket: Socket) => void socket.end("SSH-2.0-x\r\n"), "response_invalid"],
    [
      "switches protocols",
      (socket: Socket) => void socket.write("HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
      "response_invalid",
    ],
    [
      "answers with a status line without end",
      (socket: Socket) => void socket.write(`HTTP/1.1 200 ${"y".repeat(20_000)}`),
      "response_invalid",
    ],
  ])("but %s is a failure that says so", async (_, answer, reason) => {
    const server = await serveRaw(answer);
    expect(await newSender().send(requestTo(at(server)))).toMatchObject(failure(reason));
  });

  test("allows the caller to abort the attempt", async () => {
    const asked = Promise.withResolvers<void>();
    const stop = new AbortController();
    const server = await serve(() => asked.resolve());
    const sender = newSender();
    const outcome = sender.send(requestTo(at(server), { signal: stop.signal }));
    await asked.promise;
    stop.abort();
    expect(await outcome).toMatchObject(failure("aborted"));
    expect(await sender.send(requestTo(at(server), { signal: stop.signal }))).toMatchObject(failure("aborted"));
  });
});

describe("a response", () => {
  test("counts by its status when its body never ends", async () => {
    const server = await serve((_, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write("x"), 10);
      response.on("close", () => clearInterval(drip));
    });
    const outcome = await newSender().send(requestTo(at(server), { timeoutMs: 200 }));
    expect(outcome).toMatchObject({ kind: "response", status: 200, bodyTruncated: true });
  });

  test("counts by its status when its head never ends, even while bytes arrive", async () => {
    const server = await serveRaw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nX-Trace-Id: t1\r\nX-");
      const drip = setInterval(() => socket.write("x"), 10);
      socket.on("close", () => clearInterval(drip));
    });
    expect(await newSender().send(requestTo(at(server), { timeoutMs: 200 }))).toMatchObject({
      kind: "response",
      status: 200,
      headers: { "x-trace-id": "t1" },
      bodyTruncated: true,
      warnings: ["x-trace-id: the head did not end within the attempt"],
    });
  });

  test("counts by its status when the attempt is aborted within its head", async () => {
    const written = Promise.withResolvers<void>();
    const stop = new AbortController();
    const head = "HTTP/1.1 429 X\r\nRetry-After: 7\r\n";
    const server = await serveRaw((socket) => void socket.write(head, () => written.resolve()));
    const outcome = newSender().send(requestTo(at(server), { signal: stop.signal }));
    await written.promise;
    await nextTurn();
    await nextTurn();
    stop.abort();
    expect(await outcome).toMatchObject({ kind: "response", status: 429, headers: { "retry-after": "7" } });
  });

  test("counts by its status when its body is cut", async () => {
    const server = await serveRaw((socket) => void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart"));
    const outcome = await newSender().send(requestTo(at(server)));
    expect(outcome).toMatchObject({ kind: "response", status: 200, body: "part", bodyTruncated: true });
  });

  test("of 1 GB is read up to the limit only", async () => {
    const closed = Promise.withResolvers<void>();
    let writtenBytes = 0;
    const server = await serve((request, response) => {
      const chunk = Buffer.alloc(65_536, "x");
      const pump = (): void => {
        let hasRoom = true;
        while (writtenBytes < 1_000_000_000 && !response.destroyed && hasRoom) {
          hasRoom = response.write(chunk);
          writtenBytes += chunk.length;
        }
      };
      response.writeHead(200, { "Content-Length": 1_000_000_000 });
      response.on("drain", pump).on("close", () => closed.resolve());
      request.resume().on("end", pump);
    });
    const outcome = await newSender().send(requestTo(at(server)));
    await closed.promise;
    expect(outcome).toMatchObject({ status: 200, bodyTruncated: true, body: "x".repeat(responseBodyBytesMax) });
    // The sockets of both sides buffer bytes that are never read.
    expect(writtenBytes).toBeLessThan(50_000_000);
  });

  test("of exactly the limit is complete", async () => {
    const server = await serve((_, response) => void response.end("x".repeat(responseBodyBytesMax)));
    const outcome = await newSender().send(requestTo(at(server)));
    expect(outcome).toMatchObject({ bodyTruncated: false, body: "x".repeat(responseBodyBytesMax) });
  });

  test("is cut between characters", async () => {
    const server = await serve((_, response) => void response.end(`x${"ü".repeat(responseBodyBytesMax)}`));
    const outcome = await newSender().send(requestTo(at(server)));
    expect(outcome).toMatchObject({ bodyTruncated: true, body: `x${"ü".repeat(responseBodyBytesMax / 2 - 1)}` });
  });

  test("of any bytes is stored as text", async () => {
    const server = await serve((_, response) => void response.end(Buffer.from([0xff, 0x00, 0x41])));
    expect(await newSender().send(requestTo(at(server)))).toMatchObject({ body: "\ufffd\u0000A" });
  });

  test("that is compressed is never decompressed", async () => {
    const server = await serve((_, response) => {
      response.writeHead(500, { "Content-Encoding": "gzip" }).end(gzipSync("x".repeat(10_000_000)));
    });
    const outcome = await newSender().send(requestTo(at(server)));
    expect(outcome).toMatchObject({ status: 500, body: "", bodyTruncated: true });
  });

  test("that redirects is returned and not followed", async () => {
    const inside = await serve(ok);
    const server = await serve((_, response) => void response.writeHead(307, { Location: at(inside) }).end());
    const outcome = await newSender().send(requestTo(at(server)));
    expect(outcome).toMatchObject({ kind: "response", status: 307, headers: { location: at(inside) } });
    expect(inside.connections()).toBe(0);
  });

  test("is stored without its cookies", async () => {
    const server = await serve(
      (_, response) => void response.writeHead(200, { "Set-Cookie": "s=1", "X-A": "b" }).end(),
    );
    const outcome = await newSender().send(requestTo(at(server)));
    expect(outcome).toMatchObject({ headers: { "x-a": "b" } });
    expect(JSON.stringify(outcome)).not.toContain("s=1");
  });

  test("that is only informational does not count", async () => {
    const server = await serveRaw((socket) => void socket.end("HTTP/1.1 103 Early Hints\r\n\r\n"));
    expect(await newSender().send(requestTo(at(server)))).toMatchObject(failure("reset"));
  });

  test("after informational ones counts", async () => {
    const server = await serve((_, response) => {
      response.writeEarlyHints({ link: "</x>; rel=preload" });
      response.writeHead(204).end();
    });
    expect(await newSender().send(requestTo(at(server)))).toMatchObject({ status: 204, body: "" });
  });

  test("stores a limited number of headers, those that settlement reads first", async () => {
    const server = await serve((_, response) => {
      for (let index = 0; index < 90; index += 1) response.setHeader(`X-${index}`, "y");
      response.setHeader("X-0", "y".repeat(5_000));
      response.writeHead(429, { "Retry-After": "7" }).end();
    });
    const outcome = await newSender().send(requestTo(at(server)));
    const headers = outcome.kind === "response" ? outcome.headers : {};
    expect(Object.keys(headers)).toHaveLength(48);
    expect(headers).toMatchObject({ "retry-after": "7", "x-0": "y".repeat(1_024) });
  });
});

describe("TLS", () => {
  const partner = selfSignedCertificate(["partner.test", "127.0.0.1"]);

  async function sendOver(
    options: ServerOptions,
    url: (port: number) => string,
    tls?: SendRequest["tls"],
  ): Promise<AttemptOutcome> {
    const server = await start(createHttpsServer(options, ok));
    return await newSender().send(requestTo(url(server.port), tls === undefined ? {} : { tls }));
  }

  const byName = (port: number): string => `https://partner.test:${port}/`;

  test("to a trusted certificate delivers, and its handshake is measured", async () => {
    const outcome = await sendOver(partner, byName, { ca: partner.cert });
    expect(outcome).toMatchObject({ kind: "response", status: 200 });
    expect(Object.keys(outcome.timings)).toEqual(["dnsMs", "connectMs", "tlsMs", "firstByteMs", "totalMs"]);
  });

  test("to an untrusted certificate fails", async () => {
    const outcome = await sendOver(partner, byName);
    expect(outcome).toMatchObject({ ...failure("tls"), detail: "partner.test: DEPTH_ZERO_SELF_SIGNED_CERT" });
  });

  test("to the certificate of another name fails", async () => {
    const outcome = await sendOver(partner, (port) => `https://other.test:${port}/`, { ca: partner.cert });
    expect(outcome).toMatchObject({ ...failure("tls"), detail: "other.test: ERR_TLS_CERT_ALTNAME_INVALID" });
  });

  test("to a certificate that has expired fails", async () => {
    const old = selfSignedCertificate(["partner.test"], Date.now() - 10 * 86_400_000);
    const outcome = await sendOver(old, byName, { ca: old.cert });
    expect(outcome).toMatchObject({ ...failure("tls"), detail: "partner.test: CERT_HAS_EXPIRED" });
  });

  test("is not resumed after the certificate has expired", async () => {
    const endsAtMs = Date.now() + 2_000;
    const short = selfSignedCertificate(["partner.test"], Date.now(), endsAtMs);
    const closing = (_: IncomingMessage, response: ServerResponse): void =>
      void response.writeHead(200, { connection: "close" }).end();
    const { port } = await start(createHttpsServer(short, closing));
    const sender = newSender();
    const send = () => sender.send(requestTo(byName(port), { tls: { ca: short.cert } }));
    expect(await send()).toMatchObject({ kind: "response", status: 200 });
    await waitFor(() => Date.now() > endsAtMs + 1_000, { timeoutMs: 10_000, what: "the end of the certificate" });
    expect(await send()).toMatchObject({ ...failure("tls"), detail: "partner.test: CERT_HAS_EXPIRED" });
  });

  test("to a name with a trailing dot requests the name without it (RFC 6066 §3)", async () => {
    const asked: unknown[] = [];
    const server = createHttpsServer(partner, ok).on("secureConnection", (socket) => asked.push(socket.servername));
    const { port } = await start(server);
    const outcome = await newSender().send(requestTo(`https://partner.test.:${port}/`, { tls: { ca: partner.cert } }));
    expect(outcome).toMatchObject({ kind: "response", status: 200 });
    expect(asked).toEqual(["partner.test"]);
  });

  test("to an address checks the address", async () => {
    const outcome = await sendOver(partner, (port) => `https://127.0.0.1:${port}/`, { ca: partner.cert });
    expect(outcome).toMatchObject({ kind: "response", status: 200 });
    expect(outcome.timings).not.toHaveProperty("dnsMs");
  });

  test("sends the client certificate that the partner requires (Webhook Event Delivery §5)", async () => {
    const client = selfSignedCertificate(["heliograph.test"]);
    const options = { ...partner, ca: client.cert, requestCert: true, rejectUnauthorized: true };
    const outcome = await sendOver(options, byName, { ca: partner.cert, ...client });
    expect(outcome).toMatchObject({ kind: "response", status: 200 });
  });

  test("without the client certificate that the partner requires fails", async () => {
    const client = selfSignedCertificate(["heliograph.test"]);
    const options = { ...partner, ca: client.cert, requestCert: true, rejectUnauthorized: true };
    const outcome = await sendOver(options, byName, { ca: partner.cert });
    expect(outcome).toMatchObject({
      ...failure("client_certificate"),
      detail: "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED",
    });
  });

  test("with a client certificate that does not parse fails", async () => {
    const outcome = await sendOver(partner, byName, { ca: partner.cert, cert: "no certificate", key: partner.key });
    expect(outcome).toMatchObject(failure("tls"));
  });

  test("to a server that speaks plain text fails", async () => {
    const server = await serve(ok);
    const outcome = await newSender().send(requestTo(byName(server.port)));
    expect(outcome).toMatchObject(failure("tls"));
  });
});

describe("names", () => {
  test("that do not resolve are a dns failure", async () => {
    const resolve = (): Promise<readonly string[]> =>
      Promise.reject(Object.assign(new Error("queryA ENOTFOUND"), { code: "ENOTFOUND" }));
    const outcome = await newSender({ resolve }).send(requestTo("http://partner.test/"));
    expect(outcome).toMatchObject({ ...failure("dns"), detail: "partner.test: ENOTFOUND" });
  });

  test("without an address are a dns failure", async () => {
    const outcome = await newSender({ resolve: async () => [] }).send(requestTo("http://partner.test/"));
    expect(outcome).toMatchObject({ ...failure("dns"), detail: "partner.test: no address" });
  });

  test("with a look-up above its time limit are a dns failure", async () => {
    const resolve = (): Promise<readonly string[]> => new Promise(() => {});
    const outcome = await newSender({ resolve, connectTimeoutMs: 50 }).send(requestTo("http://partner.test/"));
    expect(outcome).toMatchObject({ ...failure("dns"), detail: "partner.test: no response within 50 ms" });
  });

  test("use the next address when the first one refuses connections", async () => {
    const server = await serve(ok);
    const sender = newSender({ resolve: async () => ["127.0.0.9", "127.0.0.1"] });
    expect(await sender.send(requestTo(at(server)))).toMatchObject({ status: 200 });
  });

  test("use an address with a slow handshake when every other one refuses (RFC 8305 §5)", async () => {
    const slow = await startFrozenServer("127.0.0.2");
    closers.push(() => slow.stop());
    const sender = newSender({ resolve: async () => ["127.0.0.2", "127.0.0.9"] });
    setTimeout(() => slow.release(), 400);
    const outcome = await sender.send(requestTo(`http://partner.test:${slow.port}/`));
    expect(outcome).toMatchObject({ status: 200, body: "slow" });
    expect(outcome.timings.connectMs).toBeGreaterThan(350);
  });
});

describe("the guard", () => {
  const onlyFirst = { allowCidrs: ["127.0.0.1/32"], allowPlaintext: true };

  test("refuses a name when any of its addresses is not allowed", async () => {
    const server = await serve(ok);
    const sender = newSender({ resolve: async () => ["127.0.0.1", "10.0.0.1"] });
    const outcome = await sender.send(requestTo(at(server), { networks: onlyFirst }));
    const detail = "partner.test: 10.0.0.1 is private use (10.0.0.0/8), which is not allowed";
    expect(outcome).toMatchObject({ ...failure("guard"), detail });
    expect(server.connections()).toBe(0);
  });

  test("connects to the checked address when the name changes (DNS rebinding)", async () => {
    const answers = ["127.0.0.1", "127.0.0.2"];
    const asked: string[] = [];
    const sender = newSender({
      resolve: async (host) => {
        asked.push(host);
        return [answers[asked.length - 1] ?? "127.0.0.2"];
      },
    });
    const server = await serve((_, response) => void response.writeHead(200, { Connection: "close" }).end("outside"));
    const first = await sender.send(requestTo(at(server), { networks: onlyFirst }));
    expect(first).toMatchObject({ status: 200, body: "outside" });
    expect(asked).toEqual(["partner.test"]);
    const second = await sender.send(requestTo(at(server), { networks: onlyFirst }));
    expect(second).toMatchObject(failure("guard"));
    expect(asked).toHaveLength(2);
    expect(server.connections()).toBe(1);
  });

  test.each([
    ["an address in the URL", "http://127.0.0.2/"],
    ["an IPv6 address in the URL", "http://[::1]/"],
    ["another spelling of an address", "http://0x7f000002/"],
    ["another protocol", "ftp://127.0.0.1/"],
  ])("refuses %s without a connection", async (_, url) => {
    const outcome = await newSender().send(requestTo(url, { networks: onlyFirst }));
    expect(outcome).toMatchObject({ ...failure("guard"), timings: { totalMs: 0 } });
  });

  test.each(["http://127.0.0.2/v1?code=s3cr3t-code", "http://partner.test/v1?code=s3cr3t-code"])(
    "names no query when it refuses %s",
    async (url) => {
      const sender = newSender({ resolve: async () => ["127.0.0.2"] });
      const outcome = await sender.send(requestTo(url, { networks: onlyFirst }));
      expect(outcome).toMatchObject(failure("guard"));
      expect(JSON.stringify(outcome)).not.toContain("s3cr3t");
    },
  );

  test("refuses plain http where the partner does not allow it", async () => {
    const server = await serve(ok);
    const outcome = await newSender().send(requestTo(at(server), { networks: { ...networks, allowPlaintext: false } }));
    expect(outcome).toMatchObject({ ...failure("guard"), detail: "plain http is not allowed" });
    expect(server.connections()).toBe(0);
  });

  test("refuses a metadata address with every allow-list", async () => {
    const everything = { allowCidrs: ["0.0.0.0/0", "::/0"], allowPlaintext: true };
    const sender = newSender({ resolve: async () => ["169.254.169.254"] });
    expect(await sender.send(requestTo("http://partner.test/", { networks: everything }))).toMatchObject(
      failure("guard"),
    );
  });
});
