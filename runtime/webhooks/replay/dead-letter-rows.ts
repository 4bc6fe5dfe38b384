import type { DeadLetterCount } from "../../../api/replays.ts";
import type { DeadLetterAbout, DeadLetterHead } from "../records/dead-letter-record.ts";
import { includesTenant } from "../events/tenants.ts";
import { isNarrowed, mayNamePartner } from "../history/partner-access.ts";
import { partnerKey } from "../ids.ts";
import type { ReplayCaller } from "./replay-job.ts";

/** One dead letter, as an index holds it. */
export interface DeadLetterRow {
  readonly seq: number;
  /** Unix milliseconds by JetStream's clock. */
  readonly storedAtMs: number;
  /** Shared by all rows that differ in nothing else. */
  readonly kind: DeadLetterKind;
}

export interface DeadLetterKind {
  /** Partner key. */
  readonly key: string;
  readonly reason: string;
  /** Null for the dead letter of an unreadable message; undefined while it is unknown. */
  readonly about: DeadLetterAbout | null | undefined;
}

/** The dead letters of a request. */
export interface DeadLetterScope {
  readonly caller: ReplayCaller;
  /** Names of the configured partners by every key of theirs. */
  readonly labels: ReadonlyMap<string, string>;
  /** Only these partner keys. @default all */
  readonly keys?: ReadonlySet<string>;
  /** @default every reason */
  readonly reason?: string;
}

/** Reason of the dead letter of a message that is no delivery. No list shows it. */
const unreadable = "unreadable";

/** The kinds of rows, each once. */
export class DeadLetterKinds {
  readonly #kinds = new Map<string, DeadLetterKind>();

  get size(): number {
    return this.#kinds.size;
  }

  /** The one object of equal facts, so that a row takes few bytes. */
  of(kind: DeadLetterKind): DeadLetterKind {
    const { key, reason, about } = kind;
    const name = JSON.stringify([key, reason, about === undefined ? 0 : about && [about.tenant, about.label]]);
    const known = this.#kinds.get(name) ?? kind;
    this.#kinds.set(name, known);
    return known;
  }
}

/** The row of a head. */
export function rowOf(
  { seq, storedAtMs, partner: key, reason, about }: DeadLetterHead,
  kinds: DeadLetterKinds,
): DeadLetterRow {
  return { seq, storedAtMs, kind: kinds.of({ key, reason, about: reason === unreadable ? null : about }) };
}

/**
 * The name of a partner by the key of a dead letter; undefined when no partner of today has the key. A removed partner
 * keeps the key of its name.
 */
export function labelOf(labels: DeadLetterScope["labels"], key: string, about: DeadLetterAbout): string | undefined {
  return labels.get(key) ?? (partnerKey(about.label) === key ? about.label : undefined);
}

type Decision = "shown" | "hidden" | "unknown";

/** Decides which rows a request shows, once for each kind. */
export function createRowFilter(scope: DeadLetterScope): (kind: DeadLetterKind) => Decision {
  const known = new Map<DeadLetterKind, Decision>();
  return (kind) => {
    const decided = known.get(kind) ?? (isMeant(scope, kind) ? decide(scope, kind) : "hidden");
    known.set(kind, decided);
    return decided;
  };
}

function isMeant({ keys, reason }: DeadLetterScope, kind: DeadLetterKind): boolean {
  return (keys?.has(kind.key) ?? true) && (reason ?? kind.reason) === kind.reason;
}

function decide(scope: DeadLetterScope, { key, about }: DeadLetterKind): Decision {
  const { caller, labels } = scope;
  if (about === null) return "hidden";
  if (about === undefined) {
    // The key alone tells that the partner is none of a narrowed caller.
    return isNarrowed(caller) && !isOwnKey(scope, caller.partners, key) ? "hidden" : "unknown";
  }
  const label = labelOf(labels, key, about);
  const isShown = label !== undefined && mayNamePartner(caller, label) && includesTenant(caller.tenants, about.tenant);
  return isShown ? "shown" : "hidden";
}

function isOwnKey({ labels }: DeadLetterScope, partners: readonly string[], key: string): boolean {
  const label = labels.get(key);
  return label === undefined ? partners.some((name) => partnerKey(name) === key) : partners.includes(label);
}

/** Counts rows by partner and reason, the largest count first. */
export function countRows(
  rows: readonly DeadLetterRow[],
  scope: DeadLetterScope,
): { readonly counts: readonly DeadLetterCount[]; readonly isComplete: boolean } {
  const filter = createRowFilter(scope);
  const byKind = new Map<DeadLetterKind, { count: number; oldestMs: number; newestMs: number }>();
  let isComplete = true;
  for (const { kind, storedAtMs } of rows) {
    const decided = filter(kind);
    isComplete &&= decided !== "unknown";
    if (decided === "shown") {
      const sum = byKind.get(kind) ?? { count: 0, oldestMs: storedAtMs, newestMs: storedAtMs };
      sum.count += 1;
      sum.oldestMs = Math.min(sum.oldestMs, storedAtMs);
      sum.newestMs = Math.max(sum.newestMs, storedAtMs);
      byKind.set(kind, sum);
    }
  }
  // Several kinds of one partner differ by tenant, or by the key that a removed partner left.
  const merged = Map.groupBy(
    byKind,
    ([{ key, reason, about }]) => `${about ? labelOf(scope.labels, key, about) : ""} ${reason}`,
  );
  const counts = [...merged].map(([name, sums]): DeadLetterCount => {
    const [partner = "", reason = ""] = name.split(" ");
    return {
      partner,
      reason,
      count: sums.reduce((sum, [, { count }]) => sum + count, 0),
      oldest_at: new Date(Math.min(...sums.map(([, { oldestMs }]) => oldestMs))).toISOString(),
      newest_at: new Date(Math.max(...sums.map(([, { newestMs }]) => newestMs))).toISOString(),
    };
  });
  return { counts: counts.toSorted(byCount), isComplete };
}

function byCount(a: DeadLetterCount, b: DeadLetterCount): number {
  if (a.count !== b.count) return b.count - a.count;
  const [one, other] = [a, b].map(({ partner, reason }) => `${partner} ${reason}`);
  return (one ?? "") < (other ?? "") ? -1 : 1;
}
