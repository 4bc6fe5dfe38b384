import { describe, expect, test } from "vitest";
import { endAt, parseRequestedTime, timeAt } from "../../../../runtime/metrics/request/time.ts";

const nowMs = Date.parse("2026-01-31T12:00:00.500Z");
const at = (text: string): string | undefined => {
  const time = parseRequestedTime(text);
  return time && new Date(timeAt(time, nowMs)).toISOString();
};

describe("a time of a request", () => {
  test.each([
    ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000Z"],
    ["2026-01-31t12:00:00.25z", "2026-01-31T12:00:00.250Z"],
    ["2026-01-31T12:00:00+02:00", "2026-01-31T10:00:00.000Z"],
    ["2026-01-31T12:00:00 02:00", "2026-01-31T10:00:00.000Z"],
    ["2026-01-31T12:00:00-05:30", "2026-01-31T17:30:00.000Z"],
    ["2026-01-31T12:00:00.5+0000", "2026-01-31T12:00:00.500Z"],
    ["1769860800", "2026-01-31T12:00:00.000Z"],
    ["1769860800.25", "2026-01-31T12:00:00.250Z"],
    ["0", "1970-01-01T00:00:00.000Z"],
    ["now", "2026-01-31T12:00:00.500Z"],
    ["now-3h", "2026-01-31T09:00:00.500Z"],
    ["now-90s", "2026-01-31T11:58:30.500Z"],
    ["now-7d", "2026-01-24T12:00:00.500Z"],
    ["now+1h", "2026-01-31T13:00:00.500Z"],
    ["now 1h", "2026-01-31T13:00:00.500Z"],
    ["now-1h30m", "2026-01-31T10:30:00.500Z"],
    ["now-1w", "2026-01-24T12:00:00.500Z"],
    ["now/s", "2026-01-31T12:00:00.000Z"],
    ["now-1s/m", "2026-01-31T11:59:00.000Z"],
    ["now-1h30m/h", "2026-01-31T10:00:00.000Z"],
    ["now/d", "2026-01-31T00:00:00.000Z"],
    ["now-1d/d", "2026-01-30T00:00:00.000Z"],
    ["now-9999w", undefined],
  ])("%s is %s", (text, time) => {
    expect(at(text)).toBe(time);
  });

  test.each([
    "",
    "yesterday",
    "2026-01-31",
    "2026-01-31T12:00:00",
    "2026-02-30T12:00:00+02:00",
    "2026-01-31T12:00:00+24:00",
    "2026-01-31T12:00:00+02:60",
    "2026-01-31T12:00:00+2",
    "1970-01-01T00:00:00+01:00",
    "1769860800000",
    "-1",
    "1e9",
    "0x10",
    "now-",
    "now-3",
    "now-3y",
    "now - 3h",
    "now/",
    "now/w",
    "now/d-1h",
    "now-1h/h/d",
    "2026-01-31T12:00:00Z/d",
    "-3h",
  ])("%j is none", (text) => {
    expect(parseRequestedTime(text)).toBeUndefined();
  });
});

test("the end of a window is that of the unit that it is rounded to", () => {
  const ends = (text: string): string | undefined => {
    const time = parseRequestedTime(text);
    return time && new Date(endAt(time, nowMs)).toISOString();
  };
  expect(["now", "now-1h", "now-1d/d", "now/m", "2026-01-31T12:00:00Z"].map(ends)).toEqual([
    "2026-01-31T12:00:00.500Z",
    "2026-01-31T11:00:00.500Z",
    "2026-01-31T00:00:00.000Z",
    "2026-01-31T12:01:00.000Z",
    "2026-01-31T12:00:00.000Z",
  ]);
});
