import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createPointWriter } from "../../../../runtime/metrics/response/point-writer.ts";
import { writeTimes } from "../../../../runtime/metrics/response/query-json.ts";
import { formatTime, formatTimes } from "../../../../runtime/metrics/request/time.ts";

const timesMs = [0, 60_000, 1_767_225_599_999, 1_767_225_600_000, 253_402_300_799_999];
const times = timesMs.map(formatTime);
const written = (values: readonly number[], room = 8): string => {
  const writer = createPointWriter(room);
  writer.text('é{"points":[');
  writer.points(Float64Array.from(values), () => writeTimes(timesMs), undefined);
  writer.text("]}");
  return Buffer.from(writer.bytes()).toString();
};
const stringified = (values: readonly number[]): string => {
  const points = times.flatMap((time, index) => (Number.isNaN(values[index]) ? [] : [[time, values[index]]]));
  return `é${JSON.stringify({ points })}`;
};

describe("points in bytes", () => {
  test.each([
    ["whole numbers of any length", [0, 7, 10, 999_999_999, 1_000_000_000]],
    ["what is below zero, and zero from below", [-1, -0, -12.5, -999, -0.001]],
    ["few decimals", [0.5, 1.25, 12.345, 100.001, 99.99]],
    ["many decimals", [1 / 3, 12.3456, 0.1 + 0.2, 1e-7, 123_456_789.123]],
    ["powers", [1e21, 1e-9, 5e-324, 1.797_693_134_862_315_7e308, -1e300]],
    ["gaps, which are left out", [Number.NaN, 1, Number.NaN, 2, Number.NaN]],
    ["nothing but gaps", [Number.NaN, Number.NaN, Number.NaN, Number.NaN, Number.NaN]],
    ["what is no number in JSON", [Infinity, -Infinity, 1, 2, 3]],
  ])("are what JSON.stringify writes: %s", (_name, values) => {
    expect(written(values)).toBe(stringified(values));
  });

  test("equal the bytes of JSON.stringify for any points", () => {
    const decimals = fc
      .tuple(fc.integer({ min: -2_000_000_000, max: 2_000_000_000 }), fc.integer({ min: 0, max: 6 }))
      .map(([whole, power]) => whole / 10 ** power);
    const value = fc.oneof(fc.double(), fc.integer(), decimals);
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 5, maxLength: 5 }),
        fc.integer({ min: 1, max: 2_000 }),
        (values, room) => {
          expect(written(values, room)).toBe(stringified(values));
        },
      ),
      { numRuns: 5_000 },
    );
  });
});

test("a body keeps hardly more bytes than it has, whatever was expected", () => {
  const many = Array.from({ length: 500 }, (_, place) => place * 60_000);
  const values = [
    Float64Array.from(many, (_time, place) => place / 7),
    Float64Array.from(many, (_time, place) => place),
  ];
  for (const expected of [1, 256, 5_000, 20_000, 1_000_000]) {
    const writer = createPointWriter(expected);
    for (const own of values) writer.points(own, () => writeTimes(many), undefined);
    const bytes = writer.bytes();
    expect(bytes.length).toBeGreaterThan(30_000);
    expect(bytes.buffer.byteLength).toBeLessThan(bytes.length * 1.08);
  }
});

test("many times are written like single ones", () => {
  const time = fc.integer({ min: 0, max: 253_402_300_799_999 });
  fc.assert(
    fc.property(fc.array(fc.oneof(time, fc.integer({ min: 0, max: 200_000_000 }))), (all) => {
      expect(formatTimes(all)).toEqual(all.map(formatTime));
      const { bytes, length } = writeTimes(all);
      expect(bytes.toString()).toBe(all.map((ms) => `,["${formatTime(ms)}",`).join(""));
      expect(length * all.length).toBe(bytes.length);
    }),
  );
});
