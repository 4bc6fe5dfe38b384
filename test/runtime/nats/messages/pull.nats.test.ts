import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { connectNats, type NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import { ensureConsumer } from "../../../../runtime/nats/messages/consumers.ts";
import { startPull, type Pull, type PullOptions } from "../../../../runtime/nats/messages/pull.ts";
import type { PulledMessage } from "../../../../runtime/nats/messages/pulled-message.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";

let server: NatsServerHandle;
let handle: NatsConnectionHandle;
beforeAll(async () => {
  server = await startNatsServer();
  handle = await connectNats({ servers: [server.url] });
});
afterAll(async () => {
  await handle.drain();
  await server.stop();
});

const timeoutMs = 20_000;
let count = 0;

interface Case {
  readonly pull: Pull;
  readonly got: PulledMessage[];
  readonly consumer: { readonly stream: string; readonly name: string };
  /** Stores so many messages. */
  readonly fill: (messages: number) => Promise<void>;
}

async function caseOf(maxAckPending: number, overrides: Partial<PullOptions> = {}): Promise<Case> {
  count += 1;
  const stream = `PULL${count}`;
  await handle.manager.streams.add({ name: stream, subjects: [`pull${count}.*`], retention: "workqueue" });
  const consumer = { stream, name: "c", filter: `pull${count}.>`, maxAckPending };
  await ensureConsumer(handle, consumer);
  const got: PulledMessage[] = [];
  const subject = `pull${count}`;
  const pull = startPull(handle, {
    stream,
    consumer: "c",
    credit: () => 8,
    onMessage: (message) => got.push(message),
    onOpen: () => undefined,
    repair: async () => void (await ensureConsumer(handle, consumer)),
    ...overrides,
  });
  onTestFinished(() => pull.stop());
  const fill = async (messages: number): Promise<void> => {
    const js = handle.manager.jetstream();
    await Promise.all(Array.from({ length: messages }, (_, index) => js.publish(`${subject}.${index}`, `${index}`)));
  };
  return { pull, got, consumer, fill };
}

describe("a pull", () => {
  test("receives every message, and no more at once than the consumer permits", async () => {
    const { got, fill } = await caseOf(5);
    await fill(40);
    for (let acknowledged = 0; acknowledged < 40; acknowledged += 1) {
      const message = await waitFor(() => got[acknowledged], { timeoutMs, what: `message ${acknowledged}` });
      expect(got.length - acknowledged).toBeLessThanOrEqual(5);
      message.ack();
    }
    expect(new Set(got.map(({ seq }) => seq)).size).toBe(40);
    expect(got.every(({ deliveryCount }) => deliveryCount === 1)).toBe(true);
  });

  test("tells how many messages still waited when each was delivered", async () => {
    let credit = 0;
    const { got, fill, pull } = await caseOf(100, { credit: () => credit });
    await fill(5);
    credit = 8;
    pull.topUp();
    await waitFor(() => got.length === 5, { timeoutMs, what: "every message" });
    expect(got.map(({ waiting }) => waiting)).toEqual([4, 3, 2, 1, 0]);
  });

  test("requests nothing without credit, and at once with credit", async () => {
    let credit = 0;
    const { got, fill, pull, consumer } = await caseOf(100, { credit: () => credit });
    await fill(10);
    const info = await handle.manager.consumers.info(consumer.stream, consumer.name);
    expect({ got: got.length, waiting: info.num_waiting, pending: info.num_pending }).toEqual({
      got: 0,
      waiting: 0,
      pending: 10,
    });
    credit = 4;
    pull.topUp();
    await waitFor(() => got.length === 10, { timeoutMs, what: "every message" });
  });

  test("returns the metadata of a message, which is removed when it is acknowledged", async () => {
    const { got, fill, consumer } = await caseOf(5);
    const before = Date.now();
    await fill(1);
    const message = await waitFor(() => got[0], { timeoutMs, what: "the message" });
    expect(message).toMatchObject({
      seq: 1,
      deliveryCount: 1,
      subject: expect.stringMatching(/^pull\d+\.0$/u) as string,
    });
    expect(Math.abs(message.storedAtMs - before)).toBeLessThan(5_000);
    message.ack();
    const left = async (): Promise<number> => (await handle.manager.streams.info(consumer.stream)).state.messages;
    await waitFor(async () => (await left()) === 0, { timeoutMs, what: "the acknowledgement" });
  });

  test("redelivers, with a count, a released message at once and an unacknowledged one after its wait", async () => {
    const { got, fill } = await caseOf(5);
    await fill(2);
    await waitFor(() => got.length === 2, { timeoutMs, what: "both messages" });
    got[0]?.release();
    await waitFor(() => got.some(({ seq, deliveryCount }) => seq === got[0]?.seq && deliveryCount === 2), {
      timeoutMs: 20_000,
      what: "the released message",
    });
    got.at(-1)?.ack();
    const forgotten = got[1]?.seq;
    await waitFor(() => got.some(({ seq, deliveryCount }) => seq === forgotten && deliveryCount === 2), {
      timeoutMs,
      what: "the forgotten message",
    });
    expect(got).toHaveLength(4);
  });

  test("keeps a message whose acknowledgement wait is extended", async () => {
    const { got, fill } = await caseOf(5);
    await fill(2);
    await waitFor(() => got.length === 2, { timeoutMs, what: "both messages" });
    const [kept, forgotten] = got;
    const timer = setInterval(() => kept?.working(), 300);
    onTestFinished(() => clearInterval(timer));
    const timesOf = (one: PulledMessage | undefined): number => got.filter(({ seq }) => seq === one?.seq).length;
    await waitFor(() => timesOf(forgotten) === 2, { timeoutMs, what: "the message that nobody works on, once more" });
    expect(timesOf(kept)).toBe(1);
  });

  test("releases messages that arrive after the stop, so that others receive them at once", async () => {
    const { got, fill, pull, consumer } = await caseOf(100);
    await pull.stop();
    await fill(10);
    const other: PulledMessage[] = [];
    const again = startPull(handle, {
      stream: consumer.stream,
      consumer: consumer.name,
      credit: () => 20,
      onMessage: (message) => other.push(message),
      onOpen: () => undefined,
      repair: () => Promise.resolve(),
    });
    onTestFinished(() => again.stop());
    await waitFor(() => other.length === 10, { timeoutMs: 20_000, what: "every message" });
    expect(got).toHaveLength(0);
  });

  test("creates its consumer again after a deletion", async () => {
    const { got, fill, consumer } = await caseOf(5);
    const info = () => handle.manager.consumers.info(consumer.stream, consumer.name);
    await waitFor(async () => (await info()).num_waiting > 0, { timeoutMs, what: "a standing request" });
    await handle.manager.consumers.delete(consumer.stream, consumer.name);
    await fill(1);
    expect(await waitFor(() => got[0], { timeoutMs: 20_000, what: "the message" })).toMatchObject({ deliveryCount: 1 });
  });

  test("continues after the server was killed, and reports that it reopened", async () => {
    let opened = 0;
    const { got, fill } = await caseOf(5, { onOpen: () => (opened += 1) });
    expect(opened).toBe(1);
    await server.kill9();
    await server.restart();
    await waitFor(() => handle.isConnected(), { timeoutMs, what: "the connection" });
    await fill(1);
    await waitFor(() => got.length === 1, { timeoutMs: 20_000, what: "the message" });
    expect(opened).toBeGreaterThan(1);
  });

  test("requests again from a new leader of its consumer, and once more when nothing came", async () => {
    const { got, consumer, fill } = await caseOf(8);
    const { stream, name } = consumer;
    const info = () => handle.manager.consumers.info(consumer.stream, consumer.name);
    await waitFor(async () => (await info()).num_waiting > 0, { timeoutMs, what: "the first request" });
    const times: number[] = [];
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`;
    handle.connection.subscribe(subject, { callback: () => void times.push(performance.now()) });
    await handle.connection.flush();
    const electedMs = performance.now();
    for (const elected of ["another", name])
      handle.connection.publish(`$JS.EVENT.ADVISORY.CONSUMER.LEADER_ELECTED.${stream}.${elected}`);
    await waitFor(() => times.length >= 2, { timeoutMs, what: "two requests" });
    const [first = 0, second = 0] = times.map((atMs) => atMs - electedMs);
    expect(first).toBeGreaterThan(200);
    expect(second - first).toBeGreaterThan(1_900);
    await fill(1);
    await waitFor(() => got.length === 1, { timeoutMs, what: "the message" });
  });
});
