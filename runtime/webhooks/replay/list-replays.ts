import type { Replay, ReplaySummary } from "../../../api/replays.ts";
import { mayReadReplay, noPartner, type ReplayCaller, type ReplayJob } from "./replay-job.ts";
import { BoundedMap } from "../../../limits/bounded-map.ts";
import { isNarrowed } from "../history/partner-access.ts";
import type { ReplayDeps } from "./run-chunk.ts";

/** Parameters of a list of replays. */
export interface ReplayQuery {
  /** The last replay of the previous page. @default the first page */
  readonly after?: ReplayPlace;
  readonly limit: number;
}

/** The place of a replay in the list. */
export interface ReplayPlace {
  /** Unix milliseconds. */
  readonly createdAtMs: number;
  readonly id: string;
}

export interface ReplayPage {
  readonly items: readonly ReplaySummary[];
  /** The place after which the next page begins; undefined at the end. */
  readonly next?: ReplayPlace;
}

interface MarkCounts {
  readonly published: number;
  readonly delivered: number;
  readonly failed: number;
}

/** Counts the deliveries of a replay by their marks. */
export type CountMarks = (job: Pick<ReplayJob, "id" | "status">) => Promise<MarkCounts>;

const hiddenDetail = "The replay stopped because of an internal error.";
const noMarks: MarkCounts = { published: 0, delivered: 0, failed: 0 };
/** Replays whose final counts are remembered: more than are stored. */
const finalCountsMax = 512;

/** The replays of one page that the caller may read, the newest first, and the place of the next page. */
export function replaysOfPage(
  jobs: readonly ReplayJob[],
  { after, limit }: ReplayQuery,
  caller: ReplayCaller,
): { readonly jobs: readonly ReplayJob[]; readonly next?: ReplayPlace } {
  const placed = jobs
    .filter((job) => mayReadReplay(job, caller))
    .map((job) => ({ job, place: placeOf(job) }))
    .filter(({ place }) => after === undefined || byNewest(after, place) < 0)
    .toSorted((a, b) => byNewest(a.place, b.place));
  const page = placed.slice(0, limit);
  const next = placed.length > limit ? page.at(-1)?.place : undefined;
  return { jobs: page.map(({ job }) => job), ...(next === undefined ? {} : { next }) };
}

/**
 * What a replay was asked to do, for a caller that may read it.
 *
 * @param labels names of the configured partners by partner key
 */
export function requestOf(
  { source, filter, requestedBy, redriven }: ReplayJob,
  labels: ReadonlyMap<string, string>,
): Omit<ReplaySummary, keyof Replay> {
  const own = redriven ?? (source.kind === "dead_letters" ? labels.get(source.partner) : undefined);
  const named = own === undefined ? filter.partners : [own];
  return {
    kind: source.kind === "dead_letters" ? "redrive" : "replay",
    requested_by: requestedBy ?? null,
    filter: {
      partners: named.filter((label) => label !== noPartner),
      types: filter.types,
      only_failed: filter.onlyFailed,
    },
    window: source.kind === "window" ? windowOf(source) : null,
    event_ids: source.kind === "window" ? null : (source.eventIds?.length ?? null),
  };
}

function windowOf({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }): ReplaySummary["window"] {
  return { from: fromMs === 0 ? null : new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}

function placeOf({ createdAt, id }: ReplayJob): ReplayPlace {
  return { createdAtMs: Date.parse(createdAt), id };
}

function byNewest(a: ReplayPlace, b: ReplayPlace): number {
  if (a.createdAtMs !== b.createdAtMs) return b.createdAtMs - a.createdAtMs;
  if (a.id === b.id) return 0;
  return a.id < b.id ? 1 : -1;
}

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
export async function responseOf(countMarks: CountMarks, job: ReplayJob, caller: ReplayCaller): Promise<Replay> {
  const { id, status, createdAt, tally, detail } = job;
  const { matched, inProgress, tooOld, missing } = tally;
  const read = { matched, in_progress: inProgress, too_old: tooOld, missing };
  // The detail may describe internals, so callers that are narrowed to partners do not get it.
  const shown = detail === undefined || !isNarrowed(caller) ? (detail ?? null) : hiddenDetail;
  return { replay_id: id, status, created_at: createdAt, ...read, ...(await countMarks(job)), detail: shown };
}
