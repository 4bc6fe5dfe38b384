import * as fc from "fast-check";
import { expect, test } from "vitest";
import { formatTime, parseTime } from "../../../../runtime/metrics/request/time.ts";

test.each([
  ["1970-01-01T00:00:00Z", 0],
  ["2026-01-01T00:00:00Z", 1_767_225_600_000],
  ["2026-01-01T00:00:00.5Z", 1_767_225_600_500],
  ["2026-01-01T00:00:00.123456789Z", 1_767_225_600_123],
  ["2028-02-29T23:59:59Z", 1_835_481_599_000],
] as const)("%s is %d ms", (text, ms) => {
  expect(parseTime(text)).toBe(ms);
});

test.each([
  "",
  "now",
  "2026-01-01",
  "1767225600",
  "2026-01-01T00:00:00",
  "2026-01-01T00:00:00+00:00",
  "2026-01-01 00:00:00Z",
  "2026-02-30T00:00:00Z",
  "2027-02-29T00:00:00Z",
  "2026-13-01T00:00:00Z",
  "2026-01-01T24:00:00Z",
  "2026-01-01T00:60:00Z",
  "1969-12-31T23:59:59Z",
  "+002026-01-01T00:00:00Z",
])("%j is no time in ISO 8601 UTC", (text) => {
  expect(parseTime(text)).toBeUndefined();
});

test("a text is a time if its formatted time begins like it", () => {
  const two = fc.integer({ min: 0, max: 62 }).map((number) => String(number).padStart(2, "0"));
  const year = fc.integer({ min: 1_960, max: 2_104 });
  fc.assert(
    fc.property(year, fc.tuple(two, two, two, two, two), (y, [month, day, hour, minute, second]) => {
      const seconds = `${y}-${month}-${day}T${hour}:${minute}:${second}`;
      const ms = Date.parse(`${seconds}.000Z`);
      const isTime = ms >= 0 && formatTime(ms).startsWith(seconds);
      expect(parseTime(`${seconds}Z`)).toBe(isTime ? ms : undefined);
    }),
    { numRuns: 20_000 },
  );
});

test("a time is formatted with milliseconds", () => {
  expect(formatTime(1_767_225_600_000)).toBe("2026-01-01T00:00:00.000Z");
});
