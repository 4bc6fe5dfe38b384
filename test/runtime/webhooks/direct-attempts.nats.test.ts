import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Registry } from "prom-client";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { laneConsumer, routerConsumer } from "../../../runtime/nats/layout.ts";
import { ownerOf } from "../../../runtime/pods/pods.ts";
import { directShare } from "../../../runtime/webhooks/workers/own-lane-consumers.ts";
import { partnerKey } from "../../../runtime/webhooks/ids.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { waitFor } from "../../support/wait.ts";
import type { PartnerAnswer, ReceivedDelivery, WebhookPartnerServer } from "../../support/webhook-partner.ts";
import { engineCase, partnerServer, removedAtOnce, untilEmpty, type EngineCase } from "./engine-cases.ts";
import {
  configOf,
  eventBytes,
  partnerConfig,
  startEngine,
  streamsOf,
  type PartnerOverrides,
} from "./engine-fixture.ts";
import { idsOf, sendDirectly, storedDeliveries } from "./fault-fixture.ts";

const timeoutMs = 30_000;
const context = { onTestFinished };
let server: NatsServerHandle;

beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

interface Case extends EngineCase {
  readonly config: RuntimeConfig;
  readonly partner: WebhookPartnerServer;
  readonly registry: Registry;
  /** An event whose attempt is under way and whose delivery is not stored. */
  readonly slow: string;
  /** Deliveries that were stored before it. */
  readonly storedBefore: number;
  /** Responds to its first attempt, and to those of other events like it. */
  readonly release: (answer: PartnerAnswer) => void;
  /** The delivery of an event to the partner `one`. */
  readonly delivery: (eventId: string) => Promise<unknown>;
}

/** An engine that makes first attempts straight from events, with one under way. */
async function caseOf(overrides: PartnerOverrides = {}, podId?: string, count = 1): Promise<Case> {
  const held = new Map<string, (answer: PartnerAnswer) => void>();
  const release = (id: string, answer: PartnerAnswer = {}): void => held.get(id)?.(answer);
  const answer = ({ eventId, attempt }: ReceivedDelivery): PartnerAnswer | Promise<PartnerAnswer> =>
    eventId.startsWith("direct-") && attempt === 1 ? new Promise((resolve) => held.set(eventId, resolve)) : {};
  const partner = await partnerServer(context, answer);
  const registry = new Registry();
  const config = configOf(partnerConfig("one", partner.url, { timeoutMs: 20_000, ...overrides }));
  const named = podId === undefined ? {} : { podId };
  const engine = await engineCase(server.url, context, config, { registry, ...removedAtOnce, ...named });
  onTestFinished(() => [...held.keys()].forEach((id) => release(id)));
  const produce = (id: string) => engine.ingest(eventBytes(id));
  const sent = await sendDirectly({ ...engine, partner, produce }, count, release);
  const [slow = ""] = sent;
  const delivery = async (eventId: string): Promise<unknown> =>
    (await engine.engine.history.event(eventId, ["*"]))?.deliveries.find(
      ({ partner: label }) => label === "default/one",
    );
  const storedBefore = await storedDeliveries(engine.nats, engine.prefix);
  const releaseAll = (one: PartnerAnswer): void => sent.forEach((id) => release(id, one));
  return { ...engine, config, partner, registry, slow, storedBefore, release: releaseAll, delivery };
}

describe("an attempt straight from an event", () => {
  test("is shown as a delivery under way, and its success is the whole history", async () => {
    const it = await caseOf();
    expect(await it.delivery(it.slow)).toMatchObject({ state: "in_delivery", generation: 0, attempts: [] });
    const backlog = async (): Promise<unknown> =>
      (await it.registry.getSingleMetric("heliograph_webhook_partner_backlog")?.get())?.values[0]?.value;
    await waitFor(async () => (await backlog()) === 1, { timeoutMs, what: "the backlog of the partner" });
    it.release({});
    await untilEmpty(it, timeoutMs);
    expect(await it.delivery(it.slow)).toMatchObject({ state: "delivered", attempts: [{ attempt: 1, status: 200 }] });
    expect(await storedDeliveries(it.nats, it.prefix)).toBe(it.storedBefore);
  });

  test("that fails goes on as a stored delivery", async () => {
    const it = await caseOf({ retry: { scheduleSeconds: [1], maxAgeSeconds: 3_600, jitterPercent: 0 } });
    it.release({ status: 500 });
    await waitFor(() => it.partner.of(it.slow).length === 2, { timeoutMs, what: "the second attempt" });
    await untilEmpty(it, timeoutMs);
    const [first, second] = it.partner.of(it.slow);
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(1_000);
    expect(await it.delivery(it.slow)).toMatchObject({
      state: "delivered",
      attempts: [{ status: 500 }, { attempt: 2, status: 200 }],
    });
  });

  test("that is answered 410 disables the partner and leaves a dead letter", async () => {
    const it = await caseOf();
    it.release({ status: 410 });
    await waitFor(async () => (await it.engine.disabledPartners.list()).length === 1, { timeoutMs, what: "the mark" });
    await untilEmpty(it, timeoutMs);
    expect(await it.delivery(it.slow)).toMatchObject({ state: "rejected", reason: "status_410" });
    const letters = (await it.nats.manager.streams.info(it.layout.streams.deadLetters)).state.messages;
    expect(letters).toBe(1);
  });

  test("leaves its dead letter though the partner is disabled by another one", async () => {
    const it = await caseOf({}, undefined, 3);
    it.release({ status: 410 });
    const letters = async (): Promise<number> =>
      (await it.nats.manager.streams.info(it.layout.streams.deadLetters)).state.messages;
    await waitFor(async () => (await letters()) === 3, { timeoutMs, what: "the dead letters" });
    await untilEmpty(it, timeoutMs);
    expect(await it.engine.disabledPartners.list()).toHaveLength(1);
    expect(await storedDeliveries(it.nats, it.prefix)).toBe(it.storedBefore);
  });

  test("that fails after its partner was removed ends with that reason", async () => {
    const it = await caseOf();
    it.engine.apply(configOf());
    it.release({ status: 500 });
    const letters = async (): Promise<number> =>
      (await it.nats.manager.streams.info(it.layout.streams.deadLetters)).state.messages;
    await waitFor(async () => (await letters()) === 1, { timeoutMs, what: "the dead letter" });
    await untilEmpty(it, timeoutMs);
    expect(it.partner.of(it.slow)).toHaveLength(1);
    expect(await it.delivery(it.slow)).toMatchObject({ reason: "partner_removed" });
  });

  test("is not replayed while it is under way, and keeps no later event from a replay", async () => {
    const it = await caseOf();
    await it.ingest(eventBytes("later"));
    await waitFor(() => it.partner.of("later").length === 1, { timeoutMs, what: "the later event" });
    const caller = { client: "support", tenants: ["*"] };
    const { replay_id } = (await it.engine.replays.replay(
      Buffer.from(JSON.stringify({ event_ids: [it.slow, "later"] })),
      caller,
    )) as {
      readonly replay_id: string;
    };
    const status = async () => it.engine.replays.get(replay_id, caller);
    await waitFor(async () => (await status())?.status === "completed", { timeoutMs, what: "the replay" });
    expect(await status()).toMatchObject({ matched: 2, published: 1 });
    await waitFor(() => it.partner.of("later").length === 2, { timeoutMs, what: "the replayed event" });
    it.release({});
    await untilEmpty(it, timeoutMs);
    expect(it.partner.of(it.slow)).toHaveLength(1);
  });
});

/** Returns the last event to its consumer, as at the end of its acknowledgement wait. */
async function returnLastEvent({ nats, layout }: EngineCase): Promise<void> {
  const { events } = layout.streams;
  const [{ state }, { delivered }] = await Promise.all([
    nats.manager.streams.info(events),
    nats.manager.consumers.info(events, routerConsumer),
  ]);
  const reply = ["$JS.ACK", events, routerConsumer, 1, state.last_seq, delivered.consumer_seq, 0, 0].join(".");
  nats.connection.publish(reply, "-NAK");
  await nats.connection.flush();
}

test("an attempt straight from an event is made once when another pod gets the event before its record", async () => {
  const names = ["pod-1", "pod-2"];
  const [uid = ""] = idsOf(256).filter((id) => ownerOf(partnerKey(id), names) === "pod-1");
  const it = await caseOf({ uid, retry: { scheduleSeconds: [1], maxAgeSeconds: 3_600, jitterPercent: 0 } }, "pod-1");
  const other = await startEngine(server.url, it.config, { settings: streamsOf(it.prefix), podId: "pod-2" });
  onTestFinished(other.stop);
  const isStored = async (): Promise<boolean> => {
    if ((await storedDeliveries(it.nats, it.prefix)) > it.storedBefore) return true;
    await returnLastEvent(it);
    return false;
  };
  await waitFor(isStored, { timeoutMs, what: "the delivery that the other pod stores" });
  await it.ingest(eventBytes("later"));
  await waitFor(() => it.partner.of("later").length === 1, { timeoutMs, what: "a delivery after it" });
  it.release({ status: 500 });
  await waitFor(() => it.partner.of(it.slow).some(({ attempt }) => attempt === 2), { timeoutMs, what: "the retry" });
  await untilEmpty(it, timeoutMs);
  expect(it.partner.of(it.slow).map(({ attempt }) => attempt)).toEqual([1, 2]);
});

/** Attempts that JetStream may have under way for a partner. */
async function places({ nats, layout }: EngineCase, uid: string): Promise<number | undefined> {
  const name = laneConsumer("first", partnerKey(uid));
  return (await nats.manager.consumers.info(layout.streams.deliveries, name)).config.max_ack_pending;
}

test("a lone pod has all places of a partner at once, also of one that is added later", async () => {
  const [first, later] = [
    partnerConfig("one", "https://partner.test/a"),
    partnerConfig("two", "https://partner.test/b"),
  ];
  const it = await engineCase(server.url, context, configOf(first));
  const one = await waitFor(() => places(it, first.uid), { timeoutMs, what: "the consumer of the first partner" });
  it.engine.apply(configOf(first, later));
  const two = await waitFor(() => places(it, later.uid), { timeoutMs, what: "the consumer of the later partner" });
  expect([one, two]).toEqual([first, later].map(({ delivery }) => delivery.maxInFlight));
});

describe("beside another pod that is live", () => {
  const names = ["pod-1", "pod-2"];
  /** Below the time limit of an attempt and five seconds, for which places were free before. */
  const soonMs = 12_000;
  const [uid = "", laterUid = ""] = idsOf(256).filter((id) => ownerOf(partnerKey(id), names) === "pod-2");

  test("a pod leaves places free for attempts of the previous owner, until these end", async () => {
    const held = new Map<string, () => void>();
    const partner = await partnerServer(context, ({ eventId }) =>
      eventId.startsWith("direct-") ? new Promise((resolve) => held.set(eventId, () => resolve({}))) : {},
    );
    const release = (id: string): void => held.get(id)?.();
    onTestFinished(() => [...held.keys()].forEach(release));
    const one = partnerConfig("one", partner.url, { uid, timeoutMs: 20_000 });
    const it = await engineCase(server.url, context, configOf(one), { podId: "pod-1" });
    const produce = (id: string) => it.ingest(eventBytes(id));
    const [slow = ""] = await sendDirectly({ ...it, partner, produce }, 1, release);
    const later = partnerConfig("later", partner.url, { uid: laterUid });
    const second = await startEngine(server.url, configOf(one, later), {
      settings: streamsOf(it.prefix),
      podId: "pod-2",
    });
    onTestFinished(second.stop);
    it.engine.apply(configOf(one, later));
    const { maxInFlight } = one.delivery;
    const reserved = maxInFlight - directShare(maxInFlight);
    await waitFor(async () => (await places(it, uid)) === reserved, { timeoutMs: soonMs, what: "free places" });
    let beats = 0;
    const subject = `$KV.${it.layout.buckets.pods}.pod-1`;
    it.nats.connection.subscribe(subject, { callback: () => void (beats += 1) });
    await waitFor(() => beats >= 4, { timeoutMs, what: "heartbeats of the previous owner" });
    expect([await places(it, uid), await places(it, laterUid)]).toEqual([reserved, maxInFlight]);
    release(slow);
    await waitFor(async () => (await places(it, uid)) === maxInFlight, { timeoutMs: soonMs, what: "all places" });
  });
});
