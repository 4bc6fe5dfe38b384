// Times of day and days of a calendar in IANA time zones. It has no clock: the time is always an argument.

/** Half-open: includes its start, not its end. Unix milliseconds. */
export interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
}

const dayMs = 86_400_000;
/** Zones of one configuration, at most. */
const formatsMax = 1_024;
const formats = new Map<string, Intl.DateTimeFormat>();

/** Tests if the time zone database of this program has a zone. The names of a schema are also case-sensitive. */
export function isTimeZone(zone: string): boolean {
  try {
    formatOf(zone);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** @throws RangeError for an unknown zone */
function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("en-u-ca-iso8601", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  if (formats.size >= formatsMax) formats.clear();
  formats.set(zone, format);
  return format;
}

/**
 * The wall clock of a zone, as the Unix milliseconds at which UTC shows the same.
 *
 * @throws RangeError for an unknown zone
 */
export function wallTime(zone: string, atMs: number): number {
  const parts = new Map(
    formatOf(zone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const ms = ((atMs % 1_000) + 1_000) % 1_000;
  return Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"), ms);
}

/**
 * When the wall clock of a zone shows a time: the first time if it does so twice. A time that is skipped is as long
 * after the change of the clocks as it would have been without it. Source: `compatible` of Temporal, RFC 5545 §3.3.5.
 *
 * @param wallMs as {@link wallTime} returns it
 */
export function instantOf(zone: string, wallMs: number): number {
  const offsetAt = (atMs: number): number => wallTime(zone, atMs) - atMs;
  // No zone changes its clocks twice in two days.
  const [before, after] = [offsetAt(wallMs - dayMs), offsetAt(wallMs + dayMs)];
  const found = [before, after].map((offset) => wallMs - offset).filter((atMs) => wallTime(zone, atMs) === wallMs);
  return found.length === 0 ? wallMs - before : Math.min(...found);
}

/**
 * The calendar month or quarter of a zone that a time is in. Periods leave no time out and do not overlap. Each begins
 * when the clock first shows midnight of its first day, or, if midnight is skipped, at the change of the clocks.
 *
 * @throws RangeError for an unknown zone
 */
export function calendarPeriod(zone: string, months: 1 | 3, atMs: number): Interval {
  const wall = new Date(wallTime(zone, atMs));
  const first = Math.floor(wall.getUTCMonth() / months) * months;
  const startOf = (month: number): number => instantOf(zone, Date.UTC(wall.getUTCFullYear(), month, 1));
  const [fromMs, toMs] = [startOf(first), startOf(first + months)];
  // Clocks that go back over midnight show the month before again.
  return atMs < toMs ? { fromMs, toMs } : { fromMs: toMs, toMs: startOf(first + 2 * months) };
}
