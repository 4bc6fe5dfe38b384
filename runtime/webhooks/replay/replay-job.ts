/** Where a replay takes its events from. */
export type ReplaySource =
  | { readonly kind: "ids"; readonly eventIds: readonly string[] }
  /** Events by time and place in the stream; each bound may be open at the beginning, none is at the end. */
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
      /** Partner token. */
      readonly partner: string;
      /** One reason, or `*`. */
      readonly reason: string;
      /** Only these events. @default all */
      readonly eventIds?: readonly string[];
      /** Letters up to this sequence, so that what dies again is not redriven by the same redrive. */
      readonly lastSeq: number;
    };

/** Which deliveries are meant. Empty lists are no filter. */
export interface ReplayFilter {
  /** `namespace/name`. */
  readonly partners: readonly string[];
  /** Patterns as in subscriptions. */
  readonly types: readonly string[];
  /** Only deliveries that ended without success. */
  readonly onlyFailed: boolean;
}

/** What somebody asked for. */
export interface ReplaySpec {
  readonly source: ReplaySource;
  readonly filter: ReplayFilter;
  /** Deliveries begun in a second. */
  readonly ratePerSecond: number;
  /** Also what is older than the partner remembers event ids. */
  readonly force: boolean;
  /** Tenants of whoever asked; `*` is every one. */
  readonly tenants: readonly string[];
  /** Partners that whoever asked is narrowed to; the filter names no others. @default every one */
  readonly partners?: readonly string[];
}

/** What was met so far. Source: wire, "Webhooks". */
export interface ReplayTally {
  /** Deliveries that the filter lets through. */
  readonly matched: number;
  /** Of these, skipped since they are on their way. */
  readonly inProgress: number;
  /** Of these, skipped since the partner may have forgotten the event id. */
  readonly tooOld: number;
  /** Named event ids of which nothing is stored. */
  readonly missing: number;
}

type ReplayStatus = "queued" | "running" | "completed" | "cancelled" | "failed";

/** A replay as it is kept, and how far it has come. */
export interface ReplayJob extends ReplaySpec {
  readonly id: string;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
  readonly status: ReplayStatus;
  /** Everything before this place was done: an index into the ids, else a sequence. */
  readonly cursor: number;
  readonly tally: ReplayTally;
  /** Why it failed, or does not go on, for callers. */
  readonly detail?: string;
  /** Since when the part at `cursor` fails, ISO 8601 UTC. */
  readonly failingSince?: string;
}

/** Nothing was met yet. */
export const noTally: ReplayTally = { matched: 0, inProgress: 0, tooOld: 0, missing: 0 };

/** Whether nothing more is done for it. */
export function isOver({ status }: Pick<ReplayJob, "status">): boolean {
  return status === "completed" || status === "cancelled" || status === "failed";
}

/** Adds one to some of the figures. */
export function tallied(tally: ReplayTally, ...names: readonly (keyof ReplayTally)[]): ReplayTally {
  return Object.fromEntries(
    Object.entries(tally).map(([name, count]) => [name, count + Number(names.includes(name as keyof ReplayTally))]),
  ) as unknown as ReplayTally;
}

/** Both together. */
export function sumOf(a: ReplayTally, b: ReplayTally): ReplayTally {
  return {
    matched: a.matched + b.matched,
    inProgress: a.inProgress + b.inProgress,
    tooOld: a.tooOld + b.tooOld,
    missing: a.missing + b.missing,
  };
}
