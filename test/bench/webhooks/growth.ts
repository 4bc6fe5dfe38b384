import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { retryUntilReply } from "../../../runtime/nats/connection/retry-until-reply.ts";
import { createLayout } from "../../../runtime/nats/layout.ts";
import { createDeliveriesStream } from "../../../runtime/nats/streams/deliveries-stream.ts";
import { createEventsStream } from "../../../runtime/nats/streams/events-stream.ts";
import { deliveryId, eventHash, messageId, partnerKey } from "../../../runtime/webhooks/ids.ts";
import { deliveryHeaders } from "../../../runtime/webhooks/records/delivery-record.ts";
import type { Changes } from "../../crds/valid-objects.ts";
import { configOf, eventBytes, partnerConfig, startEngine, streamsOf } from "../../runtime/webhooks/engine-fixture.ts";
import type { WorkerOrder } from "../../runtime/webhooks/worker-process.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { waitFor } from "../../support/wait.ts";
import { rounds, withUsage, type Bench } from "../harness/bench.ts";
import { quantile, type Measured } from "../harness/figures.ts";
import { makeSite } from "../harness/program.ts";
import { residentMebibytes } from "../harness/processes.ts";
import type { Sink } from "../load/children.ts";
import { webhookPartner } from "./partner.ts";
import { timeoutMs, type WebhookStage } from "./stage.ts";

/** What grows: many partners that are idle, many retries of one that is dead, many events among which one is found. */

const atOnce = 256;

/** Does something for each number below `count`, many at once. */
async function forEach(count: number, step: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await step(n);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

/** A program with many partners and nothing to do, beside one with a single partner. */
export async function partners({ sink }: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const [port = 0] = await sink.open([0]);
  const [one, many] = [await idle(port, 1, bench), await idle(port, bench.isSmall ? 20 : 1_000, bench)];
  const figure = (what: string, unit: string, of: (found: Idle) => number, atMost?: number): Measured => ({
    name: `1,000 partners, idle: ${what}`,
    unit,
    values: [of(many)],
    reference: { name: "one partner", values: [of(one)] },
    ...(atMost === undefined ? {} : { bar: { atMost } }),
  });
  return [
    figure("resident", "MiB", (found) => found.resident, 400),
    figure("CPU of the program", "%", (found) => found.percent, 2),
    figure("CPU of nats-server", "%", (found) => found.natsPercent),
  ];
}

interface Idle {
  readonly resident: number;
  readonly percent: number;
  readonly natsPercent: number;
}

async function idle(port: number, count: number, bench: Bench): Promise<Idle> {
  const [settleMs, lookMs] = bench.isSmall ? [100, 500] : [20_000, 30_000];
  const site = await makeSite(bench.program);
  await site.write("partners.yaml", Array.from({ length: count }, (_, place) => webhookPartner(port, place)).flat());
  const subject = await site.run();
  // Consumers of partners are made after the program is ready.
  await sleep(settleMs);
  const [, { cpuSeconds, natsCpuSeconds }] = await withUsage(subject, () => sleep(lookMs));
  const percent = (seconds: number): number => (seconds * 100_000) / lookMs;
  const found = {
    resident: subject.resident().largest,
    percent: percent(cpuSeconds),
    natsPercent: percent(natsCpuSeconds),
  };
  await subject.stop();
  await site.remove();
  return found;
}

const partnersPerFile = 100;

/** An edit of one among many partners of a folder, from the write of its file until it is in force. */
export async function edit({ sink }: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const count = bench.isSmall ? 20 : 10_000;
  const [port = 0] = await sink.open([0]);
  const site = await makeSite(bench.program);
  const write = (first: number, more: Changes = {}): Promise<void> => {
    const places = Array.from({ length: Math.min(partnersPerFile, count) }, (_, place) => first + place);
    const objects = places.flatMap((place) => webhookPartner(port, place, place === 0 ? more : {}));
    return site.write(`partners-${first}.yaml`, objects);
  };
  for (let first = 0; first < count; first += partnersPerFile) await write(first);
  const subject = await site.run();
  const hashNow = async (): Promise<unknown> => {
    const response = await request(`${subject.adminUrls[0]}/configz`);
    return Reflect.get((await response.body.json()) as object, "hash");
  };
  // Consumers of partners are made after the program is ready.
  await sleep(bench.isSmall ? 100 : 20_000);
  const seconds = await rounds(bench.rounds, async (round) => {
    const before = await hashNow();
    const startedMs = performance.now();
    await write(0, { "endpoint.timeoutSeconds": 11 + round });
    await waitFor(async () => (await hashNow()) !== before, { timeoutMs, what: "the edit", pollMs: 50 });
    return (performance.now() - startedMs) / 1_000;
  });
  const resident = subject.resident().largest;
  await subject.stop();
  await site.remove();
  const name = `${count} partners in a folder`;
  return [
    { name: `${name}: an edit of one until it is in force`, unit: "s", values: seconds, bar: { atMost: 1 } },
    { name: `${name}: resident after the edits`, unit: "MiB", values: [resident] },
  ];
}

const waiting = { state: "Paused" } as const;

/** How an installation comes back with many retries of one partner. */
interface Recovered {
  readonly natsSeconds: number;
  readonly readySeconds: number;
  readonly natsMebibytes: number;
  /** Of events to another partner, from the publish to the arrival. */
  readonly waitsMs: readonly number[];
}

/** Everything is killed while one partner has many retries; then the other partner gets events. */
export async function dead(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const count = bench.isSmall ? 200 : 100_000;
  const found = await measureDead(stage, count, bench.isSmall ? 5 : 100);
  const name = `${count} retries of a dead partner, everything killed`;
  const note = `nats-server after ${found.natsSeconds.toFixed(1)} s, then ${found.natsMebibytes.toFixed(0)} MiB resident`;
  return [
    { name: `${name}: ready after`, unit: "s", values: [found.readySeconds], bar: { atMost: 10 }, note },
    { name: `${name}: another partner then, p95`, unit: "ms", values: [quantile(found.waitsMs, 0.95)] },
  ];
}

export async function measureDead({ sink }: WebhookStage, count: number, others: number): Promise<Recovered> {
  const server = await startNatsServer({ syncInterval: "1s" });
  const [port = 0] = await sink.open([0]);
  await sink.forget();
  const failing = partnerConfig("dead", "http://127.0.0.1:9/webhooks/v1/x");
  const well = partnerConfig("well", `http://127.0.0.1:${port}/webhooks/v1/x`, { timeoutMs: 30_000 });
  const both = configOf({ ...failing, ...waiting }, { ...well, ...waiting });
  await scheduleRetries(server, both, partnerKey(failing.uid), count);
  await server.kill9();
  const startedMs = performance.now();
  await server.restart();
  const natsSeconds = (performance.now() - startedMs) / 1_000;
  const order: WorkerOrder = { url: server.url, prefix: "dead", podId: "pod-1", config: configOf(failing, well) };
  const child = fork(new URL("../../runtime/webhooks/worker-process.ts", import.meta.url), [JSON.stringify(order)]);
  await once(child, "message");
  const readySeconds = (performance.now() - startedMs) / 1_000;
  const waitsMs = await deliverOthers(server, both, sink, others);
  const natsMebibytes = residentMebibytes(server.pid);
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
  await server.stop();
  return { natsSeconds, readySeconds, natsMebibytes, waitsMs };
}

async function scheduleRetries(
  server: NatsServerHandle,
  config: WorkerOrder["config"],
  partner: string,
  count: number,
): Promise<void> {
  const engine = await startEngine(server.url, config, { settings: streamsOf("dead") });
  const stream = createDeliveriesStream(engine.nats, createLayout("dead"));
  const body = eventBytes("e");
  await forEach(count, async (n) => {
    const did = deliveryId("acme", `d-${n}`, config.partners[0]?.uid ?? "");
    const record = {
      did,
      partner,
      tenant: "acme",
      eventId: `d-${n}`,
      type: "a.b",
      acceptedAtMs: Date.now(),
      generation: 0,
      attempt: 2,
      hop: 0,
      attemptsBefore: 0,
    };
    const headers = deliveryHeaders(record);
    const delivery = { lane: partner, partner, did, messageId: messageId(record), headers, body };
    const held = { subject: `dead.dlv.${partner}.${partner}.${did}`, seq: 0 };
    await retryUntilReply(() => stream.schedule(delivery, held, Date.now() + 3_600_000));
  });
  await stream.ensureConsumer({ queue: "retry", lane: partner, maxAckPending: 16, metadata: {} });
  await engine.stop();
  await engine.nats.drain();
}

/** Milliseconds of each event from its publish to its arrival, one after another. */
async function deliverOthers(
  server: NatsServerHandle,
  config: WorkerOrder["config"],
  sink: Sink,
  count: number,
): Promise<readonly number[]> {
  const publisher = await startEngine(server.url, config, { settings: streamsOf("dead"), podId: "publisher" });
  const waits = await rounds(count, async (n) => {
    const sentMs = performance.now();
    await publisher.ingest(eventBytes(`w-${n}`));
    await waitFor(async () => (await sink.count()).distinct > n, { timeoutMs, what: "the other partner", pollMs: 1 });
    return performance.now() - sentMs;
  });
  await publisher.stop();
  return waits;
}

/** Finding one event among many, and among one. */
export async function lookup(_stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const server = await startNatsServer({ syncInterval: "1s" });
  const count = bench.isSmall ? 500 : 1_000_000;
  const looks = bench.isSmall ? 10 : 500;
  const settings = streamsOf("look");
  const streams = { ...settings.streams, events: { maxAgeSeconds: 3_600, maxBytes: 4 * 1024 ** 3 } };
  const engine = await startEngine(server.url, configOf(), { settings: { ...settings, streams } });
  const find = async (id: string): Promise<number> => {
    const startedMs = performance.now();
    if ((await engine.engine.history.event(id, ["acme"])) === undefined) throw new Error(`${id} is not found`);
    return performance.now() - startedMs;
  };
  const p95 = async (id: () => string): Promise<number> => quantile(await rounds(looks, () => find(id())), 0.95);
  await engine.ingest(eventBytes("first"));
  const alone = await rounds(bench.rounds, () => p95(() => "first"));
  const events = createEventsStream(engine.nats, createLayout("look"));
  const bytes = Buffer.from(eventBytes("e"));
  await forEach(count, (n) => {
    const headers = { "Hg-Event": `e-${n}`, "Hg-Type": "a.b" };
    return retryUntilReply(() => events.store({ tenant: "acme", idhash: eventHash(`e-${n}`), headers, bytes }));
  });
  const values = await rounds(bench.rounds, () => p95(() => `e-${Math.floor(Math.random() * count)}`));
  const note = `nats-server ${residentMebibytes(server.pid).toFixed(0)} MiB resident`;
  await engine.stop();
  await server.stop();
  const name = `one event among ${count}: p95`;
  return [{ name, unit: "ms", values, reference: { name: "among one", values: alone }, bar: { atMost: 50 }, note }];
}
