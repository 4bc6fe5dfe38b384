import type { DryRun, Replay, ReplaySummary } from "../../../api/replays.ts";
import { randomUUID } from "node:crypto";
import { orEventsUnavailable, ApiError, invalidField } from "../../errors/api-error.ts";
import { visibleSeq, type HistoryDeps } from "../history/history.ts";
import { mayNamePartner, type PartnerAccess } from "../history/partner-access.ts";
import type { Partner } from "../partners/partner.ts";
import {
  replaysOfPage,
  requestOf,
  type ReplayPage,
  type ReplayQuery,
  createCountMarks,
  responseOf,
  type CountMarks,
} from "./list-replays.ts";
import { readChunk } from "./read-chunk.ts";
import {
  accessOf,
  mayReadReplay,
  type ReplayCaller,
  isOver,
  noTally,
  sumOf,
  type ReplayJob,
  type ReplaySource,
  type ReplaySpec,
  type ReplayStore,
} from "./replay-job.ts";
import { parseRedriveRequest, parseReplayRequest, type ReplayRequest } from "./parse-body.ts";
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
const busySeconds = 30;
const idForm = /^[\w-]{1,64}$/u;

export type ReplaysDeps = ReplayDeps & HistoryDeps;

export function createReplays(deps: ReplaysDeps, store: ReplayStore) {
  const countMarks = createCountMarks(deps);
  const take = async (spec: ReplaySpec, isDryRun: boolean, caller: ReplayCaller): Promise<Replay | DryRun> => {
    const job = newJob(spec, deps.now());
    if (isDryRun) return count(deps, job);
    await makeSpace(store);
    await store.save(job);
    return responseOf(countMarks, job, caller);
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
    /** The same for dead letters of one partner. @throws ApiError */
    redrive: async (body: Uint8Array, caller: ReplayCaller) => {
      const request = await parseRedriveRequest(body);
      const partner = partnerNamed(deps.partners(), request.partner, caller);
      const { reason = "*", eventIds } = request;
      const lastSeq = await deps.deadLetters.lastSeq();
      const ids = eventIds === undefined ? {} : { eventIds };
      const source = { kind: "dead_letters", partner: partner.key, reason, lastSeq, ...ids } as const;
      const spec = specOf({ ...request, partners: [], onlyFailed: false, force: true }, source, caller);
      return take({ ...spec, redriven: partner.label }, request.dryRun, caller);
    },
    /** The stored replays that the caller may read, the newest first. @throws ApiError `events_unavailable` */
    list: (query: ReplayQuery, caller: ReplayCaller) => listReplays(deps, store, countMarks, query, caller),
    /** @throws ApiError `replay_not_found` */
    get: async (id: string, caller: ReplayCaller) => responseOf(countMarks, await visible(id, caller), caller),
    /** Ends a replay. Deliveries that it has published continue. @throws ApiError `replay_not_found` */
    cancel: async (id: string, caller: ReplayCaller) => {
      const job = await visible(id, caller);
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
  const labels = new Map(deps.partners().map(({ key, label }) => [key, label]));
  return orEventsUnavailable(async () => {
    const { jobs, cancelled } = await store.list();
    const current = jobs.map((job): ReplayJob =>
      !isOver(job) && cancelled.has(job.id) ? { ...job, status: "cancelled" } : job,
    );
    const { jobs: page, next } = replaysOfPage(current, query, caller);
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

/** Finds a partner by name. One that the caller may not see counts as absent. @throws ApiError `partner_not_found` */
export function partnerNamed(partners: readonly Partner[], label: string, access: PartnerAccess): Partner {
  const partner = mayNamePartner(access, label) ? partners.find((one) => one.label === label) : undefined;
  if (partner === undefined) throw new ApiError("partner_not_found", `The partner ${label} does not exist.`);
  return partner;
}

function newJob(spec: ReplaySpec, nowMs: number): ReplayJob {
  const createdAt = new Date(nowMs).toISOString();
  const cursor = spec.source.kind === "dead_letters" ? 1 : 0;
  return { ...spec, id: randomUUID(), createdAt, status: "queued", cursor, tally: noTally };
}

function specOf(
  {
    types,
    partners,
    onlyFailed,
    ratePerSecond,
    force,
  }: Pick<ReplayRequest, "types" | "partners" | "onlyFailed" | "ratePerSecond" | "force">,
  source: ReplaySource,
  caller: ReplayCaller,
): ReplaySpec {
  const access = accessOf(caller, { partners, types, onlyFailed });
  return { source, ratePerSecond, force, ...access, requestedBy: caller.client };
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
