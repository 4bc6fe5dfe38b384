import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PartnerConfig, RuntimeConfig } from "../../../crds/config.ts";
import { createLayout } from "../../../runtime/nats/layout.ts";
import type { WebhookEngineDeps } from "../../../runtime/webhooks/engine-context.ts";
import type { EventHistory } from "../../../runtime/webhooks/history/history.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { waitFor } from "../../support/wait.ts";
import { type Cleanup, engineCase, type EngineCase, partnerServer, untilEmpty } from "./engine-cases.ts";
import {
  configOf,
  eventBytes,
  partnerConfig,
  streamsOf,
  type PartnerOverrides,
  type TestEngine,
} from "./engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const timeoutMs = 20_000;
const keyless: PartnerOverrides = { held: "unresolved", state: "Paused", signing: { scheme: "HmacV1", keys: [] } };

const caseOf = (
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

const waits = {
  routed_by: null,
  generation: 0,
  next_attempt_at: null,
  handled: null,
  waiting: null,
  attempts: [],
} as const;

/** The partner, whose endpoint is asked for its consent first. */
function asking(config: PartnerConfig): PartnerConfig {
  return { ...config, endpoint: { ...config.endpoint, verification: "Handshake" } };
}

/** Sends 20 events a second for four seconds, and does something else after one and after two of them. */
async function during(engine: EngineCase, after1s: () => void, after2s: () => void): Promise<readonly string[]> {
  const ids: string[] = [];
  const begunAtMs = performance.now();
  for (let index = 0; index < 80; index += 1) {
    await waitFor(() => performance.now() - begunAtMs >= index * 50, { timeoutMs, what: "the next event" });
    if (index === 20) after1s();
    if (index === 40) after2s();
    ids.push((await engine.ingest(eventBytes(`e-${index}`))).eventId);
  }
  return ids;
}

const outages: readonly (readonly [string, PartnerOverrides])[] = [
  ["never had a key", keyless],
  ["is not permitted for a while", { held: "not_permitted", state: "Paused" }],
  ["has a conflict for a while", { held: "conflicted", state: "Paused" }],
];

describe.concurrent("20 events a second for a partner that is held for one second", () => {
  test.for(outages)("are all delivered once: it %s", async ([, outage], context) => {
    const partner = await partnerServer(context);
    // A busy machine may stop this process, the partner included, for longer than an attempt's usual time limit.
    const overrides: PartnerOverrides = { timeoutMs };
    const healthy = partnerConfig("one", partner.url, overrides);
    const engine = await caseOf(context, configOf(healthy));
    let sent = 0;
    const ids = await during(
      engine,
      () => engine.engine.apply(configOf(partnerConfig("one", partner.url, { ...overrides, ...outage }))),
      () => {
        sent = partner.received.length;
        engine.engine.apply(configOf(healthy));
      },
    );
    expect(sent).toBeLessThanOrEqual(20);
    await waitFor(() => ids.every((id) => partner.of(id).length > 0), { timeoutMs, what: "every event" });
    await untilEmpty(engine, timeoutMs);
    expect(ids.filter((id) => partner.of(id).length !== 1)).toEqual([]);
  });
});

describe.concurrent("a delivery to a partner that is held", () => {
  test("says so in the history and the list, and a figure counts the partner, until it is sent", async (context) => {
    const registry = new Registry();
    const partner = await partnerServer(context);
    const engine = await caseOf(context, configOf(partnerConfig("one", partner.url, keyless)), { registry });
    await engine.ingest(eventBytes("e-1"));
    const { deliveries, routed_at: routedAt } = await untilHistory(engine, "e-1", inState("held"));
    const waiting = { kind: "held", reason: "unresolved", since: null, until: null };
    expect(deliveries).toEqual([{ partner: "default/one", ...waits, state: "held", reason: "unresolved", waiting }]);
    expect(routedAt).toBeNull();
    const query = { tenants: ["acme"], fromMs: 0, toMs: Number.POSITIVE_INFINITY, state: "held", limit: 10 } as const;
    const { items } = await engine.engine.history.events(query);
    expect(items).toMatchObject([{ event_id: "e-1", deliveries: [{ state: "held", reason: "unresolved", waiting }] }]);
    expect(await registry.metrics()).toContain('heliograph_webhook_held_partners{reason="unresolved"} 1');
    engine.engine.apply(configOf(partnerConfig("one", partner.url)));
    await untilHistory(engine, "e-1", inState("delivered"));
    expect(await registry.metrics()).toContain('heliograph_webhook_held_partners{reason="unresolved"} 0');
    await untilEmpty(engine, timeoutMs);
    expect(partner.received).toHaveLength(1);
  });

  test("is not sent when it was pulled before, and a retry that fires waits", async (context) => {
    let isRequested = 0;
    const partner = await partnerServer(context, ({ headers, eventId }) => {
      const isQuestion = headers["x-event-id"] === undefined;
      isRequested += isQuestion ? 1 : 0;
      return isQuestion
        ? { headers: { "webhook-allowed-origin": "*" }, delayMs: 1_500 }
        : { status: eventId === "fails" && isFailing ? 500 : 200 };
    });
    let isFailing = true;
    const well = asking(partnerConfig("one", partner.url));
    const registry = new Registry();
    const engine = await caseOf(context, configOf(well), { registry });
    await engine.ingest(eventBytes("fails"));
    await untilHistory(engine, "fails", ({ deliveries }) => deliveries[0]?.attempts.length === 1);
    engine.engine.apply(configOf({ ...well, specDigest: "another", held: "not_permitted", state: "Paused" }));
    const { deliveries } = await untilHistory(engine, "fails", inState("held"));
    expect(deliveries[0]).toMatchObject({ reason: "not_permitted", next_attempt_at: null });
    isFailing = false;
    isRequested = 0;
    engine.engine.apply(configOf({ ...well, specDigest: "a third" }));
    await engine.ingest(eventBytes("pulled"));
    await waitFor(() => isRequested === 1, { timeoutMs, what: "the question" });
    engine.engine.apply(configOf({ ...well, specDigest: "a third", held: "not_permitted", state: "Paused" }));
    const sent = partner.of("pulled").length + partner.of("fails").length;
    await untilHistory(engine, "pulled", inState("held"));
    const isIdle = async (): Promise<boolean> => (await registry.metrics()).includes("heliograph_webhook_in_flight 0");
    await waitFor(isIdle, { timeoutMs, what: "what was pulled" });
    expect(partner.of("pulled").length + partner.of("fails").length).toBe(sent);
    engine.engine.apply(configOf(well));
    await untilHistory(engine, "pulled", inState("delivered"));
    await untilHistory(engine, "fails", inState("delivered"));
    await untilEmpty(engine, timeoutMs);
    expect(partner.of("pulled")).toHaveLength(1);
  });
});

describe.concurrent("what waits for a partner that is held", () => {
  test("is bounded by the partner's backlog, and keeps nothing from others though it is more than may wait in all", async (context) => {
    const partner = await partnerServer(context);
    const limited = partnerConfig("held", partner.url, {
      ...keyless,
      delivery: { maxInFlight: 64, maxBacklog: { messages: 60, bytes: 1e9 } },
    });
    const config = configOf(limited, partnerConfig("well", partner.url));
    const settings = streamsOf("bytes");
    const streams = { ...settings.streams, deliveries: { maxBytes: 64 * 1024 } };
    const engine = await caseOf(context, config, { settings: { ...settings, streams } });
    const large = { data: { text: "x".repeat(4_096) } };
    // Ten at a time: the other partner never has as much waiting as may wait in all.
    const send = async (from: number, to: number): Promise<void> => {
      for (let next = from; next < to; next += 10) {
        await Promise.all(
          Array.from({ length: 10 }, (_, index) => engine.ingest(eventBytes(`e-${next + index}`, large))),
        );
        const what = "every event at the other partner";
        await waitFor(() => partner.received.length === next + 10, { timeoutMs, what });
      }
    };
    await send(0, 60);
    const { deliveries } = createLayout("bytes").streams;
    const waiting = async () => (await engine.nats.manager.streams.info(deliveries)).state;
    await waitFor(async () => (await waiting()).messages === 60, { timeoutMs, what: "what is held" });
    expect((await waiting()).bytes).toBeGreaterThan(2 * 64 * 1024);
    await waitFor(() => engine.lines.some(({ message }) => /backlog limit reached/u.test(message)), {
      timeoutMs,
      what: "a full backlog",
    });
    await send(60, 80);
    const last = await untilHistory(engine, "e-79", inState("dead"));
    expect(last.deliveries).toMatchObject([
      { reason: "backlog_full" },
      { partner: "default/well", state: "delivered" },
    ]);
    expect(engine.lines.filter(({ message }) => message === "deliveries stream full, routing paused")).toEqual([]);
  });
});

describe.concurrent("an event that some do not get", () => {
  test("says when it was routed if no subscription matches it, in one note however often it is routed", async (context) => {
    const registry = new Registry();
    const partner = await partnerServer(context);
    const payouts = [{ name: "s", types: ["payout.*"], tenants: ["acme"], producers: [] }];
    const config = configOf(partnerConfig("one", partner.url, { subscriptions: payouts }));
    const engine = await caseOf(context, config, { registry });
    const fromMs = Date.now() - 1_000;
    await engine.ingest(eventBytes("e-1", { type: "kyc.passed" }));
    const { deliveries, routed_at: routedAt } = await untilHistory(engine, "e-1", ({ routed_at: at }) => at !== null);
    expect(deliveries).toEqual([]);
    expect(Date.parse(routedAt ?? "")).toBeGreaterThan(fromMs);
    expect(await registry.metrics()).toContain('heliograph_webhook_unrouted_total{reason="no_subscription"} 1');
    // Every event is offered again; by now the partner would want it.
    engine.engine.apply(configOf(partnerConfig("one", partner.url)));
    await engine.nats.manager.consumers.delete(engine.layout.streams.events, "router");
    await engine.ingest(eventBytes("e-2"));
    await untilHistory(engine, "e-2", inState("delivered"));
    expect((await engine.engine.history.event("e-1", ["*"]))?.routed_at).toBe(routedAt);
    expect(partner.received.map(({ eventId }) => eventId)).toEqual(["e-2"]);
  });

  test("names the partner whose right was withdrawn, while what it had accepted before is held", async (context) => {
    const registry = new Registry();
    const one = await partnerServer(context);
    const two = await partnerServer(context);
    const all = [{ name: "s", types: ["**"], tenants: ["*"], producers: [] }];
    const other = partnerConfig("two", two.url);
    const paused = partnerConfig("one", one.url, { state: "Paused" });
    const engine = await caseOf(context, configOf(paused, other), { registry });
    await engine.ingest(eventBytes("before"));
    await untilHistory(engine, "before", ({ deliveries }) => deliveries[1]?.state === "delivered");
    const withdrawn: PartnerOverrides = { held: "not_permitted", state: "Paused", subscriptions: [], withdrawn: all };
    engine.engine.apply(configOf(partnerConfig("one", one.url, withdrawn), other));
    await untilHistory(engine, "before", inState("held"));
    await engine.ingest(eventBytes("after"));
    const after = await untilHistory(engine, "after", ({ deliveries }) => deliveries[1]?.state === "delivered");
    expect(after.deliveries[0]).toEqual({
      partner: "default/one",
      ...waits,
      state: "not_routed",
      reason: "not_permitted",
    });
    expect(after.routed_at).not.toBeNull();
    expect(await registry.metrics()).toContain('heliograph_webhook_unrouted_total{reason="not_permitted"} 1');
    engine.engine.apply(configOf(partnerConfig("one", one.url), other));
    await untilHistory(engine, "before", inState("delivered"));
    expect(one.received.map(({ eventId }) => eventId)).toEqual(["before"]);
  });
});
