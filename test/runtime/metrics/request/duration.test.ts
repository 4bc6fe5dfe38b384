import { expect, test } from "vitest";
import * as fc from "fast-check";
import { formatDuration, parseDuration } from "../../../../runtime/metrics/request/duration.ts";

test.each([
  ["10s", 10],
  ["1m", 60],
  ["5m", 300],
  ["90m", 5_400],
  ["1h", 3_600],
  ["7d", 604_800],
] as const)("%s is %d seconds", (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
});

test.each(["", "10", "s", "0s", "-1m", "1.5m", "1m30s", "1M", " 1m", "1m ", "01m", "1w", "1e3s", "99999d", "１m"])(
  "%j is no duration",
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

test("a duration is formatted in its largest whole unit and parses back to itself", () => {
  expect([60, 90, 3_600, 5_400, 86_400, 90_000].map(formatDuration)).toEqual(["1m", "90s", "1h", "90m", "1d", "25h"]);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000_000 }),
      (seconds) => parseDuration(formatDuration(seconds)) === seconds,
    ),
  );
});
