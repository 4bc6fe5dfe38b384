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
 * @throws Fault if it is neither
 */
export function readNumberLiteral(text: string, start: number): ReadNumber {
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
  if (ms > durationMsMax) throw new Fault(`the duration ${shorten(written)} is too long; the maximum is 292y`, start);
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

/** The value of a quoted string, and the offset after its closing quote. */
interface ReadString {
  readonly value: string;
  readonly end: number;
}

const simpleEscapes: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
};

/** Digits that follow the letter of an escape, and what they are. */
const codeEscape = /(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3})/uy;

/** No store holds these in a label value: halves of a character, and the sign for bytes that are no text. */
const noText = /[\ud800-\udfff\ufffd]/u;

/**
 * Reads the string that begins at an offset, as Go writes strings: with escapes, or raw between backquotes.
 *
 * @throws Fault if the literal is unterminated or contains an invalid escape
 */
export function readStringLiteral(text: string, start: number): ReadString {
  const quote = text.charAt(start);
  const read = quote === "`" ? readRaw(text, start) : readQuoted(text, start, quote);
  const strange = noText.exec(text.slice(start, read.end));
  if (strange !== null) throw new Fault("the string contains an invalid character", start + strange.index);
  return read;
}

function readRaw(text: string, start: number): ReadString {
  const end = text.indexOf("`", start + 1);
  if (end < 0) throw new Fault("unterminated string", start);
  return { value: text.slice(start + 1, end), end: end + 1 };
}

function readQuoted(text: string, start: number, quote: string): ReadString {
  let value = "";
  let at = start + 1;
  for (;;) {
    const character = text.charAt(at);
    if (character === quote) return { value, end: at + 1 };
    if (character === "" || character === "\n") throw new Fault("unterminated string", start);
    if (character === "\\") {
      const escape = readEscape(text, at, quote);
      value += escape.value;
      at = escape.end;
    } else {
      value += character;
      at += 1;
    }
  }
}

/** Reads an escape that begins with a backslash at an offset. */
function readEscape(text: string, start: number, quote: string): ReadString {
  const letter = text.charAt(start + 1);
  const simple = letter === quote ? quote : simpleEscapes[letter];
  if (simple !== undefined) return { value: simple, end: start + 2 };
  codeEscape.lastIndex = start + 1;
  const digits = codeEscape.exec(text)?.[0];
  if (digits === undefined)
    throw new Fault(`\\${letter} is not a valid escape sequence; write \\\\ for a backslash`, start);
  return { value: characterOf(digits, start), end: start + 1 + digits.length };
}

/** The character of an escape. Single bytes above 127 are half of a character and rejected. */
function characterOf(digits: string, start: number): string {
  const isCode = /^[uU]/u.test(digits);
  const code = /^[0-7]/u.test(digits) ? Number.parseInt(digits, 8) : Number.parseInt(digits.slice(1), 16);
  const codeMax = isCode ? 0x10_ff_ff : 0x7f;
  if (code > codeMax || (code >= 0xd8_00 && code <= 0xdf_ff))
    throw new Fault(`\\${digits} is not a valid character; write the character itself`, start);
  return String.fromCodePoint(code);
}

/** Characters that stand in a string only as an escape. */
// oxlint-disable-next-line no-control-regex
const unsafe = /["\\\u0000-\u001f\u007f\ufffd]/gu;

/** A value as a string in double quotes. */
export function writeString(value: string): string {
  return `"${value.replace(unsafe, (character) => writeEscape(character))}"`;
}

function writeEscape(character: string): string {
  if (character === '"' || character === "\\") return `\\${character}`;
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** A change of a text: what is from `start` to before `end` becomes `text`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A reason to reject a text, with the offset of its first character. */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly start: number;
  /** What would remove the fault. @default none is known */
  readonly edit: Edit | undefined;

  constructor(message: string, start: number, edit?: Edit) {
    super(message);
    this.start = start;
    this.edit = edit;
  }
}

/** The text after an edit. */
export function applyEdit(text: string, { start, end, text: inserted }: Edit): string {
  return text.slice(0, start) + inserted + text.slice(end);
}

const quotedMax = 40;

/** A part of a text for a message. */
export function shorten(text: string): string {
  return text.length > quotedMax ? `${text.slice(0, quotedMax)}…` : text;
}
