import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RuntimeConfig } from "../../../../crds/config.ts";
import { partnerKey } from "../../../../runtime/webhooks/ids.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import {
  type CaseOverrides,
  type Cleanup,
  engineCase,
  type EngineCase,
  partnerServer,
  removedAtOnce,
  untilEmpty,
} from "../engine-cases.ts";
import { configOf, eventBytes, partnerConfig, type TestEngine } from "../engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

/** Above the age from which a message without a live consumer is an orphan. */
const timeoutMs = 60_000;

const caseOf = (context: Cleanup, config: RuntimeConfig, overrides: CaseOverrides = {}): Promise<EngineCase> =>
  engineCase(server.url, context, config, { ...removedAtOnce, ...overrides });

async function untilState({ engine }: TestEngine, eventId: string, state: string): Promise<void> {
  const look = async (): Promise<boolean> =>
    (await engine.history.event(eventId, ["*"]))?.deliveries[0]?.state === state;
  await waitFor(look, { timeoutMs, what: `${eventId} ${state}` });
}

async function messagesIn({ nats }: TestEngine, stream: string): Promise<number> {
  return (await nats.manager.streams.info(stream)).state.messages;
}

describe.concurrent("a delivery below the settled position of its consumer", () => {
  test("is found and attempted once", async (context) => {
    const partner = await partnerServer(context);
    const config = partnerConfig("one", partner.url);
    const engine = await caseOf(context, configOf({ ...config, state: "Paused" }));
    await engine.ingest(eventBytes("e-1"));
    const { deliveries } = engine.layout.streams;
    await waitFor(async () => (await messagesIn(engine, deliveries)) === 1, { timeoutMs, what: "routing" });
    const name = `first-${partnerKey(config.uid)}`;
    // The consumer settles a later message. Then the engine restores its filter, and the delivery is below its
    // position.
    const elsewhere = { durable_name: name, filter_subject: engine.layout.laneFilter("first", "elsewhere") };
    await engine.nats.manager.consumers.add(deliveries, { ...elsewhere, ack_policy: "explicit" } as never);
    engine.nats.connection.publish(engine.layout.firstAttempt("elsewhere", "p", "did"), "later");
    const consumer = await engine.nats.manager.jetstream().consumers.get(deliveries, name);
    await (await consumer.next())?.ackAck();
    engine.engine.apply(configOf(config));
    await untilState(engine, "e-1", "delivered");
    await untilEmpty(engine, timeoutMs);
    expect(partner.of("e-1")).toHaveLength(1);
    expect(engine.lines.some(({ message }) => message === "orphaned delivery republished")).toBe(true);
  });
});

describe.concurrent("a retry in a lane without a consumer of retries", () => {
  test("is found and attempted once", async (context) => {
    const partner = await partnerServer(context);
    const config = partnerConfig("one", partner.url);
    const engine = await caseOf(context, configOf({ ...config, state: "Paused" }));
    await engine.ingest(eventBytes("e-1"));
    const { streams } = engine.nats.manager;
    const { deliveries } = engine.layout.streams;
    await waitFor(async () => (await messagesIn(engine, deliveries)) === 1, { timeoutMs, what: "routing" });
    const token = partnerKey(config.uid);
    const message = await streams.getMessage(deliveries, {
      last_by_subj: engine.layout.firstAttempt(token, token, "*"),
    });
    const { header: headers, subject = "", seq = 0, data } = message ?? {};
    for (const own of ["Nats-Msg-Id", "Nats-Expected-Last-Subject-Sequence"]) headers?.delete(own);
    await streams.deleteMessage(deliveries, seq);
    const retry = engine.layout.retry(token, token, subject.split(".").at(-1) ?? "");
    engine.nats.connection.publish(retry, data, headers === undefined ? {} : { headers });
    engine.engine.apply(configOf(config));
    await untilState(engine, "e-1", "delivered");
    await untilEmpty(engine, timeoutMs);
    expect(partner.of("e-1")).toHaveLength(1);
    expect(engine.lines.some(({ message: line }) => line === "missing consumer of retries created")).toBe(true);
  });
});

describe.concurrent("a delivery of an unknown partner", () => {
  test("ends like those of removed partners", async (context) => {
    const partner = await partnerServer(context);
    const engine = await caseOf(context, configOf(partnerConfig("one", partner.url)));
    const { deliveries } = engine.layout.streams;
    engine.nats.connection.publish(engine.layout.firstAttempt("nobody", "nobody", "did"), "left over");
    engine.nats.connection.publish(engine.layout.schedule("nobody", "did"), "left over");
    await waitFor(async () => (await messagesIn(engine, deliveries)) === 2, {
      timeoutMs,
      what: "the leftover messages",
    });
    await waitFor(() => engine.lines.some(({ message }) => /unknown partner found/u.test(message)), {
      timeoutMs,
      what: "the finding",
    });
    const list = `KV_${engine.layout.buckets.partners}`;
    const { state } = await engine.nats.manager.streams.info(list, { subjects_filter: ">" });
    expect(Object.keys(state.subjects ?? {})).toContain(`$KV.${engine.layout.buckets.partners}.nobody`);
  });
});

describe.concurrent("a message that its consumer gave up", () => {
  test("after too many deliveries is attempted once", async (context) => {
    const partner = await partnerServer(context);
    const config = partnerConfig("one", partner.url);
    const engine = await caseOf(context, configOf({ ...config, state: "Paused" }));
    await engine.ingest(eventBytes("e-1"));
    const { deliveries } = engine.layout.streams;
    await waitFor(async () => (await messagesIn(engine, deliveries)) === 1, { timeoutMs, what: "routing" });
    const token = partnerKey(config.uid);
    await engine.nats.manager.consumers.add(deliveries, {
      durable_name: `first-${token}`,
      filter_subject: engine.layout.laneFilter("first", token),
      ack_policy: "explicit",
      max_deliver: 1,
      ack_wait: 200_000_000,
    } as never);
    const consumer = await engine.nats.manager.jetstream().consumers.get(deliveries, `first-${token}`);
    await consumer.next();
    await waitFor(async () => (await messagesIn(engine, engine.layout.streams.advisories)) > 0, {
      timeoutMs,
      what: "the advisory",
    });
    await waitFor(() => engine.lines.some(({ message }) => /message republished/u.test(message)), {
      timeoutMs,
      what: "the recovery",
    });
    engine.engine.apply(configOf(config));
    await untilState(engine, "e-1", "delivered");
    await untilEmpty(engine, timeoutMs);
    expect(partner.of("e-1")).toHaveLength(1);
  });

  test("because it was terminated is routed to its partners once", async (context) => {
    const partner = await partnerServer(context);
    const config = configOf(partnerConfig("one", partner.url));
    const engine = await caseOf(context, config);
    const { events } = engine.layout.streams;
    await engine.ingest(eventBytes("before"));
    await untilState(engine, "before", "delivered");
    const stored = await engine.nats.manager.streams.getMessage(events, { last_by_subj: engine.layout.filters.events });
    // The advisory of a server about a terminated message.
    const advisory = { type: "io.nats.jetstream.advisory.v1.terminated", stream: events, consumer: "router" };
    await engine.nats.manager.consumers.delete(events, "router");
    engine.nats.connection.publish(
      `$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.${events}.router`,
      JSON.stringify({ ...advisory, stream_seq: stored?.seq }),
    );
    await waitFor(() => engine.lines.some(({ message }) => /already settled or replaced/u.test(message)), {
      timeoutMs,
      what: "the recovery",
    });
    await engine.ingest(eventBytes("after"));
    await untilState(engine, "after", "delivered");
    await untilEmpty(engine, timeoutMs);
    expect(partner.received.map(({ eventId }) => eventId)).toEqual(["before", "after"]);
  });
});
