import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownerOf } from "../../../../runtime/pods/pods.ts";
import { partnerKey } from "../../../../runtime/webhooks/ids.ts";
import { assignLanes } from "../../../../runtime/webhooks/partners/partner.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import type { PartnerAnswer } from "../../../support/webhook-partner.ts";
import { type Cleanup, engineCase, type EngineCase, partnerServer } from "../engine-cases.ts";
import {
  configOf,
  eventBytes,
  partnerConfig,
  startEngine,
  streamsOf,
  testSettings,
  type TestEngine,
} from "../engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const timeoutMs = 30_000;
const drainMs = 20_000;
const eventsAfter = 20;
const pods = ["pod-1", "pod-2"];
const pause = { "Retry-After": "60" };

/** Starts another pod on the same streams. */
async function otherPod(
  context: Cleanup,
  config: ReturnType<typeof configOf>,
  settings: ReturnType<typeof streamsOf>,
): Promise<TestEngine> {
  const engine = await startEngine(server.url, config, { settings, podId: "pod-2" });
  context.onTestFinished(engine.stop);
  return engine;
}

/** Responses that end the deliveries to a partner. */
const holds: readonly (readonly [string, PartnerAnswer])[] = [
  ["a 429 with Retry-After", { status: 429, headers: pause }],
  ["a 503 with Retry-After", { status: 503, headers: pause }],
  ["a 410", { status: 410 }],
];

/** A lane of its own, or one that is shared. */
const kinds = [
  ["of its own", testSettings.delivery.ownLanesMax],
  ["that is shared", 0],
] as const;

/** The uid of a partner whose lane this pod owns as soon as there are two. */
function uidOwnedBy(pod: string, ownLanesMax: number | undefined): string {
  const lane = (uid: string): string =>
    assignLanes([partnerKey(uid)], new Set(), ownLanesMax ?? 1).get(partnerKey(uid))?.lane ?? "";
  for (let n = 0; ; n += 1) if (ownerOf(lane(`uid-${n}`), pods) === pod) return `uid-${n}`;
}

interface MovedCase {
  /** Responds to the attempt that is under way, and to all others from now on. */
  readonly respond: () => void;
  readonly received: () => number;
  readonly first: EngineCase;
  readonly other: () => Promise<TestEngine>;
}

/** A pod with an attempt under way; the partner responds to the event `taken` at once. */
async function movedCase(
  context: Cleanup,
  owner: string,
  answer: PartnerAnswer,
  ownLanesMax: number | undefined,
  taken: PartnerAnswer = {},
): Promise<MovedCase> {
  const gate = Promise.withResolvers<void>();
  const partner = await partnerServer(context, async ({ eventId }) => {
    if (eventId === "taken") return taken;
    await gate.promise;
    return answer;
  });
  const uid = uidOwnedBy(owner, ownLanesMax);
  const config = configOf(partnerConfig("one", partner.url, { uid, timeoutMs: 20_000 }));
  const delivery = { ...testSettings.delivery, ...(ownLanesMax === undefined ? {} : { ownLanesMax }) };
  const first = await engineCase(server.url, context, config, { delivery, podId: "pod-1" });
  const other = (): Promise<TestEngine> => otherPod(context, config, streamsOf(first.prefix, delivery));
  return { respond: gate.resolve, received: () => partner.received.length, first, other };
}

const live = (engine: TestEngine, count: number) =>
  waitFor(() => engine.engine.pods.live().length === count, { timeoutMs, what: `${count} live pods` });

/** The second pod delivers: it has read what was stored about the partner. */
async function isTaken(it: MovedCase, other: TestEngine): Promise<void> {
  await other.ingest(eventBytes("taken"));
  await waitFor(() => it.received() === 2, { timeoutMs, what: "a delivery by the new owner" });
}

/** Requests in all, once events that come after the response wait. */
async function requestsAfter(it: MovedCase, { engine, ingest, nats }: TestEngine): Promise<number> {
  it.respond();
  const attempts = async () => (await engine.history.event("first", ["*"]))?.deliveries[0]?.attempts.length;
  await waitFor(async () => (await attempts()) === 1, { timeoutMs, what: "the record of the attempt" });
  for (let n = 0; n < eventsAfter; n += 1) await ingest(eventBytes(`later-${n}`));
  const { deliveries } = it.first.layout.streams;
  const stored = async () => (await nats.manager.streams.info(deliveries)).state.messages;
  await waitFor(async () => (await stored()) >= eventsAfter, { timeoutMs, what: "the stored deliveries" });
  return it.received();
}

/** Stops the first pod during its attempt, until the other one owns the lane. `stopped` resolves after the attempt. */
async function stopDuringAttempt(it: MovedCase) {
  const other = await it.other();
  await Promise.all([live(it.first, 2), live(other, 2)]);
  await it.first.ingest(eventBytes("first"));
  await waitFor(() => it.received() === 1, { timeoutMs, what: "the attempt" });
  const stopped = it.first.engine.stop(drainMs);
  await live(other, 1);
  await isTaken(it, other);
  return { other, stopped };
}

describe.each(kinds)("the new owner of a lane %s sends nothing", (_kind, ownLanesMax) => {
  test.for(holds)("after %s to an attempt of the previous owner, which goes on", async ([, answer], context) => {
    const it = await movedCase(context, "pod-2", answer, ownLanesMax);
    await it.first.ingest(eventBytes("first"));
    await waitFor(() => it.received() === 1, { timeoutMs, what: "the attempt" });
    const other = await it.other();
    await Promise.all([live(it.first, 2), live(other, 2)]);
    await isTaken(it, other);
    expect(await requestsAfter(it, other)).toBe(2);
  });

  test.for(holds)("after %s to an attempt of the previous owner, which stops", async ([, answer], context) => {
    const it = await movedCase(context, "pod-1", answer, ownLanesMax);
    const { other, stopped } = await stopDuringAttempt(it);
    expect(await requestsAfter(it, other)).toBe(2);
    await stopped;
  });
});

describe.each(kinds)("a pause of a lane %s", (_kind, ownLanesMax) => {
  // A rolling update of a peer ended with the state of the pod that stopped last (mcp-hangar#803).
  test("is not replaced by a shorter one that the previous owner finds", async (context) => {
    const long = { status: 429, headers: pause };
    const short = { status: 429, headers: { "Retry-After": "1" } };
    const it = await movedCase(context, "pod-1", short, ownLanesMax, long);
    const { other, stopped } = await stopDuringAttempt(it);
    const { streams } = other.nats.manager;
    const bucket = it.first.layout.buckets.pausedPartners;
    const restMs = async (): Promise<number> => {
      const entry = await streams
        .getMessage(`KV_${bucket}`, { last_by_subj: `$KV.${bucket}.>` })
        .catch(() => undefined);
      return entry?.json<{ readonly restMs: number }>().restMs ?? 0;
    };
    await waitFor(async () => (await restMs()) === 60_000, { timeoutMs, what: "the stored pause" });
    it.respond();
    await stopped;
    await waitFor(async () => (await restMs()) === 60_000, { timeoutMs, what: "the longer pause, stored again" });
    expect(await requestsAfter(it, other)).toBe(2);
  });

  // Each replica of a peer probed on its own (jac#8420).
  test("ends with one probe at a time, however many pods there are", async (context) => {
    const answer = { status: 429, headers: { "Retry-After": "1" } };
    const it = await movedCase(context, "pod-2", answer, ownLanesMax);
    const other = await it.other();
    await Promise.all([live(it.first, 2), live(other, 2)]);
    it.respond();
    const before = Date.now();
    for (let n = 0; n < eventsAfter; n += 1) await (n % 2 === 0 ? other : it.first).ingest(eventBytes(`later-${n}`));
    await waitFor(() => it.received() > 0, { timeoutMs, what: "the first response" });
    const first = it.received();
    await waitFor(() => it.received() >= first + 3, { timeoutMs, what: "probes" });
    expect(it.received() - first).toBeLessThanOrEqual(Math.floor((Date.now() - before) / 1_000));
  });
});

/** How a lane gets its next owner. */
const moves = [
  ["which stops", "pod-1"],
  ["which goes on", "pod-2"],
] as const;

const openMs = 3_000;
const failures = 3;

/** A pod that has opened the breaker of its partner; the probe gets no response before the end. */
async function openBreaker(context: Cleanup, uid: string, delivery: typeof testSettings.delivery) {
  const probe = Promise.withResolvers<void>();
  context.onTestFinished(async () => probe.resolve());
  const partner = await partnerServer(context, async () => {
    if (partner.received.length > failures) await probe.promise;
    return { status: 503 };
  });
  const circuitBreaker = { failures, openMs, maxOpenMs: 60_000 };
  const config = configOf(partnerConfig("one", partner.url, { uid, timeoutMs: 20_000, circuitBreaker }));
  const first = await engineCase(server.url, context, config, { delivery, podId: "pod-1" });
  const other = (): Promise<TestEngine> => otherPod(context, config, streamsOf(first.prefix, delivery));
  const open = async (): Promise<void> => {
    for (let n = 0; n < failures; n += 1) await first.ingest(eventBytes(`first-${n}`));
    const bucket = `KV_${first.layout.buckets.pausedPartners}`;
    const held = async () => (await first.nats.manager.streams.info(bucket)).state.messages;
    await waitFor(async () => (await held()) > 0, { timeoutMs, what: "the open breaker" });
  };
  return { partner, first, other, open };
}

describe.each(kinds)("the open circuit breaker of a lane %s", (_kind, ownLanesMax) => {
  // A restart of a peer lost the state of its breakers (postel#127).
  test.for(moves)("admits one probe by the next owner after the previous one, %s", async ([, owner], context) => {
    const delivery = { ...testSettings.delivery, ...(ownLanesMax === undefined ? {} : { ownLanesMax }) };
    const { partner, first, ...it } = await openBreaker(context, uidOwnedBy(owner, ownLanesMax), delivery);
    if (owner === "pod-2") await it.open();
    const other = await it.other();
    await Promise.all([live(first, 2), live(other, 2)]);
    if (owner === "pod-1") {
      await it.open();
      await first.engine.stop(drainMs);
      await live(other, 1);
    }
    for (let n = 0; n < eventsAfter; n += 1) await other.ingest(eventBytes(`later-${n}`));
    await waitFor(() => partner.received.length > failures, { timeoutMs, what: "the probe" });
    for (let n = 0; n < eventsAfter; n += 1) await other.ingest(eventBytes(`latest-${n}`));
    const { deliveries } = first.layout.streams;
    const waiting = async () => (await other.nats.manager.streams.info(deliveries)).state.messages;
    await waitFor(async () => (await waiting()) >= failures + 2 * eventsAfter, { timeoutMs, what: "what waits" });
    const times = partner.received.map(({ atMs }) => atMs);
    expect(times.length).toBe(failures + 1);
    // The pause is measured by JetStream's clock.
    expect((times[failures] ?? 0) - (times[failures - 1] ?? 0)).toBeGreaterThan(0.9 * openMs);
  });
});
