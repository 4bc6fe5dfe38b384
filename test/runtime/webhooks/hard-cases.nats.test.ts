import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { createDeliveriesStream } from "../../../runtime/nats/streams/deliveries-stream.ts";
import { createLayout, routerConsumer } from "../../../runtime/nats/layout.ts";
import type { WebhookEngineDeps } from "../../../runtime/webhooks/engine-context.ts";
import { deliveryId, messageId, partnerKey } from "../../../runtime/webhooks/ids.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { stallMsMax, waitFor } from "../../support/wait.ts";
import type { WebhookPartnerServer } from "../../support/webhook-partner.ts";
import { type Cleanup, engineCase, type EngineCase, partnerServer, untilEmpty } from "./engine-cases.ts";
import { configOf, eventBytes, partnerConfig, startEngine, streamsOf, type TestEngine } from "./engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const timeoutMs = 20_000;

const caseOf = (
  context: Cleanup,
  config: RuntimeConfig,
  overrides: Partial<WebhookEngineDeps> = {},
): Promise<EngineCase> => engineCase(server.url, context, config, overrides);

const idsOf = (length: number): readonly string[] => Array.from({ length }, (_, index) => `e-${index}`);

async function untilState({ engine }: TestEngine, eventId: string, state: string): Promise<void> {
  const look = async (): Promise<boolean> =>
    (await engine.history.event(eventId, ["*"]))?.deliveries[0]?.state === state;
  await waitFor(look, { timeoutMs, what: `${eventId} ${state}` });
}

async function messagesIn({ nats }: TestEngine, stream: string): Promise<number> {
  return (await nats.manager.streams.info(stream)).state.messages;
}

const only = (types: string) => [{ name: "some", types: [types], tenants: ["*"], producers: [] }];

/** A partner that takes the events of {@link bringSentinel} alone. */
const witnessOf = (url: string) => partnerConfig("witness", url, { subscriptions: only("audit.**") });

/** Brings an event that comes after all others, on the same path, and waits until it arrived. */
async function bringSentinel({ ingest }: TestEngine, witness: WebhookPartnerServer): Promise<void> {
  await ingest(eventBytes("sentinel", { type: "audit.done" }));
  await waitFor(() => witness.of("sentinel").length === 1, { timeoutMs, what: "the sentinel" });
}

/** Waits until a consumer has handed out nothing that is not settled, and nobody asks it for more. */
async function untilIdle({ nats }: TestEngine, stream: string, consumer: string): Promise<void> {
  const isIdle = async (): Promise<boolean> => {
    const { num_waiting: asked, num_ack_pending: underWay } = await nats.manager.consumers.info(stream, consumer);
    return asked === 0 && underWay === 0;
  };
  await waitFor(isIdle, { timeoutMs, what: `no pull of ${consumer}` });
}

describe.concurrent("an attempt whose record cannot be written", () => {
  test("is neither repeated nor lost", async (context) => {
    const partner = await partnerServer(context);
    const registry = new Registry();
    const config = configOf(partnerConfig("one", partner.url, { delivery: { maxInFlight: 1 } }));
    const engine = await caseOf(context, config, { registry });
    for (const id of idsOf(4)) {
      await engine.ingest(eventBytes(id));
      await untilState(engine, id, "delivered");
    }
    await engine.nats.manager.streams.update(engine.layout.streams.attempts, { sealed: true } as never);
    await engine.ingest(eventBytes("unrecorded"));
    await waitFor(() => partner.of("unrecorded").length > 0, { timeoutMs, what: "the delivery" });
    await untilEmpty(engine, timeoutMs);
    expect(partner.of("unrecorded")).toHaveLength(1);
    expect(await registry.getSingleMetricAsString("heliograph_webhook_attempt_records_lost_total")).toMatch(/ 1$/u);
  });
});

describe.concurrent("a dead letter stream that is full", () => {
  test("stops the partner, never sends again, and lets it go on when there is room", async (context) => {
    const partner = await partnerServer(context, ({ eventId }) => ({ status: eventId === "bad" ? 404 : 200 }));
    const registry = new Registry();
    const witness = await partnerServer(context);
    const stopped = partnerConfig("one", partner.url, { subscriptions: only("payout.**") });
    const engine = await caseOf(context, configOf(stopped, witnessOf(witness.url)), { registry });
    const { deadLetters, deliveries } = engine.layout.streams;
    await engine.nats.manager.streams.update(deadLetters, { max_bytes: 10 });
    await engine.ingest(eventBytes("bad"));
    const blocked = async (): Promise<number> =>
      Number((await registry.getSingleMetricAsString("heliograph_webhook_blocked_partners")).split(" ").at(-1));
    await waitFor(async () => (await blocked()) === 1, { timeoutMs, what: "the stop" });
    await engine.ingest(eventBytes("good"));
    await waitFor(async () => (await engine.engine.history.event("good", ["*"]))?.deliveries.length === 1, {
      timeoutMs,
      what: "routing",
    });
    const asked = async () =>
      (await engine.nats.manager.consumers.info(deliveries, `first-${partnerKey(stopped.uid)}`)).num_waiting;
    await waitFor(async () => (await asked()) === 0, { timeoutMs, what: "no pull for the partner" });
    await bringSentinel(engine, witness);
    expect(partner.of("good")).toHaveLength(0);
    expect(engine.lines.some(({ level, message }) => level === "error" && /dead letter/u.test(message))).toBe(true);

    await engine.nats.manager.streams.update(deadLetters, { max_bytes: 1_000_000 });
    await untilState(engine, "good", "delivered");
    await untilEmpty(engine, timeoutMs);
    expect(await messagesIn(engine, deadLetters)).toBe(1);
    expect(partner.of("bad")).toHaveLength(1);
    expect(await blocked()).toBe(0);
  });
});

describe.concurrent("a message that is no delivery", () => {
  test("is stored as a dead letter and delays nothing", async (context) => {
    const partner = await partnerServer(context);
    const config = partnerConfig("one", partner.url);
    const engine = await caseOf(context, configOf(config));
    const token = partnerKey(config.uid);
    engine.nats.connection.publish(engine.layout.firstAttempt(token, token, "did"), "not a delivery");
    await engine.ingest(eventBytes("e-1"));
    await untilState(engine, "e-1", "delivered");
    const deadLetter = async () => {
      const last_by_subj = engine.layout.deadLetter(token, "unreadable", "*");
      return engine.nats.manager.streams.getMessage(engine.layout.streams.deadLetters, { last_by_subj });
    };
    const kept = await waitFor(deadLetter, { timeoutMs, what: "the dead letter" });
    const { body } = kept.json<{ body: string }>();
    expect(Buffer.from(body, "base64").toString()).toBe("not a delivery");
    await untilEmpty(engine, timeoutMs);
  });
});

describe.concurrent("a message that crashes every worker", () => {
  test("ends after sixteen deliveries without an attempt record, with a record of the reason", async (context) => {
    const partner = await partnerServer(context);
    const config = partnerConfig("one", partner.url);
    const engine = await caseOf(context, configOf({ ...config, state: "Paused" }));
    await engine.ingest(eventBytes("poison"));
    const { deliveries, deadLetters } = engine.layout.streams;
    await waitFor(async () => (await messagesIn(engine, deliveries)) === 1, { timeoutMs, what: "routing" });
    const token = partnerKey(config.uid);
    const lane = { durable_name: `first-${token}`, filter_subject: engine.layout.laneFilter("first", token) };
    await engine.nats.manager.consumers.add(deliveries, {
      ...lane,
      ack_policy: "explicit",
      max_deliver: -1,
    } as never);
    const consumer = await engine.nats.manager.jetstream().consumers.get(deliveries, lane.durable_name);
    for (let handOut = 1; handOut <= 16; handOut += 1) (await consumer.next())?.nak();
    engine.engine.apply(configOf(config));
    await untilState(engine, "poison", "dead");
    await waitFor(async () => (await messagesIn(engine, deadLetters)) === 1, { timeoutMs, what: "the dead letter" });
    await engine.ingest(eventBytes("sentinel"));
    await untilState(engine, "sentinel", "delivered");
    await untilEmpty(engine, timeoutMs);
    expect(partner.received.map(({ eventId }) => eventId)).toEqual(["sentinel"]);
    const history = await engine.engine.history.event("poison", ["*"], { showsInternals: true });
    expect(history?.deliveries[0]?.attempts[0]?.error).toMatchObject({
      reason: "aborted",
      detail: "delivered to workers 17 times without an outcome",
    });
  });
});

describe.concurrent("routing", () => {
  test("is not fooled by a message id that was used but of which nothing is left", async (context) => {
    const partner = await partnerServer(context);
    const config = partnerConfig("one", partner.url);
    const engine = await caseOf(context, configOf({ ...config, state: "Paused" }));
    const { deliveries } = engine.layout.streams;
    const token = partnerKey(config.uid);
    const did = deliveryId("acme", "e-1", config.uid);
    const subject = engine.layout.firstAttempt(token, token, did);
    const msgID = messageId({ did, generation: 0, attempt: 1, hop: 0 });
    const { seq } = await engine.nats.manager.jetstream().publish(subject, "eaten", { msgID });
    await engine.nats.manager.streams.deleteMessage(deliveries, seq);
    engine.engine.apply(configOf(config));
    await engine.ingest(eventBytes("e-1"));
    await untilState(engine, "e-1", "delivered");
    await untilEmpty(engine, timeoutMs);
    expect(partner.of("e-1")).toHaveLength(1);
  });

  test("is held while too much waits for delivery, and loses nothing", async (context) => {
    const partner = await partnerServer(context);
    const settings = streamsOf("held");
    const small = { ...settings, streams: { ...settings.streams, deliveries: { maxBytes: 20_000 } } };
    const config = partnerConfig("one", partner.url);
    const engine = await caseOf(context, configOf({ ...config, state: "Paused" }), { settings: small });
    const layout = createLayout("held");
    const data = { pad: "x".repeat(1_000) };
    await Promise.all(idsOf(40).map((id) => engine.ingest(eventBytes(id, { data }))));
    await waitFor(() => engine.lines.some(({ message }) => /routing paused/u.test(message)), {
      timeoutMs,
      what: "hold",
    });
    await Promise.all(idsOf(300).map((id) => engine.ingest(eventBytes(`late-${id}`, { data }))));
    const waiting = async (): Promise<number> => messagesIn(engine, layout.streams.deliveries);
    // What was asked for before still comes.
    await waitFor(async () => (await waiting()) >= 40, { timeoutMs, what: "routing of what was asked for" });
    await untilIdle(engine, layout.streams.events, routerConsumer);
    expect(await waiting()).toBeLessThan(340);
    engine.engine.apply(configOf(config));
    await waitFor(() => partner.received.length >= 340, { timeoutMs, what: "every delivery" });
    expect(new Set(partner.received.map(({ eventId }) => eventId)).size).toBe(340);
  });

  test("leaves an event without takers stored and undelivered", async (context) => {
    const witness = await partnerServer(context);
    const engine = await caseOf(context, configOf(witnessOf(witness.url)));
    await engine.ingest(eventBytes("e-1"));
    await bringSentinel(engine, witness);
    const { events } = engine.layout.streams;
    const settled = async () => (await engine.nats.manager.consumers.info(events, routerConsumer)).ack_floor.stream_seq;
    await waitFor(async () => (await settled()) === 2, { timeoutMs, what: "routing of both" });
    await untilEmpty(engine, timeoutMs);
    expect((await engine.engine.history.event("e-1", ["*"]))?.deliveries).toEqual([]);
    expect(witness.received.map(({ eventId }) => eventId)).toEqual(["sentinel"]);
  });
});

describe.concurrent("retries", () => {
  test("get a consumer of their own at the first failure, with a quarter of the places", async (context) => {
    const partner = await partnerServer(context, ({ attempt, eventId }) => ({
      status: attempt === 1 && eventId === "e-1" ? 500 : 200,
    }));
    const config = partnerConfig("one", partner.url, { delivery: { maxInFlight: 8 } });
    const engine = await caseOf(context, configOf(config));
    const token = partnerKey(config.uid);
    const info = (name: string) => engine.nats.manager.consumers.info(engine.layout.streams.deliveries, name);
    await engine.ingest(eventBytes("fine"));
    await untilState(engine, "fine", "delivered");
    await untilEmpty(engine, timeoutMs);
    await expect(info(`retry-${token}`)).rejects.toThrow(/not found/u);
    expect((await info(`first-${token}`)).config).toMatchObject({ max_ack_pending: 8, max_deliver: -1 });
    await engine.ingest(eventBytes("e-1"));
    await untilState(engine, "e-1", "delivered");
    expect((await info(`retry-${token}`)).config).toMatchObject({
      max_ack_pending: 2,
      metadata: { partner: "default/one", uid: config.uid, retry_schedule_seconds: "1 1 1" },
      backoff: [1.75e9, 1.75e9, 4e9, 8e9, 15e9, 30e9, 60e9],
    });
    await waitFor(async () => (await info(`first-${token}`)).config.max_ack_pending === 6, {
      timeoutMs,
      what: "share",
    });
  });

  test("are stored only by who holds the live message", async (context) => {
    const engine = await caseOf(context, configOf());
    const stream = createDeliveriesStream(engine.nats, engine.layout);
    const delivery = { lane: "l", partner: "p", did: "d", headers: {}, body: Buffer.from("{}") };
    const first = await stream.publishFirst({ ...delivery, messageId: "d:0:1:0" });
    const held = { subject: engine.layout.firstAttempt("l", "p", "d"), seq: first.kind === "stored" ? first.seq : 0 };
    const schedule = (id: string) => stream.schedule({ ...delivery, messageId: id }, held, Date.now() + 60_000);
    expect(await stream.publishFirst({ ...delivery, messageId: "d:0:1:1" })).toEqual({ kind: "unexpected" });
    expect(await schedule("d:0:2:0")).toMatchObject({ kind: "stored" });
    expect(await schedule("d:0:2:0")).toMatchObject({ kind: "duplicate" });
    await engine.nats.manager.streams.deleteMessage(engine.layout.streams.deliveries, held.seq);
    expect(await schedule("d:0:2:1")).toEqual({ kind: "unexpected" });
    expect((await stream.live(["l"], "p", "d")).map(({ subject }) => subject)).toEqual([
      engine.layout.schedule("p", "d"),
    ]);
  });
});

describe("a process that stands still for longer than JetStream waits", () => {
  test("makes its attempt once all the same", async (context) => {
    const partner = await partnerServer(context, () => ({ delayMs: 500 }));
    const engine = await caseOf(context, configOf(partnerConfig("one", partner.url, { timeoutMs: 20_000 })));
    await engine.ingest(eventBytes("e-1"));
    await waitFor(() => partner.of("e-1").length === 1, { timeoutMs, what: "the attempt" });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
    await untilState(engine, "e-1", "delivered");
    await untilEmpty(engine, timeoutMs);
    expect(partner.of("e-1")).toHaveLength(1);
  });
});

describe.concurrent("events while NATS is away", () => {
  test("are refused with a coded 503 in time, and taken again when it is back", async (context) => {
    const own = await startNatsServer();
    context.onTestFinished(() => own.stop());
    const engine = await startEngine(own.url, configOf());
    context.onTestFinished(engine.stop);
    expect(engine.engine.health()).toEqual({ ok: true });
    await own.kill9();
    const startedAt = performance.now();
    const results = await Promise.allSettled(idsOf(50).map((id) => engine.ingest(eventBytes(id))));
    const refused = results.filter((result) => result.status === "rejected").map(({ reason }) => reason as unknown);
    expect(refused).toHaveLength(50);
    expect(refused[0]).toMatchObject({ status: 503, code: "events_unavailable", retryAfterSeconds: 1 });
    expect(performance.now() - startedAt).toBeLessThan(6_000 + stallMsMax);
    expect(engine.engine.health()).toEqual({ ok: false, detail: "no connection to NATS" });
    await own.restart();
    await waitFor(() => engine.ingest(eventBytes("e-1")), { timeoutMs, what: "the way in" });
    await waitFor(() => engine.engine.health().ok, { timeoutMs, what: "streams that respond again" });
  });
});

describe.concurrent("metrics", () => {
  test("count by outcome, by partner up to a limit, and never by tenant or event", async (context) => {
    const partner = await partnerServer(context, ({ eventId }) => ({ status: eventId === "bad" ? 404 : 200 }));
    const registry = new Registry();
    const engine = await caseOf(context, configOf(partnerConfig("one", partner.url)), { registry });
    await engine.ingest(eventBytes("good"));
    await engine.ingest(eventBytes("good"));
    await engine.ingest(eventBytes("bad"));
    await engine.ingest(eventBytes("good", { data: {} })).catch(() => undefined);
    await untilState(engine, "good", "delivered");
    await untilState(engine, "bad", "rejected");
    await untilEmpty(engine, timeoutMs);
    const text = await registry.metrics();
    expect(text).toMatch(/^heliograph_webhook_ingest_total\{outcome="stored"\} 2$/mu);
    expect(text).toMatch(/^heliograph_webhook_ingest_total\{outcome="duplicate"\} 1$/mu);
    expect(text).toMatch(/^heliograph_webhook_ingest_total\{outcome="reused"\} 1$/mu);
    expect(text).toMatch(/^heliograph_webhook_routed_total 2$/mu);
    expect(text).toMatch(/^heliograph_webhook_attempts_total\{outcome="delivered"\} 1$/mu);
    expect(text).toMatch(/^heliograph_webhook_attempts_total\{outcome="rejected"\} 1$/mu);
    expect(text).toMatch(/^heliograph_webhook_dead_letters_total\{state="rejected",reason="status_4\d\d"\} 1$/mu);
    expect(text).toMatch(/^heliograph_webhook_in_flight 0$/mu);
    expect(text).toMatch(/^heliograph_webhook_partner_responses_total\{partner="default\/one",class="4xx"\} 1$/mu);
    expect(text.replaceAll(/^heliograph_webhook_partner_.*$/gmu, "")).not.toMatch(/default\/one/u);
    expect(text).not.toMatch(/acme|"good"|payout/u);
  });
});

describe.concurrent("the trim of events", () => {
  test("deletes the oldest routed events before producers are refused", async (context) => {
    const settings = streamsOf("room");
    const events = { maxAgeSeconds: 3_600, maxBytes: 200_000 };
    const engine = await caseOf(context, configOf(), {
      settings: { ...settings, streams: { ...settings.streams, events } },
    });
    const layout = createLayout("room");
    const data = { pad: "x".repeat(2_000) };
    const info = async () => (await engine.nats.manager.streams.info(layout.streams.events)).state;
    for (const id of idsOf(75)) await engine.ingest(eventBytes(id, { data }));
    await waitFor(async () => (await info()).bytes < 150_000, { timeoutMs, what: "room" });
    const found = async (id: string): Promise<boolean> => (await engine.engine.history.event(id, ["*"])) !== undefined;
    expect([await found("e-0"), await found("e-74")]).toEqual([false, true]);
  });
});
