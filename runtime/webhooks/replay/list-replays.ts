import type { Replay, ReplaySummary } from "../../../api/replays.ts";
import { actionOf, mayReadReplay, noPartner, type ReplayCaller, type ReplayJob } from "./replay-job.ts";
import { BoundedMap } from "../../../limits/bounded-map.ts";
import { isNarrowed } from "../history/history-view.ts";
import type { ReplayDeps } from "./run-chunk.ts";

/** Parameters of a list of replays. */
export interface ReplayQuery {
  /** The last replay of the previous page. @default the first page */
  readonly after?: ReplayPlace;
  readonly limit: number;
  /** Only replays that may send to this partner, `namespace/name`: a replay without partners sends to all. */
  readonly partner?: string;
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
  /** Of an acknowledgement. */
  readonly acknowledged?: number;
}

/** Counts the deliveries of a replay by their marks. */
export type CountMarks = (job: Pick<ReplayJob, "id" | "status" | "source">) => Promise<MarkCounts>;

const hiddenDetail = "The replay stopped because of an internal error.";
const noMarks: MarkCounts = { published: 0, delivered: 0, failed: 0 };
/** Replays whose final counts are remembered: more than are stored. */
const finalCountsMax = 512;

/**
 * The replays of one page that the caller may read, the newest first, and the place of the next page.
 *
 * @param labels names of the configured partners by partner key
 */
export function replaysOfPage(
  jobs: readonly ReplayJob[],
  { after, limit, partner }: ReplayQuery,
  caller: ReplayCaller,
  labels: ReadonlyMap<string, string> = new Map(),
): { readonly jobs: readonly ReplayJob[]; readonly next?: ReplayPlace } {
  const placed = jobs
    .filter((job) => mayReadReplay(job, caller) && (partner === undefined || maySendTo(job, partner, labels)))
    .map((job) => ({ job, place: placeOf(job) }))
    .filter(({ place }) => after === undefined || byNewest(after, place) < 0)
    .toSorted((a, b) => byNewest(a.place, b.place));
  const page = placed.slice(0, limit);
  const next = placed.length > limit ? page.at(-1)?.place : undefined;
  return { jobs: page.map(({ job }) => job), ...(next === undefined ? {} : { next }) };
}

function maySendTo(job: ReplayJob, partner: string, labels: ReadonlyMap<string, string>): boolean {
  const { partners } = requestOf(job, labels).filter;
  return partners.includes(partner) || (partners.length === 0 && !job.filter.partners.includes(noPartner));
}

/**
 * What a replay was asked to do, for a caller that may read it.
 *
 * @param labels names of the configured partners by partner key
 */
export function requestOf(job: ReplayJob, labels: ReadonlyMap<string, string>): Omit<ReplaySummary, keyof Replay> {
  const { source, filter, requestedBy, redriven } = job;
  const own = redriven ?? (source.kind === "dead_letters" ? labels.get(source.partner) : undefined);
  const named = own === undefined ? filter.partners : [own];
  return {
    kind: actionOf(job),
    requested_by: requestedBy ?? null,
    filter: {
      partners: named.filter((label) => label !== noPartner),
      types: filter.types,
      only_failed: filter.onlyFailed,
    },
    window: windowOf(job),
    event_ids: idsOf(source)?.length ?? null,
    ...reasonOf(source),
    ...(named.length === 0 ? selectedOf(job) : {}),
    ...("note" in source && source.note !== undefined ? { note: source.note } : {}),
  };
}

function selectedOf({ selected }: ReplayJob): Pick<ReplaySummary, "selected_partners"> {
  return selected === undefined ? {} : { selected_partners: selected };
}

function windowOf({ source, createdAt }: ReplayJob): ReplaySummary["window"] {
  if (source.kind !== "window" && source.kind !== "selected_dead_letters") return null;
  const { fromMs = 0, toMs } = source;
  if (fromMs === 0 && toMs === undefined) return null;
  const to = toMs === undefined ? createdAt : new Date(toMs).toISOString();
  return { from: fromMs === 0 ? null : new Date(fromMs).toISOString(), to };
}

function idsOf(source: ReplayJob["source"]): readonly string[] | undefined {
  if (source.kind === "window") return undefined;
  return source.kind === "selected_dead_letters" ? (source.eventIds ?? source.letterIds) : source.eventIds;
}

function reasonOf(source: ReplayJob["source"]): Pick<ReplaySummary, "reason"> {
  const reason = "reason" in source ? source.reason : undefined;
  return reason === undefined || reason === "*" ? {} : { reason };
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
  return async (job) => {
    const { id, status } = job;
    // A queued replay has no counts. Reading them would only add requests that can fail.
    if (status === "queued") return actionOf(job) === "acknowledge" ? { ...noMarks, acknowledged: 0 } : noMarks;
    const known = finals.get(id);
    if (known !== undefined) return known;
    if (actionOf(job) === "acknowledge") {
      const acknowledged = await replays.count(id, "acknowledged");
      if (status === "completed") finals.set(id, { ...noMarks, acknowledged });
      return { ...noMarks, acknowledged };
    }
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
  const { id, status, createdAt, tally, detail, expected } = job;
  const { inProgress, tooOld, missing } = tally;
  const marks = await countMarks(job);
  // A chunk that is repeated after a crash finds fewer dead letters.
  const matched = Math.max(tally.matched, marks.published + (marks.acknowledged ?? 0) + inProgress + tooOld);
  const read = { matched, in_progress: inProgress, too_old: tooOld, missing };
  const known = expected === undefined ? {} : { expected };
  // The detail may describe internals, so callers that are narrowed to partners do not get it.
  const shown = detail === undefined || !isNarrowed(caller) ? (detail ?? null) : hiddenDetail;
  return { replay_id: id, status, created_at: createdAt, ...read, ...marks, ...known, detail: shown };
}
