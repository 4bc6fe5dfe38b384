// Replay: replay, redrive, the dead-letters API and acknowledgement. First deliveries are made elsewhere.
import type { Replay } from "../../../api/replays.ts";
import type { Bucket } from "../../nats/streams/buckets.ts";
import { retryUntilReply } from "../../nats/connection/retry-until-reply.ts";
import type { ReplaysStream } from "../../nats/streams/replays-stream.ts";
import type { SettledDelivery } from "../delivery/delivery-context.ts";
import type { Log } from "../log.ts";
import { settlementRow } from "../settlement/settlement-table.ts";
import { isNarrowed, mayNamePartner, partnersOf, type PartnerAccess } from "../history/history-view.ts";
import { includesTenant } from "../ids.ts";

/** The source of the events of a replay. */
export type ReplaySource =
  | { readonly kind: "ids"; readonly eventIds: readonly string[] }
  /** Events by time and stream sequence. The start may be open; the end is always fixed. */
  | {
      readonly kind: "window";
      /** Unix milliseconds by JetStream's clock, inclusive. */
      readonly fromMs: number;
      /** Exclusive. */
      readonly toMs: number;
      /** Events after this sequence. */
      readonly afterSeq?: number;
      /** Events before this sequence. */
      readonly beforeSeq?: number;
    }
  /** The dead letters of one partner. */
  | {
      readonly kind: "dead_letters";
      /** Partner key. */
      readonly partner: string;
      /** One reason, or `*`. */
      readonly reason: string;
      /** Only these events. @default all */
      readonly eventIds?: readonly string[];
      /** Dead letters up to this sequence, so that a redrive does not repeat its own dead letters. */
      readonly lastSeq: number;
    }
  /**
   * Dead letters of several partners, or by more than a reason. A pod of an earlier version fails to read its chunks,
   * so that it never redrives what the selection leaves out; the next pod continues.
   */
  | {
      readonly kind: "selected_dead_letters";
      readonly action: SelectionAction;
      /** @default all reasons */
      readonly reason?: string;
      /** Start by the end of the delivery, Unix milliseconds. */
      readonly fromMs?: number;
      /** Exclusive. */
      readonly toMs?: number;
      /** Only these events. @default all */
      readonly eventIds?: readonly string[];
      /** Only these dead letters. @default all */
      readonly letterIds?: readonly string[];
      /** Of an acknowledgement. */
      readonly note?: string;
      readonly lastSeq: number;
    };

/** What a job does with selected dead letters. */
export type SelectionAction = "redrive" | "acknowledge";

/** Selects deliveries. An empty list selects all. */
interface ReplayFilter {
  /** `namespace/name`. */
  readonly partners: readonly string[];
  /** Patterns as in subscriptions. */
  readonly types: readonly string[];
  /** Only failed deliveries. */
  readonly onlyFailed: boolean;
}

/** A requested replay. */
export interface ReplaySpec {
  readonly source: ReplaySource;
  readonly filter: ReplayFilter;
  /** Deliveries published in a second. */
  readonly ratePerSecond: number;
  /** Includes deliveries whose event id the partner may have forgotten. */
  readonly force: boolean;
  /** Tenants of the caller; `*`: all tenants. */
  readonly tenants: readonly string[];
  /** Partners that the caller is narrowed to; the filter names no others. @default all */
  readonly partners?: readonly string[];
  /** Client of the token that requested it. @default unknown, as in replays of earlier versions */
  readonly requestedBy?: string;
  /** Number of dead letters when it was requested. @default unknown */
  readonly expected?: number;
  /** For dead letters: `namespace/name` of their partner. @default unknown, as in redrives of earlier versions */
  readonly redriven?: string;
}

/** The deliveries read so far. */
export interface ReplayTally {
  /** Deliveries that the filter selects. */
  readonly matched: number;
  /** Of these, skipped because they are in progress. */
  readonly inProgress: number;
  /** Of these, skipped because the partner may have forgotten the event id. */
  readonly tooOld: number;
  /** Requested event ids that are not stored. */
  readonly missing: number;
}

/** A stored replay with its progress. */
export interface ReplayJob extends ReplaySpec {
  readonly id: string;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
  readonly status: Replay["status"];
  /** The start of the next chunk: an index into the ids, or a stream sequence. */
  readonly cursor: number;
  readonly tally: ReplayTally;
  /** Partners of what was selected so far, at most {@link selectedPartnersMax}, by name. @default none is known */
  readonly selected?: readonly string[];
  /** Why the replay failed or waits, for callers. */
  readonly detail?: string;
  /** Time of the first failure of the chunk at `cursor`, ISO 8601 UTC. */
  readonly failingSince?: string;
}

/** Partners of what a job selected that are stored with it. */
export const selectedPartnersMax = 64;

/** Adds partners to those that a job has selected. */
export function withSelected(job: ReplayJob, labels: readonly string[]): ReplayJob {
  const { selected = [] } = job;
  const all = new Set([...selected, ...labels]);
  if (all.size === selected.length || selected.length === selectedPartnersMax) return job;
  return { ...job, selected: [...all].sort().slice(0, selectedPartnersMax) };
}

export const noTally: ReplayTally = { matched: 0, inProgress: 0, tooOld: 0, missing: 0 };

/** The stored replays of all pods. */
export type ReplayStore = ReturnType<typeof createReplayStore>;

const jobPrefix = "job-";
const cancelPrefix = "cancel-";

const giveUpAfterMs = 5_000;

/** The caller of a request, with its access. */
export interface ReplayCaller extends PartnerAccess {
  readonly client: string;
  /** `*`: all tenants. */
  readonly tenants: readonly string[];
}

/** A label that no partner has, for a filter that matches none. An empty filter would match all. */
export const noPartner = "/";

/** What a job does. */
export function actionOf({ source }: Pick<ReplayJob, "source">): "replay" | SelectionAction {
  if (source.kind === "selected_dead_letters") return source.action;
  return source.kind === "dead_letters" ? "redrive" : "replay";
}

/** True when the replay has ended. */
export function isOver({ status }: Pick<ReplayJob, "status">): boolean {
  return status === "completed" || status === "cancelled" || status === "failed";
}

/** Adds one to some of the numbers. */
export function tallied(tally: ReplayTally, ...names: readonly (keyof ReplayTally)[]): ReplayTally {
  return Object.fromEntries(
    Object.entries(tally).map(([name, count]) => [name, count + Number(names.includes(name as keyof ReplayTally))]),
  ) as unknown as ReplayTally;
}

export function sumOf(a: ReplayTally, b: ReplayTally): ReplayTally {
  return {
    matched: a.matched + b.matched,
    inProgress: a.inProgress + b.inProgress,
    tooOld: a.tooOld + b.tooOld,
    missing: a.missing + b.missing,
  };
}

/** The keys of the bucket are `job-<id>` and `cancel-<id>`. */
export function createReplayStore(bucket: Bucket) {
  return {
    /** @throws NoReplyError, or Error when JetStream rejects the write */
    save: async (job: ReplayJob) => void (await bucket.put(jobPrefix + job.id, JSON.stringify(job))),
    /** @throws NoReplyError */
    get: async (id: string) => {
      const entry = await bucket.get(jobPrefix + id);
      return entry === undefined ? undefined : (JSON.parse(entry.value) as ReplayJob);
    },
    /** Stores a mark that ends the replay. The replay itself is written only by the leader pod. */
    cancel: async (id: string) => void (await bucket.put(cancelPrefix + id, "")),
    isCancelled: async (id: string) => (await bucket.get(cancelPrefix + id)) !== undefined,
    drop: async (id: string) => {
      await Promise.all([jobPrefix, cancelPrefix].map((prefix) => bucket.drop(prefix + id)));
    },
    /** All stored replays, and the ids of the cancelled ones. */
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

/**
 * Counts the ended deliveries of a replay. After {@link giveUpAfterMs} the delivery continues without its count, and
 * the number is too low. Never rejects.
 */
export function createSettledCounter(
  replays: ReplaysStream,
  log: Log,
  signal: AbortSignal,
): (settled: SettledDelivery) => Promise<void> {
  return async ({ delivery: { replayId, did }, settlement }) => {
    const { replayMark: mark } = settlementRow(settlement);
    if (replayId === undefined || mark === undefined) return;
    try {
      await retryUntilReply(() => replays.mark(replayId, mark, did), { giveUpAfterMs, signal });
    } catch (error) {
      log.warn({ err: error, replayId }, "result of a replayed delivery not counted");
    }
  };
}

/** True when a caller may read and cancel a replay, which requires access to all its tenants and partners. */
export function mayReadReplay(job: ReplayJob, caller: ReplayCaller): boolean {
  const mayReadTenants = job.tenants.every((tenant) => includesTenant(caller.tenants, tenant));
  if (!isNarrowed(caller)) return mayReadTenants;
  return mayReadTenants && isNarrowed(job) && job.partners.every((label) => mayNamePartner(caller, label));
}

/**
 * Limits a replay to the access of its caller. The filter itself names only permitted partners, so that a pod of an
 * earlier version enforces the limit too.
 */
export function accessOf(
  caller: ReplayCaller,
  filter: ReplayFilter,
): Pick<ReplaySpec, "filter" | "tenants" | "partners"> {
  const tenants = [...new Set(caller.tenants)];
  if (!isNarrowed(caller)) return { filter, tenants };
  const named =
    filter.partners.length === 0 ? caller.partners : filter.partners.filter((label) => mayNamePartner(caller, label));
  return { filter: { ...filter, partners: named.length === 0 ? [noPartner] : named }, tenants, ...partnersOf(caller) };
}
