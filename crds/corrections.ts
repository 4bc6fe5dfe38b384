// When the corrections of an objective apply: fixed intervals, and those of a schedule in its time zone.
import { instantOf, type Interval } from "./time-zone.ts";
import type { MetricCatalogSloCorrection, MetricCatalogSloCorrectionSchedule } from "./types/metric-catalog.ts";

const dayMs = 86_400_000;
const minuteMs = 60_000;
/** Zones are less than a day from UTC. */
const zoneMs = dayMs;

/**
 * The intervals of a correction that overlap a span, in the order of their start. Those of a schedule can overlap each
 * other.
 */
export function correctionIntervals(correction: MetricCatalogSloCorrection, span: Interval): readonly Interval[] {
  const { from, to, schedule } = correction;
  const all =
    schedule === undefined
      ? [{ fromMs: Date.parse(from ?? ""), toMs: Date.parse(to ?? "") }]
      : scheduledIntervals(schedule, span);
  return all.filter(({ fromMs, toMs }) => fromMs < span.toMs && toMs > span.fromMs);
}

/** The last expansion of each schedule: its days change once a day. */
const expanded = new WeakMap<MetricCatalogSloCorrectionSchedule, Interval & { readonly all: readonly Interval[] }>();

function scheduledIntervals(schedule: MetricCatalogSloCorrectionSchedule, span: Interval): readonly Interval[] {
  const durationMs = schedule.durationMinutes * minuteMs;
  const fromMs = Math.floor((span.fromMs - durationMs - zoneMs) / dayMs) * dayMs;
  const toMs = Math.ceil((span.toMs + zoneMs) / dayMs) * dayMs;
  const known = expanded.get(schedule);
  if (known !== undefined && known.fromMs <= fromMs && known.toMs >= toMs) return known.all;
  const all = expand(schedule, { fromMs, toMs });
  expanded.set(schedule, { fromMs, toMs, all });
  return all;
}

/** At most one interval a day, because the schema permits one minute and one hour. */
function expand({ cron, durationMinutes, timeZone }: MetricCatalogSloCorrectionSchedule, days: Interval): Interval[] {
  const { timeOfDayMs, isDay } = parseCron(cron);
  const all: Interval[] = [];
  for (let day = days.fromMs; day < days.toMs; day += dayMs) {
    if (!isDay(new Date(day))) continue;
    const fromMs = instantOf(timeZone, day + timeOfDayMs);
    all.push({ fromMs, toMs: fromMs + durationMinutes * minuteMs });
  }
  return all;
}

interface Cron {
  readonly timeOfDayMs: number;
  /** Tests a day of the wall clock, at midnight UTC. */
  readonly isDay: (day: Date) => boolean;
}

const monthNames = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(" ");
const dayNames = "SUN MON TUE WED THU FRI SAT".split(" ");

/** Reads a text that the schema accepts. As in cron, a day of two restricted fields needs one of them. */
function parseCron(cron: string): Cron {
  const [minute = "", hour = "", days = "", months = "", weekdays = ""] = cron.split(" ");
  const isMonth = setOf(months, 1, 12, (text) => monthNames.indexOf(text) + 1);
  const isDate = setOf(days, 1, 31, Number);
  const isWeekday = setOf(weekdays, 0, 6, (text) => dayNames.indexOf(text));
  const isEither = days !== "*" && weekdays !== "*";
  return {
    timeOfDayMs: (Number(hour) * 60 + Number(minute)) * minuteMs,
    isDay(day) {
      const [date, weekday] = [isDate(day.getUTCDate()), isWeekday(day.getUTCDay())];
      return isMonth(day.getUTCMonth() + 1) && (isEither ? date || weekday : date && weekday);
    },
  };
}

/** Tests for the numbers of a field. A range whose end is before its start continues at the lowest number. */
function setOf(
  field: string,
  lowest: number,
  highest: number,
  ofName: (text: string) => number,
): (value: number) => boolean {
  if (field === "*") return () => true;
  const size = highest - lowest + 1;
  const numberOf = (text: string): number => (/^[0-9]+$/u.test(text) ? Number(text) : ofName(text));
  const ranges = field.split(",").map((part) => {
    const [first = lowest, last = first] = part.split("-").map(numberOf);
    return { first, length: first === lowest && last === highest + 1 ? size : (last - first + size) % size };
  });
  return (value) => ranges.some(({ first, length }) => (value - first + 2 * size) % size <= length);
}
