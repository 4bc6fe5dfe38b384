import { afterEach, describe, expect, test, vi } from "vitest";
import { alignSeries, describeSeries } from "../../console/charts/chart-data.ts";
import {
  formatCount,
  formatDistance,
  formatMs,
  formatNumber,
  formatSeconds,
  formatShare,
  formatTime,
  formatWord,
  inputTime,
  parseInputTime,
} from "../../console/components/format.ts";

describe("formats", () => {
  test.each([
    [formatNumber(1_234_567.891), "1,234,567.89"],
    [formatNumber(null), "–"],
    [formatNumber(Number.NaN), "–"],
    [formatShare(0.1234), "12.3%"],
    [formatShare(undefined), "–"],
    [formatMs(0.5), "0.5 ms"],
    [formatMs(840.4), "840 ms"],
    [formatMs(1_234), "1.2 s"],
    [formatMs(61_000), "1 min 1 s"],
    [formatMs(null), "–"],
    [formatSeconds(0), "0 s"],
    [formatSeconds(42), "42 s"],
    [formatSeconds(7_500), "2 h 5 min"],
    [formatSeconds(3 * 86_400 + 59), "3 d"],
    [formatTime("2026-01-31T14:05:09.123Z"), "2026-01-31 14:05:09 UTC"],
    [formatTime("<b>"), "<b>"],
    [formatDistance(0, 200_000), "3 min ago"],
    [formatDistance(20_000, 0), "in 20 s"],
    [formatDistance(400, 0), "now"],
    [formatDistance(47 * 3_600_000 + 59 * 60_000, 0), "in 47 h"],
    [formatDistance(48 * 3_600_000, 0), "in 2 d"],
    [formatDistance(0, 25 * 3_600_000), "25 h ago"],
    [formatDistance(0, 72 * 3_600_000), "3 d ago"],
    [formatWord("half_open"), "half open"],
    [formatCount(1, "delivery", "deliveries"), "1 delivery"],
    [formatCount(0, "dead letter"), "0 dead letters"],
    [formatCount(2_000, "event"), "2,000 events"],
  ])("%s is %s", (written, expected) => {
    expect(written).toBe(expected);
  });
});

describe("times in the zone of the browser", () => {
  afterEach(() => vi.unstubAllEnvs());

  test.each([
    ["Asia/Kolkata", "2026-01-31T14:05:09.123Z", "2026-01-31 19:35:09 +05:30", "2026-01-31T19:35:09"],
    ["America/New_York", "2026-07-01T02:00:00Z", "2026-06-30 22:00:00 -04:00", "2026-06-30T22:00:00"],
    ["UTC", "2026-07-01T02:00:00Z", "2026-07-01 02:00:00 +00:00", "2026-07-01T02:00:00"],
  ])("in %s, %s is %s", (zone, at, shown, input) => {
    vi.stubEnv("TZ", zone);
    expect(formatTime(at, "local")).toBe(shown);
    expect(inputTime(at, "local")).toBe(input);
    expect(parseInputTime(input, "local")).toBe(new Date(Math.floor(Date.parse(at) / 1_000) * 1_000).toISOString());
    expect(inputTime(at, "utc")).toBe(at.slice(0, 19));
    expect(parseInputTime(at.slice(0, 16), "utc")).toBe(`${at.slice(0, 16)}:00.000Z`);
  });

  test("text that is not a time is shown as it is and never sent", () => {
    expect(formatTime("soon", "local")).toBe("soon");
    expect(inputTime("soon", "utc")).toBe("");
    expect(parseInputTime("", "utc")).toBeNull();
    expect(parseInputTime("soon", "local")).toBeNull();
  });
});

describe("alignSeries", () => {
  test("puts series with times of their own beside each other, with gaps", () => {
    const series = [
      { label: "a", points: [[1, 10] as const, [3, 30] as const] },
      { label: "b", points: [[2, null] as const, [3, 3] as const] },
    ];
    expect(alignSeries(series)).toEqual({
      timesMs: [1, 2, 3],
      values: [
        [10, null, 30],
        [null, null, 3],
      ],
    });
    expect(describeSeries(series, String)).toBe("a: from 10 to 30, last 30; b: from 3 to 3, last 3");
    expect(describeSeries([{ label: "c", points: [] }], String)).toBe("c: no values");
  });
});
