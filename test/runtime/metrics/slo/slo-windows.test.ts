import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SloConfig } from "../../../../crds/config.ts";
import type { Interval } from "../../../../crds/time-zone.ts";
import { firstPointMs } from "../../../../runtime/metrics/request/window.ts";
import {
  appliedCorrections,
  correctedCounts,
  placeOf,
  sloWindows,
} from "../../../../runtime/metrics/slo/slo-windows.ts";
import { loginSlo } from "./login-slo.ts";

type Correction = NonNullable<SloConfig["corrections"]>[number];

const [stepSeconds, dayMs] = [600, 86_400_000];
const stepMs = stepSeconds * 1_000;
const endMs = Date.parse("2026-04-10T00:00:00Z");
const text = (ms: number): string => new Date(ms).toISOString().replace(".000", "");

/** Events of the point that ends at a time. */
const eventsAt = (ms: number): number => ((ms / stepMs) * 7_919) % 101;

function eventsIn({ fromMs, toMs }: Interval): number {
  let events = 0;
  for (let ms = fromMs + stepMs; ms <= toMs; ms += stepMs) events += eventsAt(ms);
  return events;
}

/** What the reads of the product count in a window. */
function countedBy({ reads, windows, places }: ReturnType<typeof sloWindows>): readonly number[] {
  const valueOf = (span: Interval): number => {
    const { read, point } = placeOf(places, span);
    const window = reads[read];
    if (window === undefined) throw new Error("no such read");
    const toMs = firstPointMs(window) + point * window.stepSeconds * 1_000;
    if (toMs > window.toMs) throw new Error("no such point");
    return eventsIn({ fromMs: toMs - window.widthSeconds * 1_000, toMs });
  };
  return windows.map(({ all, left }) => left.reduce((rest, point) => rest - valueOf(point), valueOf(all)));
}

const withCorrections = (corrections: readonly Correction[]): SloConfig => ({
  ...loginSlo,
  minimumEvents: 1,
  corrections,
});

const schedules = fc
  .record({
    minute: fc.integer({ min: 0, max: 59 }),
    hour: fc.integer({ min: 0, max: 23 }),
    days: fc.constantFrom("* * *", "* * SUN", "* * MON-FRI", "1,15 * *", "29 3 *"),
    durationMinutes: fc.integer({ min: 1, max: 2_000 }),
    timeZone: fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"),
  })
  .map(({ minute, hour, days, ...rest }): Correction => ({
    reason: "r",
    schedule: { cron: `${minute} ${hour} ${days}`, ...rest },
  }));
const fixed = fc
  .tuple(fc.integer({ min: -40 * 86_400, max: 86_400 }), fc.integer({ min: 1, max: 200_000 }))
  .map(([ago, length]): Correction => {
    const fromMs = endMs + ago * 1_000;
    return { reason: "r", from: text(fromMs), to: text(fromMs + length * 1_000) };
  });

/** Brute force: the clock of the zone is read every quarter of an hour, as clocks of zones differ by no less. */
function coversPoint(correction: Correction, pointEndMs: number): boolean {
  const { from, to, schedule } = correction;
  const covers = (fromMs: number, toMs: number): boolean => fromMs < pointEndMs && toMs > pointEndMs - stepMs;
  if (schedule === undefined) return covers(Date.parse(from ?? ""), Date.parse(to ?? ""));
  return startsOf(schedule).some((ms) => covers(ms, ms + schedule.durationMinutes * 60_000));
}

/** A field of the schedules above. */
function isOne(field: string, value = ""): boolean {
  if (field === "*") return true;
  if (field === "MON-FRI") return !["Sat", "Sun"].includes(value);
  return field.split(",").some((one) => one === value.toUpperCase() || Number(one) === Number(value));
}

const known = new Map<string, readonly number[]>();
function startsOf(schedule: NonNullable<Correction["schedule"]>): readonly number[] {
  const { cron, timeZone } = schedule;
  const found = known.get(`${cron} ${timeZone}`);
  if (found !== undefined) return found;
  const fields = cron.split(" ");
  const clock = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    hourCycle: "h23",
    weekday: "short",
    ...({ day: "numeric", month: "numeric", hour: "numeric", minute: "numeric" } as const),
  });
  const starts: number[] = [];
  // None of these times is skipped or shown twice: clocks change at 01:00 UTC and 02:00 in New York, see the filter.
  const quarterMs = 15 * 60_000;
  const firstMs = endMs - 45 * dayMs + (Number(fields[0]) % 15) * 60_000;
  for (let ms = firstMs; ms < endMs + dayMs; ms += quarterMs) {
    const now = Object.fromEntries(clock.formatToParts(ms).map(({ type, value }) => [type, value]));
    const shown = ["minute", "hour", "day", "month", "weekday"].map((name) => now[name]);
    if (shown.every((value, index) => isOne(fields[index] ?? "", value))) starts.push(ms);
  }
  known.set(`${cron} ${timeZone}`, starts);
  return starts;
}

const isAtChange = ({ schedule }: Correction): boolean => /^\d+ [23] /u.test(schedule?.cron ?? "");

describe("windows with corrections", () => {
  test("count what brute force counts point by point", () => {
    const corrections = fc.array(
      fc.oneof(fixed, schedules).filter((one) => !isAtChange(one)),
      { minLength: 1, maxLength: 4 },
    );
    const widths = fc.uniqueArray(fc.integer({ min: 1, max: 30 * 144 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(corrections, widths, (own, steps) => {
        const spans = steps.sort((a, b) => a - b).map((one) => ({ fromMs: endMs - one * stepMs, toMs: endMs }));
        const wanted = spans.map(({ fromMs, toMs }) => {
          let events = 0;
          for (let ms = fromMs + stepMs; ms <= toMs; ms += stepMs)
            if (!own.some((one) => coversPoint(one, ms))) events += eventsAt(ms);
          return events;
        });
        expect(countedBy(sloWindows(withCorrections(own), spans, stepSeconds))).toEqual(wanted);
      }),
      { numRuns: 40 },
    );
  }, 60_000);

  test("read a daily interval over a change of the clocks in two requests", () => {
    const daily = { cron: "0 4 * * *", durationMinutes: 60, timeZone: "Europe/Berlin" };
    const spans = [{ fromMs: endMs - 30 * dayMs, toMs: endMs }];
    const { reads, windows } = sloWindows(withCorrections([{ reason: "backup", schedule: daily }]), spans, stepSeconds);
    expect(reads).toHaveLength(3);
    expect(windows[0]?.left).toHaveLength(30);
  });

  test("read the points of a history in one request", () => {
    const spans = Array.from({ length: 31 }, (_, index) => ({
      fromMs: endMs - (60 - index) * dayMs,
      toMs: endMs - (30 - index) * dayMs,
    }));
    expect(sloWindows(withCorrections([]), spans, stepSeconds).reads).toEqual([
      {
        fromMs: endMs - 60 * dayMs,
        toMs: endMs,
        stepSeconds: 86_400,
        widthSeconds: 30 * 86_400,
        downsample: undefined,
      },
    ]);
  });

  test("lose nothing to corrections of other times", () => {
    const elsewhere = [
      { reason: "before", from: "2020-01-01T00:00:00Z", to: "2020-02-01T00:00:00Z" },
      { reason: "after", from: "2030-01-01T00:00:00Z", to: "2030-02-01T00:00:00Z" },
    ];
    const { reads, windows } = sloWindows(
      withCorrections(elsewhere),
      [{ fromMs: endMs - dayMs, toMs: endMs }],
      stepSeconds,
    );
    expect({ reads: reads.length, left: windows[0]?.left }).toEqual({ reads: 1, left: [] });
  });
});

test("a window that corrections leave out has no events, however stores extrapolate its parts", () => {
  const corrections = [{ reason: "closed", from: text(endMs - 90 * dayMs), to: text(endMs + dayMs) }];
  const spans = [5, 4].map((days) => ({ fromMs: endMs - (days + 1) * dayMs, toMs: endMs - days * dayMs }));
  const { windows } = sloWindows(
    withCorrections(corrections),
    [...spans, { fromMs: endMs - 30 * dayMs, toMs: endMs }],
    stepSeconds,
  );
  const extrapolated = ({ fromMs, toMs }: Interval) => {
    const total = (toMs - fromMs) / 1_000 - 7;
    return { total, good: total - 3 };
  };
  expect(windows.map((window) => correctedCounts(window, extrapolated))).toEqual(
    windows.map(() => ({ total: 0, good: 0 })),
  );
  const [first] = windows;
  if (first === undefined) throw new Error("no window");
  const half = { fromMs: first.all.fromMs, toMs: first.all.fromMs + dayMs / 2 };
  expect(correctedCounts({ ...first, left: [half] }, extrapolated)).toEqual({ total: 43_200, good: 43_200 });
});

test("an applied correction says what it excludes and whether it is active at the end of the window", () => {
  const span = { fromMs: endMs - dayMs, toMs: endMs };
  const one = (from: number, to: number): Correction => ({ reason: "r", from: text(from), to: text(to) });
  const found = (correction: Correction) =>
    appliedCorrections([correction], span, stepSeconds).map(({ isActive, seconds }) => [isActive, seconds]);
  expect(found(one(endMs - 90_000, endMs + 1_000))).toEqual([[true, 600]]);
  expect(found(one(endMs, endMs + 1_000))).toEqual([[true, 0]]);
  expect(found(one(endMs - 90_000, endMs))).toEqual([[false, 600]]);
  expect(found(one(endMs - 2 * dayMs, endMs - dayMs + 1_000))).toEqual([[false, 600]]);
  expect(found(one(endMs + stepMs, endMs + 2 * stepMs))).toEqual([]);
});
