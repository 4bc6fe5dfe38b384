// The window of an objective up to a time: a rolling one, or the calendar period so far.
import type { Slo } from "../../../api/objectives.ts";
import type { SloConfig } from "../../../crds/config.ts";
import { calendarPeriod, type Interval } from "../../../crds/time-zone.ts";
import { formatTime } from "../request/time.ts";
import type { CalendarRest } from "./exhaustion-seconds.ts";
import { sloSeconds, windowsOf } from "./slo-status.ts";
import { correctionStep, excludedIntervals } from "./slo-windows.ts";

const dayMs = 86_400_000;
const monthsOf = { Month: 1, Quarter: 3 } as const;

/**
 * The calendar period that a window belongs to; undefined for rolling windows. Its start and end are rounded up to
 * points of the metric, or slices of the objective: each of them belongs to the period in which it begins. The start is
 * excluded and the end included, like those of windows: at its end a period is complete.
 *
 * @param stepSeconds as {@link correctionStep} returns it
 * @param atMs end of the window, a multiple of the step
 */
export function periodOf({ calendar }: SloConfig, stepSeconds: number, atMs: number): Interval | undefined {
  if (calendar === undefined) return undefined;
  const stepMs = stepSeconds * 1_000;
  const roundUp = (ms: number): number => Math.ceil(ms / stepMs) * stepMs;
  // The step that ends now began before: it is of the period of its start.
  const { fromMs, toMs } = calendarPeriod(calendar.timeZone, monthsOf[calendar.period], atMs - stepMs);
  return { fromMs: roundUp(fromMs), toMs: roundUp(toMs) };
}

/** The window that an objective is judged by at a time. @param toMs a multiple of the step of the objective */
export function ownSpan(slo: SloConfig, stepSecondsMin: number, toMs: number): Interval {
  const period = periodOf(slo, correctionStep(slo, stepSecondsMin), toMs);
  return { fromMs: period?.fromMs ?? toMs - sloSeconds(slo) * 1_000, toMs };
}

/** The windows of an objective that end with its own, the shortest first; the last one is its own. */
export function sloSpans(slo: SloConfig, stepSecondsMin: number, { fromMs, toMs }: Interval): readonly Interval[] {
  const windows = windowsOf(slo, stepSecondsMin, (toMs - fromMs) / 1_000);
  return windows.map((seconds) => ({ fromMs: toMs - seconds * 1_000, toMs }));
}

/** The rest of the calendar period at the end of a window; undefined for rolling windows. */
export function calendarRest(
  slo: SloConfig,
  stepSecondsMin: number,
  { all, left }: { readonly all: Interval; readonly left: readonly Interval[] },
): CalendarRest | undefined {
  const stepSeconds = correctionStep(slo, stepSecondsMin);
  const period = periodOf(slo, stepSeconds, all.toMs);
  if (period === undefined) return undefined;
  const rest = { fromMs: all.toMs, toMs: period.toMs };
  const slicesIn = (ms: number): number => (slo.over === undefined ? 0 : ms / 1_000 / slo.over.sliceSeconds);
  const corrected = sum(
    excludedIntervals(slo.corrections ?? [], rest, stepSeconds).map(({ fromMs, toMs }) => ({
      fromMs: Math.max(fromMs, rest.fromMs),
      toMs: Math.min(toMs, rest.toMs),
    })),
  );
  const restMs = rest.toMs - rest.fromMs;
  return {
    windowSeconds: (all.toMs - all.fromMs) / 1_000,
    excludedSeconds: sum(left) / 1_000,
    leftSeconds: restMs / 1_000,
    slicesToCome: slicesIn(restMs),
    countedSlicesToCome: slicesIn(restMs - corrected),
  };
}

function sum(intervals: readonly Interval[]): number {
  return intervals.reduce((ms, { fromMs, toMs }) => ms + toMs - fromMs, 0);
}

/** The window in a response: its days, and the calendar period if it is one. */
export function windowBody(
  slo: SloConfig,
  stepSecondsMin: number,
  toMs: number,
): Pick<Slo, "window_days" | "calendar"> {
  const { calendar, windowDays } = slo;
  const period = periodOf(slo, correctionStep(slo, stepSecondsMin), toMs);
  if (calendar === undefined || period === undefined) return { window_days: windowDays };
  return {
    // Days in which clocks change have other lengths.
    window_days: Math.round((period.toMs - period.fromMs) / dayMs),
    calendar: {
      period: calendar.period,
      time_zone: calendar.timeZone,
      from: formatTime(period.fromMs),
      to: formatTime(period.toMs),
    },
  };
}
