import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectNats } from "../../../runtime/nats/connection/connect.ts";
import type { WebhookEngineDeps } from "../../../runtime/webhooks/engine-context.ts";
import { type StreamRecord, StreamsLost } from "../../../runtime/nats/streams/stream-identities.ts";
import { freePort } from "../../support/free-port.ts";
import { startNatsCluster } from "../../support/nats-cluster.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";
import { waitFor } from "../../support/wait.ts";
import { configOf, eventBytes, startEngine, testSettings, type TestEngine } from "./engine-fixture.ts";

const timeoutMs = 30_000;

let folder: TemporaryFolder;
let servers: NatsServerHandle[];
let engines: TestEngine[];

beforeEach(async () => {
  folder = await temporaryFolder("streams-lost");
  [servers, engines] = [[], []];
});

afterEach(async () => {
  for (const engine of engines) await engine.stop();
  for (const server of servers) await server.stop();
  await folder.remove();
});

async function serve(...options: Parameters<typeof startNatsServer>): Promise<NatsServerHandle> {
  const server = await startNatsServer(...options);
  servers.push(server);
  return server;
}

async function start(server: NatsServerHandle, overrides?: Partial<WebhookEngineDeps>): Promise<TestEngine> {
  const engine = await startEngine(server.url, configOf(), overrides);
  engines.push(engine);
  return engine;
}

const untilLost = ({ engine }: TestEngine): Promise<unknown> =>
  waitFor(() => /StreamsLost: HG_EVENTS, made .* is gone/u.test(engine.health().detail ?? ""), {
    timeoutMs,
    what: "the loss",
  });

/** Three servers; the first on a store and port that were a single server's. */
async function cluster(storeDir: string, port: number): Promise<void> {
  const ports = [await freePort(), await freePort(), await freePort()];
  const routes = ports.map((each) => JSON.stringify(`nats://127.0.0.1:${each}`)).join(", ");
  const config = (index: number): string =>
    `server_name: n${index}\ncluster { name: C, listen: "127.0.0.1:${ports[index]}", routes: [${routes}] }`;
  await Promise.all([
    serve({ storeDir, port, config: config(0) }),
    serve({ config: config(1) }),
    serve({ config: config(2) }),
  ]);
}

describe("a NATS that has not the streams that a pod remembers", () => {
  test("gets no empty ones: the pod takes nothing in, says why, and goes on when the right one is back", async () => {
    const right = await serve({ storeDir: `${folder.path}/right` });
    const pod = await start(right);
    await pod.ingest(eventBytes("kept"));
    await right.kill9();
    const wrong = await serve({ storeDir: `${folder.path}/wrong`, port: right.port });
    await untilLost(pod);
    await expect(pod.ingest(eventBytes("kept"))).rejects.toMatchObject({ code: "events_unavailable" });
    await expect(start(wrong)).rejects.toThrow(StreamsLost);
    expect(await namesOn(wrong)).not.toContain("HG_EVENTS");

    await wrong.stop();
    await right.restart();
    await waitFor(() => pod.engine.health().ok, { timeoutMs, what: "the streams" });
    expect(await pod.ingest(eventBytes("kept"))).toMatchObject({ duplicate: true });
  });

  test("is a cluster over the store of a single server", async () => {
    const single = await serve({ storeDir: folder.path });
    const pod = await start(single);
    await pod.ingest(eventBytes("kept"));
    await single.stop();
    await cluster(folder.path, single.port);
    await untilLost(pod);
    await expect(start(single)).rejects.toThrow(/^StreamsLost: HG_EVENTS, made /u);
  });

  test("is refused by the first pod after all others, as long as the record outside NATS says so", async () => {
    const right = await serve();
    const recorded = new Map<string, string>();
    const streamRecord: StreamRecord = {
      read: () => Promise.resolve(recorded),
      add: async (found) => found.forEach((made, name) => recorded.set(name, made)),
    };
    const pod = await start(right, { streamRecord });
    await pod.stop();
    expect([...recorded.keys()]).toEqual(["HG_EVENTS", "HG_ATTEMPTS", "HG_DLQ"]);
    await right.kill9();
    const empty = await serve({ port: right.port });
    await expect(start(empty, { streamRecord })).rejects.toThrow(/^StreamsLost: HG_EVENTS, made .* is gone; HG_ATT/u);
    const unread = { ...streamRecord, read: () => Promise.resolve(undefined) };
    await expect(start(empty, { streamRecord: unread })).rejects.toThrow(
      "StreamsLost: HG_EVENTS, HG_ATTEMPTS, HG_DLQ missing, and the record of the streams cannot be read",
    );
    expect(await namesOn(empty)).toEqual([]);

    recorded.clear();
    const next = await start(empty, { streamRecord });
    expect(await next.ingest(eventBytes("first"))).toMatchObject({ duplicate: false });
    await start(empty, { streamRecord: unread, podId: "pod-2" });
  });

  test("is refused while a stream of it is an unfinished copy", async () => {
    const server = await serve();
    const handle = await connectNats({ servers: [server.url] });
    await handle.manager.streams.add({
      name: "HG_EVENTS",
      subjects: ["hg.evt.*.*"],
      metadata: { heliograph_layout: "1", heliograph_copy_of: "2026-01-01T00:00:00Z" },
    });
    await handle.drain();
    await expect(start(server)).rejects.toThrow("StreamsLost: HG_EVENTS is an unfinished copy");
  });

  test("is taken as it is once every pod that remembers has ended", async () => {
    const right = await serve();
    const pod = await start(right);
    await right.kill9();
    const empty = await serve({ port: right.port });
    await untilLost(pod);
    await pod.stop();
    const next = await start(empty);
    expect(await next.ingest(eventBytes("first"))).toMatchObject({ duplicate: false });
  });
});

describe("a NATS that turns JetStream off under a running pod", () => {
  test("is noticed by the pod, which continues when it is on again", async () => {
    const server = await serve();
    const pod = await start(server);
    await pod.ingest(eventBytes("kept"));
    await server.reloadWithoutJetStream("");
    await waitFor(() => !pod.engine.health().ok, { timeoutMs, what: "the loss" });
    expect(pod.engine.health().detail).toMatch(/^HG_\w+ does not respond/u);
    await expect(pod.ingest(eventBytes("next"))).rejects.toMatchObject({ code: "events_unavailable" });
    await server.reload("");
    await waitFor(() => pod.engine.health().ok, { timeoutMs, what: "JetStream" });
    expect(await pod.ingest(eventBytes("kept"))).toMatchObject({ duplicate: true });
  });
});

describe("streams without the events among them", () => {
  test("are what is left of an installation, which no start makes whole", async () => {
    const server = await serve();
    const pod = await start(server);
    await pod.nats.manager.streams.delete("HG_EVENTS");
    await pod.stop();
    await expect(start(server)).rejects.toThrow(/^StreamsLost: HG_EVENTS is gone, while HG_DELIVERIES, .* are there/u);
  });
});

describe("a cluster with two of three copies of its streams lost", () => {
  /** A loss shows within five seconds, and a little for the machine of the test. */
  const shownMs = 5_000 + 1_500;

  test("makes an idle pod unready at once, until the pod has stored an event by itself", async () => {
    const { nodes } = await startNatsCluster();
    servers.push(...nodes);
    const [first, ...others] = nodes as [NatsServerHandle, NatsServerHandle, NatsServerHandle];
    const settings = { ...testSettings, streams: { ...testSettings.streams, replicas: 3 } };
    const pod = await start(first, { settings });
    expect(pod.engine.health()).toEqual({ ok: true });
    await Promise.all(others.map((node) => node.kill9()));
    const lostAtMs = performance.now();
    await waitFor(() => !pod.engine.health().ok, { timeoutMs, what: "the loss" });
    expect(performance.now() - lostAtMs).toBeLessThan(shownMs);
    expect(pod.engine.health().detail).toMatch(/^HG_[A-Z]+ does not respond$/u);
    expect(pod.engine.streamsLoss).toBe(pod.engine.health().detail);
    await Promise.all(others.map((node) => node.restart()));
    await waitFor(() => pod.engine.health().ok, { timeoutMs, what: "the streams" });
    // Its event is removed again.
    const state = async () => (await pod.nats.manager.streams.info("HG_EVENTS")).state;
    await waitFor(async () => (await state()).messages === 0, { timeoutMs, what: "the removal" });
    expect((await state()).last_seq).toBeGreaterThan(0);
  });
});

async function namesOn(server: NatsServerHandle): Promise<readonly string[]> {
  const handle = await connectNats({ servers: [server.url] });
  const names: string[] = [];
  for await (const name of handle.manager.streams.names()) names.push(name);
  await handle.drain();
  return names;
}
