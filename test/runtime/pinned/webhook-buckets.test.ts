import { expect, test } from "vitest";
import { createBucket, type Bucket } from "../../../runtime/nats/streams/buckets.ts";
import { createLayout } from "../../../runtime/nats/layout.ts";
import { startBackground, type BackgroundParts } from "../../../runtime/webhooks/maintenance/background-loops.ts";
import { createBacklogs, type BacklogsDeps } from "../../../runtime/webhooks/routing/backlog-limit.ts";
import { createPartnerHolds, createDisabledPartners } from "../../../runtime/webhooks/partners/partner-holds.ts";
import type { OpenBreaker } from "../../../runtime/webhooks/settlement/circuit-breaker.ts";
import { podKey } from "../../../runtime/webhooks/workers/heartbeats.ts";
import { LaneOwnership } from "../../../runtime/webhooks/workers/lane-ownership.ts";
import { createIdempotencyKeys } from "../../../runtime/webhooks/ingest/idempotency-keys.ts";
import {
  createPartnerRegistry,
  registryChanges,
  readAll,
  createListPartner,
} from "../../../runtime/webhooks/partners/partner-registry.ts";
import { compilePartners } from "../../../runtime/webhooks/partners/partner.ts";
import { createPromotions } from "../../../runtime/webhooks/workers/promotions.ts";
import { type ReplayJob, noTally, tallied, createReplayStore } from "../../../runtime/webhooks/replay/replay-job.ts";
import { createReplays, type ReplaysDeps } from "../../../runtime/webhooks/replay/replays.ts";
import { waitFor } from "../../support/wait.ts";
import { configOf, memoryLog, partnerConfig } from "../webhooks/engine-fixture.ts";
import { readPinned } from "./pinned-text.ts";
import { nowMs, recordingNats } from "./recording-nats.ts";

/** What pods keep in key-value buckets: written with these bytes, and read from them. */

const nats = recordingNats();
const { buckets } = createLayout("hg");
const { log } = memoryLog();
const now = (): number => nowMs;
const [partner] = compilePartners(
  configOf(partnerConfig("one", "https://one.example/hooks", { uid: "uid-1", delivery: fullAtOne() })),
  [],
);
if (partner === undefined) throw new Error("no partner");
const own = { ...partner, config: { ...partner.config, specDigest: "spec-1" } };

function fullAtOne() {
  return { maxInFlight: 64, maxBacklog: { messages: 1, bytes: 1_000_000 } };
}

/** A bucket whose writes are recorded and which holds these values. */
function bucketWith(name: string, values: Readonly<Record<string, string>> = {}): Bucket {
  const entries = Object.entries(values).map(([key, value]) => ({ key, value, storedAtMs: nowMs, revision: 3 }));
  return {
    ...createBucket(nats.handle, name),
    get: async (key) => entries.find((entry) => entry.key === key),
    list: async () => entries,
    all: async () => entries.map((entry) => ({ ...entry, isRemoved: false })),
    keys: async () => Object.keys(values),
    drop: async () => undefined,
  };
}

async function partnerBuckets(): Promise<Readonly<Record<string, string>>> {
  const signal = new AbortController().signal;
  await createDisabledPartners(bucketWith(buckets.disabledPartners), () => undefined).mark(own, nowMs, signal);
  const disabled = nats.take();
  await createListPartner(bucketWith(buckets.partners), signal)(own);
  const listed = nats.take();
  const values = { [own.key]: `{"token":"${own.key}","uid":"uid-1","label":"default/one"}` };
  const turn = createPartnerRegistry({
    bucket: bucketWith(buckets.partners, values),
    partners: () => [],
    mayExist: () => false,
    end: async () => true,
    running: async () => new Set(),
    now,
    log,
  });
  await turn();
  const missed = nats.take();
  await createPromotions(bucketWith(buckets.promotedPartners), 1).promote(own.key);
  const promoted = nats.take();
  const size = { messages: 2, bytes: 2 };
  const deliveries = { size: async () => size, waitingFor: async () => size.messages };
  const deps = { deliveries, bucket: bucketWith(buckets.fullPartners), partners: () => [own], isOwn: () => true, log };
  await createBacklogs(deps as unknown as BacklogsDeps).poll();
  return {
    "disabled mark": disabled,
    "known partner": listed,
    "known partner that is missed": missed,
    "promoted partner": promoted,
    "partner with a full backlog": nats.take(),
    "pause of a partner": await pauseOf("failures"),
    "pause by a Retry-After": await pauseOf("rate_limited"),
  };
}

async function pauseOf(cause: OpenBreaker["cause"]): Promise<string> {
  const bucket = bucketWith(buckets.pausedPartners);
  const holds = createPartnerHolds({ bucket, announce: () => undefined, log, signal: new AbortController().signal });
  holds.keep(own, { kind: "open", cause, sinceMs: 1, untilMs: 2, restMs: 3, failures: 4 });
  await holds.kept(own.key);
  return nats.take();
}

async function otherBuckets(): Promise<Readonly<Record<string, string>>> {
  const keys = createIdempotencyKeys(bucketWith(buckets.idempotency), now);
  const body = Buffer.from("{}");
  await keys.claim("key 1", body);
  const claimed = nats.take();
  await keys.keep("key 1", body, { status: 202, body: { status: "accepted" } });
  const kept = nats.take();
  const ownership = new LaneOwnership({
    bucket: bucketWith(buckets.pods),
    clock: nats.handle.clock,
    leases: nats.handle.leases,
    podId: "node-1.example/pod a",
    log,
    held: () => new Set(["LjICiCqQS54ZbpWe"]),
    onChange: () => undefined,
    onBeat: () => undefined,
    onLapse: () => undefined,
  });
  await ownership.start();
  const beat = nats.take();
  await ownership.leave();
  return {
    "idempotency key of a request that runs": claimed,
    "idempotency key of a request that ended": kept,
    heartbeat: beat,
    "heartbeat of a pod that leaves": nats.take(),
    "key of a pod": podKey("node-1.example/pod a"),
  };
}

const longJob: ReplayJob = {
  source: { kind: "window", fromMs: 1, toMs: 2, afterSeq: 3, beforeSeq: 4 },
  filter: { partners: ["default/one"], types: ["payout.*"], onlyFailed: true },
  ratePerSecond: 5,
  force: true,
  tenants: ["acme"],
  partners: ["default/one"],
  id: "r-1",
  createdAt: "2026-01-02T03:04:05.678Z",
  status: "running",
  cursor: 6,
  tally: tallied(noTally, "matched", "tooOld"),
  detail: "why",
  failingSince: "2026-01-02T03:04:06.000Z",
};

async function replayBuckets(): Promise<Readonly<Record<string, string>>> {
  const store = createReplayStore(bucketWith(buckets.replays));
  const deps = {
    now,
    partners: () => [own],
    deadLetters: { lastSeq: async () => 12 },
    replays: { count: async () => 0 },
    selectedLetters: { count: async () => ({ matched: 2, isExact: true }) },
  };
  const replays = createReplays(deps as unknown as ReplaysDeps, store);
  const caller = { client: "support", tenants: ["*"] };
  const take = (): string => nats.take().replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/gu, "<uuid>");
  await replays.replay(Buffer.from('{"event_ids":["e-1","e-2"]}'), caller);
  const ids = take();
  await replays.replay(Buffer.from('{"from":"2026-01-01T00:00:00Z","types":["payout.*"],"only_failed":true}'), caller);
  const span = take();
  await replays.redrive(Buffer.from('{"partner":"default/one","event_ids":["e-1"]}'), caller);
  const redrive = take();
  await replays.acknowledge(
    Buffer.from('{"partner":"default/one","reason":"status_404","from":"2026-01-01T00:00:00Z","note":"by phone"}'),
    caller,
  );
  const acknowledgement = take();
  await store.save(longJob);
  const long = take();
  await store.cancel("r-1");
  return {
    "replay of event ids": ids,
    "replay of a window": span,
    "redrive of dead letters": redrive,
    "acknowledgement of selected dead letters": acknowledgement,
    "replay with everything that it may have": long,
    "cancelled replay": take(),
  };
}

test("what is written into buckets has these bytes", async () => {
  expect({ ...(await partnerBuckets()), ...(await otherBuckets()), ...(await replayBuckets()) }).toEqual(
    readPinned("webhook-buckets.txt"),
  );
});

test("what was written into buckets is read as it was meant", async () => {
  const mark =
    '{"uid":"uid-1","namespace":"default","name":"one","generation":1,"specDigest":"spec-1",' +
    '"at":"2026-01-02T03:04:05.678Z"}';
  const disabled = createDisabledPartners(bucketWith(buckets.disabledPartners, { [own.key]: mark }), () => undefined);
  expect(await disabled.isDisabled(own)).toBe(true);
  const pause = '{"cause":"failures","sinceMs":1,"untilMs":2,"restMs":3,"failures":4,"about":"spec-1"}';
  const holdsIn = (text: string) => {
    const bucket = bucketWith(buckets.pausedPartners, { [own.key]: text });
    return createPartnerHolds({ bucket, announce: () => undefined, log, signal: new AbortController().signal });
  };
  const open = { kind: "open", cause: "failures", sinceMs: 1, untilMs: 2, restMs: 3, failures: 4 };
  expect(await holdsIn(pause).read(own)).toEqual(open);
  for (const other of [
    pause.replace("spec-1", "spec-2"),
    pause.replace("failures", "boredom"),
    "{",
    '{"cause":"failures"}',
  ])
    expect(await holdsIn(other).read(own)).toBeUndefined();
  const missed = `{"token":"t-1","uid":"uid-1","label":"default/one","removedAtMs":${nowMs - 600_000}}`;
  const known = await readAll(bucketWith(buckets.partners, { "t-1": missed }));
  const none = { partners: [], mayExist: () => false };
  expect(JSON.stringify(registryChanges(none, [...known.values()], nowMs, 600_000))).toBe(
    `{"write":[],"remove":[${missed}]}`,
  );
  const digest = "RBNvo1WzZ4oRRq0W9-hknpT7T8If536DEMBg9hyq_4o";
  const answer = `{"digest":"${digest}","answer":{"status":202,"body":{"status":"accepted"}}}`;
  const key = "Inul8sbJEJ_lxEoGlvOTN5YHSTo3f1Iu4n2aeuMifYk";
  const keys = createIdempotencyKeys(bucketWith(buckets.idempotency, { [key]: answer }), now);
  expect(JSON.stringify(await keys.claim("key 1", Buffer.from("{}")))).toBe(
    '{"kind":"known","answer":{"status":202,"body":{"status":"accepted"}}}',
  );
});

test("one pod runs the maintenance jobs: the owner of this key", async () => {
  const asked = new Set<string>();
  const isOwner = (name: string): boolean => asked.add(name) === undefined;
  const idle = { keepAlive: () => undefined, lookForLeftovers: async () => undefined, size: async () => ({}) };
  const parts = {
    context: { log, deliveries: { size: async () => ({ messages: 0, bytes: 0 }) } },
    router: idle,
    lanes: idle,
    ownership: { isOwner, isCurrent: () => true },
    heldBytes: async () => 0,
    deliveriesBytesMax: 1,
    polls: [],
    jobs: [{ name: "any", periodMs: 10, begin: () => async () => undefined }],
  };
  const stop = startBackground(parts as unknown as BackgroundParts);
  await waitFor(() => asked.size > 0, { timeoutMs: 20_000, what: "a run of a job" });
  stop();
  expect([...asked]).toEqual(["duties"]);
});
