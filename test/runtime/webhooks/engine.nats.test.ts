import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { createLayout } from "../../../runtime/nats/layout.ts";
import type { DeadLetter } from "../../../runtime/webhooks/records/dead-letter-record.ts";
import type { WebhookEngineDeps } from "../../../runtime/webhooks/engine-context.ts";
import type { EventHistory } from "../../../runtime/webhooks/history/history.ts";
import { partnerKey } from "../../../runtime/webhooks/ids.ts";
import { verifyHmacV1 } from "../../../runtime/webhooks/signing/hmac-v1.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { stallMsMax, waitFor } from "../../support/wait.ts";
import { startWebhookPartner } from "../../support/webhook-partner.ts";
import { type Cleanup, type EngineCase, engineCase, partnerServer, untilEmpty } from "./engine-cases.ts";
import {
  configOf,
  eventBytes,
  partnerConfig,
  startEngine,
  streamsOf,
  testSecret,
  testSettings,
  type TestEngine,
} from "./engine-fixture.ts";

let server: NatsServerHandle;

beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(async () => {
  await server.stop();
});

const timeoutMs = 20_000;

const engineOf = (
  context: Cleanup,
  config: RuntimeConfig,
  overrides: Partial<WebhookEngineDeps> = {},
): Promise<EngineCase> => engineCase(server.url, context, config, overrides);

function untilHistory(
  { engine }: TestEngine,
  eventId: string,
  isWanted: (history: EventHistory) => boolean,
): Promise<EventHistory> {
  const look = async (): Promise<EventHistory | undefined> => {
    const history = await engine.history.event(eventId, ["*"]);
    return history !== undefined && isWanted(history) ? history : undefined;
  };
  return waitFor(look, { timeoutMs, what: `the history of ${eventId}` });
}

const inState = (state: string) => (history: EventHistory) => history.deliveries[0]?.state === state;

/** The same endpoint by another path: what is sent under one specification is told from what is sent under the next. */
const nextPath = (url: string): string => url.replace("/v1/", "/v2/");

async function deadLetters({ nats, prefix }: EngineCase): Promise<readonly DeadLetter[]> {
  const stream = createLayout(prefix).streams.deadLetters;
  const letters: DeadLetter[] = [];
  const found = await nats.manager.direct.getLastMessagesFor(stream, { multi_last: [`${prefix}.dlq.>`] });
  for await (const message of found) letters.push(message.json<DeadLetter>());
  return letters;
}

describe.concurrent("a delivery", () => {
  test("reaches the partner signed, with its attempt in the body (Webhook Event Delivery §4.1, §5)", async (context) => {
    const partner = await partnerServer(context);
    const engine = await engineOf(context, configOf(partnerConfig("one", partner.url)));
    expect(await engine.ingest(eventBytes("e-1"))).toEqual({ eventId: "e-1", tenant: "acme", duplicate: false });
    const delivery = await waitFor(() => partner.of("e-1")[0], { timeoutMs, what: "the delivery" });
    const { headers, path, body } = delivery;
    const { "x-signature": signature, "x-timestamp": timestamp } = headers;
    const received = { signature, timestamp, method: "POST", path, body };
    expect(verifyHmacV1([{ id: "k1", secret: testSecret }], received, Date.now())).toEqual({ ok: true, keyId: "k1" });
    expect(path).toBe("/webhooks/v1/payout");
    expect(headers).toMatchObject({ "x-event-id": "e-1", "x-attempt": "1", "x-webhook-producer": "heliograph" });
    expect(body.toString()).toBe(`${eventBytes("e-1").toString().slice(0, -1)},"attempt":1}`);
    const history = await untilHistory(engine, "e-1", inState("delivered"));
    expect(Buffer.from(history.event).toString()).toBe(eventBytes("e-1").toString());
    expect(history.deliveries).toMatchObject([
      {
        partner: "default/one",
        reason: null,
        next_attempt_at: null,
        attempts: [{ attempt: 1, status: 200, error: null }],
      },
    ]);
  });

  test("that fails is tried again by the schedule, never early, until a 2xx (§3, §7, §8)", async (context) => {
    const answers = [500, 503, 200];
    const partner = await partnerServer(context, ({ attempt }) => ({
      status: answers[attempt - 1] ?? 599,
      body: "no",
    }));
    const engine = await engineOf(context, configOf(partnerConfig("two", partner.url)));
    await engine.ingest(eventBytes("e-2"));
    const history = await untilHistory(engine, "e-2", inState("delivered"));
    expect(partner.of("e-2").map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(JSON.parse(partner.of("e-2")[2]?.body.toString() ?? "")).toMatchObject({ attempt: 3 });
    const times = partner.of("e-2").map(({ atMs }) => atMs);
    expect(Math.min((times[1] ?? 0) - (times[0] ?? 0), (times[2] ?? 0) - (times[1] ?? 0))).toBeGreaterThanOrEqual(
      1_000,
    );
    expect(history.deliveries[0]?.attempts.map(({ status }) => status)).toEqual([500, 503, 200]);
    expect(history.deliveries[0]?.attempts[0]?.response).toMatchObject({ body: "no", body_truncated: false });
  });

  test("that waits for its next attempt says when that is", async (context) => {
    const partner = await partnerServer(context, () => ({ status: 500 }));
    const retry = { scheduleSeconds: [600], maxAgeSeconds: 3_600, jitterPercent: 0 };
    const engine = await engineOf(context, configOf(partnerConfig("waiting", partner.url, { retry })));
    await engine.ingest(eventBytes("e-3"));
    const { deliveries } = await untilHistory(engine, "e-3", (history) => history.deliveries[0]?.attempts.length === 1);
    expect(deliveries[0]).toMatchObject({ state: "in_delivery", reason: "status_500" });
    expect(Date.parse(deliveries[0]?.next_attempt_at ?? "") - Date.now()).toBeGreaterThan(590_000);
  });

  test.for([400, 401, 403, 404, 422])(
    "answered %i is rejected and stored as a dead letter (§3, §7)",
    async (status, context) => {
      const partner = await partnerServer(context, () => ({ status, body: "<html>no</html>" }));
      const engine = await engineOf(context, configOf(partnerConfig("three", partner.url)));
      await engine.ingest(eventBytes("e-4"));
      const history = await untilHistory(engine, "e-4", inState("rejected"));
      expect(history.deliveries[0]?.reason).toBe(`status_${status}`);
      const [deadLetter] = await waitFor(async () => notEmpty(await deadLetters(engine)), {
        timeoutMs,
        what: "dead letter",
      });
      expect(deadLetter).toMatchObject({
        state: "rejected",
        reason: `status_${status}`,
        eventId: "e-4",
        tenant: "acme",
      });
      expect(deadLetter?.attempts).toMatchObject([{ outcome: { status, body: "<html>no</html>" } }]);
      expect(Buffer.from(deadLetter?.body ?? "", "base64").equals(eventBytes("e-4"))).toBe(true);
      await untilEmpty(engine, timeoutMs);
      expect(partner.of("e-4")).toHaveLength(1);
    },
  );

  test("with exhausted retries is dead and stored with every attempt (§3)", async (context) => {
    const partner = await partnerServer(context, () => ({ status: 500 }));
    const retry = { scheduleSeconds: [1], maxAgeSeconds: 2, jitterPercent: 0 };
    const engine = await engineOf(context, configOf(partnerConfig("four", partner.url, { retry })));
    await engine.ingest(eventBytes("e-5"));
    await untilHistory(engine, "e-5", inState("dead"));
    const [deadLetter] = await waitFor(async () => notEmpty(await deadLetters(engine)), {
      timeoutMs,
      what: "dead letter",
    });
    expect(deadLetter?.attempts.map(({ number }) => number)).toEqual([1, 2]);
    expect(deadLetter?.state).toBe("dead");
  });

  test("to a partner that cannot be reached tells why", async (context) => {
    const partner = await startWebhookPartner();
    await partner.close();
    const engine = await engineOf(context, configOf(partnerConfig("five", partner.url)));
    await engine.ingest(eventBytes("e-6"));
    const { deliveries } = await untilHistory(engine, "e-6", (history) => history.deliveries[0]?.attempts.length === 1);
    expect(deliveries[0]).toMatchObject({ state: "in_delivery", reason: "connect" });
    expect(deliveries[0]?.attempts[0]).toMatchObject({ status: null, error: { reason: "connect" }, response: null });
  });
});

describe.concurrent("a 410", () => {
  test("disables the partner until its specification changes (§7)", async (context) => {
    let status = 410;
    const [partner, witness] = await Promise.all([partnerServer(context, () => ({ status })), partnerServer(context)]);
    const config = partnerConfig("gone", partner.url);
    const other = partnerConfig("witness", witness.url);
    const engine = await engineOf(context, configOf(config, other));
    await engine.ingest(eventBytes("e-1"));
    await untilHistory(engine, "e-1", inState("rejected"));
    const [mark] = await waitFor(async () => notEmpty(await engine.engine.disabledPartners.list()), {
      timeoutMs,
      what: "mark",
    });
    expect(mark).toMatchObject({ uid: config.uid, specDigest: config.specDigest, generation: 1 });

    status = 200;
    const isTold = ({ deliveries }: EventHistory): boolean =>
      deliveries.length === 2 && deliveries[1]?.state === "delivered";
    await engine.ingest(eventBytes("e-2"));
    const { deliveries } = await untilHistory(engine, "e-2", isTold);
    expect(deliveries[0]).toMatchObject({ partner: "default/gone", state: "in_delivery", attempts: [] });
    await engine.stop();
    const again = await startEngine(server.url, configOf(config, other), { settings: streamsOf(engine.prefix) });
    context.onTestFinished(again.stop);
    await again.ingest(eventBytes("e-3"));
    await untilHistory(again, "e-3", isTold);
    expect(partner.received).toHaveLength(1);

    again.engine.apply(configOf(partnerConfig("gone", nextPath(partner.url)), other));
    await untilHistory(again, "e-2", inState("delivered"));
    await untilHistory(again, "e-3", inState("delivered"));
    await untilEmpty(engine, timeoutMs, again);
    const [first, ...later] = partner.received.map(({ eventId, path }) => `${eventId} ${path}`);
    expect(first).toBe("e-1 /webhooks/v1/payout");
    expect(later.toSorted()).toEqual(["e-2 /webhooks/v2/payout", "e-3 /webhooks/v2/payout"]);
  });
});

describe.concurrent("ingest", () => {
  test("answers a repeat with equal bytes as a duplicate and sends it once", async (context) => {
    const partner = await partnerServer(context);
    const engine = await engineOf(context, configOf(partnerConfig("one", partner.url)));
    await engine.ingest(eventBytes("e-1"));
    await untilHistory(engine, "e-1", inState("delivered"));
    expect(await engine.ingest(eventBytes("e-1"))).toEqual({ eventId: "e-1", tenant: "acme", duplicate: true });
    await engine.ingest(eventBytes("e-2"));
    await untilHistory(engine, "e-2", inState("delivered"));
    await untilEmpty(engine, timeoutMs);
    expect(partner.of("e-1")).toHaveLength(1);
  });

  test("refuses other bytes under a known id with 409", async (context) => {
    const engine = await engineOf(context, configOf());
    await engine.ingest(eventBytes("e-1"));
    await expect(engine.ingest(eventBytes("e-1", { data: { other: 1 } }))).rejects.toMatchObject({
      status: 409,
      code: "event_id_reused",
    });
  });

  test("takes one of many equal events that come at once", async (context) => {
    const engine = await engineOf(context, configOf());
    const answers = await Promise.all(Array.from({ length: 20 }, () => engine.ingest(eventBytes("e-1"))));
    expect(answers.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
  });

  test("refuses tenants that the caller may not name", async (context) => {
    const { engine } = await engineOf(context, configOf());
    const ingest = (tenants: readonly string[]) => engine.ingest(eventBytes("e-1"), { tenants });
    await expect(ingest(["zeta"])).rejects.toMatchObject({ status: 403, code: "tenant_forbidden" });
    await expect(ingest([])).rejects.toMatchObject({ status: 403 });
    expect(await ingest(["acme"])).toMatchObject({ tenant: "acme" });
  });

  test("answers a full stream with a coded 503 and a time to come back", async (context) => {
    const streams = { ...testSettings.streams, prefix: "full", events: { maxAgeSeconds: 3_600, maxBytes: 1_024 } };
    const engine = await engineOf(context, configOf(), { settings: { ...testSettings, streams } });
    const results = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => engine.ingest(eventBytes(`e-${n}`))));
    const refused = results.filter((result) => result.status === "rejected").map(({ reason }) => reason as unknown);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]).toMatchObject({ status: 503, code: "events_unavailable", retryAfterSeconds: 30 });
  });
});

describe.concurrent("the history of an event", () => {
  test("is shown only to callers of its tenant or of all tenants", async (context) => {
    const engine = await engineOf(context, configOf());
    await engine.ingest(eventBytes("e-1"));
    await engine.ingest(eventBytes("e-2", { tenant: undefined }));
    const visible = async (eventId: string, tenants: readonly string[]): Promise<boolean> =>
      (await engine.engine.history.event(eventId, tenants)) !== undefined;
    expect(await visible("e-1", ["acme"])).toBe(true);
    expect(await visible("e-1", ["zeta", "acme"])).toBe(true);
    expect(await visible("e-1", ["*"])).toBe(true);
    expect(await visible("e-1", ["zeta"])).toBe(false);
    expect(await visible("e-1", [])).toBe(false);
    expect(await visible("e-2", ["acme"])).toBe(false);
    expect(await visible("e-2", ["*"])).toBe(true);
    expect(await visible("e-9", ["*"])).toBe(false);
  });

  test("leaves out a partner that came after the event was routed", async (context) => {
    const partner = await partnerServer(context);
    const first = partnerConfig("first", partner.url);
    const engine = await engineOf(context, configOf(first));
    await engine.ingest(eventBytes("e-1"));
    await untilHistory(engine, "e-1", inState("delivered"));
    engine.engine.apply(configOf(first, partnerConfig("second", partner.url)));
    const { deliveries } = await untilHistory(engine, "e-1", () => true);
    expect(deliveries.map(({ partner: name }) => name)).toEqual(["default/first"]);
  });
});

describe.concurrent("a change of the configuration", () => {
  test("keeps what waits for a paused partner and sends it when it is active again", async (context) => {
    const [partner, witness] = await Promise.all([partnerServer(context), partnerServer(context)]);
    const other = partnerConfig("witness", witness.url);
    const engine = await engineOf(context, configOf(partnerConfig("one", partner.url, { state: "Paused" }), other));
    await engine.ingest(eventBytes("e-1"));
    await untilHistory(engine, "e-1", ({ deliveries }) => deliveries[1]?.state === "delivered");
    await engine.ingest(eventBytes("e-2"));
    const { deliveries } = await untilHistory(engine, "e-2", (history) => history.deliveries[1]?.state === "delivered");
    expect(deliveries[0]).toMatchObject({ partner: "default/one", state: "in_delivery", attempts: [] });
    engine.engine.apply(configOf(partnerConfig("one", nextPath(partner.url)), other));
    await untilHistory(engine, "e-1", inState("delivered"));
    await untilEmpty(engine, timeoutMs);
    expect(partner.received.map(({ path }) => path)).toEqual(["/webhooks/v2/payout", "/webhooks/v2/payout"]);
  });

  test("keeps what waits for a removed partner; one with another uid does not inherit it", async (context) => {
    const partner = await partnerServer(context);
    const old = partnerConfig("one", partner.url);
    const engine = await engineOf(context, configOf({ ...old, state: "Paused" }));
    await engine.ingest(eventBytes("e-1"));
    await untilHistory(engine, "e-1", (history) => history.deliveries.length === 1);
    engine.engine.apply(configOf(partnerConfig("one", nextPath(partner.url), { uid: "another" })));
    await engine.ingest(eventBytes("e-2"));
    await waitFor(() => partner.of("e-2")[0], { timeoutMs, what: "the delivery to the new partner" });
    expect(partner.of("e-1")).toHaveLength(0);
    engine.engine.apply(configOf(old));
    await waitFor(() => partner.of("e-1")[0], { timeoutMs, what: "the delivery that waited" });
    await untilEmpty(engine, timeoutMs);
    expect(partner.of("e-1").map(({ path }) => path)).toEqual(["/webhooks/v1/payout"]);
  });

  test("applies at once: new events go to the new endpoint", async (context) => {
    const [before, after] = await Promise.all([partnerServer(context), partnerServer(context)]);
    const engine = await engineOf(context, configOf(partnerConfig("one", before.url)));
    await engine.ingest(eventBytes("e-1"));
    await waitFor(() => before.of("e-1")[0], { timeoutMs, what: "the first delivery" });
    const startedAt = performance.now();
    engine.engine.apply(configOf(partnerConfig("one", after.url)));
    await engine.ingest(eventBytes("e-2"));
    await waitFor(() => after.of("e-2")[0], { timeoutMs, what: "the delivery to the new endpoint" });
    expect(performance.now() - startedAt).toBeLessThan(stallMsMax);
    await untilEmpty(engine, timeoutMs);
    expect(before.of("e-2")).toHaveLength(0);
  });

  test("of one partner leaves the pulls of the others alone", async (context) => {
    const partner = await partnerServer(context);
    const stays = partnerConfig("stays", partner.url);
    const engine = await engineOf(context, configOf(stays, partnerConfig("changes", partner.url)));
    await engine.ingest(eventBytes("e-1"));
    await waitFor(() => partner.of("e-1").length === 2, { timeoutMs, what: "two deliveries" });
    const stream = createLayout(engine.prefix).streams.deliveries;
    const consumer = `first-${partnerKey(stays.uid)}`;
    const waitingBefore = (await engine.nats.manager.consumers.info(stream, consumer)).num_waiting;
    engine.engine.apply(configOf(stays, partnerConfig("changes", partner.url, { delivery: { maxInFlight: 2 } })));
    await engine.ingest(eventBytes("e-2"));
    await waitFor(() => partner.of("e-2").length === 2, { timeoutMs, what: "two deliveries" });
    expect((await engine.nats.manager.consumers.info(stream, consumer)).num_waiting).toBe(waitingBefore);
  });
});

describe.concurrent("attempts under way", () => {
  test.for([1, 3])("never exceed what the partner allows, retries included: %i", async (maxInFlight, context) => {
    let now = 0;
    let most = 0;
    const partner = await partnerServer(context, ({ attempt, eventId }) => {
      now += 1;
      most = Math.max(most, now);
      setTimeout(() => (now -= 1), 90);
      return { status: attempt === 1 && Number(eventId.slice(2)) % 2 === 0 ? 500 : 200, delayMs: 100 };
    });
    const engine = await engineOf(context, configOf(partnerConfig("one", partner.url, { delivery: { maxInFlight } })));
    const ids = Array.from({ length: 12 }, (_, index) => `e-${index}`);
    await Promise.all(ids.map((id) => engine.ingest(eventBytes(id))));
    await waitFor(() => partner.received.length === 18, { timeoutMs, what: "every attempt" });
    expect(most).toBeLessThanOrEqual(maxInFlight);
  });

  test("of a slow partner do not hold back a fast one", async (context) => {
    // The slow one answers nothing before the test is over.
    const [slow, fast] = await Promise.all([
      partnerServer(context, () => ({ delayMs: 60_000 })),
      partnerServer(context),
    ]);
    const slowConfig = partnerConfig("slow", slow.url, { delivery: { maxInFlight: 2 }, timeoutMs: 60_000 });
    const engine = await engineOf(context, configOf(slowConfig, partnerConfig("fast", fast.url)));
    const ids = Array.from({ length: 50 }, (_, index) => `e-${index}`);
    await Promise.all(ids.map((id) => engine.ingest(eventBytes(id))));
    await waitFor(() => fast.received.length === ids.length, { timeoutMs, what: "the fast partner's deliveries" });
    expect(slow.received.length).toBeLessThanOrEqual(2);
  });

  test("longer than JetStream's patience are made once", async (context) => {
    const partner = await partnerServer(context, () => ({ delayMs: 4_500 }));
    const engine = await engineOf(context, configOf(partnerConfig("slow", partner.url, { timeoutMs: 10_000 })));
    await engine.ingest(eventBytes("e-1"));
    const { deliveries } = await untilHistory(engine, "e-1", inState("delivered"));
    await untilEmpty(engine, timeoutMs);
    expect(partner.of("e-1")).toHaveLength(1);
    expect(deliveries[0]?.attempts).toHaveLength(1);
  });

  test("may end when the engine stops, and what has not is left to others", async (context) => {
    const partner = await partnerServer(context, ({ eventId }) => ({ delayMs: eventId === "quick" ? 300 : 60_000 }));
    const config = configOf(partnerConfig("one", partner.url, { timeoutMs: 60_000 }));
    const engine = await engineOf(context, config);
    await engine.ingest(eventBytes("quick"));
    await engine.ingest(eventBytes("endless"));
    await waitFor(() => partner.received.length === 2, { timeoutMs, what: "both attempts" });
    await engine.engine.stop(1_000);
    const outcomes = engine.lines.filter(({ message }) => message === "attempt").map(({ fields }) => fields["eventId"]);
    expect(outcomes).toEqual(["quick"]);
  });
});

function notEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length > 0 ? list : undefined;
}
