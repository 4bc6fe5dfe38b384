import type { Bucket } from "../../nats/streams/buckets.ts";
import type { ReplayJob } from "./replay-job.ts";

/** The stored replays of all pods. */
export interface ReplayStore {
  /** @throws Unanswered, or Error when JetStream refuses the write */
  save(job: ReplayJob): Promise<void>;
  /** @throws Unanswered */
  get(id: string): Promise<ReplayJob | undefined>;
  /** Stores a mark that ends the replay. The replay itself is written only by the leader pod. */
  cancel(id: string): Promise<void>;
  isCancelled(id: string): Promise<boolean>;
  drop(id: string): Promise<void>;
  /** All stored replays, and the ids of the cancelled ones. */
  list(): Promise<{ readonly jobs: readonly ReplayJob[]; readonly cancelled: ReadonlySet<string> }>;
}

const jobPrefix = "job-";
const cancelPrefix = "cancel-";

/** The keys of the bucket are `job-<id>` and `cancel-<id>`. */
export function createReplayStore(bucket: Bucket): ReplayStore {
  return {
    save: async (job) => void (await bucket.put(jobPrefix + job.id, JSON.stringify(job))),
    get: async (id) => {
      const entry = await bucket.get(jobPrefix + id);
      return entry === undefined ? undefined : (JSON.parse(entry.value) as ReplayJob);
    },
    cancel: async (id) => void (await bucket.put(cancelPrefix + id, "")),
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
