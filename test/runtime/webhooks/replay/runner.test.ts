import { expect, test } from "vitest";
import type { ReplayJob, ReplayStore } from "../../../../runtime/webhooks/replay/replay-job.ts";
import { noTally } from "../../../../runtime/webhooks/replay/replay-job.ts";
import { runChunk, type RunDeps } from "../../../../runtime/webhooks/replay/run-chunk.ts";
import { createReplayRunner } from "../../../../runtime/webhooks/replay/runner.ts";
import { compiled, memoryContext } from "../memory-context.ts";

const job = {
  id: "r1",
  createdAt: "2026-01-01T00:00:00.000Z",
  status: "running",
  cursor: 0,
  tally: noTally,
  source: { kind: "ids", eventIds: ["e-1"] },
  filter: { partners: [], types: [], onlyFailed: false },
  tenants: ["*"],
  partners: undefined,
  force: true,
  ratePerSecond: 10,
} as unknown as ReplayJob;

/** Statuses that a run stores, when this pod may run jobs until it has read the chunk. */
async function saved(isLeaderAfterwards: boolean): Promise<readonly string[]> {
  const statuses: string[] = [];
  let isLeader = true;
  const events = { routedUpTo: async () => 0, find: async () => void (isLeader = isLeaderAfterwards) };
  const store: Partial<ReplayStore> = {
    list: async () => ({ jobs: [job], cancelled: new Set() }),
    save: async ({ status }) => void statuses.push(status),
  };
  const deps = { ...memoryContext().context, events, partners: () => [], isLeader: () => isLeader };
  await createReplayRunner(deps as unknown as RunDeps, store as ReplayStore)();
  return statuses;
}

test("a run stores the state after a chunk", async () => {
  expect(await saved(true)).toEqual(["completed"]);
});

test("a pod that stood still during a chunk does not store its state, since another pod may have gone further", async () => {
  expect(await saved(false)).toEqual([]);
});

/** Deliveries that a chunk publishes, when this pod may run jobs until the turn of the delivery. */
async function published(isLeaderAfterwards: boolean): Promise<number> {
  const memory = memoryContext();
  let isLeader = true;
  const deps = {
    ...memory.context,
    pace: { turn: async () => void (isLeader = isLeaderAfterwards) },
    isLeader: () => isLeader,
    deadLetters: { of: async () => [] },
    replays: { mark: async () => undefined },
  };
  const unit = {
    did: "d1",
    partner: compiled("one"),
    tenant: "acme",
    eventId: "e-1",
    type: "payout.processed",
    acceptedAtMs: 0,
    body: Buffer.from("{}"),
    payload: [],
    isRouted: true,
  };
  const chunk = { units: [unit], missing: 0, cursor: 1, isEnd: true };
  await runChunk(deps as unknown as RunDeps, job, chunk).catch((error: unknown) => {
    if (isLeaderAfterwards) throw error;
  });
  return memory.stored.length;
}

test("a chunk publishes its deliveries", async () => {
  expect(await published(true)).toBe(1);
});

test("a pod that stood still before a delivery was published does not publish it", async () => {
  expect(await published(false)).toBe(0);
});
