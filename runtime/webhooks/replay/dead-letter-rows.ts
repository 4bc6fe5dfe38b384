import type { DeadLetterCount } from "../../../api/replays.ts";
import type { DeadLetterAbout, DeadLetterHead } from "../records/dead-letter-record.ts";
import { compilePattern } from "../events/subscriptions.ts";
import { isNarrowed, mayNamePartner } from "../history/history-view.ts";
import { partnerKey, includesTenant } from "../ids.ts";
import type { ReplayCaller } from "./replay-job.ts";

/** One dead letter, as an index holds it. */
export interface DeadLetterRow {
  readonly seq: number;
  /** Unix milliseconds. */
  readonly endedAtMs: number;
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
  /** Patterns of event types; one of them must match. @default every type */
  readonly types?: readonly string[];
  /** Only of configured partners, to which they can be delivered again. @default false */
  readonly isConfigured?: boolean;
  /** Start by the end of the delivery, Unix milliseconds, inclusive. @default 0 */
  readonly fromMs?: number;
  /** End, exclusive. @default none */
  readonly toMs?: number;
}

/** What counts are grouped by; without one, by partner and reason. */
export type DeadLetterGroup = "reason" | "type" | "partner" | "tenant";

/** Stands for all values of a member that counts are not grouped by. */
const all = "*";

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
    const name = JSON.stringify([
      key,
      reason,
      about === undefined ? 0 : about && [about.tenant, about.label, about.type],
    ]);
    const known = this.#kinds.get(name) ?? kind;
    this.#kinds.set(name, known);
    return known;
  }
}

/** The row of a head. */
export function rowOf(
  { seq, endedAtMs, partner: key, reason, about }: DeadLetterHead,
  kinds: DeadLetterKinds,
): DeadLetterRow {
  return { seq, endedAtMs, kind: kinds.of({ key, reason, about: reason === unreadable ? null : about }) };
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
  const patterns = scope.types?.map(compilePattern);
  const isOfType = (type: string): boolean => patterns === undefined || patterns.some((matches) => matches(type));
  const decideOnce = (kind: DeadLetterKind): Decision => {
    const decided = isMeant(scope, kind) ? decide(scope, kind) : "hidden";
    if (decided !== "shown" || patterns === undefined) return decided;
    const type = kind.about?.type;
    if (type === undefined) return "unknown";
    return isOfType(type) ? "shown" : "hidden";
  };
  return (kind) => {
    const decided = known.get(kind) ?? decideOnce(kind);
    known.set(kind, decided);
    return decided;
  };
}

/** True when the time range of a request includes the dead letter. */
export function isInRange(
  { fromMs = 0, toMs = Infinity }: DeadLetterScope,
  { endedAtMs }: Pick<DeadLetterRow, "endedAtMs">,
): boolean {
  return endedAtMs >= fromMs && endedAtMs < toMs;
}

function isMeant({ keys, reason, isConfigured, labels }: DeadLetterScope, kind: DeadLetterKind): boolean {
  if (isConfigured === true && !labels.has(kind.key)) return false;
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

/** Counts rows by partner and reason, or by one member, the largest count first. */
export function countRows(
  rows: readonly DeadLetterRow[],
  scope: DeadLetterScope,
  groupBy?: DeadLetterGroup,
): { readonly counts: readonly DeadLetterCount[]; readonly isComplete: boolean } {
  const filter = createRowFilter(scope);
  const byKind = new Map<DeadLetterKind, KindSum>();
  let isComplete = true;
  for (const row of rows) {
    const { kind, endedAtMs } = row;
    if (!isInRange(scope, row)) continue;
    const decided = filter(kind);
    isComplete &&= decided !== "unknown";
    if (decided === "shown") {
      const sum = byKind.get(kind) ?? { count: 0, oldestMs: endedAtMs, newestMs: endedAtMs };
      sum.count += 1;
      sum.oldestMs = Math.min(sum.oldestMs, endedAtMs);
      sum.newestMs = Math.max(sum.newestMs, endedAtMs);
      byKind.set(kind, sum);
    }
  }
  const isKnown = ({ about }: DeadLetterKind): boolean => groupBy !== "type" || about?.type !== undefined;
  const known = [...byKind].filter(([kind]) => isKnown(kind));
  // Several kinds of one group differ in other members, or by the key that a removed partner left.
  const groups = Map.groupBy(known, ([kind]) => groupOf(scope, kind, groupBy).join(" "));
  const counts = [...groups.values()].map((sums) => countOf(scope, sums, groupBy));
  return { counts: counts.toSorted(byCount), isComplete: isComplete && known.length === byKind.size };
}

interface KindSum {
  count: number;
  oldestMs: number;
  newestMs: number;
}

/** Partner and reason of a group, and the member that it has besides. */
function groupOf(scope: DeadLetterScope, kind: DeadLetterKind, groupBy?: DeadLetterGroup): readonly string[] {
  const { about, reason } = kind;
  const partner = (about && labelOf(scope.labels, kind.key, about)) ?? "";
  if (groupBy === undefined) return [partner, reason];
  if (groupBy === "partner") return [partner, all];
  if (groupBy === "reason") return [all, reason];
  return [all, all, (groupBy === "type" ? about?.type : about?.tenant) ?? ""];
}

function countOf(
  scope: DeadLetterScope,
  sums: readonly (readonly [DeadLetterKind, KindSum])[],
  groupBy: DeadLetterGroup | undefined,
): DeadLetterCount {
  const [kind] = sums.map(([one]) => one);
  const [partner = "", reason = "", more] = kind === undefined ? [] : groupOf(scope, kind, groupBy);
  const partners = new Set(sums.map(([one]) => groupOf(scope, one, "partner")[0]));
  return {
    partner,
    reason,
    ...(groupBy === undefined ? {} : { partners: partners.size }),
    ...(groupBy === "type" || groupBy === "tenant" ? { [groupBy]: more } : {}),
    count: sums.reduce((sum, [, { count }]) => sum + count, 0),
    oldest_at: new Date(Math.min(...sums.map(([, { oldestMs }]) => oldestMs))).toISOString(),
    newest_at: new Date(Math.max(...sums.map(([, { newestMs }]) => newestMs))).toISOString(),
  };
}

function byCount(a: DeadLetterCount, b: DeadLetterCount): number {
  if (a.count !== b.count) return b.count - a.count;
  const [one, other] = [a, b].map(({ partner, reason, type, tenant }) => [partner, reason, type, tenant].join(" "));
  return (one ?? "") < (other ?? "") ? -1 : 1;
}
