import { createTimeSlices } from "../../../limits/time-slices.ts";
import { countAttempts, percentileOf, type AttemptCounts } from "../event-index/count-attempts.ts";
import type { EventIndex } from "../event-index/event-index.ts";
import type { RowKind } from "../event-index/rows.ts";
import { includesTenant } from "../events/tenants.ts";

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

/** The attempts that began in one step. */
interface PartnerStatsPoint {
  /** Start of the step, ISO 8601 UTC. */
  readonly at: string;
  readonly delivered: number;
  readonly rejected: number;
  readonly dead: number;
  /** Attempts after which another one follows. */
  readonly retried: number;
  /** Attempts by the class of their answer. */
  readonly answers: Readonly<Record<(typeof answerClasses)[number], number>>;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
}

export interface PartnerStats {
  readonly points: readonly PartnerStatsPoint[];
  /** False when attempts of the window may be missing. */
  readonly isComplete: boolean;
}

/** Classes of answers; `none`: no response. */
export const answerClasses = ["2xx", "3xx", "4xx", "5xx", "none"] as const;
const digits = { "2xx": 2, "3xx": 3, "4xx": 4, "5xx": 5, none: 0 } as const;
const [half, most] = [0.5, 0.95];
const slices = createTimeSlices();

/**
 * Counts the attempts for a partner, of these tenants only and without pings.
 *
 * @throws Error when JetStream does not answer
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
      answerClasses.map((name) => [name, answers.get(digits[name]) ?? 0]),
    ) as PartnerStatsPoint["answers"],
    p50_ms: percentileOf(durations, half) ?? null,
    p95_ms: percentileOf(durations, most) ?? null,
  };
}
