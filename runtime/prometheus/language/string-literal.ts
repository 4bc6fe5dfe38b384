import { Fault } from "./fault.ts";

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
 * @throws Fault where it does not end, or where an escape is none
 */
export function readString(text: string, start: number): ReadString {
  const quote = text.charAt(start);
  const read = quote === "`" ? readRaw(text, start) : readQuoted(text, start, quote);
  const strange = noText.exec(text.slice(start, read.end));
  if (strange !== null) throw new Fault("the string holds a character that is no text", start + strange.index);
  return read;
}

function readRaw(text: string, start: number): ReadString {
  const end = text.indexOf("`", start + 1);
  if (end < 0) throw new Fault("the string has no closing quote", start);
  return { value: text.slice(start + 1, end), end: end + 1 };
}

function readQuoted(text: string, start: number, quote: string): ReadString {
  let value = "";
  let at = start + 1;
  for (;;) {
    const character = text.charAt(at);
    if (character === quote) return { value, end: at + 1 };
    if (character === "" || character === "\n") throw new Fault("the string has no closing quote", start);
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
  if (digits === undefined) {
    throw new Fault(`\\${letter} is no escape; write \\\\ for a backslash`, start);
  }
  return { value: characterOf(digits, start), end: start + 1 + digits.length };
}

/** The character of an escape. Single bytes above 127 are half of a character and refused. */
function characterOf(digits: string, start: number): string {
  const isCode = /^[uU]/u.test(digits);
  const code = /^[0-7]/u.test(digits) ? Number.parseInt(digits, 8) : Number.parseInt(digits.slice(1), 16);
  const codeMax = isCode ? 0x10_ff_ff : 0x7f;
  if (code > codeMax || (code >= 0xd8_00 && code <= 0xdf_ff)) {
    throw new Fault(`\\${digits} is no character; write the character itself`, start);
  }
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
