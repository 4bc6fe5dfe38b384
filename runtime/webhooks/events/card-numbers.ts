const from13: readonly number[] = [13, 14, 15, 16, 17, 18, 19];
const from14: readonly number[] = [14, 15, 16, 17, 18, 19];
const from16: readonly number[] = [16, 17, 18, 19];

/**
 * First digits, alone or as a range, and lengths of each brand's numbers. Source: the brands' published issuer
 * identification numbers (ISO/IEC 7812-1) and number lengths.
 */
const brands: Readonly<Record<string, readonly [firstDigits: string, lengths: readonly number[]]>> = {
  Visa: ["4", [13, 16, 19]],
  Mastercard: ["51-55 2221-2720", [16]],
  "American Express": ["34 37", [15]],
  "Diners Club": ["300-305 3095 36 38-39", from14],
  Discover: ["6011 644-649 65", from16],
  JCB: ["3528-3589", from16],
  UnionPay: ["62 8100-8171", from16],
  // Twelve digits are valid too, but the ends of UUIDs and many order numbers look the same.
  Maestro: ["5018 5020 5038 5893 6304 6759 6761-6763", from13],
  Mir: ["2200-2204", from16],
  RuPay: ["508 60 81-82", [16]],
  Elo: ["5067 509 636297 636368", [16]],
  InterPayment: ["636", from16],
  Verve: ["506099-506198", [16, 18, 19]],
  Dankort: ["5019", [16]],
  Troy: ["9792", [16]],
  Uzcard: ["8600", [16]],
  Humo: ["9860", [16]],
};

/** Characters between groups of digits, up to three in a row. */
const separator = String.raw`[\p{Zs}\t\p{Pd}./_]`;
/** The start of any printed card number. Most texts do not match, which saves the full search. */
const enoughDigits = new RegExp(String.raw`\d(?:\d|${separator}){12}`, "u");
/**
 * The digits of a card number behind leading zeros: in one group that is not part of a fraction, in fours, in eights,
 * and in the groups of American Express, Diners Club and UnionPay. No brand has numbers that begin with 1 or 7.
 */
const printedForms: readonly RegExp[] = [
  String.raw`(?<!\d\.)0*(?=([2-689]\d{12,18})(?!\.?\d))`,
  ...["3 4 4 1,4", "3 4 4 4 1,3", "3 6 4,5", "5 13", "7 8"].map((sizes) => {
    const groups = sizes.split(" ").map((size) => String.raw`\d{${size}}`);
    return String.raw`0*(?=([2-689]${groups.join(`${separator}{1,3}`)})(?!\d))`;
  }),
].map((form) => new RegExp(String.raw`(?<!\d)${form}`, "gu"));

/** Two letters and all groups of digits after them. */
const ibanForm = new RegExp(String.raw`[A-Z]{2}\d+(?:${separator}{1,3}\d+)*`, "gu");
/** The text form of a UUID, in which zeros and four groups may look like a number. Source: RFC 9562 §4. */
const uuidForm = /(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])/giu;
const ibanDigits = /^\d{13,32}$/u;
/** Letters and digits that are read on either side of a number. A longer word is not a label of a number. */
const adjacentCharactersMax = 64;
const wordBefore = /[\p{L}\p{N}]*$/u;
const wordAfter = /^[\p{L}\p{N}]*/u;
/** A label of a number, such as `pan` or `EUR`, has a letter that is not hexadecimal and at most one digit. */
const labelForm = /^(?!(?:0x)?[0-9a-f]*$)\P{N}*\p{N}?\P{N}*$/iu;

const beyondAscii = /[^\0-\x7f]/u;
/** Characters without width, direction marks and soft breaks, which are invisible between digits. */
const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
const otherDigit = /(?![0-9])\p{Nd}/gu;
const isDigit = /^\p{Nd}$/u;

/**
 * True when the text contains a payment card number: the range of an issuer, a length of its brand, and a valid check
 * digit. The number may be in one group or in printed groups, in digits of any script, with leading zeros. A number
 * inside a longer group of digits, a fraction, a hash, an id or an IBAN does not count.
 */
export function hasCardNumber(text: string): boolean {
  const plain = plainDigits(text);
  if (!enoughDigits.test(plain)) return false;
  const searched = plain.replace(uuidForm, ",").replace(ibanForm, (found) => (isIban(found) ? "," : found));
  return printedForms.some((form) =>
    searched.matchAll(form).some(({ 0: zeros, 1: printed = "", index }) => {
      const end = index + zeros.length + printed.length;
      return isCardNumber(printed.replace(/\D/gu, "")) && !isOfAnId(searched, index, end);
    }),
  );
}

/** The check digit is tested first, because nine of ten numbers of the right length fail it. */
function isCardNumber(digits: string): boolean {
  return (
    hasCheckDigit(digits) &&
    Object.values(brands).some(([firstDigits, lengths]) => {
      return lengths.includes(digits.length) && firstDigits.split(" ").some((range) => startsIn(digits, range));
    })
  );
}

function startsIn(digits: string, range: string): boolean {
  const [low = "", high = low] = range.split("-");
  const prefix = digits.slice(0, low.length);
  return prefix >= low && prefix <= high;
}

/** The Luhn formula. Source: ISO/IEC 7812-1 annex B. */
function hasCheckDigit(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits.at(-1 - index));
    const doubled = digit > 4 ? digit * 2 - 9 : digit * 2;
    sum += index % 2 === 1 ? doubled : digit;
  }
  return sum % 10 === 0;
}

/** True when the digits from `start` to `end` are part of a hash or an id: the word around them is no label. */
function isOfAnId(text: string, start: number, end: number): boolean {
  const before = wordBefore.exec(text.slice(Math.max(0, start - adjacentCharactersMax), start))?.[0] ?? "";
  const after = wordAfter.exec(text.slice(end, end + adjacentCharactersMax))?.[0] ?? "";
  const isLong = Math.max(before.length, after.length) >= adjacentCharactersMax;
  return before + after !== "" && (isLong || !labelForm.test(before + after));
}

/** The check digits of an IBAN. Source: ISO 13616-1, ISO/IEC 7064 MOD 97-10. */
function isIban(text: string): boolean {
  const digits = text.replace(/\D/gu, "");
  const country = text.slice(0, 2).replace(/[A-Z]/gu, (letter) => String(Number.parseInt(letter, 36)));
  return ibanDigits.test(digits) && BigInt(digits.slice(2) + country + digits.slice(0, 2)) % 97n === 1n;
}

/** Converts every decimal digit to 0 to 9 and removes invisible characters. */
function plainDigits(text: string): string {
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
  while (isDigit.test(String.fromCodePoint(first - 1))) first -= 1;
  return (code - first) % 10;
}
