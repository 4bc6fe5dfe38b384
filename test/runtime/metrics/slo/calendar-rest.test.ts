import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SloConfig } from "../../../../crds/config.ts";
import { pointCount, stepsPerPoint } from "../../../../runtime/metrics/request/window.ts";
import {
  calendarRest,
  ownSpan,
  periodOf,
  sloSpans,
  windowBody,
} from "../../../../runtime/metrics/slo/calendar-rest.ts";
import { assessSlo, budgetOf } from "../../../../runtime/metrics/slo/slo-status.ts";
import { sloWindows } from "../../../../runtime/metrics/slo/slo-windows.ts";
import { loginSlo } from "./login-slo.ts";

const hourMs = 3_600_000;
const [hour, day] = [3_600, 86_400];
const at = (text: string): number => Date.parse(text);

const base = loginSlo;
const over = { operator: "AtMost", threshold: 1, sliceSeconds: hour } as const;
const inCalendar = (period: "Month" | "Quarter", timeZone: string, more: Partial<SloConfig> = {}): SloConfig => ({
  ...base,
  windowDays: period === "Month" ? 30 : 90,
  calendar: { period, timeZone },
  ...more,
});

const zones = (
  "UTC Europe/Berlin America/New_York America/St_Johns America/Havana Asia/Kathmandu Asia/Beirut Africa/Casablanca " +
  "Australia/Lord_Howe Pacific/Chatham Pacific/Kiritimati"
).split(" ");
const formats = new Map(
  zones.map((timeZone) => [timeZone, new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" })]),
);
/** The month or quarter that the clock of a zone shows, as text. */
function shownPeriod(zone: string, period: "Month" | "Quarter", ms: number): string {
  const [year = 0, month = 0] = (formats.get(zone)?.format(ms) ?? "").split("-").map(Number);
  return `${year} ${period === "Month" ? month : Math.ceil(month / 3)}`;
}

/** Brute force: the steps that end by a time, back to the first one that began in another period. */
function startOf(
  zone: string,
  period: "Month" | "Quarter",
  { toMs, stepMs }: Readonly<Record<string, number>>,
): number {
  if (toMs === undefined || stepMs === undefined) throw new Error("no step");
  const own = shownPeriod(zone, period, toMs - stepMs);
  let beginMs = toMs - stepMs;
  while (shownPeriod(zone, period, beginMs - stepMs) === own) beginMs -= stepMs;
  return beginMs;
}

describe("calendar windows", () => {
  test("have each step that began in the period of the last one, and no other", () => {
    const times = fc.integer({ min: at("2020-01-01T00:00:00Z"), max: at("2031-01-01T00:00:00Z") });
    const periods = fc.constantFrom("Month" as const, "Quarter" as const);
    const steps = fc.constantFrom(900, hour, 2 * hour);
    fc.assert(
      fc.property(fc.constantFrom(...zones), periods, times, steps, (zone, period, ms, step) => {
        const stepMs = step * 1_000;
        const toMs = Math.floor(ms / stepMs) * stepMs;
        const slo = inCalendar(period, zone);
        const { fromMs } = ownSpan(slo, step, toMs);
        expect([zone, fromMs]).toEqual([zone, startOf(zone, period, { toMs, stepMs })]);
        const endMs = periodOf(slo, step, toMs)?.toMs ?? 0;
        expect(ownSpan(slo, step, endMs)).toEqual({ fromMs, toMs: endMs });
        expect(ownSpan(slo, step, endMs + stepMs)).toEqual({ fromMs: endMs, toMs: endMs + stepMs });
      }),
      { numRuns: 100 },
    );
  }, 60_000);

  test("come after the rolling windows of the burn rates, and once if one is as long", () => {
    const slo = inCalendar("Month", "Europe/Berlin");
    const startMs = at("2026-10-31T23:00:00Z");
    const hoursOf = (hours: number): readonly number[] => {
      const toMs = startMs + hours * hourMs;
      return sloSpans(slo, 60, ownSpan(slo, 60, toMs)).map((span) => (span.toMs - span.fromMs) / hourMs);
    };
    expect(hoursOf(100)).toEqual([5 / 60, 0.5, 1, 2, 6, 24, 72, 100]);
    expect(hoursOf(2)).toEqual([5 / 60, 0.5, 1, 6, 24, 72, 2]);
    // At its end, the month is complete.
    expect(hoursOf(0).at(-1)).toBe(31 * 24 + 1);
  });

  test("have the days of their period in a response, whatever the clocks do", () => {
    const bodyAt = (period: "Month" | "Quarter", ms: number) => windowBody(inCalendar(period, "Europe/Berlin"), 60, ms);
    expect(bodyAt("Month", at("2026-03-15T00:00:00Z"))).toEqual({
      window_days: 31,
      calendar: {
        period: "Month",
        time_zone: "Europe/Berlin",
        from: "2026-02-28T23:00:00.000Z",
        to: "2026-03-31T22:00:00.000Z",
      },
    });
    expect(bodyAt("Quarter", at("2026-11-15T00:00:00Z"))).toMatchObject({
      window_days: 92,
      calendar: { from: "2026-09-30T22:00:00.000Z", to: "2026-12-31T23:00:00.000Z" },
    });
    expect(windowBody(base, 60, 0)).toEqual({ window_days: 30 });
  });
});

describe("the budget of a calendar window", () => {
  const atMs = at("2026-11-11T00:00:00Z");
  const utc = (more: Partial<SloConfig> = {}): SloConfig => inCalendar("Month", "UTC", more);
  const restOf = (slo: SloConfig, ms = atMs) => {
    const window = sloWindows(slo, [ownSpan(slo, 60, ms)], 60).windows[0];
    return window && calendarRest(slo, 60, window);
  };

  test("of events is that of the events so far", () => {
    expect(restOf(utc())).toEqual({
      windowSeconds: 10 * day,
      excludedSeconds: 0,
      leftSeconds: 20 * day,
      slicesToCome: 0,
      countedSlicesToCome: 0,
    });
    const counts = new Map([[10 * day, { total: 1_000, good: 995 }]]);
    const { sli, budget } = assessSlo(utc(), counts, 60, { rest: restOf(utc()) });
    expect([sli, budget]).toEqual([0.995, { total: 0.01, spent: 0.005, remaining: 0.005 }]);
  });

  test("of slices is that of the whole period, without the slices of corrections", () => {
    const corrections = [
      { reason: "past", from: "2026-11-02T00:10:00Z", to: "2026-11-02T02:00:00Z" },
      { reason: "now", from: "2026-11-10T20:00:00Z", to: "2026-11-11T03:30:00Z" },
      { reason: "next month", from: "2026-11-30T22:00:00Z", to: "2026-12-02T00:00:00Z" },
    ];
    const slo = utc({ over, corrections });
    const rest = restOf(slo);
    expect(rest).toMatchObject({ excludedSeconds: 6 * hour, slicesToCome: 480, countedSlicesToCome: 480 - 4 - 2 });
    // 234 of the 240 slices are known, of which 2 are bad.
    const counts = new Map([[10 * day, { total: 234, good: 232 }]]);
    const { sli, budget } = assessSlo(slo, counts, 60, { rest });
    expect([sli, budget.spent]).toEqual([232 / 234, 2 / (234 + 474)]);
  });

  test("of slices ends as the share of all slices of the period", () => {
    const slo = utc({ over });
    const rest = restOf(slo, at("2026-12-01T00:00:00Z"));
    expect(rest).toMatchObject({ windowSeconds: 30 * day, leftSeconds: 0, slicesToCome: 0 });
    const { budget } = budgetOf(slo, { total: 700, good: 693 }, rest?.countedSlicesToCome);
    expect(budget.spent).toBe(0.01);
  });
});

describe("the time until the budget of a calendar window is spent", () => {
  const atMs = at("2026-11-11T00:00:00Z");
  const assessed = (more: Partial<SloConfig>, badPercent: number, burn: number, ms = atMs) => {
    const slo = inCalendar("Month", "UTC", more);
    const span = ownSpan(slo, 60, ms);
    const [window] = sloWindows(slo, [span], 60).windows;
    const total = slo.over === undefined ? 24_000 : 240;
    const own = { total, good: total * (1 - badPercent / 100) };
    const fast = { total: 1_000, good: 1_000 * (1 - 0.01 * burn) };
    const counts = new Map([
      [hour, fast],
      [(span.toMs - span.fromMs) / 1_000, own],
    ]);
    return assessSlo(slo, counts, 60, { rest: window && calendarRest(slo, 60, window) }).exhaustionSeconds;
  };

  test("is when the events so far and those to come have spent it", () => {
    // Of 24,000 events in ten days, 120 are bad. At a burn of 11, each hour adds 100 events, of which 11 are bad:
    // (120 + 11 h) = 0.01 * (24,000 + 100 h).
    expect(assessed({}, 0.5, 11)).toBe(12 * hour);
    const hours = 12;
    expect((120 + 11 * hours) / (24_000 + 100 * hours)).toBe(0.01);
  });

  test("is unknown at a burn that adds as much budget as it spends, and if the period ends before", () => {
    expect(assessed({}, 0.5, 1)).toBeUndefined();
    // Ten days at a burn of 1.5, and none is left on the last day.
    expect(assessed({}, 0.5, 1.5)).toBe(10 * day);
    expect(assessed({}, 0.5, 1.1)).toBeUndefined();
    expect(assessed({}, 2, 11)).toBe(0);
  });

  test("of slices is that of the budget of the whole period, until its end", () => {
    // 7.2 of 720 slices may be bad, and 3.6 are: 3.6 more at a tenth of each hour.
    expect(assessed({ over }, 1.5, 10)).toBe(36 * hour);
    expect(assessed({ over }, 1.5, 0.5)).toBeUndefined();
  });
});

describe("the history of a calendar window", () => {
  test.each(["2026-03-20T06:00:00Z", "2026-11-20T06:00:00Z"])(
    "up to %s reads each point alone, and costs the days that it reads",
    (text) => {
      const slo = inCalendar("Month", "UTC");
      const spans = Array.from({ length: 31 }, (_, index) => ownSpan(slo, 60, at(text) - (30 - index) * day * 1_000));
      const { reads, places, windows } = sloWindows(slo, spans, 60, day);
      expect([windows.map(({ all }) => all), reads.length, places.size]).toEqual([spans, 31, 31]);
      const units = reads.map((read) => pointCount(read) * stepsPerPoint(read));
      expect(units).toEqual(spans.map(({ fromMs, toMs }) => Math.ceil((toMs - fromMs) / 1_000 / day)));
    },
  );
});
