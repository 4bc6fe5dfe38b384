import type { PartnerStatsPoint } from "../../api/partners.ts";
import type { Time } from "../../api/documents.ts";
import type { ChartSeries } from "../charts/chart-data.ts";

/** A range of time that the charts can show. */
export interface StatsRange {
  readonly name: string;
  readonly label: string;
  readonly seconds: number;
  readonly step: string;
}

/** Ranges with steps that give at most 300 points. The first one is the default. */
export const statsRanges: readonly StatsRange[] = [
  { name: "1h", label: "1 hour", seconds: 3_600, step: "1m" },
  { name: "6h", label: "6 hours", seconds: 21_600, step: "5m" },
  { name: "24h", label: "24 hours", seconds: 86_400, step: "15m" },
  { name: "7d", label: "7 days", seconds: 604_800, step: "1h" },
];

/** The range of a name; the first one for any other. */
export function statsRangeOf(name: string): StatsRange {
  const found = statsRanges.find((range) => range.name === name);
  return found ?? (statsRanges[0] as StatsRange);
}

const stepSecondsOf: Readonly<Record<string, number>> = { "1m": 60, "5m": 300, "15m": 900, "1h": 3_600 };

/** The window that ends with the step of now, so that equal requests within a step have equal paths. */
export function statsWindow({ seconds, step }: StatsRange, nowMs: number): { readonly from: Time; readonly to: Time } {
  const stepMs = (stepSecondsOf[step] ?? 60) * 1_000;
  const endMs = Math.ceil(nowMs / stepMs) * stepMs;
  return { from: new Date(endMs - seconds * 1_000).toISOString(), to: new Date(endMs).toISOString() };
}

/** The series of the three charts. */
export interface StatsSeries {
  readonly ends: readonly ChartSeries[];
  readonly answers: readonly ChartSeries[];
  readonly durations: readonly ChartSeries[];
}

/** Series of the charts. Durations have gaps where nothing was sent. */
export function statsSeries(points: readonly PartnerStatsPoint[]): StatsSeries {
  const series = (label: string, value: (point: PartnerStatsPoint) => number | null): ChartSeries => ({
    label,
    points: points.map((point) => [Date.parse(point.at), value(point)] as const),
  });
  return {
    ends: [
      series("Delivered", ({ delivered }) => delivered),
      series("Retried", ({ retried }) => retried),
      series("Rejected", ({ rejected }) => rejected),
      series("Dead", ({ dead }) => dead),
    ],
    answers: [
      series("2xx", ({ answers }) => answers["2xx"]),
      series("3xx", ({ answers }) => answers["3xx"]),
      series("4xx", ({ answers }) => answers["4xx"]),
      series("5xx", ({ answers }) => answers["5xx"]),
      series("No response", ({ answers }) => answers.none),
    ],
    durations: [series("Median", ({ p50_ms }) => p50_ms), series("95th percentile", ({ p95_ms }) => p95_ms)],
  };
}

/** How many attempts the points hold. */
export function attemptsIn(points: readonly PartnerStatsPoint[]): number {
  return points.reduce(
    (sum, { answers }) => sum + Object.values(answers).reduce((all: number, one: number) => all + one, 0),
    0,
  );
}
