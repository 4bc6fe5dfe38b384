import { parseJsonObject } from "../../json/json-body.ts";
import { StoreError } from "../store-error.ts";
import { classifyWarnings, type Column, gravest, indexAt, type PointGrid, type WarningClass } from "./matrix.ts";

const errorTextLengthMax = 300;
/** Statuses of a proxy while the store behind it starts or moves. */
const passingStatuses: readonly number[] = [502, 503];

/** A successful response of a query API. */
export interface ApiResponse {
  readonly data: unknown;
  /** The points as columns; `data` then holds their indexes. It is empty if `data` holds the points. */
  readonly columns: readonly Column[];
  /** The class of the warnings in the response. */
  readonly warning: WarningClass;
}

/** Source: Prometheus HTTP API, "Format overview"; `isPartial` is of VictoriaMetrics. */
interface ApiBody {
  readonly status?: unknown;
  readonly data?: unknown;
  readonly errorType?: unknown;
  readonly error?: unknown;
  readonly warnings?: unknown;
  readonly infos?: unknown;
  readonly isPartial?: unknown;
}

/**
 * Parses a response.
 *
 * @param grid the points of a range query for numbers
 * @throws StoreError `refused`, `late`, `malformed`, `status`
 */
export function parseResponse(status: number, bytes: Buffer, grid?: PointGrid): ApiResponse {
  const scanned = grid === undefined ? undefined : scanMatrix(bytes, grid);
  const { skeleton, columns } = scanned ?? { skeleton: bytes.toString("utf8"), columns: [] };
  const body: ApiBody | undefined = parseJsonObject(skeleton);
  if (body?.status === "success") return { data: body.data, columns, warning: warningOf(body) };
  throw failureOf(status, skeleton, body);
}

function failureOf(status: number, text: string, body: ApiBody | undefined): StoreError {
  const isPassing = passingStatuses.includes(status);
  if (body?.status === "error") {
    const message = `HTTP ${status}: ${String(body.errorType)}: ${String(body.error).slice(0, errorTextLengthMax)}`;
    if (body.errorType === "timeout") return new StoreError("late", message);
    return status >= 500 ? new StoreError("status", message, { isPassing }) : new StoreError("refused", message);
  }
  if (status >= 200 && status < 300) return new StoreError("malformed", "the response is not JSON of a query API");
  return new StoreError("status", `HTTP ${status}: ${text.slice(0, errorTextLengthMax)}`, { isPassing });
}

function warningOf({ warnings, infos, isPartial }: ApiBody): WarningClass {
  return gravest([classifyWarnings(warnings), classifyWarnings(infos), isPartial === true ? "incomplete" : "none"]);
}

/** A response without its points: `values` of each series is the index of its column. */
interface ScannedMatrix {
  readonly skeleton: string;
  readonly columns: readonly Column[];
}

/** The bytes before the points of a series. No string contains them, because JSON escapes each quote in a string. */
const opening = Buffer.from(',"values":[[');

/**
 * Moves the points of a range query's JSON into columns. Points are most of a response and of its parsing cost, so that
 * it creates no object and no string for them. It reads only the spelling that stores use.
 *
 * @returns undefined for any other spelling and for points outside the grid; the caller then parses the whole response
 */
export function scanMatrix(bytes: Buffer, grid: PointGrid): ScannedMatrix | undefined {
  const places = placesOf(bytes);
  const columns = createColumns(places.length, grid.count);
  const scan: Scan = { end: 0, value: 0, text: undefined };
  let skeleton = "";
  let from = 0;
  for (const [index, column] of columns.entries()) {
    const at = places[index] ?? 0;
    scan.end = at + opening.length - 1;
    if (!scanColumn(bytes, grid, column, scan)) return undefined;
    skeleton += `${bytes.toString("utf8", from, at)},"values":${index}`;
    from = scan.end;
  }
  return { skeleton: skeleton + bytes.toString("utf8", from), columns };
}

/** The places of the points of all series. */
function placesOf(bytes: Buffer): readonly number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(opening); at !== -1; at = bytes.indexOf(opening, at + opening.length)) places.push(at);
  return places;
}

const [quote, comma, minus, point, zero, open, close] = [0x22, 0x2c, 0x2d, 0x2e, 0x30, 0x5b, 0x5d];

/** The value of the last number and the position after it. One object serves a whole response. */
interface Scan {
  end: number;
  value: number;
  /** The response with one character for each byte; undefined until it is needed. */
  text: string | undefined;
}

/** Reads the list of points at `end` and moves `end` behind it; false for another spelling. */
function scanColumn(bytes: Buffer, grid: PointGrid, column: Column, scan: Scan): boolean {
  while (bytes[scan.end] === open && scanPoint(bytes, grid, column, scan)) {
    const next = bytes[scan.end];
    scan.end += 1;
    if (next === close) return true;
    if (next !== comma) return false;
  }
  return false;
}

/** Reads one point, from its bracket on, into its column. */
function scanPoint(bytes: Buffer, grid: PointGrid, { values, present }: Column, scan: Scan): boolean {
  if (!scanNumber(bytes, scan.end + 1, scan) || bytes[scan.end] !== comma || bytes[scan.end + 1] !== quote)
    return false;
  const index = indexAt(scan.value, grid);
  if (index === -1 || !scanText(bytes, scan.end + 2, scan)) return false;
  values[index] = scan.value;
  present[index] = 1;
  scan.end += 2;
  return bytes[scan.end - 1] === close;
}

/** Most digits of an exact number. Division by a power of ten then rounds once. */
const digitsMax = 15;
const tens = Array.from({ length: digitsMax + 1 }, (_, power) => 10 ** power);

/** Reads a decimal number; false when it has too many digits to be exact. */
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

/** Reads digits as a whole number, which is exact up to {@link digitsMax} digits. */
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

/** Most characters of a number from a store: a double without an exponent. */
const textLengthMax = 400;
const words: Readonly<Record<string, number>> = { NaN: Number.NaN, "+Inf": Infinity, "-Inf": -Infinity };
const [plus, lowerE, upperE] = [0x2b, 0x65, 0x45];

/** Reads a number in quotes and moves `end` to the closing quote. */
function scanText(bytes: Buffer, from: number, scan: Scan): boolean {
  if (scanNumber(bytes, from, scan) && bytes[scan.end] === quote) return true;
  let end = from;
  while (end - from <= textLengthMax && isOfNumber(bytes[end])) end += 1;
  return bytes[end] === quote ? scanWritten(bytes, from, end, scan) : scanWord(bytes, from, scan);
}

/** Reads a number that only the JavaScript engine reads exactly. */
function scanWritten(bytes: Buffer, from: number, end: number, scan: Scan): boolean {
  // Slices of one string are faster than one string for each number.
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

/** True for a character of a number. The engine decides whether the characters form a number. */
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

/** Most bytes of all columns of one response. A sparse response has few bytes, and columns as long as a full one's. */
const columnBytesMax = 512 * 1024 * 1024;

/**
 * Creates the columns of one response in one buffer, because a process holds tens of thousands of them. Their numbers
 * come first, so that they are aligned. A holder of some of the columns holds the bytes of all, unless it copies them.
 * @throws StoreError `too_large`
 */
function createColumns(columnCount: number, pointCount: number): readonly Column[] {
  const valueBytes = pointCount * Float64Array.BYTES_PER_ELEMENT;
  const bytes = columnCount * (valueBytes + pointCount);
  if (bytes > columnBytesMax) {
    const size = `${columnCount} series of ${pointCount} points`;
    throw new StoreError("too_large", `the response has ${size}, more than ${columnBytesMax} bytes`);
  }
  const slab = new ArrayBuffer(bytes);
  return Array.from({ length: columnCount }, (_, index) => ({
    values: new Float64Array(slab, index * valueBytes, pointCount),
    present: new Uint8Array(slab, columnCount * valueBytes + index * pointCount, pointCount),
  }));
}
