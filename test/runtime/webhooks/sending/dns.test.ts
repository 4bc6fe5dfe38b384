import { createSocket } from "node:dgram";
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { createResolver } from "../../../../runtime/webhooks/sending/dns.ts";

type Answer = readonly number[] | "unknown" | "failed" | "silent";

const [typeA, typeAaaa] = [1, 28];
const codes = { unknown: 3, failed: 2 };
const closers: (() => void)[] = [];

afterEach(() => {
  closers.splice(0).forEach((close) => close());
});

/** A name server with one response for all queries of a type. Returns its `address:port`. Source: RFC 1035 §4.1. */
async function nameServer(answers: Readonly<Record<number, Answer>>): Promise<string> {
  const socket = createSocket("udp4");
  socket.on("message", (query, { port, address }) => {
    const question = query.subarray(12, query.indexOf(0, 12) + 5);
    const answer = answers[question.readUInt16BE(question.length - 4)] ?? "unknown";
    if (answer !== "silent") {
      socket.send(reply(query.subarray(0, 2), question, answer), port, address);
    }
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  closers.push(() => socket.close());
  return `127.0.0.1:${socket.address().port}`;
}

function reply(id: Buffer, question: Buffer, answer: readonly number[] | "unknown" | "failed"): Buffer {
  const isRecord = typeof answer !== "string";
  const code = isRecord ? 0 : codes[answer];
  const head = Buffer.from([0x81, 0x80 | code, 0, 1, 0, isRecord ? 1 : 0, 0, 0, 0, 0]);
  const type = question.subarray(question.length - 4, question.length - 2);
  const record = isRecord ? [0xc0, 12, ...type, 0, 1, 0, 0, 0, 60, 0, answer.length, ...answer] : [];
  return Buffer.concat([id, head, question, Buffer.from(record)]);
}

const loopback6 = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

describe("the resolver", () => {
  test("gives the addresses of both families", async () => {
    const server = await nameServer({ [typeA]: [192, 0, 2, 7], [typeAaaa]: loopback6 });
    expect(await createResolver({ servers: [server] })("partner.example")).toEqual(["192.0.2.7", "::1"]);
  });

  test("gives those of one family when the other fails", async () => {
    const server = await nameServer({ [typeA]: [192, 0, 2, 7], [typeAaaa]: "failed" });
    expect(await createResolver({ servers: [server] })("partner.example")).toEqual(["192.0.2.7"]);
  });

  test("queries the operating system for a name that the name servers do not know", async () => {
    const server = await nameServer({});
    expect(await createResolver({ servers: [server] })("localhost")).toContain("127.0.0.1");
  });

  test("fails with a code for an unknown name", async () => {
    const server = await nameServer({});
    const failure = createResolver({ servers: [server] })("a.invalid");
    await expect(failure).rejects.toMatchObject({ code: expect.stringMatching(/^E/u) as string });
  });

  test("does not query the operating system after a timeout, because that would block a thread", async () => {
    const server = await nameServer({ [typeA]: "silent", [typeAaaa]: "silent" });
    const failure = createResolver({ servers: [server], queryTimeoutMs: 50 })("localhost.example");
    await expect(failure).rejects.toMatchObject({ code: "ETIMEOUT" });
  });
});
