import { createServer } from "node:http";
import { pino } from "pino";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Ping } from "../../../../api/partners.ts";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { webhookRoutes } from "../../../../runtime/http/routes/webhooks.ts";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import { createEventsStream } from "../../../../runtime/nats/streams/events-stream.ts";
import { createRecipient } from "../../../../runtime/recipient/recipient.ts";
import { createMemorySeenStore } from "../../../../runtime/recipient/seen-store.ts";
import { ownerOf } from "../../../../runtime/pods/pods.ts";
import { eventHash, partnerKey } from "../../../../runtime/webhooks/ids.ts";
import { eventHeaders } from "../../../../runtime/webhooks/records/event-record.ts";
import { verifyHmacV1 } from "../../../../runtime/webhooks/signing/hmac-v1.ts";
import { listenOnLoopback } from "../../../support/loopback.ts";
import { type NatsServerHandle, startNatsServer } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { type Cleanup, type EngineCase, engineCase, partnerServer, untilEmpty } from "../engine-cases.ts";
import { configOf, eventBytes, partnerConfig, startEngine, streamsOf, testSecret } from "../engine-fixture.ts";
import { startWorker } from "../fault-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const timeoutMs = 40_000;
const everyone = { tenants: ["*"] };
const acme = [{ name: "acme", types: ["other.*"], tenants: ["acme"], producers: [] }];
const none = new Uint8Array();
const hourMs = 3_600_000;
const oneEvent = {
  delivered: 1,
  rejected: 0,
  dead: 0,
  retried: 0,
  answers: { "2xx": 1, "3xx": 0, "4xx": 0, "5xx": 0, none: 0 },
};

/** The end of the only delivery of a ping. */
async function untilEnded({ engine }: Pick<EngineCase, "engine">, { event_id: id }: Ping) {
  const look = async () => {
    const [delivery] = (await engine.history.event(id, ["*"]))?.deliveries ?? [];
    return delivery !== undefined && !["in_delivery", "held"].includes(delivery.state) ? delivery : undefined;
  };
  return waitFor(look, { timeoutMs, what: "the end of a ping" });
}

/** Pings until one is accepted: the one before may have used this second. */
const ping = ({ engine }: EngineCase, name: string, caller: Parameters<typeof engine.pings.ping>[2] = everyone) =>
  waitFor(
    () =>
      engine.pings.ping(`default/${name}`, none, caller).catch((error: unknown) => {
        if (error instanceof ApiError && error.code === "rate_exceeded") return undefined;
        throw error;
      }),
    { timeoutMs, what: "an accepted ping" },
  );

/** What the statistics of a partner count once they count its first delivered event. */
async function countedWithEvent({ engine }: EngineCase, partner: string) {
  const nowMs = Date.now();
  const hours = { fromMs: nowMs - hourMs, toMs: nowMs + hourMs, stepMs: 2 * hourMs };
  const look = async () => {
    const { points } = await engine.history.partnerStats({ partner, tenants: ["*"], ...hours });
    const [point] = points;
    return point !== undefined && point.delivered > 0 ? point : undefined;
  };
  const { delivered, rejected, dead, retried, answers } = await waitFor(look, { timeoutMs, what: "a counted event" });
  return { delivered, rejected, dead, retried, answers };
}

describe.concurrent("a ping", () => {
  test("of a partner with CloudEvents is accepted by the recipient kit", async (context) => {
    const handled: unknown[] = [];
    const recipient = createServer(
      createRecipient({
        keys: () => [{ id: "k1", secret: testSecret }],
        store: createMemorySeenStore(),
        handle: async (event) => void handled.push(event),
        handlerVersion: "1",
      }),
    );
    const loopback = await listenOnLoopback(recipient);
    context.onTestFinished(() => loopback.close());
    const url = `http://127.0.0.1:${loopback.port}/webhooks/v1/events`;
    const partner = { ...partnerConfig("acme", url, { subscriptions: acme }), format: "CloudEvents" as const };
    const engine = await engineCase(server.url, context, configOf(partner));
    const accepted = await ping(engine, "acme");
    expect(await untilEnded(engine, accepted)).toMatchObject({ state: "delivered", attempts: [{ status: 200 }] });
    const { event_id: id } = accepted;
    const type = "heliograph.ping";
    expect(handled).toEqual([expect.objectContaining({ id, event_id: id, type, specversion: "1.0", tenant: "acme" })]);
  });

  test("is delivered to its partner alone, signed, and is seen by those who may see the partner", async (context) => {
    const [one, two] = [await partnerServer(context), await partnerServer(context)];
    const config = configOf(partnerConfig("one", one.url, { subscriptions: acme }), partnerConfig("two", two.url));
    const engine = await engineCase(server.url, context, config);
    const accepted = await ping(engine, "one");
    expect(accepted).toEqual({
      event_id: expect.stringMatching(/^heliograph:ping:/u),
      tenant: "acme",
      partner: "default/one",
    });
    expect(await untilEnded(engine, accepted)).toMatchObject({ partner: "default/one", state: "delivered" });
    const [delivery] = one.received;
    expect(JSON.parse(String(delivery?.body))).toMatchObject({
      event_id: accepted.event_id,
      type: "heliograph.ping",
      tenant: "acme",
      attempt: 1,
      data: { test: true, partner: "default/one" },
    });
    const received = {
      signature: delivery?.headers["x-signature"],
      timestamp: delivery?.headers["x-timestamp"],
      method: "POST",
      path: delivery?.path ?? "",
      body: delivery?.body ?? none,
    };
    expect(verifyHmacV1([{ id: "k1", secret: testSecret }], received, Date.now())).toEqual({ ok: true, keyId: "k1" });
    // The other partner wants every event and has had this one by the time of the next.
    await engine.ingest(eventBytes("e-1"));
    await waitFor(() => two.of("e-1").length > 0, { timeoutMs, what: "the next event" });
    expect(two.received.map(({ eventId }) => eventId)).toEqual(["e-1"]);
    const { history } = engine.engine;
    expect(await history.event(accepted.event_id, ["acme"], { partners: ["default/one"] })).toBeDefined();
    expect(await history.event(accepted.event_id, ["acme"], { partners: ["default/two"] })).toBeUndefined();
    expect(await history.event(accepted.event_id, ["luna"])).toBeUndefined();
  });

  test("that fails is retried once and leaves the partner as it was", async (context) => {
    const registry = new Registry();
    const bad = await partnerServer(context, ({ body }) => ({
      status: String(body).includes("heliograph.ping") ? 500 : 200,
    }));
    const gone = await partnerServer(context, ({ body }) => ({
      status: String(body).includes("heliograph.ping") ? 410 : 200,
    }));
    const circuitBreaker = { failures: 1, openMs: 600_000, maxOpenMs: 600_000 };
    const configs = [
      partnerConfig("bad", bad.url, { circuitBreaker }),
      partnerConfig("gone", gone.url, { circuitBreaker }),
    ];
    const engine = await engineCase(server.url, context, configOf(...configs), { registry });
    const caller = { tenants: ["acme"] };
    const pings = await Promise.all(["bad", "gone"].map((name) => ping(engine, name, caller)));
    const ends = await Promise.all(pings.map((accepted) => untilEnded(engine, accepted)));
    expect(ends.map(({ state, reason, attempts }) => [state, reason, attempts.length])).toEqual([
      ["dead", "status_500", 2],
      ["rejected", "status_410", 1],
    ]);
    await untilEmpty(engine, timeoutMs);
    const letters = await engine.nats.manager.streams.info(engine.layout.streams.deadLetters);
    expect(letters.state.messages).toBe(0);
    const shown = await registry.metrics();
    expect(shown).not.toMatch(/heliograph_webhook_partner_(?:responses|deliveries)_total\{/u);
    expect(shown).not.toMatch(/^heliograph_webhook_attempts_total\{/mu);
    const partners = await engine.engine.partnerList.page({ ...everyone, skipped: 0, limit: 9 });
    expect(partners.items.map(({ state }) => state)).toEqual(["active", "active"]);
    await engine.ingest(eventBytes("e-1"));
    for (const partner of [bad, gone])
      await waitFor(() => partner.of("e-1").length > 0, { timeoutMs, what: "an event" });
    for (const name of ["bad", "gone"]) expect(await countedWithEvent(engine, `default/${name}`)).toEqual(oneEvent);
    // A replay delivers events again, and no pings.
    const replay = { from: "2026-01-01T00:00:00Z", dry_run: true };
    const counts = await engine.engine.replays.replay(Buffer.from(JSON.stringify(replay)), {
      client: "c",
      ...everyone,
    });
    expect(counts).toMatchObject({ matched: 2 });
  });

  test("is accepted once a second for a partner", async (context) => {
    const partner = await partnerServer(context);
    const engine = await engineCase(
      server.url,
      context,
      configOf(partnerConfig("one", partner.url, { subscriptions: acme })),
    );
    const tries = Array.from({ length: 8 }, () => engine.engine.pings.ping("default/one", none, everyone));
    const results = await Promise.allSettled(tries);
    const ids = results.flatMap((result) => (result.status === "fulfilled" ? [result.value.event_id] : []));
    expect(new Set(ids).size).toBe(ids.length);
    // The tries may fall on both sides of a second's end.
    expect([1, 2]).toContain(ids.length);
    const refused = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
    for (const reason of refused) expect(reason).toMatchObject({ code: "rate_exceeded", retryAfterSeconds: 1 });
  });

  test("is refused with the reason when the partner would not get it", async (context) => {
    const { url } = await partnerServer(context, () => ({ status: 410 }));
    const engine = await engineCase(
      server.url,
      context,
      configOf(
        partnerConfig("paused", url, { state: "Paused" }),
        partnerConfig("held", url, { held: "unresolved" }),
        partnerConfig("keyless", url, { signing: { scheme: "HmacV1", keys: [{ id: "k", material: "none" }] } }),
        partnerConfig("gone", url),
      ),
    );
    await engine.ingest(eventBytes("e-1"));
    await waitFor(async () => (await engine.engine.disabledPartners.list()).length > 0, { timeoutMs, what: "a mark" });
    const caller = { tenants: ["acme"] };
    const codes = ["paused", "held", "keyless", "gone"].map((name) =>
      engine.engine.pings.ping(`default/${name}`, none, caller).catch((error: unknown) => error),
    );
    expect(await Promise.all(codes)).toEqual(
      [/paused/u, /unresolved/u, /signing key/u, /410/u].map((text) =>
        expect.objectContaining({ code: "partner_not_active", message: expect.stringMatching(text) }),
      ),
    );
  });

  test("without a delivery is delivered by the next router, as after a crash between the two", async (context) => {
    const partner = await partnerServer(context);
    const engine = await engineCase(
      server.url,
      context,
      configOf(partnerConfig("one", partner.url, { subscriptions: acme })),
    );
    const eventId = "heliograph:ping:crashed";
    const envelope = {
      event_id: eventId,
      type: "heliograph.ping",
      version: "2026-01-01",
      ts: "2026-01-01T00:00:00.000Z",
    };
    const headers = eventHeaders({ ...envelope, eventId, tenant: "acme" }, "n", { only: partnerKey("uid-of-one") });
    const bytes = Buffer.from(JSON.stringify(envelope));
    await createEventsStream(engine.nats, engine.layout).store({
      tenant: "acme",
      idhash: eventHash(eventId),
      headers,
      bytes,
    });
    const accepted = { event_id: eventId, tenant: "acme", partner: "default/one" };
    expect(await untilEnded(engine, accepted)).toMatchObject({ state: "delivered" });
  });

  test("is delivered by the next owner when the owner is killed before it sends", async (context) => {
    const partner = await partnerServer(context);
    const pods = ["pod-1", "pod-2"];
    const names = Array.from({ length: 64 }, (_, index) => `p-${index}`);
    const name = names.find((one) => ownerOf(partnerKey(`uid-of-${one}`), pods) === "pod-2") ?? "";
    const config = configOf(partnerConfig(name, partner.url, { subscriptions: acme }));
    const order = {
      url: server.url,
      prefix: "pingk",
      podId: "pod-2",
      config,
      fault: { point: "loaded", count: 1 },
    } as const;
    const worker = await startWorker(order, (clean) => context.onTestFinished(clean));
    const exit = new Promise((resolve) => worker.once("exit", resolve));
    const engine = await startEngine(server.url, config, { settings: streamsOf("pingk") });
    context.onTestFinished(engine.stop);
    await waitFor(() => engine.engine.pods.live().length === 2, { timeoutMs, what: "two pods" });
    const accepted = await engine.engine.pings.ping(`default/${name}`, none, everyone);
    await exit;
    expect(await untilEnded(engine, accepted)).toMatchObject({ state: "delivered" });
    expect(partner.of(accepted.event_id)).toHaveLength(1);
  });
});

describe("POST …/ping", () => {
  async function appOf(context: Cleanup) {
    const { url } = await partnerServer(context);
    const everything = [{ name: "all", types: ["**"], tenants: ["*"], producers: [] }];
    const config = configOf(
      partnerConfig("one", url, { subscriptions: acme }),
      partnerConfig("two", url, { subscriptions: acme }),
      partnerConfig("any", url, { subscriptions: everything }),
    );
    const { engine } = await engineCase(server.url, context, config);
    const app = createPublicServer({
      log: pino({ level: "silent" }),
      observe: () => undefined,
      now: Date.now,
      authenticate: async (authorization) => JSON.parse(authorization?.replace("Bearer ", "") ?? "") as Caller,
      routes: webhookRoutes(engine),
    });
    context.onTestFinished(() => app.close());
    return async (name: string, claims: Partial<Caller>, body?: object, key?: string) => {
      const caller = { client: "c", tenants: ["*"], scopes: ["webhooks:ping"], ...claims };
      const response = await app.inject({
        method: "POST",
        url: `/webhooks/partners/default/${name}/ping`,
        headers: {
          authorization: `Bearer ${JSON.stringify(caller)}`,
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
        ...(body === undefined ? {} : { payload: body }),
      });
      const { correlation_id: _id, ...rest } = response.json<Readonly<Record<string, unknown>>>();
      return { status: response.statusCode, body: rest };
    };
  }

  test("repeats the answer to the same key for the same partner, and not for another", async (context) => {
    const post = await appOf(context);
    const first = await post("one", {}, undefined, "k");
    expect(first).toMatchObject({ status: 202, body: { partner: "default/one", tenant: "acme" } });
    expect(await post("one", {}, undefined, "k")).toEqual(first);
    expect(await post("one", {}, {}, "k")).toMatchObject({ status: 422 });
    expect(await post("two", {}, undefined, "k")).toMatchObject({ status: 202, body: { partner: "default/two" } });
  });

  test("asks for a tenant where none follows from names", async (context) => {
    const post = await appOf(context);
    const missing = { status: 400, body: { code: "invalid_request", errors: [{ field: "tenant" }] } };
    expect(await post("any", {})).toMatchObject(missing);
    expect(await post("one", {}, { tenant: "luna" })).toMatchObject(missing);
    expect(await post("any", { tenants: ["acme"] }, { tenant: "luna" })).toMatchObject(missing);
    expect(await post("any", {}, { tenant: "a.b" })).toMatchObject(missing);
    expect(await post("any", {}, { tenants: "luna" })).toMatchObject({
      status: 400,
      body: { errors: [{ field: "tenants" }] },
    });
    expect(await post("any", {}, { tenant: "luna" })).toMatchObject({ status: 202, body: { tenant: "luna" } });
  });

  test("answers for a partner that the caller may not see as for one that does not exist", async (context) => {
    const post = await appOf(context);
    const absent = await post("nobody", {});
    expect(absent).toMatchObject({ status: 404, body: { code: "partner_not_found" } });
    const like = async (claims: Partial<Caller>) =>
      JSON.parse(JSON.stringify(await post("one", claims)).replaceAll("default/one", "default/nobody")) as unknown;
    expect(await like({ tenants: ["luna"] })).toEqual(absent);
    expect(await like({ partners: ["default/two"] })).toEqual(absent);
    expect(await post("one", { scopes: ["webhooks:read", "webhooks:replay"] })).toMatchObject({ status: 403 });
  });
});
