import type { Time } from "../../api/documents.ts";
import type { DeliveryStatsRow } from "../../api/delivery-stats.ts";
import type { ChartSeries } from "../charts/chart-data.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;
const stepMs = 15 * minuteMs;
const stepsOfDay = dayMs / stepMs;

/** The last two days that end with the interval of now, so that equal requests within an interval have equal paths. */
export function twoDays(nowMs: number): { readonly from: Time; readonly to: Time } {
  const endMs = Math.ceil(nowMs / stepMs) * stepMs;
  return { from: new Date(endMs - 2 * dayMs).toISOString(), to: new Date(endMs).toISOString() };
}

/** Figures of a day. */
export interface DayTotals {
  readonly attempts: number;
  readonly delivered: number;
  /** Attempts without success. */
  readonly failed: number;
  /** Attempts that succeeded; null without any attempt. */
  readonly successRate: number | null;
}

/** The last 24 hours and the 24 hours before them. */
export interface DeliveryDay {
  readonly today: DayTotals;
  readonly before: DayTotals;
  /** The newest percentile. */
  readonly latestP95Ms: number | null;
  readonly successRate: readonly ChartSeries[];
  readonly p95: readonly ChartSeries[];
  readonly failed: readonly ChartSeries[];
  readonly throughput: readonly ChartSeries[];
}

type Value = (row: DeliveryStatsRow) => number | null;

/** Puts the day before under the last 24 hours. @param rows two days in intervals of 15 minutes */
export function deliveryDay(rows: readonly DeliveryStatsRow[], nowMs: number): DeliveryDay {
  const [before, today] = [rows.slice(0, -stepsOfDay), rows.slice(-stepsOfDay)];
  const both = (value: Value, kind: ChartSeries["kind"] = "line"): readonly ChartSeries[] => [
    { label: "Last 24 hours", kind, points: pointsOf(today, 0, value) },
    { label: "Previous 24 hours", points: pointsOf(before, dayMs, value) },
  ];
  return {
    today: totalsOf(today),
    before: totalsOf(before),
    latestP95Ms: today.findLast(({ p95_ms: ms }) => ms !== null)?.p95_ms ?? null,
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

function pointsOf(rows: readonly DeliveryStatsRow[], shiftMs: number, value: Value): ChartSeries["points"] {
  return rows.map((row) => [Date.parse(row.at) + shiftMs, value(row)] as const);
}

function totalsOf(rows: readonly DeliveryStatsRow[]): DayTotals {
  const sum = (value: (row: DeliveryStatsRow) => number): number => rows.reduce((all, row) => all + value(row), 0);
  const [attempts, delivered] = [sum((row) => row.attempts), sum((row) => row.delivered)];
  return {
    attempts,
    delivered,
    failed: attempts - delivered,
    successRate: attempts === 0 ? null : delivered / attempts,
  };
}
