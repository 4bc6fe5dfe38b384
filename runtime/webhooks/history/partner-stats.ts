import { unsentReasons } from "../../../api/histories.ts";
import type { PartnerStatsPoint } from "../../../api/partners.ts";
import { percentileOf } from "../../../limits/percentile.ts";
import { createTimeSlices } from "../../../limits/clock.ts";
import type { EventIndex } from "../event-index/event-index.ts";
import { type RowKind, rowKinds } from "../event-index/index-message.ts";
import { includesTenant } from "../ids.ts";
import type { IndexColumns } from "../event-index/columns.ts";
import { valueAt, anyText } from "../event-index/segments.ts";

/** Figures of one partner over time. */
export interface PartnerStatsQuery {
  /** `namespace/name`; the caller may see it. */
  readonly partner: string;
  /** `*`: all tenants. */
  readonly tenants: readonly string[];
  /** Unix milliseconds; a multiple of the step. */
  readonly fromMs: number;
  /** Unix milliseconds. */
  readonly toMs: number;
  readonly stepMs: number;
}

export interface PartnerStats {
  readonly points: readonly PartnerStatsPoint[];
  /** False if attempts in the window may be missing. */
  readonly isComplete: boolean;
}

/** First digit of the status in each class of responses; 0: no response. */
const digits: Readonly<Record<keyof PartnerStatsPoint["answers"], number>> = {
  "2xx": 2,
  "3xx": 3,
  "4xx": 4,
  "5xx": 5,
  none: 0,
};
const [half, most] = [0.5, 0.95];
const slices = createTimeSlices();

/** Which attempts are counted. */
interface CountedAttempts {
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
interface AttemptCounts {
  /** By kind; the ends of deliveries that were not attempted are among them. */
  readonly kinds: Map<RowKind, number>;
  /** Attempts by the first digit of their status; 0: no response. */
  readonly answers: Map<number, number>;
  /** Attempts by their duration in milliseconds. */
  readonly durations: Map<number, number>;
}

const rowsBetweenPauses = 4_096;

/**
 * Counts the attempts for a partner, of these tenants only and without pings.
 *
 * @throws Error when JetStream does not respond
 */
export async function readPartnerStats(index: EventIndex, query: PartnerStatsQuery): Promise<PartnerStats> {
  const { columns, attemptsReachMs } = await index.read();
  const { partner, tenants, fromMs, toMs, stepMs } = query;
  const counts = Array.from({ length: Math.ceil((toMs - fromMs) / stepMs) }, noCounts);
  const isTenant = (tenant: string): boolean => includesTenant(tenants, tenant);
  await slices.collect(countAttempts(columns, { partner, isTenant, fromMs, toMs, stepMs }, counts));
  const isWhole = columns.tenants.isWhole && columns.partners.isWhole;
  return {
    points: counts.map((one, step) => pointOf(fromMs + step * stepMs, one)),
    isComplete: isWhole && attemptsReachMs <= fromMs,
  };
}

function noCounts(): AttemptCounts {
  return { kinds: new Map(), answers: new Map(), durations: new Map() };
}

function pointOf(atMs: number, { kinds, answers, durations }: AttemptCounts): PartnerStatsPoint {
  const sum = (...ofKinds: readonly RowKind[]): number =>
    ofKinds.reduce((total, kind) => total + (kinds.get(kind) ?? 0), 0);
  return {
    at: new Date(atMs).toISOString(),
    delivered: sum("delivered"),
    rejected: sum("rejected", "disabled"),
    dead: sum("dead"),
    retried: sum("retry"),
    answers: Object.fromEntries(
      Object.entries(digits).map(([name, digit]) => [name, answers.get(digit) ?? 0]),
    ) as PartnerStatsPoint["answers"],
    p50_ms: percentileOf(durations, half) ?? null,
    p95_ms: percentileOf(durations, most) ?? null,
  };
}

/**
 * Counts attempts in the steps of `counts`, of which there are enough. Yields where the count may pause. Pings are left
 * out, and so are attempts of tenants beyond the numbers of texts.
 */
function* countAttempts(
  columns: IndexColumns,
  query: CountedAttempts,
  counts: readonly AttemptCounts[],
): Generator<undefined> {
  const { attempts, partners, reasons } = columns;
  const partner = partners.find(query.partner);
  if (partner === undefined) return;
  const isCounted = rowTest(columns, query);
  const isSent = reasons.matcher((reason) => !unsentReasons.has(reason));
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
