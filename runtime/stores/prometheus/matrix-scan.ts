import type { Column, PointGrid } from "./matrix.ts";

/** An answer without its points: `values` of each series is the place of its column. */
interface ScannedMatrix {
  readonly skeleton: string;
  readonly columns: readonly Column[];
}

/**
 * What stands before the points of a series. Inside of a text, JSON has a backslash before each quote, so it is none.
 */
const opening = Buffer.from(',"values":[[');

/**
 * Takes the points out of a range query's JSON as it is received, without an object or a text for each of them: those
 * are nearly all of an answer, and most of what reading it would cost. Only the spelling that stores use is understood.
 *
 * @returns undefined for any other spelling, and for points outside of the grid: then the whole has to be parsed
 */
export function scanMatrix(bytes: Buffer, grid: PointGrid): ScannedMatrix | undefined {
  const columns: Column[] = [];
  const scan: Scan = { end: 0, value: 0, text: undefined };
  let skeleton = "";
  let from = 0;
  for (let at = bytes.indexOf(opening); at !== -1; at = bytes.indexOf(opening, from)) {
    const column = { values: new Float64Array(grid.count), present: new Uint8Array(grid.count) };
    scan.end = at + opening.length - 1;
    if (!scanColumn(bytes, grid, column, scan)) return undefined;
    skeleton += `${bytes.toString("utf8", from, at)},"values":${columns.length}`;
    columns.push(column);
    from = scan.end;
  }
  return { skeleton: skeleton + bytes.toString("utf8", from), columns };
}

const [quote, comma, minus, point, zero, open, close] = [0x22, 0x2c, 0x2d, 0x2e, 0x30, 0x5b, 0x5d];

/** Where a number ends, and what it is. One for all of an answer: nothing is allocated for a point. */
interface Scan {
  end: number;
  value: number;
  /** The answer with one character for each byte, once that is needed. */
  text: string | undefined;
}

/** The list of points that begins at `end`, which is after it then; false when it is not understood. */
function scanColumn(bytes: Buffer, grid: PointGrid, column: Column, scan: Scan): boolean {
  while (bytes[scan.end] === open && scanPoint(bytes, grid, column, scan)) {
    const next = bytes[scan.end];
    scan.end += 1;
    if (next === close) return true;
    if (next !== comma) return false;
  }
  return false;
}

/** One point from its bracket on, into its place. */
function scanPoint(bytes: Buffer, grid: PointGrid, { values, present }: Column, scan: Scan): boolean {
  if (!scanNumber(bytes, scan.end + 1, scan) || bytes[scan.end] !== comma || bytes[scan.end + 1] !== quote)
    return false;
  const index = Math.round((scan.value * 1_000 - grid.startMs) / grid.stepMs);
  if (!(index >= 0 && index < grid.count) || !scanText(bytes, scan.end + 2, scan)) return false;
  values[index] = scan.value;
  present[index] = 1;
  scan.end += 2;
  return bytes[scan.end - 1] === close;
}

/** Digits whose number is exact, and powers of ten by which one is divided with a single rounding. */
const digitsMax = 15;
const tens = Array.from({ length: digitsMax + 1 }, (_, power) => 10 ** power);

/** A decimal number of so few digits that it is read exactly. */
function scanNumber(bytes: Buffer, from: number, scan: Scan): boolean {
  const isNegative = bytes[from] === minus;
  const first = isNegative ? from + 1 : from;
  scanDigits(bytes, first, scan);
  const digits = scan.end - first;
  let value = scan.value;
  if (bytes[scan.end] === point) {
    const begin = scan.end + 1;
    scanDigits(bytes, begin, scan);
    const decimals = scan.end - begin;
    if (decimals === 0 || digits + decimals > digitsMax) return false;
    const scale = tens[decimals] ?? 1;
    value = (value * scale + scan.value) / scale;
  }
  scan.value = isNegative ? -value : value;
  return digits > 0 && digits <= digitsMax;
}

/** Digits as a whole number, which is exact unless there are too many. */
function scanDigits(bytes: Buffer, from: number, scan: Scan): void {
  let [at, whole] = [from, 0];
  for (; at - from <= digitsMax; at += 1) {
    const digit = (bytes[at] ?? 0) - zero;
    if (!(digit >= 0 && digit <= 9)) break;
    whole = whole * 10 + digit;
  }
  scan.end = at;
  scan.value = whole;
}

/** Characters of the longest number that a store writes: of a double without an exponent. */
const textLengthMax = 400;
const words: Readonly<Record<string, number>> = { NaN: Number.NaN, "+Inf": Infinity, "-Inf": -Infinity };
const [plus, lowerE, upperE] = [0x2b, 0x65, 0x45];

/** A number in quotes; `end` is the place of the closing one. */
function scanText(bytes: Buffer, from: number, scan: Scan): boolean {
  if (scanNumber(bytes, from, scan) && bytes[scan.end] === quote) return true;
  let end = from;
  while (end - from <= textLengthMax && isOfNumber(bytes[end])) end += 1;
  return bytes[end] === quote ? scanWritten(bytes, from, end, scan) : scanWord(bytes, from, scan);
}

/** A number that the engine has to read. */
function scanWritten(bytes: Buffer, from: number, end: number, scan: Scan): boolean {
  // Cutting texts out of one is quicker than making each out of bytes.
  scan.text ??= bytes.toString("latin1");
  scan.value = Number(scan.text.slice(from, end));
  scan.end = end;
  return end > from && !Number.isNaN(scan.value);
}

function scanWord(bytes: Buffer, from: number, scan: Scan): boolean {
  const end = bytes.indexOf(quote, from);
  if (end === -1 || end - from > textLengthMax) return false;
  const value = words[bytes.toString("latin1", from, end)];
  if (value === undefined) return false;
  scan.value = value;
  scan.end = end;
  return true;
}

/** Of those a number is spelled with; whether it is one, the engine says. */
function isOfNumber(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  return (
    (byte >= zero && byte <= zero + 9) ||
    byte === point ||
    byte === minus ||
    byte === plus ||
    byte === lowerE ||
    byte === upperE
  );
}
