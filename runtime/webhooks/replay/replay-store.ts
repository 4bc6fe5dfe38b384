import type { Bucket } from "../../nats/streams/buckets.ts";
import type { ReplayJob } from "./replay-job.ts";

/** Replays that were asked for, over all pods. */
export interface ReplayStore {
  /** @throws Unanswered, or Error when it is refused */
  save(job: ReplayJob): Promise<void>;
  /** @throws Unanswered */
  get(id: string): Promise<ReplayJob | undefined>;
  /**
   * Says that nothing more shall be done for it; kept apart, since only the pod that runs it writes the replay itself.
   */
  cancel(id: string): Promise<void>;
  isCancelled(id: string): Promise<boolean>;
  /** Forgets it. */
  drop(id: string): Promise<void>;
  /** Every replay that is kept, and the ids of those that were cancelled. */
  list(): Promise<{ readonly jobs: readonly ReplayJob[]; readonly cancelled: ReadonlySet<string> }>;
}

const jobPrefix = "job-";
const cancelPrefix = "cancel-";

/** Keys: `job-<id>` and `cancel-<id>`. */
export function createReplayStore(bucket: Bucket): ReplayStore {
  return {
    save: (job) => bucket.put(jobPrefix + job.id, JSON.stringify(job)),
    get: async (id) => {
      const entry = await bucket.get(jobPrefix + id);
      return entry === undefined ? undefined : (JSON.parse(entry.value) as ReplayJob);
    },
    cancel: (id) => bucket.put(cancelPrefix + id, ""),
    isCancelled: async (id) => (await bucket.get(cancelPrefix + id)) !== undefined,
    drop: async (id) => {
      await Promise.all([jobPrefix, cancelPrefix].map((prefix) => bucket.drop(prefix + id)));
    },
    list: async () => {
      const entries = await bucket.list();
      const jobs = entries
        .filter(({ key }) => key.startsWith(jobPrefix))
        .map(({ value }) => JSON.parse(value) as ReplayJob);
      const cancels = entries.filter(({ key }) => key.startsWith(cancelPrefix));
      return { jobs, cancelled: new Set(cancels.map(({ key }) => key.slice(cancelPrefix.length))) };
    },
  };
}
