import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { connectNats, type NatsConnectionHandle } from "../../../runtime/nats/connection/connect.ts";
import { ensureTopology } from "../../../runtime/nats/streams/topology.ts";
import { ownerOf } from "../../../runtime/pods/pods.ts";
import { partnerKey } from "../../../runtime/webhooks/ids.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { quickestMs, waitFor } from "../../support/wait.ts";
import {
  startWebhookPartner,
  type PartnerAnswer,
  type ReceivedDelivery,
  type WebhookPartnerServer,
} from "../../support/webhook-partner.ts";
import type { CrashPoint } from "./crash-points.ts";
import { partnerServer as partnerOfTest } from "./engine-cases.ts";
import {
  configOf,
  eventBytes,
  partnerConfig,
  startEngine,
  streamsOf,
  type PartnerOverrides,
} from "./engine-fixture.ts";
import { idsOf, killWorker, producer, startWorker, untilDirect, untilDrained } from "./fault-fixture.ts";

const timeoutMs = 30_000;
let server: NatsServerHandle;
let nats: NatsConnectionHandle;

beforeAll(async () => {
  server = await startNatsServer();
  nats = await connectNats({ servers: [server.url] });
});
afterAll(async () => {
  await nats.drain();
  await server.stop();
});

const partnerServer = (answer?: (delivery: ReceivedDelivery) => PartnerAnswer): Promise<WebhookPartnerServer> =>
  partnerOfTest({ onTestFinished }, answer);

interface Fault {
  readonly point: CrashPoint;
  /** What the partner answers to first attempts. */
  readonly status: number;
  /** `X-Attempt` of every request for the event over which the worker was killed. */
  readonly attempts: readonly number[];
}

/** Every event matches, and a part of it is sent. */
const selecting: PartnerOverrides = {
  subscriptions: [
    {
      name: "some",
      types: ["**"],
      tenants: ["*"],
      selects: {
        producers: [],
        matchers: [{ pointer: "/data/currency", op: "Equal", value: "EUR" }],
        payload: [{ exclude: ["/data/amount_minor"] }],
        order: 0,
      },
    },
  ],
};

/** The different contents that a partner received. */
function contentsOf({ received }: WebhookPartnerServer): readonly string[] {
  const contents = received.map(({ body }) => JSON.stringify((JSON.parse(body.toString()) as { data: object }).data));
  return [...new Set(contents)];
}

const selectedContent = ['{"payout_id":"p-1","currency":"EUR"}'];

describe("a worker killed", () => {
  const faults: readonly (readonly [string, Fault])[] = [
    ["before the POST sends nothing twice", { point: "loaded", status: 200, attempts: [1] }],
    [
      "between the POST and its record sends once more, and only there",
      { point: "sent", status: 200, attempts: [1, 1] },
    ],
    ["after the record of a success sends nothing twice", { point: "recorded", status: 200, attempts: [1] }],
    ["after the record of a failure makes each attempt once", { point: "recorded", status: 500, attempts: [1, 2] }],
    [
      "after the retry was stored, before the ack, makes each attempt once",
      { point: "passed_on", status: 500, attempts: [1, 2] },
    ],
    [
      "after the dead letter was stored, before the ack, sends nothing twice",
      { point: "passed_on", status: 404, attempts: [1] },
    ],
    ["after the ack sends nothing twice", { point: "acknowledged", status: 200, attempts: [1] }],
  ];
  const eventCount = 10;
  const killed = "e-4";

  test.concurrent.for(faults)("%s; nothing is lost", async ([sentence, { point, status, attempts }], context) => {
    const prefix = `w${faults.findIndex(([name]) => name === sentence)}`;
    const partner = await startWebhookPartner(({ attempt }) => ({ status: attempt === 1 ? status : 200 }));
    context.onTestFinished(() => partner.close());
    const config = configOf(partnerConfig("one", partner.url, { delivery: { maxInFlight: 1 }, ...selecting }));
    const order = { url: server.url, prefix, podId: "pod-1", config };
    const first = await startWorker({ ...order, fault: { point, eventId: killed, count: 1 } }, context.onTestFinished);
    const gone = once(first, "exit");
    const produce = await producer(prefix, nats);
    await Promise.all(idsOf(eventCount).map(produce));
    await gone;
    await startWorker({ ...order, podId: "pod-2" }, context.onTestFinished);
    const layout = await ensureTopology(nats, streamsOf(prefix).streams);
    const isDone = async (): Promise<boolean> =>
      (await nats.manager.streams.info(layout.streams.deliveries)).state.messages === 0 &&
      partner.of(killed).length === attempts.length;
    await waitFor(isDone, { timeoutMs, what: "every delivery" });
    expect(partner.of(killed).map(({ attempt }) => attempt)).toEqual(attempts);
    const others = idsOf(eventCount).filter((id) => id !== killed);
    const expected = status === 500 ? [1, 2] : [1];
    expect(others.map((id) => partner.of(id).map(({ attempt }) => attempt))).toEqual(others.map(() => expected));
    const { messages } = (await nats.manager.streams.info(layout.streams.deadLetters)).state;
    expect(messages).toBe(status === 404 ? eventCount : 0);
    expect(contentsOf(partner)).toEqual(selectedContent);
  });

  const directFaults: readonly (readonly [string, Fault & { readonly isLeft?: true }])[] = [
    ["before the POST sends nothing twice", { point: "loaded", status: 200, attempts: [1] }],
    ["between the POST and its record sends once more", { point: "sent", status: 200, attempts: [1, 1] }],
    ["after the record of a success sends nothing twice", { point: "recorded", status: 200, attempts: [1] }],
    ["after the record of a failure makes each attempt once", { point: "recorded", status: 500, attempts: [1, 2] }],
    [
      "after the record of a failure makes the next attempt though the partner does not subscribe any more",
      { point: "recorded", status: 500, attempts: [1, 2], isLeft: true },
    ],
    ["after the record of a refusal stores its dead letter", { point: "recorded", status: 404, attempts: [1] }],
    [
      "after its dead letter was stored, before the ack of the delivery, sends nothing twice",
      { point: "passed_on", status: 404, attempts: [1] },
    ],
    ["after the ack sends nothing twice", { point: "acknowledged", status: 200, attempts: [1] }],
  ];

  test.concurrent.for(directFaults)("in an attempt straight from the event, %s", async ([sentence, fault], context) => {
    const { point, status, attempts, isLeft } = fault;
    const prefix = `d${directFaults.findIndex(([name]) => name === sentence)}`;
    const partner = await startWebhookPartner(({ eventId, attempt }) => ({
      status: eventId === "killed" && attempt === 1 ? status : 200,
    }));
    context.onTestFinished(() => partner.close());
    const config = configOf(partnerConfig("one", partner.url, selecting));
    const order = { url: server.url, prefix, podId: "pod-1", config };
    const first = await startWorker(
      { ...order, fault: { point, eventId: "killed", count: 1 } },
      context.onTestFinished,
    );
    const gone = once(first, "exit");
    const produce = await producer(prefix, nats);
    const { streams } = await ensureTopology(nats, streamsOf(prefix).streams);
    await untilDirect({ nats, prefix, partner, produce });
    await produce("killed");
    await gone;
    const left = { ...order, config: configOf(partnerConfig("one", partner.url, { subscriptions: [] })) };
    await startWorker({ ...(isLeft ? left : order), podId: "pod-2" }, context.onTestFinished);
    await untilDrained(nats, prefix, timeoutMs);
    expect(partner.of("killed").map(({ attempt }) => attempt)).toEqual(attempts);
    expect(partner.received.filter(({ eventId, attempt }) => eventId !== "killed" && attempt > 1)).toEqual([]);
    const counts = new Map<string, number>();
    for (const { eventId } of partner.received) counts.set(eventId, (counts.get(eventId) ?? 0) + 1);
    expect([...counts].filter(([id, count]) => id !== "killed" && count > 1)).toEqual([]);
    const { messages } = (await nats.manager.streams.info(streams.deadLetters)).state;
    expect(messages).toBe(status === 404 ? 1 : 0);
    expect(contentsOf(partner)).toEqual(selectedContent);
  });

  test("in the middle of routing leaves each partner every event, once", async () => {
    const partners = await Promise.all(idsOf(5).map(() => partnerServer()));
    // With a rate, deliveries are stored before their first attempt.
    const delivery = { maxInFlight: 64, rate: { perSecond: 1_000, burst: 1_000 } };
    const config = configOf(
      ...partners.map(({ url }, index) => partnerConfig(`p${index}`, url, { delivery, ...selecting })),
    );
    const order = { url: server.url, prefix: "fan", podId: "pod-1", config };
    const first = await startWorker(
      { ...order, fault: { point: "routed_one", eventId: "e-7", count: 3 } },
      onTestFinished,
    );
    const gone = once(first, "exit");
    const produce = await producer("fan", nats);
    await Promise.all(idsOf(20).map(produce));
    await gone;
    await startWorker({ ...order, podId: "pod-2" }, onTestFinished);
    await waitFor(() => partners.every(({ received }) => new Set(received.map(({ eventId }) => eventId)).size === 20), {
      timeoutMs,
      what: "every event at every partner",
    });
    await untilDrained(nats, "fan", timeoutMs);
    const counts = partners.flatMap((partner) => idsOf(20).map((id) => partner.of(id).length));
    // Those in flight when the worker died may have been sent and not yet recorded.
    expect(counts.filter((count) => count === 0)).toEqual([]);
    expect(partners.map((partner) => partner.of("e-7").length)).toEqual([1, 1, 1, 1, 1]);
    expect(partners.flatMap(contentsOf)).toEqual(partners.flatMap(() => selectedContent));
  });
});

describe("two pods", () => {
  /** A partner whose home is pod-1 while both live. */
  const uid = idsOf(64).find((id) => ownerOf(partnerKey(id), ["pod-1", "pod-2"]) === "pod-1") ?? "";

  test("share partners: when an owner is killed, the other sends within three seconds, nothing twice", async () => {
    const tookMs = await quickestMs(3_000, async (index) => {
      const prefix = `pods${index}`;
      const partner = await partnerServer();
      const config = configOf(partnerConfig("one", partner.url, { uid }));
      const home = await startWorker({ url: server.url, prefix, podId: "pod-1", config }, onTestFinished);
      const other = await startEngine(server.url, config, { settings: streamsOf(prefix), podId: "pod-2" });
      onTestFinished(other.stop);
      await other.ingest(eventBytes("before"));
      const isRecorded = async (): Promise<boolean> =>
        (await other.engine.history.event("before", ["*"]))?.deliveries[0]?.state === "delivered";
      await waitFor(isRecorded, { timeoutMs, what: "the first delivery" });
      // It was not this pod, which is not the home.
      expect(other.lines.filter(({ message }) => message === "attempt")).toEqual([]);
      await killWorker(home);
      const killedAt = performance.now();
      await other.ingest(eventBytes("after"));
      await waitFor(() => partner.of("after").length === 1, { timeoutMs, what: "the delivery from the new home" });
      const sentMs = performance.now() - killedAt;
      await untilDrained(nats, prefix, timeoutMs);
      expect(partner.received.map(({ eventId }) => eventId)).toEqual(["before", "after"]);
      return sentMs;
    });
    expect(tookMs).toBeLessThan(3_000);
  });

  test("take over the lanes of a stopped pod at once", async () => {
    const tookMs = await quickestMs(1_500, async (index) => {
      const prefix = `stop${index}`;
      const partner = await partnerServer();
      const config = configOf(partnerConfig("one", partner.url, { uid }));
      const [home, other] = await Promise.all(
        ["pod-1", "pod-2"].map((podId) => startEngine(server.url, config, { settings: streamsOf(prefix), podId })),
      );
      onTestFinished(async () => other?.stop());
      await other?.ingest(eventBytes("before"));
      await waitFor(() => partner.of("before").length === 1, { timeoutMs, what: "the first delivery" });
      await home?.stop();
      const stoppedAt = performance.now();
      await other?.ingest(eventBytes("after"));
      await waitFor(() => partner.of("after").length === 1, { timeoutMs, what: "the delivery from the new home" });
      const sentMs = performance.now() - stoppedAt;
      await untilDrained(nats, prefix, timeoutMs);
      expect(partner.received).toHaveLength(2);
      return sentMs;
    });
    expect(tookMs).toBeLessThan(1_500);
  });
});

describe("a nats-server killed under load", () => {
  test("loses no accepted event and sends nothing twice, and deliveries go on by themselves", async () => {
    const partner = await partnerServer();
    const engine = await startEngine(server.url, configOf(partnerConfig("one", partner.url)), {
      settings: streamsOf("kill"),
    });
    onTestFinished(engine.stop);
    const accepted = new Set<string>();
    const over = new AbortController();
    const produce = async (producerIndex: number): Promise<void> => {
      for (let count = 0; !over.signal.aborted; count += 1) {
        const id = `p${producerIndex}-${count}`;
        // A producer repeats what was not accepted.
        await waitFor(() => engine.ingest(eventBytes(id)), { timeoutMs, what: `accepting ${id}`, pollMs: 50 });
        accepted.add(id);
      }
    };
    const producers = [0, 1, 2, 3].map(produce);
    await waitFor(() => accepted.size > 200, { timeoutMs, what: "load" });
    await server.kill9();
    const atKill = accepted.size;
    await server.restart();
    await waitFor(() => accepted.size > atKill + 200, { timeoutMs, what: "load after the restart" });
    over.abort();
    await Promise.all(producers);
    const missing = (): readonly string[] => [...accepted].filter((id) => partner.of(id).length === 0);
    await waitFor(() => missing().length === 0, { timeoutMs, what: "every accepted event" });
    await untilDrained(nats, "kill", timeoutMs);
    const doubled = [...accepted].filter((id) => partner.of(id).length > 1);
    expect({ missing: missing(), doubled }).toEqual({ missing: [], doubled: [] });
  });

  test("together with the worker loses no accepted event and sends twice only what was in flight", async () => {
    const own = await startNatsServer();
    onTestFinished(() => own.stop());
    const partner = await partnerServer();
    const maxInFlight = 8;
    const config = configOf(partnerConfig("one", partner.url, { delivery: { maxInFlight } }));
    const order = { url: own.url, prefix: "both", config };
    const worker = await startWorker({ ...order, podId: "pod-1" }, onTestFinished);
    const handle = await connectNats({ servers: [own.url] });
    onTestFinished(() => handle.drain());
    const produce = await producer("both", handle);
    await Promise.all(idsOf(300).map(produce));
    await waitFor(() => partner.received.length > 100, { timeoutMs, what: "load" });
    await Promise.all([own.kill9(), killWorker(worker)]);
    await own.restart();
    await startWorker({ ...order, podId: "pod-2" }, onTestFinished);
    const missing = (): readonly string[] => idsOf(300).filter((id) => partner.of(id).length === 0);
    await waitFor(() => missing().length === 0, { timeoutMs, what: "every accepted event" });
    await untilDrained(handle, "both", timeoutMs);
    const doubled = idsOf(300).filter((id) => partner.of(id).length > 1);
    expect(doubled.length).toBeLessThanOrEqual(maxInFlight);
  });
});
