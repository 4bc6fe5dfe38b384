const isoUtc = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?Z$/u;

/**
 * Parses an ISO 8601 UTC time such as `2026-01-01T00:00:00Z` into Unix milliseconds and cuts off finer digits. Returns
 * undefined for any other text and for a day that does not exist. Source: seed "Operational Metrics API" §4.1.
 */
export function parseTime(text: string): number | undefined {
  const [, seconds, fraction = ""] = isoUtc.exec(text) ?? [];
  if (seconds === undefined) return undefined;
  const ms = Date.parse(`${seconds}.${fraction.slice(0, 3).padEnd(3, "0")}Z`);
  // Date.parse reads 30 February as 2 March; the comparison with the formatted time detects it.
  if (Number.isNaN(ms) || ms < 0 || !formatTime(ms).startsWith(seconds)) return undefined;
  return ms;
}

const dayMs = 86_400_000;

/** Formats many times as {@link formatTime} does. It formats each day once, since most times share a day. */
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

/** Formats a time as ISO 8601 UTC with milliseconds, the form of every time in a response. */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}
