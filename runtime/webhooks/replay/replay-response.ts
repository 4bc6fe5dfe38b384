import { BoundedMap } from "../../../limits/bounded-map.ts";
import { isNarrowed } from "../history/partner-access.ts";
import type { ReplayCaller } from "./replay-access.ts";
import type { ReplayJob } from "./replay-job.ts";
import type { ReplayDeps } from "./run-chunk.ts";

/** The progress of a replay. */
export interface ReplayResponse extends MarkCounts {
  readonly replay_id: string;
  readonly status: ReplayJob["status"];
  readonly created_at: string;
  /** Deliveries that the request selects; grows during the replay. */
  readonly matched: number;
  /** Of these, skipped because they are in progress. */
  readonly in_progress: number;
  /** Of these, skipped because they are too old without `force`. */
  readonly too_old: number;
  /** Requested event ids that are not stored. */
  readonly missing: number;
  /** Why the replay failed or waits; null otherwise. */
  readonly detail: string | null;
}

interface MarkCounts {
  readonly published: number;
  readonly delivered: number;
  readonly failed: number;
}

/** Counts the deliveries of a replay by their marks. */
export type CountMarks = (job: Pick<ReplayJob, "id" | "status">) => Promise<MarkCounts>;

const hiddenDetail = "An internal error stops the replay.";
const noMarks: MarkCounts = { published: 0, delivered: 0, failed: 0 };
/** Replays whose final counts are remembered: more than are stored. */
const finalCountsMax = 512;

/** Creates the counter of marks. It remembers the counts that change no more. */
export function createCountMarks({ replays }: Pick<ReplayDeps, "replays">): CountMarks {
  const finals = new BoundedMap<string, MarkCounts>(finalCountsMax);
  return async ({ id, status }) => {
    // A queued replay has no counts. Reading them would only add requests that can fail.
    if (status === "queued") return noMarks;
    const known = finals.get(id);
    if (known !== undefined) return known;
    const [published, delivered, failed] = await Promise.all([
      replays.count(id, "published"),
      replays.count(id, "delivered"),
      replays.count(id, "failed"),
    ]);
    const counts = { published, delivered, failed };
    if (status === "completed" && delivered + failed >= published) finals.set(id, counts);
    return counts;
  };
}

/** The response about a replay, for a caller that may read it. */
export async function responseOf(
  countMarks: CountMarks,
  job: ReplayJob,
  caller: ReplayCaller,
): Promise<ReplayResponse> {
  const { id, status, createdAt, tally, detail } = job;
  const { matched, inProgress, tooOld, missing } = tally;
  const read = { matched, in_progress: inProgress, too_old: tooOld, missing };
  // The detail may describe internals, so callers that are narrowed to partners do not get it.
  const shown = detail === undefined || !isNarrowed(caller) ? (detail ?? null) : hiddenDetail;
  return { replay_id: id, status, created_at: createdAt, ...read, ...(await countMarks(job)), detail: shown };
}
