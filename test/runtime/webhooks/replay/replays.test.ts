import { expect, test } from "vitest";
import { createReplays, type ReplaysDeps } from "../../../../runtime/webhooks/replay/replays.ts";
import type { ReplayJob, ReplayStore } from "../../../../runtime/webhooks/replay/replay-job.ts";
import { memoryContext, quiet } from "../memory-context.ts";

const caller = { client: "support", tenants: ["*"] };

/** Replays whose marks cannot be counted, because the connection to NATS closes. */
function replaysWithout(jobs: Map<string, ReplayJob>) {
  const counted: string[] = [];
  const count = async (_id: string, mark: string): Promise<number> => {
    counted.push(mark);
    throw new Error("connection closed");
  };
  const deps = { ...memoryContext().context, partners: () => [], replays: { count } };
  const store: Partial<ReplayStore> = {
    list: async () => ({ jobs: [...jobs.values()], cancelled: new Set() }),
    save: async (job) => void jobs.set(job.id, job),
    get: async (id) => jobs.get(id),
    isCancelled: async () => false,
  };
  return { counted, replays: createReplays(deps as unknown as ReplaysDeps, store as ReplayStore) };
}

test("a replay that is stored while the connection to NATS closes counts no marks", async () => {
  const jobs = new Map<string, ReplayJob>();
  const { counted, replays } = replaysWithout(jobs);
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  try {
    const taken = await replays.replay(Buffer.from('{"event_ids":["e-1"]}'), caller);
    await quiet();
    expect([taken, counted, unhandled]).toMatchObject([
      { status: "queued", published: 0, delivered: 0, failed: 0 },
      [],
      [],
    ]);
  } finally {
    process.off("unhandledRejection", note);
  }
});

test("the read of a running replay fails when its marks cannot be counted", async () => {
  const jobs = new Map<string, ReplayJob>();
  const { counted, replays } = replaysWithout(jobs);
  await replays.replay(Buffer.from('{"event_ids":["e-1"]}'), caller);
  for (const [id, job] of jobs) jobs.set(id, { ...job, status: "running" });
  await expect(replays.get([...jobs.keys()][0] ?? "", caller)).rejects.toThrow("connection closed");
  expect(counted).toEqual(["published", "delivered", "failed"]);
});
