import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createTcpServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { createSender, type Sender, type SendRequest } from "../../../../runtime/webhooks/sending/send.ts";
import { listenOnLoopback, type Loopback } from "../../../support/loopback.ts";

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

async function start(server: Server): Promise<Loopback> {
  const loopback = await listenOnLoopback(server);
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

function newSender(): Sender {
  const sender = createSender({ resolve: async () => ["127.0.0.1"] });
  closers.push(() => sender.close());
  return sender;
}

function requestTo(url: string, change: Partial<SendRequest> = {}): SendRequest {
  const networks = { allowCidrs: ["127.0.0.0/8"], allowPlaintext: true };
  const body = Buffer.from('{"event_id":"evt_1","attempt":1}');
  return { url: new URL(url), headers: { "X-Event-Id": "evt_1" }, body, timeoutMs: 5_000, networks, ...change };
}

function at({ port }: Loopback): string {
  return `http://partner.test:${port}/hooks`;
}

function failure(reason: string): object {
  return { kind: "failure", reason };
}

describe("a response that does not follow HTTP", () => {
  const status = "HTTP/1.1 200 OK\r\n";

  test.each([
    ["an interim response", `HTTP/1.1 100 Continue\r\n\r\n${status}Content-Length: 2\r\n\r\nok`, undefined],
    ["a folded header", `${status}X-Note: a\r\n b\r\nContent-Length: 2\r\n\r\nok`, "x-note: folded"],
    ["two lengths", `${status}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok`, "content-length: different values"],
    ["NUL in a header", `${status}X-Note: a\0\r\nContent-Length: 2\r\n\r\nok`, "x-note: control characters"],
    ["too large a head", `${status}X-Big: ${"y".repeat(20_000)}`, "x-big: the head has more"],
  ])("counts by its status, with a warning: %s", async (_, bytes, warning) => {
    const server = await serveRaw((socket) => void socket.write(bytes));
    const sender = newSender();
    const outcome = await sender.send(requestTo(at(server)));
    expect(outcome).toMatchObject({ kind: "response", status: 200 });
    expect(outcome.warnings?.map((text) => text.slice(0, warning?.length))).toEqual(warning && [warning]);
  });

  test.each([
    ["closes", (socket: Socket) => void socket.end(`${status}Content-`)],
    [
      "resets",
      (socket: Socket) => void socket.write(`${status}Content-`, () => setTimeout(() => socket.resetAndDestroy(), 50)),
    ],
  ])("counts by its status when the server %s the connection within the head", async (_, end) => {
    const server = await serveRaw(end);
    const outcome = await newSender().send(requestTo(at(server)));
    expect(outcome).toMatchObject({ kind: "response", status: 200, bodyTruncated: true });
    expect(outcome.warnings).toEqual(["header: the connection ended within the head (RFC 9112 §8)"]);
  });

  test.each([
    ["Content-Encoding: GZIP\r\nContent-Length: 2\r\n\r\n\x1f\x8b", "", true],
    ["Content-Encoding: br, gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b", "", true],
    ["Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n\x1f\x8b\r\n0\r\n\r\n", "", true],
    ["Content-Encoding: Identity\r\nContent-Length: 2\r\n\r\nok", "ok", false],
    ["Transfer-Encoding: Chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "ok", false],
  ])("has a body unless it is compressed: %j", async (rest, body, bodyTruncated) => {
    const server = await serveRaw((socket) => void socket.write(`${status}${rest}`, "latin1"));
    const outcome = await newSender().send(requestTo(at(server)));
    expect(outcome).toMatchObject({ kind: "response", status: 200, body, bodyTruncated });
  });

  test("closes its connection", async () => {
    const server = await start(
      createTcpServer((socket) =>
        socket.on("data", () => void socket.write(`${status}X-Note: a\r\n b\r\nContent-Length: 0\r\n\r\n`)),
      ),
    );
    const sender = newSender();
    await sender.send(requestTo(at(server)));
    await sender.send(requestTo(at(server)));
    expect(server.connections()).toBe(2);
  });

  test("masks secrets of the request in a warning", async () => {
    const server = await serveRaw(
      (socket) => void socket.end(`${status}my-secret-token x: y\r\nContent-Length: 0\r\n\r\n`),
    );
    const headers = { Authorization: "Bearer my-secret-token" };
    const outcome = await newSender().send(requestTo(at(server), { headers }));
    expect(outcome.warnings).toEqual([expect.stringMatching(/^\*\*\* x: not a valid header name/u)]);
  });

  test("counts when it comes before the end of the request", async () => {
    const server = await start(
      createTcpServer({ allowHalfOpen: true }, (socket) => {
        socket.once("readable", () => {
          socket.end("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", () =>
            socket.destroy(),
          );
        });
      }),
    );
    const outcome = await newSender().send(requestTo(at(server), { body: new Uint8Array(8_000_000) }));
    expect(outcome).toMatchObject({ kind: "response", status: 413 });
  });
});

test("a connection for a request that may not be sent any more serves the next request", async () => {
  let requests = 0;
  const server = await serve((_request, response) => {
    requests += 1;
    response.writeHead(204).end();
  });
  const sender = newSender();
  expect(await sender.send(requestTo(at(server), { maySend: () => false }))).toMatchObject(failure("aborted"));
  expect(requests).toBe(0);
  expect(await sender.send(requestTo(at(server), { maySend: () => true }))).toMatchObject({ status: 204 });
  expect([requests, server.connections()]).toEqual([1, 1]);
});

describe("a kept connection", () => {
  /** A server that serves some requests of each connection, and ends it at the next one. */
  async function serveSome(count: number, end: (socket: Socket) => void): Promise<Loopback & { requests(): number }> {
    let requests = 0;
    const server = createTcpServer((socket) => {
      let served = 0;
      socket
        .on("error", () => undefined)
        .on("data", () => {
          requests += 1;
          served += 1;
          if (served > count) end(socket);
          else socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        });
    });
    return Object.assign(await start(server), { requests: () => requests });
  }

  test.each([
    ["closes", (socket: Socket) => void socket.end()],
    ["resets", (socket: Socket) => void socket.resetAndDestroy()],
  ])("that the server %s without a byte is replaced within the attempt (RFC 9110 §9.2.2)", async (_, end) => {
    const server = await serveSome(1, end);
    const sender = newSender();
    expect(await sender.send(requestTo(at(server)))).not.toHaveProperty("warnings");
    const outcome = await sender.send(requestTo(at(server)));
    expect(outcome).toMatchObject({
      status: 200,
      body: "ok",
      warnings: [expect.stringMatching(/^sent again on a new/u)],
    });
    expect(outcome.timings.connectMs).toBeGreaterThan(0);
    expect([server.connections(), server.requests()]).toEqual([2, 3]);
  });

  test("is not replaced for a request that may not be sent any more", async () => {
    const server = await serveSome(1, (socket) => void socket.end());
    const sender = newSender();
    await sender.send(requestTo(at(server)));
    const outcome = await sender.send(requestTo(at(server), { maySend: () => false }));
    expect(outcome).toMatchObject(failure("aborted"));
    expect(server.requests()).toBe(2);
  });

  test("is replaced once, by a new connection and not by another kept one", async () => {
    const server = await serveSome(1, (socket) => void socket.end());
    const sender = newSender();
    await Promise.all([1, 2, 3].map(() => sender.send(requestTo(at(server)))));
    expect(server.connections()).toBe(3);
    expect(await sender.send(requestTo(at(server)))).toMatchObject({ status: 200 });
    expect([server.connections(), server.requests()]).toEqual([4, 5]);
  });

  test("is replaced within the time limit of the attempt, which a wait for the new one does not extend", async () => {
    let waitMs = 0;
    const sender = createSender({ resolve: () => sleep(waitMs, ["127.0.0.1"]) });
    closers.push(() => sender.close());
    const server = await serveSome(1, (socket) => void socket.end());
    await sender.send(requestTo(at(server)));
    waitMs = 400;
    const late = await sender.send(requestTo(at(server), { timeoutMs: 200 }));
    expect(late).toMatchObject({ ...failure("connect_timeout"), warnings: [expect.stringMatching(/^sent again/u)] });
    // The next connection is open later than the one of the attempt that is over.
    expect(await sender.send(requestTo(at(server)))).toMatchObject({ status: 200 });
    expect(server.requests()).toBe(3);
  });

  test("that fails again when it is new is a failure, with the note", async () => {
    let requests = 0;
    const server = await start(
      createTcpServer((socket) => {
        socket.on("data", () => {
          requests += 1;
          if (requests === 1) socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
          else socket.end();
        });
      }),
    );
    const sender = newSender();
    await sender.send(requestTo(at(server)));
    const outcome = await sender.send(requestTo(at(server)));
    expect(outcome).toMatchObject({ ...failure("reset"), warnings: [expect.stringMatching(/^sent again/u)] });
    expect(requests).toBe(3);
  });

  test.each([
    ["after a byte of the response", (socket: Socket) => void socket.end("H"), "reset"],
    ["after a timeout", () => undefined, "first_byte_timeout"],
    ["after an interim response", (socket: Socket) => void socket.end("HTTP/1.1 100 Continue\r\n\r\n"), "reset"],
  ])("is not replaced %s", async (_, end, reason) => {
    const server = await serveSome(1, end);
    const sender = newSender();
    await sender.send(requestTo(at(server)));
    const outcome = await sender.send(requestTo(at(server), { timeoutMs: 300 }));
    expect(outcome).toMatchObject(failure(reason));
    expect(outcome).not.toHaveProperty("warnings");
    expect([server.connections(), server.requests()]).toEqual([1, 2]);
  });

  test("is replaced before its server would close it (Keep-Alive: timeout)", async () => {
    const sender = newSender();
    const times = ["timeout=1", "timeout=0", "max=5, timeout=60"];
    const server = await serve((_, response) => {
      response.writeHead(200, { "Keep-Alive": times[server.connections() - 1] }).end("ok");
    });
    for (let count = 0; count < 5; count += 1)
      expect(await sender.send(requestTo(at(server)))).toMatchObject({ status: 200 });
    expect(server.connections()).toBe(3);
  });
});
