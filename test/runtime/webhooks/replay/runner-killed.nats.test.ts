import type { Replay } from "../../../../api/replays.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { connectNats, type NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import { ownerOf } from "../../../../runtime/pods/pods.ts";
import { partnerKey } from "../../../../runtime/webhooks/ids.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
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
