import { canonicalJson } from "../../crds/compile/canonical-json.ts";
import type { PartnerConfig, RuntimeConfig } from "../../crds/config.ts";
import type { AttemptRecord } from "../webhooks/records/attempt-records.ts";
import { settle, type Settlement } from "../webhooks/settlement/settle.ts";
import type { Difference } from "./match-changes.ts";

/** Recorded attempts of one partner, as an edit would leave them. Its members are a stored form. */
export interface PartnerAttempts {
  /** Attempts that would be made at the same instant. */
  exact: number;
  /** Attempts after an instant that the edit moves: when they would be made, and with what result, is not known. */
  moved: number;
  /** Attempts for events that the partner would no longer receive. */
  gone: number;
  /** Deliveries that ended at an attempt after which they would be tried again. */
  wouldRetry: number;
  /** Deliveries that were tried again after an attempt at which they would end. */
  wouldEnd: number;
}

/** What an edit does to recorded attempts. Its members are a stored form. */
export interface AttemptTally {
  /** Events whose attempts were read. */
  events: number;
  /** Further events with an affected partner, whose attempts were not read. */
  skipped: number;
  /** By `namespace/name`. */
  readonly partners: Record<string, PartnerAttempts>;
}

/** Judges recorded attempts. */
export interface AttemptChanges {
  /** True when the edit may change attempts of the event. */
  isAffected(difference: Difference): boolean;
  /** Counts the attempts of an event. @param acceptedAtMs time of the event, Unix milliseconds */
  add(tally: AttemptTally, difference: Difference, records: readonly AttemptRecord[], acceptedAtMs: number): void;
}

export function noAttempts(): AttemptTally {
  return { events: 0, skipped: 0, partners: {} };
}

/** A partner that both configurations have, and whose attempts the edit may change. */
interface Pair {
  readonly before: PartnerConfig;
  readonly after: PartnerConfig;
  /** False if more than the retries differs, so that no attempt is sure. */
  readonly isRetryOnly: boolean;
}

/** Compares the sending and the retries of the partners of two configurations. */
export function createAttemptChanges(before: RuntimeConfig, after: RuntimeConfig): AttemptChanges {
  const edited = new Map(after.partners.map((partner) => [labelOf(partner), partner]));
  const uids = new Map(before.partners.map((partner) => [labelOf(partner), partner.uid]));
  const pairs = new Map<string, Pair>();
  for (const partner of before.partners) {
    const pair = pairOf(partner, edited.get(labelOf(partner)));
    if (pair !== undefined) pairs.set(labelOf(partner), pair);
  }
  // Events of one kind share a difference, so that partners are looked through once for each kind.
  const known = new WeakMap<Difference, boolean>();
  return {
    isAffected: (difference) => {
      const { before: labels, lost } = difference;
      const isAffected = known.get(difference) ?? (lost.length > 0 || labels.some((label) => pairs.has(label)));
      known.set(difference, isAffected);
      return isAffected;
    },
    add: (tally, { before: labels, lost }, records, acceptedAtMs) => {
      for (const label of labels) {
        const own = records.filter(({ partner }) => partner.uid === uids.get(label));
        const pair = pairs.get(label);
        if (own.length === 0) continue;
        if (lost.includes(label)) partnerOf(tally, label).gone += own.length;
        else if (pair !== undefined) countAttempts(partnerOf(tally, label), pair, own, acceptedAtMs);
      }
    },
  };
}

/** The name of a partner, as `namespace/name`. */
export function labelOf({ namespace, name }: Pick<PartnerConfig, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

function pairOf(before: PartnerConfig, after: PartnerConfig | undefined): Pair | undefined {
  if (after === undefined) return undefined;
  if (sendingOf(before) !== sendingOf(after)) return { before, after, isRetryOnly: false };
  return canonicalJson(before.retry) === canonicalJson(after.retry) ? undefined : { before, after, isRetryOnly: true };
}

/** What decides about a first attempt. Bytes of Secrets are not compared. */
function sendingOf({ endpoint, signing, circuitBreaker, networks, state, held, delivery }: PartnerConfig): string {
  const { tls: _tls, oauth2, ...rest } = endpoint;
  const { secret: _secret, ...client } = oauth2 ?? { secret: "" };
  const keys = signing.keys.map(({ material: _material, ...key }) => key);
  const parts = [rest, client, { ...signing, keys }, circuitBreaker, networks, state, held, delivery];
  return canonicalJson(parts.map((part) => part ?? null));
}

function countAttempts(tally: PartnerAttempts, pair: Pair, records: readonly AttemptRecord[], eventAtMs: number): void {
  for (const [generation, own] of Map.groupBy(records, (record) => record.generation)) {
    const ordered = own.toSorted((one, other) => one.attempt - other.attempt);
    const acceptedAtMs = generation === 0 ? eventAtMs : undefined;
    const exact = pair.isRetryOnly ? exactAttempts(tally, pair, ordered, acceptedAtMs) : 0;
    tally.exact += exact;
    tally.moved += ordered.length - exact;
  }
}

/**
 * The attempts up to the first instant that the edit moves.
 * @param acceptedAtMs absent for a replayed delivery, whose attempts do not hold it
 */
function exactAttempts(
  tally: PartnerAttempts,
  { before, after }: Pair,
  records: readonly AttemptRecord[],
  acceptedAtMs: number | undefined,
): number {
  // The age of a replayed delivery begins at a time that no attempt holds.
  const isUnsure = acceptedAtMs === undefined && before.retry.maxAgeSeconds !== after.retry.maxAgeSeconds;
  const areRetriesMoved = isUnsure || before.retry.jitterPercent !== after.retry.jitterPercent;
  for (const [index, record] of records.entries()) {
    const was = settledAgain(record, before, acceptedAtMs);
    const next = settledAgain(record, after, acceptedAtMs);
    if (!isUnsure) countEnds(tally, was, next, { record, isLast: index + 1 === records.length });
    const isMoved = areRetriesMoved && was.kind === "retry";
    if (isMoved || canonicalJson(was) !== canonicalJson(next)) return index + 1;
  }
  return records.length;
}

function countEnds(
  tally: PartnerAttempts,
  was: Settlement,
  next: Settlement,
  { record, isLast }: { readonly record: AttemptRecord; readonly isLast: boolean },
): void {
  // A delivery that ended without a request, as with a full backlog, is settled by no policy.
  const hasEnded = record.settlement.kind === "dead" && was.kind === "dead";
  if (hasEnded && next.kind === "retry") tally.wouldRetry += 1;
  if (was.kind === "retry" && next.kind === "dead" && !isLast) tally.wouldEnd += 1;
}

/** The settlement by another policy, without jitter. */
function settledAgain(record: AttemptRecord, { retry }: PartnerConfig, acceptedAtMs: number | undefined): Settlement {
  const { attempt, at, durationMs, outcome, timings } = record;
  const startedMs = Date.parse(at);
  const delivery = { attempt, acceptedAtMs: acceptedAtMs ?? startedMs };
  return settle({ ...outcome, timings }, retry, delivery, startedMs + durationMs, () => 0);
}

function partnerOf({ partners }: AttemptTally, label: string): PartnerAttempts {
  const known = Object.hasOwn(partners, label) ? partners[label] : undefined;
  if (known !== undefined) return known;
  const added = { exact: 0, moved: 0, gone: 0, wouldRetry: 0, wouldEnd: 0 };
  partners[label] = added;
  return added;
}
