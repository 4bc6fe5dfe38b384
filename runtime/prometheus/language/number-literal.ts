import { Fault, shorten } from "./fault.ts";

/** A number or a duration in seconds, and the offset after it. */
interface ReadNumber {
  readonly value: number;
  readonly end: number;
}

/** All characters that belong to a number or a duration, right or wrong. */
const word = /[0-9.][0-9a-zA-Z_.]*(?:(?<=[eE])[+-][0-9a-zA-Z_.]*)?/uy;

const decimal = /^(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/u;
const grouped = /^[1-9][0-9]*(?:_[0-9]+)+$/u;
/** Without the digit E, which Prometheus takes for an exponent. At most 12 digits, which are exact. */
const hexadecimal = /^0[xX]_?[0-9a-dfA-DF]+(?:_[0-9a-dfA-DF]+)*$/u;
const hexadecimalCharactersMax = 14;
/** Prometheus reads larger ones without their underscores. */
const groupedMax = 2 ** 63;
const duration =
  /^(?:([0-9]+)y)?(?:([0-9]+)w)?(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?(?:([0-9]+)ms)?$/u;

/** Milliseconds of the units of a duration, the largest first. */
const units: readonly (readonly [name: string, ms: number])[] = [
  ["y", 365 * 86_400_000],
  ["w", 7 * 86_400_000],
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
];

/** The longest duration of Prometheus: 2^63 nanoseconds. */
export const durationMsMax = 9_223_372_036_854;

/**
 * Reads the number or duration that begins at an offset.
 *
 * @throws Fault where it is neither
 */
export function readNumber(text: string, start: number): ReadNumber {
  word.lastIndex = start;
  const written = word.exec(text)?.[0] ?? "";
  const value = numberOf(written) ?? durationOf(written, start);
  if (value === undefined)
    throw new Fault(`${shorten(written)} is neither a decimal number nor a duration such as 5m`, start);
  if (!Number.isFinite(value)) throw new Fault(`${shorten(written)} is too large; write Inf for infinity`, start);
  return { value, end: start + written.length };
}

function numberOf(written: string): number | undefined {
  if (decimal.test(written)) return Number(written);
  const digits = written.replaceAll("_", "");
  if (hexadecimal.test(written)) return digits.length > hexadecimalCharactersMax ? undefined : Number(digits);
  if (!grouped.test(written)) return undefined;
  const value = Number(digits);
  return value < groupedMax ? value : undefined;
}

/** Seconds of a duration such as `1h30m`, as Prometheus rounds them. */
function durationOf(written: string, start: number): number | undefined {
  const counts = duration.exec(written);
  if (counts === null || written === "") return undefined;
  const ms = units.reduce((sum, [, unitMs], index) => sum + Number(counts[index + 1] ?? 0) * unitMs, 0);
  if (ms > durationMsMax) throw new Fault(`the duration ${shorten(written)} is too long; 292y is the longest`, start);
  return Math.floor(ms / 1_000) + ((ms % 1_000) * 1_000_000) / 1_000_000_000;
}

/** A number as it is written in an expression. */
export function writeNumber(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Inf" : "-Inf";
  return Object.is(value, -0) ? "-0" : String(value);
}

/** A duration of at least one millisecond as it is written in an expression. Weeks and years stand alone. */
export function writeDuration(durationMs: number): string {
  let left = durationMs;
  let written = "";
  for (const [unit, ms] of units) {
    const isExact = unit === "y" || unit === "w";
    if (left < ms || (isExact && left % ms !== 0)) continue;
    written += `${Math.floor(left / ms)}${unit}`;
    left %= ms;
  }
  return written;
}
