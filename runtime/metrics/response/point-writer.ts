import type { ErrorBounds } from "../merge/quantile.ts";
import type { MovedPoints, Span, WrittenPoints } from "../reads/moved-window.ts";

/** Writes the bytes of one response into a buffer that grows. */
export interface PointWriter {
  text(text: string): void;
  /** Writes the present points as JSON: `["2026-01-01T00:00:00.000Z",1.5],…`. */
  points(values: Float64Array, times: TimesOf, moved: MovedPoints | undefined): UnfinishedPoints;
  /** Writes the bounds of the present points as JSON: `[1,2.5],[3,null],…`. */
  bounds(values: Float64Array, bounds: ErrorBounds, moved: MovedPoints | undefined): UnfinishedPoints;
  /** The written bytes, in a buffer that is hardly larger: whoever keeps them keeps all of it. */
  bytes(): Uint8Array;
}

/** Written points whose body is not finished. */
export type UnfinishedPoints = Omit<WrittenPoints, "body">;

/** The bytes before the value of each point of a span. */
export interface WrittenTimes {
  readonly bytes: Buffer;
  /** Bytes of one point. */
  readonly length: number;
}

/** Writes the times of a span. */
export type TimesOf = (span: Span) => WrittenTimes;

const growth = 1.25;
/** The share of a buffer that may be left over. */
const unwrittenMax = 1 / 16;
/** Points between two checks of the room, which take the longest numbers: few, so that hardly any room is left over. */
const pointsAtOnce = 16;
/** Longest number of JSON: sign, 17 digits, point, exponent. */
const numberBytesMax = 32;
/** Longest bounds with their brackets and commas. */
const boundsBytesMax = 2 * numberBytesMax + 4;
const [comma, minus, point, zero, open, close] = [0x2c, 0x2d, 0x2e, 0x30, 0x5b, 0x5d];

/** Creates an empty writer. @param bytesExpected estimated size of the response */
export function createPointWriter(bytesExpected: number): PointWriter {
  // Not of the pool: a small body that is kept would keep all 64 KB of it.
  let buffer = Buffer.allocUnsafeSlow(bytesExpected);
  let at = 0;
  const make = (room: number): Buffer => {
    if (at + room > buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(at + room, Math.ceil(buffer.length * growth)));
      buffer.copy(larger, 0, 0, at);
      buffer = larger;
    }
    return buffer;
  };
  /** Writes a list: copied points around a span, and new ones in it. */
  const list = (
    count: number,
    moved: MovedPoints | undefined,
    write: (span: Span, target: ListTarget) => number,
  ): UnfinishedPoints => {
    const begin = at;
    const ends = new Uint32Array(count);
    const span = moved?.span ?? { begin: 0, end: count };
    const copy = (own: Span): void => {
      if (moved === undefined || own.begin === own.end) return;
      make(lengthOf(own, moved));
      at = copyPoints(own, moved, { buffer, begin, at, ends });
    };
    copy({ begin: 0, end: span.begin });
    at = write(span, { buffer, begin, at, ends });
    copy({ begin: span.end, end: count });
    return { begin, ends };
  };
  return {
    text(text) {
      make(Buffer.byteLength(text));
      at += buffer.write(text, at);
    },
    points(values, times, moved) {
      return list(values.length, moved, (span, target) => {
        const written = times(span);
        const pointBytesMax = written.length + numberBytesMax + 1;
        for (let begin = span.begin; begin < span.end; begin += pointsAtOnce) {
          const own = { begin, end: Math.min(span.end, begin + pointsAtOnce) };
          const room = make(pointsAtOnce * pointBytesMax);
          at = writePoints(values, own, { ...written, first: span.begin }, { ...target, at, buffer: room });
        }
        return at;
      });
    },
    bounds(values, bounds, moved) {
      return list(values.length, moved, (span, target) => {
        const room = (span.end - span.begin) * boundsBytesMax;
        return writeBounds(values, bounds, span, { ...target, buffer: make(room) });
      });
    },
    bytes() {
      if (buffer.length - at <= buffer.length * unwrittenMax) return buffer.subarray(0, at);
      const exact = Buffer.allocUnsafeSlow(at);
      buffer.copy(exact, 0, 0, at);
      return exact;
    },
  };
}

/** Where a list is written. */
interface ListTarget {
  readonly buffer: Buffer;
  /** Place of the first byte of the list. */
  readonly begin: number;
  /** Place of the next byte. */
  readonly at: number;
  readonly ends: Uint32Array;
}

function writePoints(
  values: Float64Array,
  span: Span,
  { bytes, length, first: firstTime }: WrittenTimes & { readonly first: number },
  { buffer, begin, at: first, ends }: ListTarget,
): number {
  let at = first;
  for (let index = span.begin; index < span.end; index += 1) {
    const value = values[index] ?? Number.NaN;
    if (!Number.isNaN(value)) {
      const from = (index - firstTime) * length;
      // The first point of a list has no comma before it. So few bytes are copied faster by a loop than by a call.
      for (let place = at === begin ? 1 : 0; place < length; place += 1) buffer[at++] = bytes[from + place] ?? comma;
      at = writeNumber(buffer, at, value);
      buffer[at++] = close;
    }
    ends[index] = at;
  }
  return at;
}

function writeBounds(
  values: Float64Array,
  { low, high }: ErrorBounds,
  span: Span,
  { buffer, begin, at: first, ends }: ListTarget,
): number {
  let at = first;
  for (let index = span.begin; index < span.end; index += 1) {
    if (!Number.isNaN(values[index])) {
      if (at > begin) buffer[at++] = comma;
      buffer[at++] = open;
      at = writeNumber(buffer, at, low[index] ?? Number.NaN);
      buffer[at++] = comma;
      at = writeNumber(buffer, at, high[index] ?? Number.NaN);
      buffer[at++] = close;
    }
    ends[index] = at;
  }
  return at;
}

/** Most bytes of the copy of a span: its own, and a comma. */
function lengthOf({ begin, end }: Span, { written, shift }: MovedPoints): number {
  return (written.ends[end - 1 + shift] ?? 0) - beginOf(begin + shift, written) + 1;
}

/** Copies the points of a span from an earlier body. */
function copyPoints(
  { begin: first, end }: Span,
  { written, shift }: MovedPoints,
  { buffer, begin, at, ends }: ListTarget,
): number {
  const { body, ends: earlier } = written;
  const until = earlier[end - 1 + shift] ?? 0;
  const earlierBegin = beginOf(first + shift, written);
  let [from, to] = [earlierBegin, at];
  if (from < until) {
    // A list begins without a comma: one is taken away or added where the lists begin at different points.
    if (body[from] === comma) from += 1;
    if (at > begin) buffer[to++] = comma;
    buffer.set(body.subarray(from, until), to);
  }
  const distance = to - from;
  for (let index = first; index < end; index += 1) {
    const own = earlier[index + shift] ?? 0;
    // Absent points before the first present one end where they begin.
    ends[index] = own === earlierBegin ? at : own + distance;
  }
  return from < until ? until + distance : at;
}

/** Place of the first byte of a point. */
function beginOf(index: number, { begin, ends }: Pick<WrittenPoints, "begin" | "ends">): number {
  return index === 0 ? begin : (ends[index - 1] ?? begin);
}

/** Numbers with at most so many decimals are written here; the engine prints all others. */
const decimalsMax = 3;
const tens = Array.from({ length: decimalsMax + 1 }, (_, power) => 10 ** power);
/** Whole numbers below fit into 31 bits. */
const wholeMax = 1e9;

/** Writes a number exactly as `JSON.stringify` does. */
function writeNumber(buffer: Buffer, begin: number, value: number): number {
  const size = Math.abs(value);
  if (size < wholeMax && (size >= 1 || value === 0)) {
    for (let decimals = 0; decimals <= decimalsMax; decimals += 1) {
      const scale = tens[decimals] ?? 1;
      const whole = Math.round(size * scale);
      // With so few digits, this is the shortest text of the number.
      if (whole < wholeMax && whole / scale === size)
        return writeDecimal(buffer, begin, { whole, decimals, isNegative: value < 0 });
    }
  }
  const text = Number.isFinite(value) ? String(value) : "null";
  for (let index = 0; index < text.length; index += 1) buffer[begin + index] = text.charCodeAt(index);
  return begin + text.length;
}

interface Decimal {
  readonly whole: number;
  /** Digits after the point; the last one is not zero. */
  readonly decimals: number;
  readonly isNegative: boolean;
}

function writeDecimal(buffer: Buffer, begin: number, { whole, decimals, isNegative }: Decimal): number {
  let digits = 1;
  for (let rest = whole; rest >= 10; rest = Math.trunc(rest / 10)) digits += 1;
  const first = isNegative ? begin + 1 : begin;
  if (isNegative) buffer[begin] = minus;
  const end = first + digits + (decimals > 0 ? 1 : 0);
  const pointAt = decimals > 0 ? end - decimals - 1 : -1;
  let rest = whole;
  for (let at = end - 1; at >= first; at -= 1) {
    if (at === pointAt) {
      buffer[at] = point;
      continue;
    }
    const tenth = Math.trunc(rest / 10);
    buffer[at] = zero + rest - tenth * 10;
    rest = tenth;
  }
  return end;
}
