import { isOfAnIban, isOfAnId, plainDigits } from "./digits-of-ids.ts";

/** Numbers of one brand whose first digits are between `low` and `high`, which have the same length. */
interface IssuerRange {
  readonly low: string;
  readonly high: string;
  readonly lengths: readonly number[];
}

const from13: readonly number[] = [13, 14, 15, 16, 17, 18, 19];
const from14: readonly number[] = [14, 15, 16, 17, 18, 19];
const from16: readonly number[] = [16, 17, 18, 19];

/** Source: the brands' published issuer identification numbers (ISO/IEC 7812-1) and number lengths. */
const brands: Readonly<Record<string, readonly [low: string, high: string, lengths: readonly number[]][]>> = {
  Visa: [["4", "4", [13, 16, 19]]],
  Mastercard: [
    ["51", "55", [16]],
    ["2221", "2720", [16]],
  ],
  "American Express": [
    ["34", "34", [15]],
    ["37", "37", [15]],
  ],
  "Diners Club": [
    ["300", "305", from14],
    ["3095", "3095", from14],
    ["36", "36", from14],
    ["38", "39", from14],
  ],
  Discover: [
    ["6011", "6011", from16],
    ["644", "649", from16],
    ["65", "65", from16],
  ],
  JCB: [["3528", "3589", from16]],
  UnionPay: [
    ["62", "62", from16],
    ["8100", "8171", from16],
  ],
  // Twelve digits are valid too, but the ends of UUIDs and many order numbers look the same.
  Maestro: [
    ["5018", "5018", from13],
    ["5020", "5020", from13],
    ["5038", "5038", from13],
    ["5893", "5893", from13],
    ["6304", "6304", from13],
    ["6759", "6759", from13],
    ["6761", "6763", from13],
  ],
  Mir: [["2200", "2204", from16]],
  RuPay: [
    ["508", "508", [16]],
    ["60", "60", [16]],
    ["81", "82", [16]],
  ],
  Elo: [
    ["5067", "5067", [16]],
    ["509", "509", [16]],
    ["636297", "636297", [16]],
    ["636368", "636368", [16]],
  ],
  InterPayment: [["636", "636", from16]],
  Verve: [["506099", "506198", [16, 18, 19]]],
  Dankort: [["5019", "5019", [16]]],
  Troy: [["9792", "9792", [16]]],
  Uzcard: [["8600", "8600", [16]]],
  Humo: [["9860", "9860", [16]]],
};

const issuerRanges: readonly IssuerRange[] = Object.values(brands)
  .flat()
  .map(([low, high, lengths]) => ({ low, high, lengths }));

/** Characters between groups of digits, up to three in a row. */
const separators = String.raw`[\p{Zs}\t\p{Pd}./_]`;
/** Groups of digits with separators between them. */
const digitGroups = new RegExp(String.raw`\d+(?:${separators}{1,3}\d+)*`, "gu");
/** The start of any printed card number. Most texts do not match, which saves the full search. */
const enoughDigits = new RegExp(String.raw`\d(?:\d|${separators}){12}`, "u");
const digitsMin = 13;
const digitsMax = 19;
const zero = "0".charCodeAt(0);
const nine = "9".charCodeAt(0);
/** Printed groups of digits: of four, of eight, and the layouts of American Express, Diners Club and UnionPay. */
const printedLayouts: readonly (readonly number[])[] = [
  [4, 4, 4, 1],
  [4, 4, 4, 2],
  [4, 4, 4, 3],
  [4, 4, 4, 4],
  [4, 4, 4, 4, 1],
  [4, 4, 4, 4, 2],
  [4, 4, 4, 4, 3],
  [4, 6, 4],
  [4, 6, 5],
  [6, 13],
  [8, 8],
];
const layoutsByFirst = Map.groupBy(printedLayouts, ([first]) => first);

/** The position of a group of digits. `first` is the position of the first digit that is not a leading zero. */
interface Group {
  readonly start: number;
  readonly first: number;
  readonly end: number;
}

/**
 * True when the text contains a payment card number: the range of an issuer, a length of its brand, and a valid check
 * digit. The number may be in one group or in printed groups, in digits of any script, with leading zeros. A number
 * inside a longer group of digits, a fraction, a hash, an id or an IBAN does not count.
 */
export function hasCardNumber(text: string): boolean {
  if (text.length < digitsMin) {
    return false;
  }
  const plain = plainDigits(text);
  if (!enoughDigits.test(plain)) {
    return false;
  }
  for (const { 0: run, index } of plain.matchAll(digitGroups)) {
    if (
      run.length >= digitsMin &&
      hasCardInGroups(plain, groupsOf(plain, index, index + run.length)) &&
      !isOfAnIban(plain, index, run.replace(/\D/gu, ""))
    )
      return true;
  }
  return false;
}

/** The groups between two positions. A loop over character codes: an event may consist of such groups. */
function groupsOf(text: string, start: number, end: number): readonly Group[] {
  const groups: Group[] = [];
  let position = start;
  while (position < end) {
    const first = skip(text, position, end, (code) => code === zero);
    const last = skip(text, first, end, isDigit);
    groups.push({ start: position, first, end: last });
    position = skip(text, last, end, (code) => !isDigit(code));
  }
  return groups;
}

function isDigit(code: number): boolean {
  return code >= zero && code <= nine;
}

function skip(text: string, from: number, end: number, isSkipped: (code: number) => boolean): number {
  let position = from;
  while (position < end && isSkipped(text.charCodeAt(position))) position += 1;
  return position;
}

function hasCardInGroups(text: string, groups: readonly Group[]): boolean {
  return groups.some((group, index) => {
    const { start, first, end } = group;
    if (end - first >= digitsMin) {
      return isCardNumber(text.slice(first, end)) && !isFraction(text, group) && !isOfAnId(text, start, end);
    }
    return (layoutsByFirst.get(end - first) ?? []).some(
      (layout) =>
        isLaidOut(groups, index, layout) &&
        isCardNumber(digitsOf(text, groups, index, layout.length)) &&
        !isOfAnId(text, start, groups[index + layout.length - 1]?.end ?? 0),
    );
  });
}

/** True when the groups after an index have the sizes of a layout. */
function isLaidOut(groups: readonly Group[], index: number, layout: readonly number[]): boolean {
  for (let at = 1; at < layout.length; at += 1) {
    const group = groups[index + at];
    if (group === undefined || group.end - group.start !== layout[at]) return false;
  }
  return true;
}

/** The digits of groups without the leading zeros of the first. */
function digitsOf(text: string, groups: readonly Group[], index: number, count: number): string {
  const parts = groups.slice(index, index + count);
  return parts.map(({ start, first, end }, at) => text.slice(at === 0 ? first : start, end)).join("");
}

/** True when the group follows or precedes a decimal point. */
function isFraction(text: string, { start, end }: Group): boolean {
  return /\d\.$/u.test(text.slice(Math.max(0, start - 2), start)) || /^\.\d/u.test(text.slice(end, end + 2));
}

/** The check digit is tested first, because nine of ten numbers of the right length fail it. */
function isCardNumber(digits: string): boolean {
  return digits.length >= digitsMin && digits.length <= digitsMax && hasCheckDigit(digits) && isIssued(digits);
}

function isIssued(digits: string): boolean {
  return issuerRanges.some(({ low, high, lengths }) => {
    const prefix = digits.slice(0, low.length);
    return lengths.includes(digits.length) && prefix >= low && prefix <= high;
  });
}

/** The Luhn formula. Source: ISO/IEC 7812-1 annex B. */
function hasCheckDigit(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - index) - zero;
    const doubled = digit > 4 ? digit * 2 - 9 : digit * 2;
    sum += index % 2 === 1 ? doubled : digit;
  }
  return sum % 10 === 0;
}
