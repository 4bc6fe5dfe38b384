import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import {
  startWebhookPartner,
  type ReceivedDelivery,
  type WebhookPartnerServer,
} from "../../../support/webhook-partner.ts";
import { configOf, eventBytes, partnerConfig, startEngine, streamsOf } from "../engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(async () => server.stop());

const timeoutMs = 20_000;
const everythingOf = (types: readonly string[]) => [{ name: "all", types, tenants: ["*"], producers: [] }];
const typesOf = ({ received }: WebhookPartnerServer): readonly string[] =>
  [...new Set(received.map(({ body }) => (JSON.parse(body.toString()) as { readonly type: string }).type))].toSorted();

describe.concurrent("events about deliveries", () => {
  test("reach each subscriber once, never the partner that they concern, and cause no further events", async ({
    onTestFinished,
  }) => {
    const statusOf = ({ eventId, attempt }: ReceivedDelivery): number => {
      if (eventId === "e-gone") return 410;
      return eventId === "e-back" && attempt === 4 ? 200 : 503;
    };
    const bad = await startWebhookPartner((delivery) => ({ status: statusOf(delivery) }));
    const watcher = await startWebhookPartner(() => ({ status: 422 }));
    onTestFinished(async () => void (await Promise.all([bad.close(), watcher.close()])));
    const config = configOf(
      {
        ...partnerConfig("bad", bad.url, {
          retry: { scheduleSeconds: [1, 1, 1], maxAgeSeconds: 60, jitterPercent: 0 },
        }),
        circuitBreaker: { failures: 2, openMs: 100, maxOpenMs: 100 },
      },
      partnerConfig("watcher", watcher.url, { subscriptions: everythingOf(["heliograph.**"]) }),
    );
    const it = await startEngine(server.url, config, { settings: streamsOf("o1") });
    onTestFinished(it.stop);
    await it.ingest(eventBytes("e-1"));
    const wanted = ["heliograph.delivery.exhausted", "heliograph.delivery.failing", "heliograph.partner.breaker_open"];
    await waitFor(() => wanted.every((type) => typesOf(watcher).includes(type)) || undefined, {
      timeoutMs,
      what: "the events of a dead delivery",
    });
    await it.ingest(eventBytes("e-back"));
    await waitFor(() => typesOf(watcher).includes("heliograph.delivery.recovered") || undefined, {
      timeoutMs,
      what: "the event of a recovery",
    });
    await it.ingest(eventBytes("e-gone"));
    const more = ["heliograph.delivery.rejected", "heliograph.partner.disabled"];
    await waitFor(() => more.every((type) => typesOf(watcher).includes(type)) || undefined, {
      timeoutMs,
      what: "the events of a disabled partner",
    });
    const exhausted = watcher.received.filter(({ eventId }) => eventId.startsWith("heliograph:exhausted:"));
    expect(exhausted).toHaveLength(1);
    expect(JSON.parse(exhausted[0]?.body.toString() ?? "")).toMatchObject({
      tenant: "acme",
      producer: "heliograph",
      data: { partner: "default/bad", event_id: "e-1", event_type: "payout.processed" },
    });
    // The watcher refuses everything, which nobody is told, and what is about the other partner never goes there.
    expect(bad.received.filter(({ eventId }) => !eventId.startsWith("e-"))).toEqual([]);
    const about = watcher.received.map(
      ({ body }) => (JSON.parse(body.toString()) as { readonly data: { readonly partner: string } }).data.partner,
    );
    expect(new Set(about)).toEqual(new Set(["default/bad"]));
  });

  test("are not stored without a subscriber, and producers may not use their types", async ({ onTestFinished }) => {
    const bad = await startWebhookPartner(() => ({ status: 404 }));
    onTestFinished(() => bad.close());
    const it = await startEngine(server.url, configOf(partnerConfig("bad", bad.url)), { settings: streamsOf("o2") });
    onTestFinished(it.stop);
    await it.ingest(eventBytes("e-1"));
    const rejected = async () =>
      (await it.engine.history.event("e-1", ["*"]))?.deliveries[0]?.state === "rejected" || undefined;
    await waitFor(rejected, { timeoutMs, what: "the rejection" });
    await waitFor(async () => (await it.nats.manager.streams.info("O2_DELIVERIES")).state.messages === 0 || undefined, {
      timeoutMs,
      what: "the end",
    });
    expect((await it.nats.manager.streams.info("O2_EVENTS")).state.messages).toBe(1);
    await expect(it.ingest(eventBytes("e-2", { type: "heliograph.delivery.failing" }))).rejects.toMatchObject({
      code: "invalid_envelope",
      errors: [{ field: "type" }],
    });
  });
});

test("the age of the oldest due delivery counts deliveries that wait for a rate, and falls to zero", async ({
  onTestFinished,
}) => {
  const slow = await startWebhookPartner();
  onTestFinished(() => slow.close());
  const registry = new Registry();
  const config = configOf(
    partnerConfig("slow", slow.url, { delivery: { maxInFlight: 4, rate: { perSecond: 2, burst: 1 } } }),
  );
  const it = await startEngine(server.url, config, { settings: streamsOf("o3"), registry });
  onTestFinished(it.stop);
  const gauge = async (name: string): Promise<number> => {
    const line = (await registry.metrics())
      .split("\n")
      .find((one) => one.startsWith(`heliograph_webhook_${name} `) || one.startsWith(`heliograph_webhook_${name}{`));
    return Number(line?.split(" ").at(-1) ?? Number.NaN);
  };
  for (let index = 0; index < 16; index += 1) await it.ingest(eventBytes(`e-${index}`));
  await waitFor(async () => (await gauge("oldest_due_seconds")) > 1 || undefined, {
    timeoutMs,
    what: "a delivery that is due",
  });
  await waitFor(async () => (await gauge("partner_oldest_due_seconds")) > 1 || undefined, {
    timeoutMs,
    what: "the partner's figure",
  });
  await waitFor(() => slow.received.length === 16 || undefined, { timeoutMs, what: "all deliveries" });
  const isOver = async () =>
    ((await gauge("oldest_due_seconds")) === 0 && (await gauge("partner_oldest_due_seconds")) === 0) || undefined;
  await waitFor(isOver, { timeoutMs, what: "nothing due" });
  expect(new Set(slow.received.map(({ headers }) => headers["x-event-id"])).size).toBe(16);
});
