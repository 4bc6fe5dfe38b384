/** Bytes of one answer as they are written; grows when it has to. */
export interface PointWriter {
  text(text: string): void;
  /** The points that are there, as JSON: `["2026-01-01T00:00:00.000Z",1.5],…`. A gap is left out. */
  points(times: WrittenTimes, values: Float64Array): void;
  /** What was written, without a copy. */
  bytes(): Uint8Array;
}

/** The beginnings of points in bytes, all of one length. */
interface WrittenTimes {
  readonly bytes: Buffer;
  /** Bytes of each. */
  readonly length: number;
}

const growth = 1.25;
/** Longest number of JSON: sign, 17 digits, point, exponent. */
const numberBytesMax = 32;
const [comma, minus, point, zero, close] = [0x2c, 0x2d, 0x2e, 0x30, 0x5d];

/** `,["2026-01-01T00:00:00.000Z",` of each time, which is written once for all series. */
export function writeTimes(times: readonly string[]): WrittenTimes {
  const written = times.map((time) => `,["${time}",`);
  return { bytes: Buffer.from(written.join(""), "latin1"), length: written[0]?.length ?? 0 };
}

/** Nothing written yet. @param bytesExpected of all of it, roughly */
export function createPointWriter(bytesExpected: number): PointWriter {
  let buffer = Buffer.allocUnsafe(bytesExpected);
  let at = 0;
  const make = (room: number): void => {
    if (at + room <= buffer.length) return;
    // No more than a little: the bytes are kept with what is left over.
    const larger = Buffer.allocUnsafe(Math.max(at + room, Math.ceil(buffer.length * growth)));
    buffer.copy(larger, 0, 0, at);
    buffer = larger;
  };
  return {
    text(text) {
      make(Buffer.byteLength(text));
      at += buffer.write(text, at);
    },
    points(times, values) {
      make(values.length * (times.length + numberBytesMax + 1));
      at = writePoints(buffer, at, times, values);
    },
    bytes: () => buffer.subarray(0, at),
  };
}

function writePoints(buffer: Buffer, begin: number, { bytes, length }: WrittenTimes, values: Float64Array): number {
  let at = begin;
  // The first point has no comma before it.
  let skipped = 1;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    const end = (index + 1) * length;
    // Byte by byte: so few are copied sooner than a call is made.
    for (let from = index * length + skipped; from < end; from += 1) buffer[at++] = bytes[from] ?? comma;
    skipped = 0;
    at = writeNumber(buffer, at, value);
    buffer[at++] = close;
  }
  return at;
}

/** Decimals that are tried before the engine is asked: halves, quarters, hundredths, thousandths. */
const decimalsMax = 3;
const tens = Array.from({ length: decimalsMax + 1 }, (_, power) => 10 ** power);
/** Of a whole number that fits into 31 bits with all its digits. */
const wholeMax = 1e9;

/** A number exactly as `JSON.stringify` writes it. */
function writeNumber(buffer: Buffer, begin: number, value: number): number {
  const size = Math.abs(value);
  if (size < wholeMax && (size >= 1 || value === 0)) {
    for (let decimals = 0; decimals <= decimalsMax; decimals += 1) {
      const scale = tens[decimals] ?? 1;
      const whole = Math.round(size * scale);
      // So few digits are the shortest spelling of the one number that they are.
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
  /** Digits behind the point; the last one is not zero. */
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
