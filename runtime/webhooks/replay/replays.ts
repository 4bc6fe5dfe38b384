import { randomUUID } from "node:crypto";
import { Refusal, refuseField } from "../../errors/refusal.ts";
import { visibleSeq, type HistoryDeps } from "../history/history.ts";
import { isNarrowed, mayNamePartner, type PartnerAccess } from "../history/partner-access.ts";
import type { Partner } from "../partners/partner.ts";
import { readChunk } from "./read-chunk.ts";
import { accessOf, mayReadReplay, type ReplayCaller } from "./replay-access.ts";
import { isOver, noTally, sumOf, type ReplayJob, type ReplaySource, type ReplaySpec } from "./replay-job.ts";
import { parseRedriveRequest, parseReplayRequest, type ReplayRequest } from "./replay-request.ts";
import type { ReplayStore } from "./replay-store.ts";
import { countChunk, type ReplayDeps } from "./run-chunk.ts";

/** The progress of a replay. */
export interface ReplayResponse {
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
  readonly published: number;
  readonly delivered: number;
  readonly failed: number;
  /** Why the replay failed or waits; null otherwise. */
  readonly detail: string | null;
}

/** The numbers of a replay that is not run. */
export interface DryRunResponse extends Pick<ReplayResponse, "matched" | "in_progress" | "too_old" | "missing"> {
  readonly dry_run: true;
  /** True when all events were read; false when the time limit ended the count. */
  readonly complete: boolean;
}

/** Replays and redrives, for callers. */
export interface Replays {
  /** Stores a replay, or counts its deliveries for a dry run. @throws Refusal */
  replay(body: Uint8Array, caller: ReplayCaller): Promise<ReplayResponse | DryRunResponse>;
  /** The same for dead letters of one partner. @throws Refusal */
  redrive(body: Uint8Array, caller: ReplayCaller): Promise<ReplayResponse | DryRunResponse>;
  /** @throws Refusal `replay_not_found` */
  get(id: string, caller: ReplayCaller): Promise<ReplayResponse>;
  /** Ends a replay. Deliveries that it has published continue. @throws Refusal `replay_not_found` */
  cancel(id: string, caller: ReplayCaller): Promise<ReplayResponse>;
}

/** Open replays of the whole installation. */
const openReplaysMax = 64;
/** Stored replays. Together with their cancellations they fit into one list. */
const storedReplaysMax = 400;
const dryRunMs = 10_000;
const dryRunEventsMax = 256;
const busySeconds = 30;
const hiddenDetail = "An internal error stops the replay.";
const idForm = /^[\w-]{1,64}$/u;
const replayMarks = ["published", "delivered", "failed"] as const;

export type ReplaysDeps = ReplayDeps & HistoryDeps;

export function createReplays(deps: ReplaysDeps, store: ReplayStore): Replays {
  const take = async (spec: ReplaySpec, isDryRun: boolean): Promise<ReplayResponse | DryRunResponse> => {
    const job = newJob(spec, deps.now());
    if (isDryRun) {
      return count(deps, job);
    }
    await makeSpace(store);
    await store.save(job);
    return responseOf(deps, job);
  };
  const visible = async (id: string, caller: ReplayCaller): Promise<ReplayJob> => {
    const job = idForm.test(id) ? await store.get(id) : undefined;
    if (job === undefined || !mayReadReplay(job, caller)) {
      throw new Refusal("replay_not_found", "No such replay is visible to this caller.");
    }
    return !isOver(job) && (await store.isCancelled(id)) ? { ...job, status: "cancelled" } : job;
  };
  return {
    replay: async (body, caller) => {
      const request = parseReplayRequest(body);
      for (const label of request.partners) partnerNamed(deps.partners(), label, caller);
      const source = await sourceOf(deps, request, caller);
      return take(specOf(request, source, caller), request.dryRun);
    },
    redrive: async (body, caller) => {
      const request = parseRedriveRequest(body);
      const partner = partnerNamed(deps.partners(), request.partner, caller);
      const { reason = "*", eventIds } = request;
      const lastSeq = await deps.deadLetters.lastSeq();
      const ids = eventIds === undefined ? {} : { eventIds };
      const source = { kind: "dead_letters", partner: partner.key, reason, lastSeq, ...ids } as const;
      const spec = specOf({ ...request, partners: [], onlyFailed: false, force: true }, source, caller);
      return take(spec, request.dryRun);
    },
    get: async (id, caller) => shownTo(caller, await responseOf(deps, await visible(id, caller))),
    cancel: async (id, caller) => {
      const job = await visible(id, caller);
      if (isOver(job)) {
        return shownTo(caller, await responseOf(deps, job));
      }
      await store.cancel(id);
      return shownTo(caller, await responseOf(deps, { ...job, status: "cancelled" }));
    },
  };
}

/** Finds a partner by name. One that the caller may not see counts as absent. @throws Refusal `partner_not_found` */
export function partnerNamed(partners: readonly Partner[], label: string, access: PartnerAccess): Partner {
  const partner = mayNamePartner(access, label) ? partners.find((one) => one.label === label) : undefined;
  if (partner === undefined) {
    throw new Refusal("partner_not_found", `There is no partner ${label}.`);
  }
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
  return { source, ratePerSecond, force, ...accessOf(caller, { partners, types, onlyFailed }) };
}

async function sourceOf(deps: ReplaysDeps, request: ReplayRequest, caller: ReplayCaller): Promise<ReplaySource> {
  const { eventIds, fromMs = 0, toMs, afterId, beforeId } = request;
  if (eventIds !== undefined) {
    return { kind: "ids", eventIds: [...new Set(eventIds)] };
  }
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
  if (eventId === undefined) {
    return undefined;
  }
  const seq = await visibleSeq(deps, eventId, caller);
  if (seq === undefined) {
    throw refuseField("event_not_found", field, `${field} names no event that is visible to this caller`);
  }
  return seq;
}

async function makeSpace(store: ReplayStore): Promise<void> {
  const { jobs, cancelled } = await store.list();
  const open = jobs.filter((job) => !isOver(job) && !cancelled.has(job.id));
  if (open.length >= openReplaysMax) {
    throw new Refusal("too_many_requests", `${openReplaysMax} replays are under way`, {
      retryAfterSeconds: busySeconds,
    });
  }
  const over = jobs.filter(isOver).toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
  const surplus = Math.max(0, jobs.length + 1 - storedReplaysMax);
  await Promise.all(over.slice(0, surplus).map(({ id }) => store.drop(id)));
}

async function count(deps: ReplayDeps, job: ReplayJob): Promise<DryRunResponse> {
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

async function responseOf(
  { replays }: ReplayDeps,
  { id, status, createdAt, tally, detail }: ReplayJob,
): Promise<ReplayResponse> {
  // A queued replay has no counts. Reading them would only add requests that can fail.
  const counted = status === "queued" ? [] : replayMarks;
  const [published = 0, delivered = 0, failed = 0] = await Promise.all(counted.map((mark) => replays.count(id, mark)));
  const { matched, inProgress, tooOld, missing } = tally;
  const read = { matched, in_progress: inProgress, too_old: tooOld, missing };
  return {
    replay_id: id,
    status,
    created_at: createdAt,
    ...read,
    published,
    delivered,
    failed,
    detail: detail ?? null,
  };
}

/** Hides the detail from callers that are narrowed to partners. */
function shownTo(caller: ReplayCaller, response: ReplayResponse): ReplayResponse {
  return response.detail === null || !isNarrowed(caller) ? response : { ...response, detail: hiddenDetail };
}
