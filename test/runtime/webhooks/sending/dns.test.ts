import { execFileSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { closeSync, constants, openSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { createResolver, type Resolver, parseHosts } from "../../../../runtime/webhooks/sending/dns.ts";
import { createSender } from "../../../../runtime/webhooks/sending/send.ts";
import { listenOnLoopback } from "../../../support/loopback.ts";
import { temporaryFolder } from "../../../support/temp-folder.ts";
import { waitFor } from "../../../support/wait.ts";

type Answer = readonly number[] | "unknown" | "failed" | "silent";

/** A name server with one response for all queries of a type. */
interface NameServer {
  /** `address:port` */
  readonly at: string;
  /** Names that were queried, one per query. */
  readonly queried: string[];
  readonly answers: Record<number, Answer>;
}

const [typeA, typeAaaa] = [1, 28];
const codes = { unknown: 3, failed: 2 };
const address = [192, 0, 2, 7];
const loopback6 = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  await Promise.all(closers.splice(0).map(async (close) => close()));
});

/** Source: RFC 1035 §4.1. */
async function nameServer(answers: Record<number, Answer>, ttlSeconds = 60): Promise<NameServer> {
  const socket = createSocket("udp4");
  const queried: string[] = [];
  socket.on("message", (query, { port, address: client }) => {
    const question = query.subarray(12, query.indexOf(0, 12) + 5);
    queried.push(nameOf(question));
    const answer = answers[question.readUInt16BE(question.length - 4)] ?? "unknown";
    if (answer !== "silent") socket.send(reply(query.subarray(0, 2), question, answer, ttlSeconds), port, client);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  closers.push(() => void socket.close());
  return { at: `127.0.0.1:${socket.address().port}`, queried, answers };
}

function nameOf(question: Buffer): string {
  const labels: string[] = [];
  for (let at = 0; (question[at] ?? 0) > 0; at += (question[at] ?? 0) + 1)
    labels.push(question.toString("latin1", at + 1, at + 1 + (question[at] ?? 0)));
  return labels.join(".");
}

function reply(id: Buffer, question: Buffer, answer: Exclude<Answer, "silent">, ttlSeconds: number): Buffer {
  const isRecord = typeof answer !== "string";
  const code = isRecord ? 0 : codes[answer];
  const head = Buffer.from([0x81, 0x80 | code, 0, 1, 0, isRecord ? 1 : 0, 0, 0, 0, 0]);
  const type = question.subarray(question.length - 4, question.length - 2);
  const record = isRecord ? [0xc0, 12, ...type, 0, 1, 0, 0, 0, ttlSeconds, 0, answer.length, ...answer] : [];
  return Buffer.concat([id, head, question, Buffer.from(record)]);
}

async function hostsFile(text: string): Promise<string> {
  const folder = await temporaryFolder("hosts");
  closers.push(() => folder.remove());
  const path = join(folder.path, "hosts");
  await writeFile(path, text);
  return path;
}

function resolverOf({ at }: NameServer, options: object = {}): Resolver {
  return createResolver({ servers: [at], hostsFile: "/dev/null", ...options });
}

describe("the resolver", () => {
  test("gives the addresses of both families", async () => {
    const server = await nameServer({ [typeA]: address, [typeAaaa]: loopback6 });
    expect(await resolverOf(server)("partner.example")).toEqual(["192.0.2.7", "::1"]);
  });

  test("gives those of one family when the other fails", async () => {
    const server = await nameServer({ [typeA]: address, [typeAaaa]: "failed" });
    expect(await resolverOf(server)("partner.example")).toEqual(["192.0.2.7"]);
  });

  test.each([
    ["IPv6", { [typeA]: address, [typeAaaa]: "silent" }, "192.0.2.7"],
    ["IPv4", { [typeA]: "silent", [typeAaaa]: loopback6 }, "::1"],
  ] as const)(
    "waits only a moment for %s when the other family has addresses (RFC 8305 §3)",
    async (_, answers, ip) => {
      const server = await nameServer(answers);
      const startedAtMs = performance.now();
      expect(await resolverOf(server)("partner.example")).toEqual([ip]);
      expect(performance.now() - startedAtMs).toBeLessThan(600);
    },
  );

  test.each([
    ["an unknown name", {}, "ENOTFOUND"],
    ["a server that fails", { [typeA]: "failed", [typeAaaa]: "unknown" }, "ESERVFAIL"],
    ["a server that is silent", { [typeA]: "silent", [typeAaaa]: "silent" }, "ETIMEOUT"],
  ] as const)("fails with a code for %s", async (_, answers, code) => {
    const server = await nameServer(answers);
    const resolve = resolverOf(server, { queryTimeoutMs: 50 });
    await expect(resolve("partner.example")).rejects.toMatchObject({ code });
  });

  test("queries each name as it is, whatever the server responds", async () => {
    const server = await nameServer({ [typeA]: "unknown", [typeAaaa]: "failed" });
    const resolve = resolverOf(server);
    for (const name of ["partner", "partner.default.svc", "Partner.Example."])
      await expect(resolve(name)).rejects.toMatchObject({ code: expect.stringMatching(/^E/u) as string });
    expect([...new Set(server.queried.map((name) => name.toLowerCase()))]).toEqual([
      "partner",
      "partner.default.svc",
      "partner.example",
    ]);
  });

  test("waits for a name that takes the server a second after names that took it none", async () => {
    let farAtMs = Infinity;
    const answers = {
      get [typeA](): Answer {
        if (server.queried.at(-1) === "far.example") farAtMs = Math.min(farAtMs, performance.now());
        return performance.now() >= farAtMs && performance.now() - farAtMs < 1_000 ? "silent" : address;
      },
    };
    const server: NameServer = await nameServer(answers);
    const resolve = resolverOf(server);
    for (const name of Array.from({ length: 10 }, (_, index) => `known${index}.example`)) await resolve(name);
    expect(await resolve("far.example")).toEqual(["192.0.2.7"]);
  });

  test.each(["localhost", "api.localhost", "LOCALHOST."])("knows %s without a query (RFC 6761 §6.3)", async (name) => {
    const server = await nameServer({ [typeA]: address });
    expect(await resolverOf(server)(name)).toEqual(["127.0.0.1", "::1"]);
    expect(server.queried).toEqual([]);
  });
});

describe("cached addresses", () => {
  test("serve concurrent and later look-ups", async () => {
    const server = await nameServer({ [typeA]: address, [typeAaaa]: loopback6 });
    const resolve = resolverOf(server);
    const found = await Promise.all(Array.from({ length: 100 }, () => resolve("partner.example")));
    found.push(await resolve("PARTNER.example."));
    expect(found).toEqual(found.map(() => ["192.0.2.7", "::1"]));
    expect(server.queried).toHaveLength(2);
  });

  test("end with their TTL", async () => {
    const server = await nameServer({ [typeA]: address }, 1);
    const resolve = resolverOf(server);
    await resolve("partner.example");
    server.answers[typeA] = [192, 0, 2, 8];
    expect(await resolve("partner.example")).toEqual(["192.0.2.7"]);
    await waitFor(async () => (await resolve("partner.example"))[0] === "192.0.2.8", {
      timeoutMs: 5_000,
      what: "a query",
    });
  });

  test("are not kept with a TTL of zero", async () => {
    const server = await nameServer({ [typeA]: address }, 0);
    const resolve = resolverOf(server);
    await Promise.all([resolve("partner.example"), resolve("partner.example")]);
    expect(server.queried).toHaveLength(2);
    await resolve("partner.example");
    expect(server.queried).toHaveLength(4);
  });

  test("are dropped on request, and failures are not kept", async () => {
    const server = await nameServer({ [typeA]: address });
    const resolve = resolverOf(server);
    await resolve("partner.example");
    resolve.forget?.("Partner.example");
    server.answers[typeA] = "unknown";
    await expect(resolve("partner.example")).rejects.toMatchObject({ code: "ENOTFOUND" });
    server.answers[typeA] = address;
    expect(await resolve("partner.example")).toEqual(["192.0.2.7"]);
  });
});

describe("the hosts file", () => {
  test.each([
    ["knows another address", { [typeA]: address }],
    ["fails", { [typeA]: "failed", [typeAaaa]: "failed" }],
    ["is silent", { [typeA]: "silent", [typeAaaa]: "silent" }],
    ["does not know the name", {}],
  ] as const)("wins when the server %s", async (_, answers) => {
    const server = await nameServer(answers);
    const file = await hostsFile("127.0.0.5 other partner.example # alias\n");
    expect(await resolverOf(server, { hostsFile: file })("Partner.Example.")).toEqual(["127.0.0.5"]);
    expect(server.queried).toEqual([]);
  });

  test("is read again after a change", async () => {
    const server = await nameServer({ [typeA]: address });
    const file = await hostsFile("127.0.0.5 partner.example\n");
    const resolve = resolverOf(server, { hostsFile: file });
    expect(await resolve("partner.example")).toEqual(["127.0.0.5"]);
    await writeFile(file, "127.0.0.66 partner.example\n");
    const isNew = async (): Promise<boolean> => (await resolve("partner.example"))[0] === "127.0.0.66";
    await waitFor(isNew, { timeoutMs: 5_000, what: "the new address" });
  });

  test("that is absent has no names", async () => {
    const server = await nameServer({ [typeA]: address });
    expect(await resolverOf(server, { hostsFile: "/nonexistent/hosts" })("partner.example")).toEqual(["192.0.2.7"]);
  });

  test("and the name servers are read while every thread of the process is busy", async () => {
    const server = await nameServer({ [typeA]: address });
    const file = await hostsFile("127.0.0.5 fixed.example\n");
    const pipe = `${file}.pipe`;
    execFileSync("mkfifo", [pipe]);
    // To open a pipe for reading takes until another program writes to it.
    const busy = Array.from({ length: 64 }, () => readFile(pipe));
    const resolve = resolverOf(server, { hostsFile: file });
    const found = Promise.all([resolve("fixed.example"), resolve("partner.example")]);
    const first = await Promise.race([found, sleep(5_000, "nothing while the threads are busy")]);
    const timer = setInterval(() => closeSync(openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)), 5);
    await Promise.all(busy);
    clearInterval(timer);
    expect(first).toEqual([["127.0.0.5"], ["192.0.2.7"]]);
  });

  test("may have several addresses of a name, comments, tabs and CRLF, but no zones", () => {
    const text = [
      "# a comment",
      "::1\tlocalhost ip6-localhost\r",
      "127.0.0.1 LocalHost localhost.",
      "fe80::1%lo0 localhost",
      "fe80::2 a#b",
      "x y",
      "10.0.0.1",
    ].join("\n");
    expect([...parseHosts(text)]).toEqual([
      ["localhost", ["127.0.0.1", "::1"]],
      ["ip6-localhost", ["::1"]],
      ["a", ["fe80::2"]],
    ]);
  });
});

describe("deliveries", () => {
  const networks = { allowCidrs: ["127.0.0.0/8"], allowPlaintext: true };
  const request = { headers: {}, body: new Uint8Array(), timeoutMs: 5_000, networks };

  async function closingServer(): Promise<{ readonly url: URL; connections(): number; close(): Promise<void> }> {
    const ok = (_: IncomingMessage, response: ServerResponse): void =>
      void response.writeHead(200, { Connection: "close" }).end();
    const server = await listenOnLoopback(createServer(ok));
    closers.push(() => server.close());
    return { ...server, url: new URL(`http://partner.example:${server.port}/`) };
  }

  test("to an endpoint that closes its connections cost one look-up, and each connection is checked", async () => {
    const names = await nameServer({ [typeA]: [127, 0, 0, 1] });
    const sender = createSender({ resolve: resolverOf(names) });
    closers.push(() => sender.close());
    const server = await closingServer();
    const { url } = server;
    for (let count = 0; count < 20; count += 1)
      expect(await sender.send({ ...request, url })).toMatchObject({ status: 200 });
    expect([server.connections(), names.queried.length]).toEqual([20, 2]);
    const others = { ...networks, allowCidrs: ["10.0.0.0/8"] };
    expect(await sender.send({ ...request, url, networks: others })).toMatchObject({
      kind: "failure",
      reason: "guard",
    });
    expect(names.queried).toHaveLength(2);
  });

  test("look the host up again after a connection to it failed", async () => {
    const names = await nameServer({ [typeA]: [127, 0, 0, 9] });
    const sender = createSender({ resolve: resolverOf(names) });
    closers.push(() => sender.close());
    const { url } = await closingServer();
    expect(await sender.send({ ...request, url })).toMatchObject({ kind: "failure", reason: "connect" });
    names.answers[typeA] = [127, 0, 0, 1];
    expect(await sender.send({ ...request, url })).toMatchObject({ status: 200 });
  });
});
