import { createSecretKey } from "node:crypto";
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connectNats } from "../../runtime/nats/connection/connect.ts";
import { createEventsStream } from "../../runtime/nats/streams/events-stream.ts";
import { createLayout } from "../../runtime/nats/layout.ts";
import { createDeliveriesStream } from "../../runtime/nats/streams/deliveries-stream.ts";
import { untilAnswered } from "../../runtime/nats/connection/retry-until-answered.ts";
import { deliveryHeaders } from "../../runtime/webhooks/records/delivery-record.ts";
import { deliveryId, eventHash, messageId, partnerKey } from "../../runtime/webhooks/ids.ts";
import { signHmacV1, verifyHmacV1 } from "../../runtime/webhooks/signing/hmac-v1.ts";
import type { WorkerOrder } from "../runtime/webhooks/worker-process.ts";
import { configOf, eventBytes, partnerConfig, startEngine, streamsOf } from "../runtime/webhooks/engine-fixture.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { waitFor } from "../support/wait.ts";
import { startSink } from "./load/children.ts";
import { cpuSeconds, quantile, quantilesText, residentMebibytes } from "./load/measure.ts";

/**
 * What grows: many partners that are idle, many retries of one that is dead, many events among which one is looked up.
 * References: the same with one partner; the first read of an empty stream. And what verifying one signature takes.
 *
 * Arguments: partners, retries, events; parts to run (`verify,partners,dead,lookup`).
 */
const partnerCount = Number(process.argv[2] ?? 1_000);
const retryCount = Number(process.argv[3] ?? 100_000);
const eventCount = Number(process.argv[4] ?? 1_000_000);
const parts = process.argv[5]?.split(",");
const timeoutMs = 600_000;
const atOnce = 256;

const server = await startNatsServer({ syncInterval: "1s" });
const sink = await startSink();
const folder = await temporaryFolder("scale");
const nats = await connectNats({ servers: [server.url] });
const workers: ChildProcess[] = [];
try {
  for (const [name, part] of Object.entries({
    verify: verification,
    partners: idlePartners,
    dead: deadPartner,
    lookup: lookUp,
  })) {
    if (parts?.includes(name) ?? true) {
      await part();
    }
  }
} finally {
  await nats.drain();
  workers.forEach((child) => child.kill("SIGKILL"));
  await sink.stop();
  await server.stop();
  await folder.remove();
}

interface RunningWorker {
  readonly pid: number;
  readonly readyMs: number;
  readonly stop: () => Promise<void>;
}

async function startWorker(prefix: string, config: WorkerOrder["config"]): Promise<RunningWorker> {
  const startedAt = performance.now();
  const order: WorkerOrder = { url: server.url, prefix, podId: `pod-${workers.length}`, config };
  const file = join(folder.path, `${order.podId}.json`);
  await writeFile(file, JSON.stringify(order));
  const child = fork(new URL("../runtime/webhooks/worker-process.ts", import.meta.url), [`@${file}`]);
  workers.push(child);
  await once(child, "message");
  const readyMs = performance.now() - startedAt;
  const stop = async (): Promise<void> => {
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  };
  return { pid: child.pid ?? 0, readyMs, stop };
}

/** Does something for each number below `count`, many at once. */
async function forEach(count: number, step: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) {
      await step(n);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

function verification(): Promise<void> {
  const secret = createSecretKey(Buffer.from("a key of at least thirty-two bytes, for benches"));
  const body = Buffer.alloc(512, "x");
  const timestamp = "2026-01-01T00:00:00.000Z";
  const request = { timestamp, method: "POST", path: "/webhooks/v1/payout", body };
  const received = { ...request, signature: signHmacV1(secret, request) };
  const keys = ["new", "old"].map((id) => ({ id, secret }));
  const micros: number[] = [];
  for (let turn = 0; turn < 50_000; turn += 1) {
    const startedAt = performance.now();
    const { ok } = verifyHmacV1(keys, received, Date.parse(timestamp));
    micros.push((performance.now() - startedAt) * 1_000);
    if (!ok) throw new Error("a good signature was refused");
  }
  const warm = micros.slice(10_000);
  console.log(
    `verifying HmacV1 over 512 B with two keys: p50 ${quantile(warm, 0.5).toFixed(1)} µs, p95 ` +
      `${quantile(warm, 0.95).toFixed(1)} µs, p99 ${quantile(warm, 0.99).toFixed(1)} µs`,
  );
  return Promise.resolve();
}

async function idlePartners(): Promise<void> {
  const [port = 0] = await sink.open([0]);
  const url = `http://127.0.0.1:${port}/webhooks/v1/x`;
  const some = (count: number) =>
    configOf(...Array.from({ length: count }, (_, n) => partnerConfig(`p${n}`, url, { timeoutMs: 30_000 })));
  for (const [prefix, count] of [
    ["one", 1],
    ["many", partnerCount],
  ] as const) {
    await sink.forget();
    const { pid, readyMs, stop } = await startWorker(prefix, some(count));
    const { deliveries } = createLayout(prefix).streams;
    const consumers = async () =>
      (await nats.manager.streams.info(deliveries)).state.consumer_count === Math.min(count, 800 + 64);
    const startedAt = performance.now();
    await waitFor(async () => (await consumers()) || performance.now() - startedAt > 30_000, {
      timeoutMs,
      what: "consumers",
    });
    await sleep(5_000);
    const before = { worker: cpuSeconds(pid), nats: cpuSeconds(server.pid) };
    await sleep(10_000);
    const percent = (used: number): string => (used * 10).toFixed(1);
    console.log(
      `${count} partners, idle: ready after ${(readyMs / 1_000).toFixed(1)} s; resident ` +
        `${residentMebibytes(pid).toFixed(0)} MiB, nats ${residentMebibytes(server.pid).toFixed(0)} MiB; CPU ` +
        `${percent(cpuSeconds(pid) - before.worker)} %, nats ${percent(cpuSeconds(server.pid) - before.nats)} %`,
    );
    await stop();
  }
}

async function deadPartner(): Promise<void> {
  const prefix = "dead";
  const [port = 0] = await sink.open([0]);
  await sink.forget();
  const dead = partnerConfig("dead", "http://127.0.0.1:9/webhooks/v1/x");
  const well = partnerConfig("well", `http://127.0.0.1:${port}/webhooks/v1/x`, { timeoutMs: 30_000 });
  const engine = await startEngine(server.url, configOf({ ...dead, state: "Paused" }, { ...well, state: "Paused" }), {
    settings: streamsOf(prefix),
  });
  const stream = createDeliveriesStream(engine.nats, createLayout(prefix));
  const token = partnerKey(dead.uid);
  const body = eventBytes("e");
  await forEach(retryCount, async (n) => {
    const did = deliveryId("acme", `d-${n}`, dead.uid);
    const item = {
      did,
      partner: token,
      tenant: "acme",
      eventId: `d-${n}`,
      type: "a.b",
      acceptedAtMs: Date.now(),
      generation: 0,
      attempt: 2,
      hop: 0,
      attemptsBefore: 0,
    };
    const delivery = {
      lane: token,
      partner: token,
      did,
      messageId: messageId(item),
      headers: deliveryHeaders(item),
      body,
    };
    const held = { subject: `${prefix}.dlv.${token}.${token}.${did}`, seq: 0 };
    await untilAnswered(() => stream.schedule(delivery, held, Date.now() + 3_600_000));
  });
  await stream.ensureConsumer({ queue: "retry", lane: token, maxAckPending: 16, metadata: {} });
  await engine.stop();
  await engine.nats.drain();
  await server.kill9();
  const startedAt = performance.now();
  await server.restart();
  const serverMs = performance.now() - startedAt;
  const { readyMs, stop } = await startWorker(prefix, configOf(dead, well));
  const waits: number[] = [];
  const publisher = await startEngine(
    server.url,
    configOf({ ...dead, state: "Paused" }, { ...well, state: "Paused" }),
    { settings: streamsOf(prefix), podId: "publisher" },
  );
  for (let n = 0; n < 100; n += 1) {
    const sentAt = performance.now();
    await publisher.ingest(eventBytes(`w-${n}`));
    await waitFor(async () => (await sink.count()).distinct > n, { timeoutMs, what: "the other partner", pollMs: 1 });
    waits.push(performance.now() - sentAt);
  }
  console.log(
    `${retryCount} retries of a dead partner, everything killed: nats ready after ` +
      `${(serverMs / 1_000).toFixed(1)} s, worker ${(readyMs / 1_000).toFixed(1)} s later; another partner then ` +
      `${quantilesText(waits)}; nats ${residentMebibytes(server.pid).toFixed(0)} MiB`,
  );
  await publisher.stop();
  await stop();
}

async function lookUp(): Promise<void> {
  const prefix = "look";
  const settings = streamsOf(prefix);
  const large = {
    ...settings,
    streams: { ...settings.streams, events: { maxAgeSeconds: 3_600, maxBytes: 4 * 1024 ** 3 } },
  };
  const engine = await startEngine(server.url, configOf(), { settings: large });
  const history = async (id: string): Promise<number> => {
    const startedAt = performance.now();
    if ((await engine.engine.history.event(id, ["acme"])) === undefined) throw new Error(`${id} is not found`);
    return performance.now() - startedAt;
  };
  await engine.ingest(eventBytes("first"));
  const reference: number[] = [];
  for (let n = 0; n < 200; n += 1) reference.push(await history("first"));
  const before = residentMebibytes(server.pid);
  const events = createEventsStream(engine.nats, createLayout(prefix));
  const body = Buffer.from(eventBytes("e"));
  const startedAt = performance.now();
  await forEach(eventCount, (n) => {
    const headers = { "Hg-Event": `e-${n}`, "Hg-Type": "a.b" };
    return untilAnswered(() => events.store({ tenant: "acme", idhash: eventHash(`e-${n}`), headers, bytes: body }));
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  const waits: number[] = [];
  for (let n = 0; n < 2_000; n += 1) waits.push(await history(`e-${Math.floor(Math.random() * eventCount)}`));
  console.log(
    `look-up of an event among ${eventCount} (stored in ${seconds.toFixed(0)} s): ${quantilesText(waits)}; among ` +
      `one: ${quantilesText(reference)}`,
  );
  console.log(`  nats: ${residentMebibytes(server.pid).toFixed(0)} MiB resident, ${before.toFixed(0)} MiB before`);
  await engine.stop();
}
