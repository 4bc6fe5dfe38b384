import { expect, test } from "vitest";
import * as fc from "fast-check";
import {
  formatAlike,
  formatDuration,
  formatWithLimit,
  parseDuration,
} from "../../../../runtime/metrics/request/time.ts";

test.each([
  ["10s", 10],
  ["1m", 60],
  ["5m", 300],
  ["90m", 5_400],
  ["1h", 3_600],
  ["7d", 604_800],
  ["1w", 604_800],
  ["1h30m", 5_400],
  ["1w2d3h4m5s", 788_645],
  ["1d1s", 86_401],
] as const)("%s is %d seconds", (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
});

test.each([
  "",
  "10",
  "s",
  "0s",
  "-1m",
  "1.5m",
  "1m1m",
  "30s1m",
  "1h0m",
  "1h 30m",
  "1y",
  "1M",
  " 1m",
  "1m ",
  "01m",
  "1e3s",
  "99999d",
  "523w",
  "１m",
])("%j is no duration", (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test("a duration is formatted in its largest whole unit and parses back to itself", () => {
  expect([60, 90, 3_600, 5_400, 86_400, 90_000].map(formatDuration)).toEqual(["1m", "90s", "1h", "90m", "1d", "25h"]);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000_000 }),
      (seconds) => parseDuration(formatDuration(seconds)) === seconds,
    ),
  );
});

test("durations of one sentence have one unit, the largest in which all are whole", () => {
  expect(formatAlike(30, 60)).toEqual(["30s", "60s"]);
  expect(formatAlike(3_600, 7_200)).toEqual(["1h", "2h"]);
  expect(formatAlike(5_400, 86_400)).toEqual(["90m", "1440m"]);
});

test("a duration above a limit is shown in the unit of the limit, never as the limit", () => {
  expect(formatWithLimit(604_801, 604_800)).toEqual(["7.01d", "7d"]);
  expect(formatWithLimit(5_400, 3_600)).toEqual(["1.5h", "1h"]);
  expect(formatWithLimit(7_200, 7_199)).toEqual(["7200s", "7199s"]);
});
