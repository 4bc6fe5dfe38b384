import type { Column, PointGrid } from "./matrix.ts";

/** An answer without its points: `values` of each series is the place of its column. */
export interface ScannedMatrix {
  readonly skeleton: string;
  readonly columns: readonly Column[];
}

/** What stands before the points of a series. Inside of a text, JSON has a backslash before each quote, so it is none. */
const opening = ',"values":[[';

/**
 * Takes the points out of a range query's JSON as it is received, without an object or a text for each of them: those are
 * nearly all of an answer, and most of what reading it would cost. Only the spelling that stores use is understood.
 *
 * @returns undefined for any other spelling, and for points outside of the grid: then the whole has to be parsed
 */
export function scanMatrix(bytes: Buffer, grid: PointGrid): ScannedMatrix | undefined {
  // One character for each byte, whatever is in the labels.
  const text = bytes.toString("latin1");
  const columns: Column[] = [];
  let skeleton = "";
  let from = 0;
  for (let at = text.indexOf(opening); at !== -1; at = text.indexOf(opening, from)) {
    const column = { values: new Float64Array(grid.count), present: new Uint8Array(grid.count) };
    const end = scanColumn(text, at + opening.length - 1, grid, column);
    if (end === -1) return undefined;
    skeleton += `${bytes.toString("utf8", from, at)},"values":${columns.length}`;
    columns.push(column);
    from = end;
  }
  return { skeleton: skeleton + bytes.toString("utf8", from), columns };
}

const [quote, comma, minus, point, zero, open, close] = [0x22, 0x2c, 0x2d, 0x2e, 0x30, 0x5b, 0x5d];

/** Where a number ends, and what it is. One for all of a column: nothing is allocated for a point. */
interface Scan {
  end: number;
  value: number;
}

/** @returns the place after the list of points that begins at `from`; -1 when it is not understood */
function scanColumn(text: string, from: number, grid: PointGrid, column: Column): number {
  const scan: Scan = { end: from, value: 0 };
  while (text.charCodeAt(scan.end) === open && scanPoint(text, grid, column, scan)) {
    const next = text.charCodeAt(scan.end);
    if (next === close) return scan.end + 1;
    if (next !== comma) return -1;
    scan.end += 1;
  }
  return -1;
}

/** One point from its bracket on, into its place. */
function scanPoint(text: string, grid: PointGrid, { values, present }: Column, scan: Scan): boolean {
  if (!scanNumber(text, scan.end + 1, scan) || !text.startsWith(',"', scan.end)) return false;
  const index = Math.round((scan.value * 1_000 - grid.startMs) / grid.stepMs);
  if (!(index >= 0 && index < grid.count) || !scanText(text, scan.end + 2, scan)) return false;
  values[index] = scan.value;
  present[index] = 1;
  scan.end += 2;
  return text.charCodeAt(scan.end - 1) === close;
}

/** Digits whose number is exact, and powers of ten by which one is divided with a single rounding. */
const digitsMax = 15;
const tens = Array.from({ length: digitsMax + 1 }, (_, power) => 10 ** power);

/** A decimal number of so few digits that it is read exactly. */
function scanNumber(text: string, from: number, scan: Scan): boolean {
  const isNegative = text.charCodeAt(from) === minus;
  const first = isNegative ? from + 1 : from;
  scanDigits(text, first, scan);
  const digits = scan.end - first;
  let value = scan.value;
  if (text.charCodeAt(scan.end) === point) {
    const begin = scan.end + 1;
    scanDigits(text, begin, scan);
    const decimals = scan.end - begin;
    if (decimals === 0 || digits + decimals > digitsMax) return false;
    const scale = tens[decimals] ?? 1;
    value = (value * scale + scan.value) / scale;
  }
  scan.value = isNegative ? -value : value;
  return digits > 0 && digits <= digitsMax;
}

/** Digits as a whole number, which is exact unless there are too many. */
function scanDigits(text: string, from: number, scan: Scan): void {
  let [at, whole] = [from, 0];
  for (; at - from <= digitsMax; at += 1) {
    const digit = text.charCodeAt(at) - zero;
    if (!(digit >= 0 && digit <= 9)) break;
    whole = whole * 10 + digit;
  }
  scan.end = at;
  scan.value = whole;
}

/** Characters of the longest number that a store writes: of a double without an exponent. */
const textLengthMax = 400;
const words: Readonly<Record<string, number>> = { NaN: Number.NaN, "+Inf": Infinity, "-Inf": -Infinity };
const decimalPattern = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/iu;

/** A number in quotes; `end` is the place of the closing one. */
function scanText(text: string, from: number, scan: Scan): boolean {
  if (scanNumber(text, from, scan) && text.charCodeAt(scan.end) === quote) return true;
  const end = text.indexOf('"', from);
  if (end === -1 || end - from > textLengthMax) return false;
  const written = text.slice(from, end);
  const value = decimalPattern.test(written) ? Number(written) : words[written];
  if (value === undefined) return false;
  scan.value = value;
  scan.end = end;
  return true;
}
