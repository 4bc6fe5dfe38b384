const unitSeconds = { d: 86_400, h: 3_600, m: 60, s: 1 } as const;
const weekSeconds = 7 * unitSeconds.d;

/** Longest duration that a request may name, in seconds: 10 years. */
const durationSecondsMax = 3_660 * unitSeconds.d;

const parts = ["w", "d", "h", "m", "s"].map((unit) => `(?:(?<${unit}>[1-9]\\d{0,8})${unit})?`);
const form = new RegExp(`^${parts.join("")}$`, "u");

/**
 * Parses a duration such as `10s`, `5m`, `1h30m` or `1w` into seconds; undefined for any other text. It takes whole
 * numbers, each with its unit, the largest unit first, as Prometheus does. Source: seed "Operational Metrics API" §4.1.
 */
export function parseDuration(text: string): number | undefined {
  const found = form.exec(text)?.groups;
  if (found === undefined || text === "") return undefined;
  const { w = "0", d = "0", h = "0", m = "0", s = "0" } = found;
  const days = Number(w) * weekSeconds + Number(d) * unitSeconds.d;
  const seconds = days + Number(h) * unitSeconds.h + Number(m) * unitSeconds.m + Number(s);
  return seconds <= durationSecondsMax ? seconds : undefined;
}

/** Prints whole seconds in their shortest spelling: 90 is `90s`, 120 is `2m`. */
export function formatDuration(seconds: number): string {
  for (const [unit, size] of Object.entries(unitSeconds)) {
    if (seconds >= size && seconds % size === 0) return `${seconds / size}${unit}`;
  }
  return `${seconds}s`;
}

/** Prints durations of one sentence in one unit: the largest in which all are whole numbers. */
export function formatAlike(...seconds: readonly number[]): readonly string[] {
  const [unit, size] = unitOf(seconds);
  return seconds.map((one) => `${one / size}${unit}`);
}

/**
 * Prints a duration in the unit of its limit, the largest in which the limit is a whole number: `7.01d` above `7d`. It
 * is rounded up to two decimals.
 */
export function formatWithLimit(seconds: number, limitSeconds: number): readonly [length: string, limit: string] {
  const [unit, size] = unitOf([limitSeconds]);
  return [`${Math.ceil((seconds / size) * 100) / 100}${unit}`, `${limitSeconds / size}${unit}`];
}

function unitOf(seconds: readonly number[]): readonly [unit: string, seconds: number] {
  const found = Object.entries(unitSeconds).find(([, size]) => seconds.every((one) => one >= size && one % size === 0));
  return found ?? ["s", 1];
}
