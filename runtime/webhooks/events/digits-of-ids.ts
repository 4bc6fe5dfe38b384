/** Letters and digits that are read on either side of a number. A longer word is not a label of a number. */
const besideCharactersMax = 64;
/** Digits that a label of a number may contain. */
const labelDigitsMax = 1;
const wordBefore = /[\p{L}\p{N}]*$/u;
const wordAfter = /^[\p{L}\p{N}]*/u;
const hexForm = /^(?:0x)?[0-9a-f]*$/iu;
const ibanForm = /^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/u;

const beyondAscii = /[^\0-\x7f]/u;
/** Characters without width, direction marks and soft breaks, which are invisible between digits. */
const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
const otherDigit = /(?![0-9])\p{Nd}/gu;
const isDigit = /^\p{Nd}$/u;
const digitsOfOneScript = 10;

/**
 * True when the digits from `start` to `end` are part of a hash, an id or an IBAN. They are when the adjacent
 * characters are hexadecimal, contain digits, or are too long for a label such as `pan` or `EUR`.
 */
export function isOfAnId(text: string, start: number, end: number): boolean {
  const before = wordEndingAt(text, start);
  const after = wordAfter.exec(text.slice(end, end + besideCharactersMax))?.[0] ?? "";
  if (before === "" && after === "") {
    return false;
  }
  const isLong = Math.max(before.length, after.length) >= besideCharactersMax;
  const ownDigits = (before + after).replace(/\P{N}/gu, "").length;
  return (
    isLong ||
    ownDigits > labelDigitsMax ||
    hexForm.test(before + after) ||
    isIban(`${before}${text.slice(start, end)}${after}`)
  );
}

function wordEndingAt(text: string, end: number): string {
  const last = text.charCodeAt(end - 1);
  // Most digits follow an ASCII character that is neither a letter nor a digit.
  const isAlone = end === 0 || last < 48 || (last > 57 && last < 65);
  return isAlone ? "" : (wordBefore.exec(text.slice(Math.max(0, end - besideCharactersMax), end))?.[0] ?? "");
}

/** True when the digits from `start` and the two letters before them are an IBAN. */
export function isOfAnIban(text: string, start: number, digits: string): boolean {
  return isIban(text.slice(Math.max(0, start - 2), start) + digits);
}

/** The check digits of an IBAN. Source: ISO 13616-1, ISO/IEC 7064 MOD 97-10. */
function isIban(word: string): boolean {
  if (!ibanForm.test(word)) {
    return false;
  }
  const moved = word.slice(4) + word.slice(0, 4);
  const digits = moved.replace(/[A-Z]/gu, (letter) => String(Number.parseInt(letter, 36)));
  return BigInt(digits) % 97n === 1n;
}

/** Converts every decimal digit to 0 to 9 and removes invisible characters. */
export function plainDigits(text: string): string {
  if (!beyondAscii.test(text)) return text;
  const values = new Map<string, string>();
  return text.replace(invisible, "").replace(otherDigit, (digit) => {
    const value = values.get(digit) ?? String(valueOf(digit));
    values.set(digit, value);
    return value;
  });
}

/** Decimal digits are encoded in groups of ten, from zero to nine. Source: The Unicode Standard §4.6. */
function valueOf(digit: string): number {
  const code = digit.codePointAt(0) ?? 0;
  let first = code;
  while (isDigit.test(String.fromCodePoint(first - 1))) {
    first -= 1;
  }
  return (code - first) % digitsOfOneScript;
}
