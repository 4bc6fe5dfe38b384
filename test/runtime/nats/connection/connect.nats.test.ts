import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { connectNats } from "../../../../runtime/nats/connection/connect.ts";
import { NoReplyError } from "../../../../runtime/nats/connection/requests.ts";
import { ensureTopology } from "../../../../runtime/nats/streams/topology.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { stallMsMax, waitFor } from "../../../support/wait.ts";
import { testSettings } from "../../webhooks/engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer({ config: 'authorization { user: "u", password: "secret-of-u" }' });
});
afterAll(() => server.stop());

const access = () => ({ servers: [server.url], user: "u", password: "secret-of-u" });
const timeoutMs = 20_000;

describe("a connection", () => {
  test("that is refused fails at once, without the password in the error", async () => {
    const url = server.url.replace("://", "://u:wrong-secret@");
    const startedAt = performance.now();
    const error: unknown = await connectNats({ servers: [url] }).catch((cause: unknown) => cause);
    expect(String(error)).toBe(`Error: cannot connect to NATS at ${server.url}: Authorization Violation`);
    expect(performance.now() - startedAt).toBeLessThan(stallMsMax);
  });

  test("without a server fails within its time limit", async () => {
    const nobody = { servers: ["nats://127.0.0.1:1"], firstConnectionTimeoutMs: 300 };
    await expect(connectNats(nobody)).rejects.toThrow(/^cannot connect to NATS at nats:\/\/127.0.0.1:1: /u);
  });

  test("fails requests at once while the server is down, and serves them after its return", async () => {
    const handle = await connectNats(access());
    let reconnects = 0;
    handle.onReconnect(() => (reconnects += 1));
    const ask = () => handle.requests.request("$JS.API.INFO", "");
    expect((await ask()).length).toBeGreaterThan(0);
    const underWay = handle.requests.request("nobody.answers.this.but.somebody.listens", "", { timeoutMs: 20_000 });
    await expect(underWay).rejects.toMatchObject({ reason: "no_responders" });
    handle.connection.subscribe("slow");
    const lost = handle.requests.request("slow", "", { timeoutMs: 20_000 }).catch((error: unknown) => error);
    await handle.connection.flush();
    await server.kill9();
    expect(await lost).toMatchObject({ reason: "disconnected" });
    const startedAt = performance.now();
    const late = handle.requests.request("$JS.API.INFO", "", { timeoutMs: 20_000 });
    await expect(late).rejects.toBeInstanceOf(NoReplyError);
    expect(performance.now() - startedAt).toBeLessThan(stallMsMax);
    expect(handle.isConnected()).toBe(false);
    await server.restart();
    await waitFor(() => reconnects === 1 && handle.isConnected(), { timeoutMs, what: "the connection" });
    expect((await ask()).length).toBeGreaterThan(0);
    await handle.drain();
    expect(handle.isConnected()).toBe(false);
    await expect(ask()).rejects.toMatchObject({ reason: "closed" });
  });

  test("ends reads from the leader of a stream when another one is elected, and no other requests", async () => {
    // The server drops these requests, as all do without a leader.
    const permissions = '{ publish { deny: "$JS.API.STREAM.MSG.GET.>" } }';
    const config = `authorization { users: [{ user: "p", password: "secret", permissions: ${permissions} }] }`;
    const deaf = await startNatsServer({ config });
    onTestFinished(() => deaf.stop());
    const handle = await connectNats({ servers: [deaf.url], user: "p", password: "secret" });
    onTestFinished(() => handle.drain());
    const { requests, connection } = handle;
    const [lost] = ["LOST", "OTHER"].map((stream) =>
      requests
        .request(`$JS.API.STREAM.MSG.GET.${stream}`, "", { timeoutMs: 10 * timeoutMs })
        .catch((error: unknown) => error),
    );
    connection.publish("$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.LOST");
    expect(await lost).toMatchObject({ reason: "timeout" });
    expect(requests.hasPendingUpTo(requests.last())).toBe(true);
  });

  test("sends a request about a consumer again while no leader responds", async () => {
    const mapped = await startNatsServer({ config: 'mappings { "$JS.API.CONSUMER.INFO.S.C": "info" }' });
    onTestFinished(() => mapped.stop());
    const handle = await connectNats({ servers: [mapped.url] });
    onTestFinished(() => handle.drain());
    let received = 0;
    handle.connection.subscribe("info", {
      callback: (_error, message) => {
        received += 1;
        if (received === 2) message.respond(JSON.stringify({ name: "C" }));
      },
    });
    expect(await handle.manager.consumers.info("S", "C")).toMatchObject({ name: "C" });
  });

  test("fails a request without a timely answer", async () => {
    const handle = await connectNats(access());
    handle.connection.subscribe("silent");
    await expect(handle.requests.request("silent", "", { timeoutMs: 200 })).rejects.toMatchObject({
      reason: "timeout",
    });
    await handle.drain();
  });

  test("is made again although the wall clock was set back by an hour", async () => {
    const handle = await connectNats(access());
    const wallNow = Date.now;
    vi.spyOn(Date, "now").mockImplementation(() => wallNow() - 3_600_000);
    try {
      await server.kill9();
      await waitFor(() => !handle.isConnected(), { timeoutMs, what: "the end of the connection" });
      await server.restart();
      await waitFor(() => handle.isConnected(), { timeoutMs, what: "the connection" });
    } finally {
      vi.restoreAllMocks();
    }
    expect((await handle.requests.request("$JS.API.INFO", "")).length).toBeGreaterThan(0);
    await handle.drain();
  });

  test("leaves a server that stops responding without closing the connection", async () => {
    const other = await startNatsServer({ config: 'authorization { user: "u", password: "secret-of-u" }' });
    const servers = [server, other];
    const handle = await connectNats({ ...access(), servers: servers.map(({ url }) => url) });
    const current = (): NatsServerHandle | undefined =>
      servers.find(({ port }) => handle.connection.getServer().endsWith(`:${port}`));
    const first = current();
    expect(first).toBeDefined();
    process.kill(first?.pid ?? 0, "SIGSTOP");
    try {
      // Well below the half minute of the client's usual pings.
      const isMoved = (): boolean => handle.isConnected() && current() !== first;
      await waitFor(isMoved, { timeoutMs, what: "a connection to the other server" });
    } finally {
      process.kill(first?.pid ?? 0, "SIGCONT");
    }
    expect((await handle.requests.request("$JS.API.INFO", "")).length).toBeGreaterThan(0);
    await handle.drain();
    await other.stop();
  });

  test("drains within a time limit without the server", async () => {
    const handle = await connectNats(access());
    await server.kill9();
    await handle.drain();
    expect(handle.connection.isClosed()).toBe(true);
    await server.restart();
  });
});

describe("the topology", () => {
  test("is created once and found again, with sizes updated to the settings", async () => {
    const handle = await connectNats(access());
    const layout = await ensureTopology(handle, testSettings.streams);
    const info = async (stream: string) => handle.manager.streams.info(stream);
    const before = await info(layout.streams.events);
    await ensureTopology(handle, testSettings.streams);
    expect((await info(layout.streams.events)).created).toBe(before.created);
    const events = { maxAgeSeconds: 7_200, maxBytes: 1_000_000 };
    await ensureTopology(handle, { ...testSettings.streams, events });
    const { config } = await info(layout.streams.events);
    expect(config).toMatchObject({ max_age: 7_200e9, max_bytes: 1_000_000, discard: "new", storage: "file" });
    await handle.drain();
  });

  test("is created although JetStream does not respond for longer than the timeout of a request", async () => {
    const handle = await connectNats(access());
    const ask = (options: { readonly timeoutMs?: number } = {}) => handle.requests.request("$JS.API.INFO", "", options);
    process.kill(server.pid, "SIGSTOP");
    // The signal takes effect a moment later.
    await waitFor(
      () =>
        ask({ timeoutMs: 50 }).then(
          () => false,
          () => true,
        ),
      { timeoutMs, what: "a server that answers nothing" },
    );
    const made = ensureTopology(handle, { ...testSettings.streams, prefix: "slow" });
    try {
      // Asked after the topology's own first question, so that this one ends later.
      await expect(ask()).rejects.toMatchObject({ reason: "timeout" });
    } finally {
      process.kill(server.pid, "SIGCONT");
    }
    expect((await made).streams.deliveries).toBe("SLOW_DELIVERIES");
    await handle.drain();
  });

  test("is created although the server starts again meanwhile", async () => {
    const handle = await connectNats(access());
    await server.kill9();
    await waitFor(() => !handle.isConnected(), { timeoutMs, what: "the end of the connection" });
    const made = ensureTopology(handle, { ...testSettings.streams, prefix: "again" });
    await server.restart();
    expect((await made).streams.deliveries).toBe("AGAIN_DELIVERIES");
    await handle.drain();
  });

  test("is created by many pods at once without an error", async () => {
    const handles = await Promise.all([1, 2, 3].map(() => connectNats(access())));
    const streams = { ...testSettings.streams, prefix: "many" };
    const layouts = await Promise.all(handles.map((handle) => ensureTopology(handle, streams)));
    expect(layouts.map((layout) => layout.streams.deliveries)).toEqual(Array(3).fill("MANY_DELIVERIES"));
    await Promise.all(handles.map((handle) => handle.drain()));
  });

  test("keeps deliveries as a work queue with schedules that discards nothing", async () => {
    const handle = await connectNats(access());
    const layout = await ensureTopology(handle, testSettings.streams);
    const { config } = await handle.manager.streams.info(layout.streams.deliveries);
    expect(config).toMatchObject({
      subjects: ["hg.dlv.*.*.*", "hg.dlr.*.*.*", "hg.sch.*.*"],
      retention: "workqueue",
      max_msgs_per_subject: 1,
      max_bytes: -1,
      max_msgs: -1,
      max_age: 0,
      allow_msg_schedules: true,
      max_consumers: 20_000,
    });
    await handle.drain();
  });

  test("refuses a foreign stream of the same name", async () => {
    const handle = await connectNats(access());
    await handle.manager.streams.add({ name: "ALIEN_EVENTS", subjects: ["alien.>"] });
    await expect(ensureTopology(handle, { ...testSettings.streams, prefix: "alien" })).rejects.toThrow(
      "the stream ALIEN_EVENTS was not made by Heliograph; choose another prefix (settings: streams.prefix)",
    );
    await handle.drain();
  });
});

describe("a server without JetStream", () => {
  test("is reported", async () => {
    const plain = await startNatsServer({ config: "accounts { A: { users: [ { user: a, password: a } ] } }" });
    const handle = await connectNats({ servers: [plain.url], user: "a", password: "a" });
    await expect(ensureTopology(handle, testSettings.streams)).rejects.toThrow(/^JetStream is not enabled on /u);
    await handle.drain();
    await plain.stop();
  });
});

test("a connection reaches JetStream while its server reloads users", async () => {
  const users = (number: number): string =>
    `accounts { A: { jetstream: enabled, users: [ { user: a, password: a }, { user: b${number}, password: b } ] } }`;
  const reloaded = await startNatsServer({ config: users(0) });
  const handle = await connectNats({ servers: [reloaded.url], user: "a", password: "a" });
  const ask = { seq: 1 };
  await handle.manager.streams.add({ name: "S", subjects: ["s.>"] });
  await handle.requests.request("s.1", "x");
  const sent: Promise<unknown>[] = [];
  const timer = setInterval(() => {
    sent.push(handle.requests.request("$JS.API.STREAM.MSG.GET.S", JSON.stringify(ask)));
    sent.push(handle.manager.streams.getMessage("S", ask));
  }, 1);
  const reloads = 20;
  for (let number = 1; number <= reloads; number += 1) await reloaded.reload(users(number));
  clearInterval(timer);
  const results = await Promise.allSettled(sent);
  await handle.drain();
  await reloaded.stop();
  expect(results.filter(({ status }) => status === "rejected")).toEqual([]);
  expect(results.length).toBeGreaterThan(reloads);
});
