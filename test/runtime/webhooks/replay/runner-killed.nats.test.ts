import type { Replay } from "../../../../api/replays.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { connectNats, type NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import { ownerOf } from "../../../../runtime/pods/pods.ts";
import { partnerKey } from "../../../../runtime/webhooks/ids.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { createLayout } from "../../../../runtime/nats/layout.ts";
import { createAttemptsStream } from "../../../../runtime/nats/streams/attempts-stream.ts";
import { eventHash } from "../../../../runtime/webhooks/ids.ts";
import { parseHandled } from "../../../../runtime/webhooks/records/event-record.ts";
import { partnerServer } from "../engine-cases.ts";
import { configOf, partnerConfig, startEngine, streamsOf } from "../engine-fixture.ts";
import { idsOf, killWorker, produceAll, producer, startWorker, untilDrained } from "../fault-fixture.ts";

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

const prefix = "killed";
const eventCount = 1_000;
const maxInFlight = 16;
const timeoutMs = 90_000;
const everyone = { client: "support", tenants: ["*"] };

/** A pod id that rendezvous hashing selects over the other for all of these keys. */
function podAtHome(other: string, ...names: readonly string[]): string {
  const isOwner = (pod: string): boolean => names.every((name) => ownerOf(name, [other, pod]) === pod);
  return idsOf(10_000).find(isOwner) ?? "";
}

test("a replay whose runner is killed continues in another pod from the last stored chunk, with exact counts", async () => {
  const ids = idsOf(eventCount);
  const partner = await partnerServer({ onTestFinished });
  const config = configOf(partnerConfig("one", partner.url, { delivery: { maxInFlight }, timeoutMs: 30_000 }));
  const order = { url: server.url, prefix, config };
  const uid = config.partners[0]?.uid ?? "";
  // The pod that is killed runs the replay and delivers what it publishes.
  const killed = podAtHome("stays", "duties", partnerKey(uid));
  const runner = await startWorker({ ...order, podId: killed }, onTestFinished);
  await produceAll(ids, await producer(prefix, nats));
  await waitFor(() => partner.received.length >= eventCount, { timeoutMs, what: "the first deliveries" });
  await untilDrained(nats, prefix, timeoutMs);
  const asker = await startEngine(server.url, config, { settings: streamsOf(prefix), podId: "stays" });
  onTestFinished(asker.stop);

  const body = JSON.stringify({ event_ids: ids, rate_per_second: 250 });
  const taken = await asker.engine.replays.replay(Buffer.from(body), everyone);
  const { replay_id: id } = taken as Replay;
  const replayed = (): number => partner.received.filter(({ headers }) => headers["x-webhook-replay"] === id).length;
  await waitFor(() => replayed() >= eventCount / 4, { timeoutMs, what: "a quarter of the replay" });
  await killWorker(runner);
  expect(replayed()).toBeLessThan(eventCount);

  const look = (): Promise<Replay> => asker.engine.replays.get(id, everyone);
  const isOver = ({ status, delivered }: Replay): boolean => status === "completed" && delivered === eventCount;
  await waitFor(async () => isOver(await look()), { timeoutMs, what: "the end of the replay" });
  expect(await look()).toMatchObject({
    matched: eventCount,
    published: eventCount,
    failed: 0,
    in_progress: 0,
    missing: 0,
  });
  const times = ids.map(
    (event) => partner.of(event).filter(({ headers }) => headers["x-webhook-replay"] === id).length,
  );
  expect(Math.min(...times)).toBe(1);
  // Only attempts that were sent and not recorded are repeated.
  expect(times.filter((count) => count > 1).length).toBeLessThanOrEqual(maxInFlight);
}, 120_000);

const letterCount = 200;

/** The number of times by which an event comes. */
const timesIn = (ids: readonly string[], found: readonly string[]): readonly number[] =>
  ids.map((id) => found.filter((one) => one === id).length);

test.each(["redrive", "acknowledge"] as const)(
  "a job that has to %s dead letters and is killed continues in another pod: none is lost, and none twice",
  async (action) => {
    const ids = idsOf(letterCount);
    let isRepaired = false;
    const partner = await partnerServer({ onTestFinished }, () => (isRepaired ? {} : { status: 404 }));
    const config = configOf(partnerConfig("one", partner.url, { delivery: { maxInFlight }, timeoutMs: 30_000 }));
    const order = { url: server.url, prefix: action, config };
    const uid = config.partners[0]?.uid ?? "";
    const killed = podAtHome("stays", "duties", partnerKey(uid));
    const runner = await startWorker({ ...order, podId: killed }, onTestFinished);
    await produceAll(ids, await producer(action, nats));
    const { engine, stop } = await startEngine(server.url, config, { settings: streamsOf(action), podId: "stays" });
    onTestFinished(stop);
    const left = async (): Promise<number> => {
      const { counts } = await engine.deadLetters.counts({}, "reason", everyone);
      return counts[0]?.count ?? 0;
    };
    await waitFor(async () => (await left()) === letterCount, { timeoutMs, what: "the dead letters" });
    isRepaired = true;

    const body = JSON.stringify({ reason: "status_404", from: new Date(0).toISOString(), rate_per_second: 150 });
    const { replay_id: id } = (await engine.replays[action](Buffer.from(body), everyone)) as Replay;
    await waitFor(async () => (await left()) <= (letterCount * 3) / 4, { timeoutMs, what: "a quarter of the job" });
    await killWorker(runner);
    expect(await left()).toBeGreaterThan(0);

    const look = (): Promise<Replay> => engine.replays.get(id, everyone);
    const isOver = ({ status, delivered, acknowledged = 0 }: Replay): boolean =>
      status === "completed" && delivered + acknowledged === letterCount;
    await waitFor(async () => isOver(await look()), { timeoutMs, what: "the end of the job" });
    expect(await look()).toMatchObject({ expected: letterCount, matched: letterCount, failed: 0, missing: 0 });
    expect(await left()).toBe(0);
    const resent = partner.received.flatMap(({ headers, eventId }) =>
      headers["x-webhook-replay"] === id ? [eventId] : [],
    );
    expect(resent.length === 0).toBe(action === "acknowledge");
    const attempts = createAttemptsStream(nats, createLayout(action));
    const notes = async (event: string): Promise<number> =>
      parseHandled(await attempts.read("acme", eventHash(event))).length;
    const times = action === "redrive" ? timesIn(ids, resent) : await Promise.all(ids.map(notes));
    expect(Math.min(...times)).toBe(1);
    // Only attempts that were sent and not recorded are repeated; a note never is.
    const repeatedMax = action === "redrive" ? maxInFlight : 0;
    expect(times.filter((count) => count > 1).length).toBeLessThanOrEqual(repeatedMax);
  },
  60_000,
);
