import * as fc from "fast-check";
import { expect, test } from "vitest";
import { compareNumbers, exactNumber } from "../../../crds/event-schema/exact-number.ts";

const compare = (one: string, other: string): number => Math.sign(compareNumbers(exactNumber(one), exactNumber(other)));

test.each<[one: string, other: string, order: number]>([
  ["1", "1.0", 0],
  ["1", "1e0", 0],
  ["100", "1E+2", 0],
  ["0.001", "1e-3", 0],
  ["-0", "0", 0],
  ["0.0e5", "0", 0],
  ["9007199254740993", "9007199254740992", 1],
  ["9007199254740993", "9007199254740993.0000000000000000000001", -1],
  ["-9007199254740993", "-9007199254740992", -1],
  ["1180000000000000001", "1180000000000000000", 1],
  ["0.1", "0.10000000000000000000001", -1],
  ["-1", "1", -1],
  ["0", "-1e-400", 1],
  ["1e-400", "0", 1],
  ["2", "10", -1],
  ["-2", "-10", 1],
  ["12", "123", -1],
])("%s to %s: %d", (one, other, order) => {
  expect(compare(one, other)).toBe(order);
  expect(compare(other, one)).toBe(order === 0 ? 0 : -order);
});

test("numbers of any size are ordered as their integers, scaled alike, are", () => {
  const places = 12;
  const scaled = (number: bigint, zeros: number): string => {
    const text = String(number < 0n ? -number : number).padStart(places + 1, "0");
    const [whole, part] = [text.slice(0, -places), text.slice(-places)];
    return `${number < 0n ? "-" : ""}${whole}.${part}${"0".repeat(zeros)}`;
  };
  const big = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
  fc.assert(
    fc.property(big, fc.oneof(big, fc.constant(0n)), fc.nat(3), (one, difference, zeros) => {
      const other = one + difference / 10n ** 25n;
      const order = one === other ? 0 : one < other ? -1 : 1;
      expect(compare(scaled(one, zeros), scaled(other, 0))).toBe(order);
      expect(compare(`${one}e-${places}`, scaled(other, zeros))).toBe(order);
    }),
  );
});

test.each(["", "a", "1a", "0x1", "NaN", "Infinity", " 1"])("rejects %j", (text) => {
  expect(() => exactNumber(text)).toThrow(SyntaxError);
});
