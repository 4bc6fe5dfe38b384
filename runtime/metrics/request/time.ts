const isoUtc = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?Z$/u;

/**
 * Unix milliseconds of an ISO 8601 UTC time such as `2026-01-01T00:00:00Z`, finer digits cut off; undefined when the
 * text is none, or names a day that does not exist. Source: seed "Operational Metrics API" §4.1.
 */
export function parseTime(text: string): number | undefined {
  const [, seconds, fraction = ""] = isoUtc.exec(text) ?? [];
  if (seconds === undefined) return undefined;
  const ms = Date.parse(`${seconds}.${fraction.slice(0, 3).padEnd(3, "0")}Z`);
  // The engine rolls 30 February over into March; the round trip does not let it.
  if (Number.isNaN(ms) || ms < 0 || !formatTime(ms).startsWith(seconds)) return undefined;
  return ms;
}

const dayMs = 86_400_000;

/** The same of many times, of which most are of one day. */
export function formatTimes(times: readonly number[]): readonly string[] {
  let [day, prefix] = [Number.NaN, ""];
  return times.map((ms) => {
    const own = Math.floor(ms / dayMs);
    if (own !== day) [day, prefix] = [own, formatTime(own * dayMs).slice(0, -"00:00:00.000Z".length)];
    const rest = ms - own * dayMs;
    const seconds = Math.floor(rest / 1_000);
    const [hour, minute] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
    return `${prefix}${two(hour)}:${two(minute)}:${two(seconds % 60)}.${String(rest % 1_000).padStart(3, "0")}Z`;
  });
}

function two(number: number): string {
  return number < 10 ? `0${number}` : `${number}`;
}

/** ISO 8601 UTC with milliseconds, as every time in an answer is written. */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}
