// Replay: replay, redrive, the dead-letters API and acknowledgement. First deliveries are made elsewhere.

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
    };

/** Selects deliveries. An empty list selects all. */
export interface ReplayFilter {
  /** `namespace/name`. */
  readonly partners: readonly string[];
  /** Patterns as in subscriptions. */
  readonly types: readonly string[];
  /** Only deliveries that ended without success. */
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

type ReplayStatus = "queued" | "running" | "completed" | "cancelled" | "failed";

/** A stored replay with its progress. */
export interface ReplayJob extends ReplaySpec {
  readonly id: string;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
  readonly status: ReplayStatus;
  /** The start of the next chunk: an index into the ids, or a stream sequence. */
  readonly cursor: number;
  readonly tally: ReplayTally;
  /** Why the replay failed or waits, for callers. */
  readonly detail?: string;
  /** Time of the first failure of the chunk at `cursor`, ISO 8601 UTC. */
  readonly failingSince?: string;
}

export const noTally: ReplayTally = { matched: 0, inProgress: 0, tooOld: 0, missing: 0 };

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
