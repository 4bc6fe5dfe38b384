/** Writes the bytes of one response into a buffer that grows. */
export interface PointWriter {
  text(text: string): void;
  /** Writes the present points as JSON: `["2026-01-01T00:00:00.000Z",1.5],…`. */
  points(times: WrittenTimes, values: Float64Array): void;
  /** The written bytes, not copied. */
  bytes(): Uint8Array;
}

/** The bytes before the value of each point. */
interface WrittenTimes {
  readonly bytes: Buffer;
  /** Bytes of one point. */
  readonly length: number;
}

const growth = 1.25;
/** Longest number of JSON: sign, 17 digits, point, exponent. */
const numberBytesMax = 32;
const [comma, minus, point, zero, close] = [0x2c, 0x2d, 0x2e, 0x30, 0x5d];

/** Writes `,["2026-01-01T00:00:00.000Z",` of each time, once for all series. */
export function writeTimes(times: readonly string[]): WrittenTimes {
  const written = times.map((time) => `,["${time}",`);
  return { bytes: Buffer.from(written.join(""), "latin1"), length: written[0]?.length ?? 0 };
}

/** Creates an empty writer. @param bytesExpected estimated size of the response */
export function createPointWriter(bytesExpected: number): PointWriter {
  let buffer = Buffer.allocUnsafe(bytesExpected);
  let at = 0;
  const make = (room: number): void => {
    if (at + room <= buffer.length) return;
    // Grows little, since the response keeps the whole buffer.
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
    // So few bytes are copied faster by a loop than by a call.
    for (let from = index * length + skipped; from < end; from += 1) buffer[at++] = bytes[from] ?? comma;
    skipped = 0;
    at = writeNumber(buffer, at, value);
    buffer[at++] = close;
  }
  return at;
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
