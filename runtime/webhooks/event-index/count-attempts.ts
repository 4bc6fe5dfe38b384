import type { IndexColumns } from "./columns.ts";
import { rowKinds, type RowKind } from "./rows.ts";
import { valueAt } from "./segments.ts";
import { anyText } from "./text-numbers.ts";

/** Which attempts are counted. */
export interface CountedAttempts {
  /** `namespace/name`. */
  readonly partner: string;
  readonly isTenant: (tenant: string) => boolean;
  /** Begun at or after this, Unix milliseconds; the start of the first step. */
  readonly fromMs: number;
  /** Begun before this, Unix milliseconds. */
  readonly toMs: number;
  readonly stepMs: number;
}

/** The attempts of one step. */
export interface AttemptCounts {
  /** By kind; the ends of deliveries that were not attempted are among them. */
  readonly kinds: Map<RowKind, number>;
  /** Attempts by the first digit of their status; 0: no response. */
  readonly answers: Map<number, number>;
  /** Attempts by their duration in milliseconds. */
  readonly durations: Map<number, number>;
}

/** Reasons of ends for which nothing was sent. */
const unsent: ReadonlySet<string> = new Set(["backlog_full", "held_expired", "partner_removed"]);
const rowsBetweenPauses = 4_096;

/**
 * Counts attempts in the steps of `counts`, of which there are enough. Yields where the count may pause. Pings are left
 * out, and so are attempts of tenants beyond the numbers of texts.
 */
export function* countAttempts(
  columns: IndexColumns,
  query: CountedAttempts,
  counts: readonly AttemptCounts[],
): Generator<undefined> {
  const { attempts, partners, reasons } = columns;
  const partner = partners.find(query.partner);
  if (partner === undefined) return;
  const isCounted = rowTest(columns, query);
  const isSent = reasons.matcher((reason) => !unsent.has(reason));
  const { first, end } = attempts;
  for (let id = first; id < end; id += 1) {
    if (id % rowsBetweenPauses === 0) yield undefined;
    const { columns: row, at = 0 } = attempts.find(id) ?? {};
    if (row === undefined || row.partner[at] !== partner || !isCounted(row, at)) continue;
    const step = counts[Math.floor((valueAt(row.atMs, at) - query.fromMs) / query.stepMs)];
    if (step !== undefined) addTo(step, row, at, isSent(valueAt(row.reason, at)));
  }
}

type AttemptColumns = IndexColumns["attempts"]["list"][number];

function rowTest(
  { tenants }: IndexColumns,
  { isTenant, fromMs, toMs }: CountedAttempts,
): (row: AttemptColumns, at: number) => boolean {
  const hasTenant = tenants.matcher(isTenant);
  return (row, at) => {
    const atMs = valueAt(row.atMs, at);
    const tenant = valueAt(row.tenant, at);
    if (valueAt(row.ping, at) === 1) return false;
    return atMs >= fromMs && atMs < toMs && tenant !== anyText && hasTenant(tenant);
  };
}

const hundred = 100;

function addTo({ kinds, answers, durations }: AttemptCounts, row: AttemptColumns, at: number, isSent: boolean): void {
  const kind = rowKinds[valueAt(row.kind, at)] ?? "retry";
  increment(kinds, kind);
  if (!isSent || kind === "not_routed" || kind === "handled") return;
  increment(answers, Math.floor(valueAt(row.status, at) / hundred));
  increment(durations, valueAt(row.durationMs, at));
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** The value below or at which this share of all counted values lies; undefined without any. Source: nearest rank. */
export function percentileOf(counts: ReadonlyMap<number, number>, share: number): number | undefined {
  const values = [...counts].toSorted(([a], [b]) => a - b);
  const all = values.reduce((sum, [, count]) => sum + count, 0);
  let left = Math.ceil(share * all);
  for (const [value, count] of values) {
    left -= count;
    if (left <= 0) return value;
  }
  return undefined;
}
