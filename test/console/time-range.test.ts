import type { UsageItem } from "../../api/usage.ts";
import { describe, expect, test, vi } from "vitest";
import { parseChoices } from "../../console/components/preferences.tsx";
import { linkTime } from "../../console/router/link-time.ts";
import { timeRangeOf, typedTime } from "../../console/components/time-range.tsx";
import { withoutClient } from "../../console/explorer/metric-usage.ts";
import { usageRange } from "../../console/pages/usage-page.tsx";

const nowMs = Date.parse("2026-01-31T12:00:00.000Z");
const rangeOf = (query: string) => timeRangeOf(new URLSearchParams(query), nowMs);

describe("timeRangeOf", () => {
  test.each([
    ["", "24h", "2026-01-30T12:00:00.000Z", "2026-01-31T12:00:00.000Z"],
    ["range=15m", "15m", "2026-01-31T11:45:00.000Z", "2026-01-31T12:00:00.000Z"],
    ["range=7d", "7d", "2026-01-24T12:00:00.000Z", "2026-01-31T12:00:00.000Z"],
    ["range=6h", undefined, "2026-01-31T06:00:00.000Z", "2026-01-31T12:00:00.000Z"],
    ["range=1y", "24h", "2026-01-30T12:00:00.000Z", "2026-01-31T12:00:00.000Z"],
    ["from=2026-01-31T10:00:00Z", undefined, "2026-01-31T10:00:00.000Z", "2026-01-31T12:00:00.000Z"],
    ["to=2026-01-31T10:00:00Z", undefined, "2026-01-30T10:00:00.000Z", "2026-01-31T10:00:00.000Z"],
    [
      "range=1h&from=2026-01-01T00:00:00Z&to=2026-01-02",
      undefined,
      "2026-01-01T00:00:00.000Z",
      "2026-01-02T00:00:00.000Z",
    ],
    ["from=2026-01-31T12:00:00+02:00", undefined, "2026-01-31T10:00:00.000Z", "2026-01-31T12:00:00.000Z"],
    ["from=now-1h30m&to=now", undefined, "2026-01-31T10:30:00.000Z", "2026-01-31T12:00:00.000Z"],
    ["from=now-1d/d&to=now-1d/d", undefined, "2026-01-30T00:00:00.000Z", "2026-01-31T00:00:00.000Z"],
    ["from=never", undefined, "never", "2026-01-31T12:00:00.000Z"],
  ])("%s", (query, preset, from, to) => {
    expect(rangeOf(query)).toEqual({ preset, from, to });
  });

  test("a page can have another default", () => {
    expect(timeRangeOf(new URLSearchParams(), nowMs, "1h")).toMatchObject({ from: "2026-01-31T11:00:00.000Z" });
  });
});

describe("typedTime", () => {
  const typed = (text: string, zone: "utc" | "local" = "utc", isEnd = false) => typedTime(text, zone, nowMs, isEnd);

  test.each([
    ["2026-01-31 10:00:05", "2026-01-31T10:00:05.000Z"],
    ["2026-01-31T10:00", "2026-01-31T10:00:00.000Z"],
    ["2026-01-31", "2026-01-31T00:00:00.000Z"],
    [" 2026-01-31 10:00:00 +01:00 ", "2026-01-31T09:00:00.000Z"],
    ["2026-01-31 10:00:00 UTC", "2026-01-31T10:00:00.000Z"],
    ["1769853600", "2026-01-31T10:00:00.000Z"],
    ["now-2h", "now-2h"],
    ["10:00", "2026-01-31T10:00:00.000Z"],
    ["10:00:05", "2026-01-31T10:00:05.000Z"],
    ["", null],
  ])("%j is %j of the address", (text, expected) => {
    expect(typed(text)?.text).toBe(expected);
  });

  test("a time without a zone is of the zone that pages show", () => {
    vi.stubEnv("TZ", "Asia/Kolkata");
    expect(typed("2026-01-31 10:00", "local")?.text).toBe("2026-01-31T04:30:00.000Z");
    expect(typed("10:00", "local")?.text).toBe("2026-01-31T04:30:00.000Z");
    expect(typed("2026-01-31", "local")?.text).toBe("2026-01-30T18:30:00.000Z");
    expect(typed("2026-01-31 10:00:00 UTC", "local")?.text).toBe("2026-01-31T10:00:00.000Z");
    vi.unstubAllEnvs();
  });

  test.each(["yesterday", "2026-13-31 10:00", "25:00", "now-"])("does not read %j", (text) => {
    expect(typed(text)).toBeUndefined();
  });

  test("an empty start is before everything, and an empty end is now", () => {
    expect(typed("")?.ms).toBe(Number.NEGATIVE_INFINITY);
    expect(typed("", "utc", true)?.ms).toBe(nowMs);
  });
});

describe("usageRange", () => {
  const usageAt = Date.parse("2026-01-31T12:20:00.000Z");

  // The server rounds both ends outwards, to 13:00.
  test.each([
    ["", "2026-01-30T13:00:00.000Z"],
    ["range=7d", "2026-01-24T13:00:00.000Z"],
    ["range=1h", "2026-01-31T12:00:00.000Z"],
    ["range=15m", "2026-01-31T12:00:00.000Z"],
    ["from=2026-01-31T10:10:00Z", "2026-01-31T10:10:00.000Z"],
  ])("%s", (query, from) => {
    expect(usageRange(new URLSearchParams(query), usageAt)).toEqual({ from, to: "2026-01-31T12:20:00.000Z" });
  });

  test("at a full hour, that hour has not begun", () => {
    expect(usageRange(new URLSearchParams(), nowMs)).toEqual({
      from: "2026-01-30T12:00:00.000Z",
      to: "2026-01-31T12:00:00.000Z",
    });
  });
});

describe("readLinkTime", () => {
  test.each([
    ["2026-01-31T10:00:00.5Z", "2026-01-31T10:00:00.5Z"],
    ["2026-01-31T10:00:00 02:00", "2026-01-31T08:00:00.000Z"],
    ["2026-01-31T10:00:00+0200", "2026-01-31T08:00:00.000Z"],
    ["2026-01-31T10:00:00-05:30", "2026-01-31T15:30:00.000Z"],
    ["2026-01-31 10:00:00 UTC", "2026-01-31T10:00:00.000Z"],
    ["2026-01-31 10:00:00 +01:00", "2026-01-31T09:00:00.000Z"],
    ["2026-01-31 10:00", "2026-01-31T10:00:00.000Z"],
    ["2026-01-31", "2026-01-31T00:00:00.000Z"],
    ["1769853600", "2026-01-31T10:00:00.000Z"],
    ["1769853600000", "2026-01-31T10:00:00.000Z"],
    ["now", "2026-01-31T12:00:00.000Z"],
    ["now-15m", "2026-01-31T11:45:00.000Z"],
    ["now/h", "2026-01-31T12:00:00.000Z"],
  ])("%s", (text, at) => {
    expect(linkTime(text, nowMs)).toBe(at);
  });

  test.each(["", "yesterday", "2026-13-31", "2026-01-31T10:00:00+2", "now-1y", "now-"])("does not read %j", (text) => {
    expect(linkTime(text, nowMs)).toBe(text);
  });
});

describe("parseChoices", () => {
  test.each([
    [null, "system", "utc"],
    ["not JSON", "system", "utc"],
    ["7", "system", "utc"],
    ['{"theme":"dark","zone":"local"}', "dark", "local"],
    ['{"theme":"<b>","zone":["local"]}', "system", "utc"],
  ])("%s", (text, theme, zone) => {
    expect(parseChoices(text)).toEqual({ theme, zone });
  });
});

test("usage without a client has the sums of the other rows", () => {
  const item = (client: string, points: number, cached: number): UsageItem =>
    ({ client, requests: 1, points, cached_points: cached, bytes: 2, cost_estimate: 3, cost: points }) as UsageItem;
  const all = { data: [item("console", 60, 60), item("shop", 30, 0), item("bot", 10, 10)], meta: {} } as never;
  const { data, meta } = withoutClient(all, "console");
  expect(data.map(({ client }) => client)).toEqual(["shop", "bot"]);
  expect(meta.total).toMatchObject({ requests: 2, points: 40, cached_points: 10, cache_share: 0.25, cost: 40 });
  expect(withoutClient(all, "")).toEqual(all);
});
