import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cronRules } from "../../crds/checks/slo.ts";
import { correctionIntervals } from "../../crds/corrections.ts";
import { calendarPeriod, instantOf, isTimeZone, wallTime } from "../../crds/time-zone.ts";

const [dayMs, minuteMs] = [86_400_000, 60_000];
const at = (text: string): number => Date.parse(text);
/** Starts of the intervals in a span, as texts. */
function startsOf(cron: string, timeZone: string, from: string, to: string): readonly string[] {
  const schedule = { cron, timeZone, durationMinutes: 1 };
  const span = { fromMs: at(from), toMs: at(to) };
  return correctionIntervals({ reason: "r", schedule }, span).map(({ fromMs }) =>
    new Date(fromMs).toISOString().slice(0, 16),
  );
}

const item = (words: readonly string[]) => {
  const one = fc.constantFrom(...words);
  const range = fc.tuple(one, fc.option(one, { nil: undefined, freq: 1 }));
  const list = fc.array(range, { minLength: 1, maxLength: 2 });
  return list.map((parts) => parts.map(([from, to]) => (to === undefined ? from : `${from}-${to}`)).join(","));
};
const rareDays = item(["1", "28", "29", "30", "31"]);
const months = item(["1", "2", "02", "FEB", "4", "JUN", "9", "SEP", "11", "NOV", "12"]);
const cronSeed = 20_261_127;

test(`a schedule is rejected if, and only if, it has no day in a leap year, seed ${cronSeed}`, () => {
  const seen = new Set<boolean>();
  const cron = fc.tuple(rareDays, months, fc.constantFrom("*", "*", "SUN")).map((parts) => `0 2 ${parts.join(" ")}`);
  fc.assert(
    fc.property(cron, (text) => {
      const isAccepted = cronRules.every(({ faults }) => faults(text, undefined).length === 0);
      seen.add(isAccepted);
      const starts = startsOf(text, "UTC", "2028-01-01T00:00:00Z", "2029-01-01T00:00:00Z");
      expect([text, isAccepted]).toEqual([text, starts.length > 0]);
    }),
    { seed: cronSeed, numRuns: 150 },
  );
  expect(seen).toEqual(new Set([true, false]));
});

describe("a schedule", () => {
  test.each([
    [
      "every day",
      "30 2 * * *",
      "UTC",
      ["2026-03-28T02:30", "2026-03-29T02:30", "2026-03-30T02:30", "2026-03-31T02:30"],
    ],
    ["weekdays by name", "0 2 * * SAT,SUN", "UTC", ["2026-03-28T02:00", "2026-03-29T02:00"]],
    ["a range of weekdays that wraps", "0 2 * * SUN-MON", "UTC", ["2026-03-29T02:00", "2026-03-30T02:00"]],
    ["the seventh weekday, a Sunday", "0 2 * * 7", "UTC", ["2026-03-29T02:00"]],
    [
      "every weekday by number",
      "0 2 * * 0-7",
      "UTC",
      ["2026-03-28", "2026-03-29", "2026-03-30", "2026-03-31"].map((d) => `${d}T02:00`),
    ],
    ["a weekday before the Sunday of the range", "0 2 * * 6-7", "UTC", ["2026-03-28T02:00", "2026-03-29T02:00"]],
    ["a day of the month or of the week", "0 2 31 * SAT", "UTC", ["2026-03-28T02:00", "2026-03-31T02:00"]],
    ["a month", "0 2 30 MAR *", "UTC", ["2026-03-30T02:00"]],
    ["a range of months that wraps", "0 2 30 NOV-FEB *", "UTC", []],
    [
      "a zone, with a time that the clocks skip",
      "30 2 * * *",
      "Europe/Berlin",
      ["2026-03-28T01:30", "2026-03-29T01:30", "2026-03-30T00:30", "2026-03-31T00:30"],
    ],
  ])("of %s", (_name, cron, timeZone, starts) => {
    expect(startsOf(cron, timeZone, "2026-03-28T00:00:00Z", "2026-04-01T00:00:00Z")).toEqual(starts);
  });

  test("of a time that the clocks show twice begins the first time", () => {
    expect(startsOf("30 2 25 10 *", "Europe/Berlin", "2026-10-20T00:00:00Z", "2026-10-30T00:00:00Z")).toEqual([
      "2026-10-25T00:30",
    ]);
  });

  test.each([
    ["0 1 4 11 *", "2018-11-04T03:00"],
    ["0 1 * NOV SUN", "2018-11-04T03:00"],
    // The clocks skip this midnight.
    ["0 0 4 11 *", "2018-11-04T03:00"],
  ])("of %s finds the day whose midnight is skipped", (cron, start) => {
    expect(startsOf(cron, "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-05T12:00:00Z")).toEqual([start]);
  });

  test("has the interval that began before the span", () => {
    const schedule = { cron: "0 0 1 * *", timeZone: "UTC", durationMinutes: 7 * 1_440 };
    const span = { fromMs: at("2026-03-07T23:59:00Z"), toMs: at("2026-03-09T00:00:00Z") };
    expect(correctionIntervals({ reason: "r", schedule }, span)).toHaveLength(1);
  });
});

const zones = [
  "UTC",
  "Europe/Berlin",
  "Europe/Dublin",
  "America/New_York",
  "America/Sao_Paulo",
  "America/St_Johns",
  "America/Havana",
  "Africa/Casablanca",
  "Africa/Cairo",
  "Asia/Kathmandu",
  "Asia/Beirut",
  "Asia/Kolkata",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Pacific/Chatham",
  "Pacific/Kiritimati",
];

/** The wall clock by another way than the product's: text of a locale. */
function clockOf(zone: string, ms: number): string {
  return new Date(ms).toLocaleString("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" });
}

test("the instants of wall clocks are those of a search through all minutes", () => {
  const days = fc.integer({ min: at("2016-01-01T00:00:00Z") / dayMs, max: at("2030-01-01T00:00:00Z") / dayMs });
  fc.assert(
    fc.property(fc.constantFrom(...zones), days, fc.integer({ min: 0, max: 95 }), (zone, day, quarter) => {
      const wallMs = day * dayMs + quarter * 15 * minuteMs;
      const found = instantOf(zone, wallMs);
      const wanted = new Date(wallMs).toISOString().slice(0, 19).replace("T", " ");
      const shown: number[] = [];
      for (let ms = wallMs - dayMs; ms <= wallMs + dayMs; ms += 15 * minuteMs)
        if (clockOf(zone, ms) === wanted) shown.push(ms);
      const isSkipped = shown.length === 0;
      // A skipped time moves by the change of the clocks: the zone shows a later time then.
      expect(isSkipped ? wallTime(zone, found) > wallMs : found === shown[0]).toBe(true);
      expect(wallTime(zone, found - dayMs) - (found - dayMs)).toBe(
        isSkipped ? wallMs - found : wallTime(zone, found - dayMs) - (found - dayMs),
      );
    }),
    { numRuns: 150 },
  );
});

test.each([
  ["Europe/Berlin", true],
  ["UTC", true],
  ["America/Argentina/Ushuaia", true],
  ["CET", true],
  ["Etc/GMT-14", true],
  ["Etc/GMT+13", false],
  ["Europe/Berlim", false],
  ["Mars/Olympus", false],
  ["", false],
])("the zone %s: %s", (zone, isKnown) => {
  expect(isTimeZone(zone)).toBe(isKnown);
});

describe("calendar periods", () => {
  const texts = new Map<string, Intl.DateTimeFormat>();
  /** Days of the wall clock as text. */
  const dateOf = (zone: string, ms: number): string => {
    const format = texts.get(zone) ?? new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short" });
    texts.set(zone, format);
    return format.format(ms);
  };
  /** When the clock first shows a month, by a search through all minutes around it. */
  const searched = (zone: string, year: number, month: number): number => {
    const [utcMs, hours] = [Date.UTC(year, month, 1), 16];
    const first = new Date(utcMs).toISOString().slice(0, 10);
    let ms = utcMs - hours * 60 * minuteMs;
    while (dateOf(zone, ms) < first) ms += minuteMs;
    return ms;
  };

  test("of random zones and times begin when the clock first shows them, and contain the time", () => {
    const times = fc.integer({ min: at("2000-01-01T00:00:00Z"), max: at("2037-01-01T00:00:00Z") });
    const all = Intl.supportedValuesOf("timeZone");
    const names = fc.oneof(fc.constantFrom(...zones), fc.constantFrom(...all));
    fc.assert(
      fc.property(names, times, fc.constantFrom(1 as const, 3 as const), (zone, ms, size) => {
        const { fromMs, toMs } = calendarPeriod(zone, size, ms);
        const [year = 0, month = 0] = dateOf(zone, ms).split("-").map(Number);
        const first = month - 1 - ((month - 1) % size);
        expect([zone, fromMs, toMs]).toEqual([zone, searched(zone, year, first), searched(zone, year, first + size)]);
        expect(fromMs <= ms && ms < toMs).toBe(true);
        expect(calendarPeriod(zone, size, toMs).fromMs).toBe(toMs);
        expect(calendarPeriod(zone, size, fromMs - 1).toMs).toBe(fromMs);
      }),
      { numRuns: 150 },
    );
  }, 60_000);

  test.each([
    ["a month that loses an hour", "Europe/Berlin", 1, "2026-03-15T00:00:00Z", "2026-02-28T23:00:00Z", 31 * 24 - 1],
    ["a month that gains an hour", "Europe/Berlin", 1, "2026-10-15T00:00:00Z", "2026-09-30T22:00:00Z", 31 * 24 + 1],
    ["a quarter with one change", "America/New_York", 3, "2026-03-31T00:00:00Z", "2026-01-01T05:00:00Z", 90 * 24 - 1],
    ["the last instant of a year", "Asia/Kathmandu", 3, "2026-12-31T18:14:59Z", "2026-09-30T18:15:00Z", 92 * 24],
    ["a leap February", "UTC", 1, "2028-02-29T23:59:59Z", "2028-02-01T00:00:00Z", 29 * 24],
    // Midnight of the first is skipped.
    [
      "a month whose first midnight is skipped",
      "America/Asuncion",
      1,
      "2023-10-15T00:00:00Z",
      "2023-10-01T04:00:00Z",
      743,
    ],
    // The clock went back to 31 October a minute after midnight.
    ["an hour that the clock shows again", "America/St_Johns", 1, "2009-11-01T02:45:00Z", "2009-11-01T02:30:00Z", 721],
  ] as const)("of %s", (_name, zone, size, ms, from, hours) => {
    const { fromMs, toMs } = calendarPeriod(zone, size, at(ms));
    expect([new Date(fromMs).toISOString(), (toMs - fromMs) / 60 / minuteMs]).toEqual([
      new Date(at(from)).toISOString(),
      hours,
    ]);
  });
});
