import type { Time } from "../../api/documents.ts";
import type { DeliveryStats, DeliveryStatsRow } from "../../api/delivery-stats.ts";
import type { ChartSeries } from "../charts/chart-data.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;
const stepMs = 15 * minuteMs;

/** A window of `GET /webhooks/stats`. */
interface Window {
  readonly from: Time;
  readonly to: Time;
}

/** The day that ends with the interval of now, and the one before: equal within an interval, so that paths are too. */
export function twoDays(nowMs: number): { readonly today: Window; readonly before: Window } {
  const endMs = Math.ceil(nowMs / stepMs) * stepMs;
  const [from, middle, to] = [2, 1, 0].map((days) => new Date(endMs - days * dayMs).toISOString());
  return { today: { from: middle, to }, before: { from, to: middle } } as { today: Window; before: Window };
}

/** Figures of a day. */
export interface DayTotals {
  readonly attempts: number;
  readonly delivered: number;
  /** Attempts without success. */
  readonly failed: number;
  /** Attempts that succeeded; null without any attempt. */
  readonly successRate: number | null;
  /** Null without any attempt, and from a server of an earlier version. */
  readonly p95Ms: number | null;
}

/** The last 24 hours and the 24 hours before them. */
export interface DeliveryDay {
  readonly today: DayTotals;
  /** Undefined if figures of that day are missing. */
  readonly before: DayTotals | undefined;
  /** Since when figures are complete, within the two days; undefined if all are. */
  readonly completeFrom: Time | undefined;
  readonly successRate: readonly ChartSeries[];
  readonly p95: readonly ChartSeries[];
  readonly failed: readonly ChartSeries[];
  readonly throughput: readonly ChartSeries[];
}

type Value = (row: DeliveryStatsRow) => number | null;

/** Puts the day before under the last 24 hours. @param before undefined while it is read, and if it cannot be */
export function deliveryDay(today: DeliveryStats, before: DeliveryStats | undefined, nowMs: number): DeliveryDay {
  const both = (value: Value, kind: ChartSeries["kind"] = "line"): readonly ChartSeries[] => [
    { label: "Last 24 hours", kind, points: pointsOf(today, 0, value) },
    { label: "Previous 24 hours", points: before === undefined ? [] : pointsOf(before, dayMs, value) },
  ];
  return {
    today: totalsOf(today),
    before: before?.meta.complete === true ? totalsOf(before) : undefined,
    completeFrom: [today, before].find((day) => day?.meta.complete === false)?.meta.complete_from,
    successRate: both(({ attempts, delivered }) => (attempts === 0 ? null : delivered / attempts)),
    p95: both((row) => row.p95_ms),
    failed: both(({ attempts, delivered }) => attempts - delivered),
    throughput: both(({ attempts, at }) => attempts / minutesOf(at, nowMs)),
  };
}

/** The minutes of an interval that have passed. */
function minutesOf(at: Time, nowMs: number): number {
  const passedMs = Math.min(stepMs, nowMs - Date.parse(at));
  return Math.max(1, Math.round(passedMs / minuteMs));
}

/** Intervals whose figures are incomplete are a gap. */
function pointsOf({ data, meta }: DeliveryStats, shiftMs: number, value: Value): ChartSeries["points"] {
  const beginMs = Date.parse(meta.complete_from ?? meta.from);
  return data.map((row) => {
    const atMs = Date.parse(row.at);
    return [atMs + shiftMs, atMs < beginMs ? null : value(row)] as const;
  });
}

function totalsOf({ data, totals }: DeliveryStats): DayTotals {
  const sum = (value: (row: DeliveryStatsRow) => number): number => data.reduce((all, row) => all + value(row), 0);
  const [attempts, delivered] = [sum((row) => row.attempts), sum((row) => row.delivered)];
  return {
    attempts,
    delivered,
    failed: attempts - delivered,
    successRate: attempts === 0 ? null : delivered / attempts,
    p95Ms: totals?.p95_ms ?? null,
  };
}
