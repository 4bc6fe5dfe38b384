import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Registry } from "prom-client";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { waitFor } from "../../support/wait.ts";
import type { PartnerAnswer, ReceivedDelivery, WebhookPartnerServer } from "../../support/webhook-partner.ts";
import { engineCase, partnerServer, removedAtOnce, untilEmpty, type EngineCase } from "./engine-cases.ts";
import { configOf, eventBytes, partnerConfig, type PartnerOverrides } from "./engine-fixture.ts";
import { untilDirect } from "./fault-fixture.ts";

const timeoutMs = 30_000;
const context = { onTestFinished };
let server: NatsServerHandle;

beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

interface Case extends EngineCase {
  readonly partner: WebhookPartnerServer;
  readonly registry: Registry;
  /** Answers the event `slow`. */
  readonly release: (answer: PartnerAnswer) => void;
  /** Number of deliveries that were ever stored. */
  readonly stored: () => Promise<number>;
  /** The delivery of an event to the partner `one`. */
  readonly delivery: (eventId: string) => Promise<unknown>;
}

/** An engine that makes first attempts straight from events. Its partner `one` answers the event `slow` on request. */
async function caseOf(overrides: PartnerOverrides = {}): Promise<Case> {
  const held = Promise.withResolvers<PartnerAnswer>();
  const answer = ({ eventId, attempt }: ReceivedDelivery): PartnerAnswer | Promise<PartnerAnswer> =>
    eventId === "slow" && attempt === 1 ? held.promise : {};
  const partner = await partnerServer(context, answer);
  const registry = new Registry();
  const config = configOf(partnerConfig("one", partner.url, { timeoutMs: 20_000, ...overrides }));
  const engine = await engineCase(server.url, context, config, { takeOverMs: 0, registry, ...removedAtOnce });
  onTestFinished(() => held.resolve({}));
  const stored = async (): Promise<number> =>
    (await engine.nats.manager.streams.info(engine.layout.streams.deliveries)).state.last_seq;
  await untilDirect(engine.nats, engine.prefix, partner, (id) => engine.ingest(eventBytes(id)));
  const delivery = async (eventId: string): Promise<unknown> =>
    (await engine.engine.history.event(eventId, ["*"]))?.deliveries.find(
      ({ partner: label }) => label === "default/one",
    );
  return { ...engine, partner, registry, release: held.resolve, stored, delivery };
}

async function sendSlow({ ingest, partner }: Case): Promise<void> {
  await ingest(eventBytes("slow"));
  await waitFor(() => partner.of("slow").length === 1, { timeoutMs, what: "the attempt" });
}

describe("an attempt straight from an event", () => {
  test("is shown as a delivery under way, and its success is the whole history", async () => {
    const it = await caseOf();
    const before = await it.stored();
    await sendSlow(it);
    expect(await it.delivery("slow")).toMatchObject({ state: "in_delivery", generation: 0, attempts: [] });
    const backlog = async (): Promise<unknown> =>
      (await it.registry.getSingleMetric("heliograph_webhook_partner_backlog")?.get())?.values[0]?.value;
    await waitFor(async () => (await backlog()) === 1, { timeoutMs, what: "the backlog of the partner" });
    it.release({});
    await untilEmpty(it, timeoutMs);
    expect(await it.delivery("slow")).toMatchObject({ state: "delivered", attempts: [{ attempt: 1, status: 200 }] });
    expect(await it.stored()).toBe(before);
  });

  test("that fails goes on as a stored delivery", async () => {
    const it = await caseOf({ retry: { scheduleSeconds: [1], maxAgeSeconds: 3_600, jitterPercent: 0 } });
    await sendSlow(it);
    it.release({ status: 500 });
    await waitFor(() => it.partner.of("slow").length === 2, { timeoutMs, what: "the second attempt" });
    await untilEmpty(it, timeoutMs);
    const [first, second] = it.partner.of("slow");
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(1_000);
    expect(await it.delivery("slow")).toMatchObject({
      state: "delivered",
      attempts: [{ status: 500 }, { attempt: 2, status: 200 }],
    });
  });

  test("that is answered 410 disables the partner and leaves a dead letter", async () => {
    const it = await caseOf();
    await sendSlow(it);
    it.release({ status: 410 });
    await waitFor(async () => (await it.engine.disabledPartners.list()).length === 1, { timeoutMs, what: "the mark" });
    await untilEmpty(it, timeoutMs);
    expect(await it.delivery("slow")).toMatchObject({ state: "rejected", reason: "status_410" });
    const letters = (await it.nats.manager.streams.info(it.layout.streams.deadLetters)).state.messages;
    expect(letters).toBe(1);
  });

  test("that fails after its partner was removed ends with that reason", async () => {
    const it = await caseOf();
    await sendSlow(it);
    it.engine.apply(configOf());
    it.release({ status: 500 });
    const letters = async (): Promise<number> =>
      (await it.nats.manager.streams.info(it.layout.streams.deadLetters)).state.messages;
    await waitFor(async () => (await letters()) === 1, { timeoutMs, what: "the dead letter" });
    await untilEmpty(it, timeoutMs);
    expect(it.partner.of("slow")).toHaveLength(1);
    expect(await it.delivery("slow")).toMatchObject({ reason: "partner_removed" });
  });

  test("is not replayed while it is under way, and keeps no later event from a replay", async () => {
    const it = await caseOf();
    await sendSlow(it);
    await it.ingest(eventBytes("later"));
    await waitFor(() => it.partner.of("later").length === 1, { timeoutMs, what: "the later event" });
    const caller = { client: "support", tenants: ["*"] };
    const { replay_id } = (await it.engine.replays.replay(Buffer.from('{"event_ids":["slow","later"]}'), caller)) as {
      readonly replay_id: string;
    };
    const status = async () => it.engine.replays.get(replay_id, caller);
    await waitFor(async () => (await status())?.status === "completed", { timeoutMs, what: "the replay" });
    expect(await status()).toMatchObject({ matched: 2, published: 1 });
    await waitFor(() => it.partner.of("later").length === 2, { timeoutMs, what: "the replayed event" });
    it.release({});
    await untilEmpty(it, timeoutMs);
    expect(it.partner.of("slow")).toHaveLength(1);
  });
});
