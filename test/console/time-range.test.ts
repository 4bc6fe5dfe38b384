import { describe, expect, test } from "vitest";
import { parseChoices } from "../../console/components/preferences.tsx";
import { timeRangeOf } from "../../console/components/time-range.tsx";

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
    ["from=never", undefined, "2026-01-30T12:00:00.000Z", "2026-01-31T12:00:00.000Z"],
  ])("%s", (query, preset, from, to) => {
    expect(rangeOf(query)).toEqual({ preset, from, to });
  });

  test("a page can have another default", () => {
    expect(timeRangeOf(new URLSearchParams(), nowMs, "1h")).toMatchObject({ from: "2026-01-31T11:00:00.000Z" });
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
