import type { DryRun, Replay, ReplaySummary } from "../../../api/replays.ts";
import { deadLettersPerJobMax } from "../../../api/selections.ts";
import { randomUUID } from "node:crypto";
import { orEventsUnavailable, ApiError, invalidField } from "../../errors/api-error.ts";
import { visibleSeq, type HistoryDeps } from "../history/history.ts";
import {
  replaysOfPage,
  requestOf,
  type ReplayPage,
  type ReplayQuery,
  createCountMarks,
  responseOf,
  type CountMarks,
} from "./list-replays.ts";
import { partnerNamed } from "./partner-named.ts";
import { lettersUnavailable, selectionSpec, specOf, tooManyLetters } from "./selection-spec.ts";
import { readChunk } from "./read-chunk.ts";
import {
  mayReadReplay,
  type ReplayCaller,
  isOver,
  noTally,
  sumOf,
  type ReplayJob,
  type ReplaySource,
  type ReplaySpec,
  type ReplayStore,
  type SelectionAction,
  actionOf,
} from "./replay-job.ts";
import { parseReplayRequest, parseSelection, type ReplayRequest } from "./parse-body.ts";
import type { LetterCount } from "./selected-letters.ts";
import { countChunk, type ReplayDeps } from "./run-chunk.ts";

/** Replays and redrives, for callers. */
export type Replays = ReturnType<typeof createReplays>;

/** Open replays of the whole installation. */
const openReplaysMax = 64;
/** Stored replays. Together with their cancellations they fit into one list. */
const storedReplaysMax = 400;
/** Replays of a page whose marks are counted concurrently. */
const countedAtOnceMax = 16;
const dryRunMs = 10_000;
const dryRunEventsMax = 256;
/** Dead letters of a dry run that are read, for those in progress. More are only counted. */
const lettersReadMax = 1_000;
const busySeconds = 30;
const idForm = /^[\w-]{1,64}$/u;

export type ReplaysDeps = ReplayDeps & HistoryDeps;

export function createReplays(deps: ReplaysDeps, store: ReplayStore) {
  const countMarks = createCountMarks(deps);
  const take = async (spec: ReplaySpec, isDryRun: boolean, caller: ReplayCaller): Promise<Replay | DryRun> => {
    const isReplay = actionOf(spec) === "replay";
    const counted = isReplay
      ? undefined
      : await orEventsUnavailable(() => deps.selectedLetters.count(spec), lettersUnavailable);
    const job = newJob(spec, deps.now(), counted);
    if (isDryRun) return dryRun(deps, job, counted);
    if (counted !== undefined && counted.matched > deadLettersPerJobMax) throw tooManyLetters(job, counted);
    await makeSpace(store);
    await store.save(job);
    return responseOf(countMarks, job, caller);
  };
  const select = async (action: SelectionAction, body: Uint8Array, caller: ReplayCaller): Promise<Replay | DryRun> => {
    const request = await parseSelection(action, body);
    return take(await selectionSpec(deps, action, request, caller), request.dryRun, caller);
  };
  const visible = async (id: string, caller: ReplayCaller): Promise<ReplayJob> => {
    const job = idForm.test(id) ? await store.get(id) : undefined;
    if (job === undefined || !mayReadReplay(job, caller))
      throw new ApiError("replay_not_found", "The replay does not exist or is not visible to this caller.");
    return !isOver(job) && (await store.isCancelled(id)) ? { ...job, status: "cancelled" } : job;
  };
  return {
    /** Stores a replay, or counts its deliveries for a dry run. @throws ApiError */
    replay: async (body: Uint8Array, caller: ReplayCaller) => {
      const request = await parseReplayRequest(body);
      for (const label of request.partners) partnerNamed(deps.partners(), label, caller);
      const source = await sourceOf(deps, request, caller);
      return take(specOf(request, source, caller), request.dryRun, caller);
    },
    /** The same for dead letters. @throws ApiError */
    redrive: (body: Uint8Array, caller: ReplayCaller) => select("redrive", body, caller),
    /** Stores a job that acknowledges dead letters, or counts them for a dry run. @throws ApiError */
    acknowledge: (body: Uint8Array, caller: ReplayCaller) => select("acknowledge", body, caller),
    /** The stored replays that the caller may read, the newest first. @throws ApiError `events_unavailable` */
    list: (query: ReplayQuery, caller: ReplayCaller) => listReplays(deps, store, countMarks, query, caller),
    /** @throws ApiError `replay_not_found` */
    get: async (id: string, caller: ReplayCaller): Promise<ReplaySummary> => {
      const job = await visible(id, caller);
      return { ...(await responseOf(countMarks, job, caller)), ...requestOf(job, labelsOf(deps)) };
    },
    /**
     * Ends a replay. Deliveries that it has published continue.
     *
     * @param scopes of the token. @default all
     * @throws ApiError `replay_not_found`, `scope_missing`
     */
    cancel: async (id: string, caller: ReplayCaller, scopes?: readonly string[]) => {
      const job = await visible(id, caller);
      const scope = actionOf(job) === "acknowledge" ? "webhooks:ack" : "webhooks:replay";
      if (scopes?.includes(scope) === false) throw new ApiError("scope_missing", `The token needs the scope ${scope}.`);
      if (isOver(job)) return responseOf(countMarks, job, caller);
      await store.cancel(id);
      return responseOf(countMarks, { ...job, status: "cancelled" }, caller);
    },
  };
}

async function listReplays(
  deps: ReplaysDeps,
  store: ReplayStore,
  countMarks: CountMarks,
  query: ReplayQuery,
  caller: ReplayCaller,
): Promise<ReplayPage> {
  const labels = labelsOf(deps);
  return orEventsUnavailable(async () => {
    const { jobs, cancelled } = await store.list();
    const current = jobs.map((job): ReplayJob =>
      !isOver(job) && cancelled.has(job.id) ? { ...job, status: "cancelled" } : job,
    );
    const { jobs: page, next } = replaysOfPage(current, query, caller, labels);
    const items: ReplaySummary[] = [];
    for (let start = 0; start < page.length; start += countedAtOnceMax) {
      const some = page
        .slice(start, start + countedAtOnceMax)
        .map(async (job) => ({ ...(await responseOf(countMarks, job, caller)), ...requestOf(job, labels) }));
      items.push(...(await Promise.all(some)));
    }
    return next === undefined ? { items } : { items, next };
  }, "The replay store does not respond");
}

/** Names of the configured partners by partner key. */
function labelsOf(deps: ReplaysDeps): ReadonlyMap<string, string> {
  return new Map(deps.partners().map(({ key, label }) => [key, label]));
}

function newJob(spec: ReplaySpec, nowMs: number, counted: LetterCount | undefined): ReplayJob {
  const createdAt = new Date(nowMs).toISOString();
  const cursor = actionOf(spec) === "replay" ? 0 : 1;
  const expected = counted?.isExact === true ? { expected: counted.matched } : {};
  return { ...spec, ...expected, id: randomUUID(), createdAt, status: "queued", cursor, tally: noTally };
}

async function sourceOf(deps: ReplaysDeps, request: ReplayRequest, caller: ReplayCaller): Promise<ReplaySource> {
  const { eventIds, fromMs = 0, toMs, afterId, beforeId } = request;
  if (eventIds !== undefined) return { kind: "ids", eventIds: [...new Set(eventIds)] };
  const nowMs = deps.now();
  const afterSeq = await seqOf(deps, "after_id", afterId, caller);
  const beforeSeq = await seqOf(deps, "before_id", beforeId, caller);
  return {
    kind: "window",
    fromMs,
    // With an open end, the replay would include events accepted during it.
    toMs: Math.min(toMs ?? nowMs, nowMs),
    ...(afterSeq === undefined ? {} : { afterSeq }),
    ...(beforeSeq === undefined ? {} : { beforeSeq }),
  };
}

async function seqOf(
  deps: ReplaysDeps,
  field: string,
  eventId: string | undefined,
  caller: ReplayCaller,
): Promise<number | undefined> {
  if (eventId === undefined) return undefined;
  const seq = await visibleSeq(deps, eventId, caller);
  if (seq === undefined)
    throw invalidField("event_not_found", field, `${field} does not refer to an event that is visible to this caller`);
  return seq;
}

async function makeSpace(store: ReplayStore): Promise<void> {
  const { jobs, cancelled } = await store.list();
  const open = jobs.filter((job) => !isOver(job) && !cancelled.has(job.id));
  if (open.length >= openReplaysMax) {
    throw new ApiError("too_many_requests", `${openReplaysMax} replays are already in progress`, {
      retryAfterSeconds: busySeconds,
    });
  }
  const over = jobs.filter(isOver).toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
  const surplus = Math.max(0, jobs.length + 1 - storedReplaysMax);
  await Promise.all(over.slice(0, surplus).map(({ id }) => store.drop(id)));
}

/** Counts dead letters exactly where the index can; only few are read, for those in progress. */
async function dryRun(deps: ReplayDeps, job: ReplayJob, counted: LetterCount | undefined): Promise<DryRun> {
  if (actionOf(job) === "replay") return count(deps, job);
  const limit = deadLettersPerJobMax;
  if (counted === undefined || counted.matched <= lettersReadMax) return { ...(await count(deps, job)), limit };
  const { matched, isExact: complete } = counted;
  return { dry_run: true, matched, in_progress: 0, too_old: 0, missing: 0, complete, limit };
}

async function count(deps: ReplayDeps, job: ReplayJob): Promise<DryRun> {
  const endMs = performance.now() + dryRunMs;
  let { cursor, tally } = job;
  let isEnd = false;
  while (!isEnd && performance.now() < endMs) {
    const chunk = await readChunk(deps, { ...job, cursor }, dryRunEventsMax);
    tally = sumOf(tally, await countChunk(deps, job, chunk));
    ({ cursor, isEnd } = chunk);
  }
  const { matched, inProgress, tooOld, missing } = tally;
  return { dry_run: true, matched, in_progress: inProgress, too_old: tooOld, missing, complete: isEnd };
}
