import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatDuration } from "../../../../runtime/metrics/request/time.ts";
import {
  coarserDownsample,
  coarserStep,
  pointCount,
  pointsMax,
  pointTimes,
  resolveInstant,
  resolveWindow,
  stepWithin,
  type ResolvedWindow,
} from "../../../../runtime/metrics/request/window.ts";
import { refusalOf, refused } from "../refused.ts";
import { wideLimits } from "../oracle/universe.ts";

const nowMs = Date.parse("2026-01-31T12:00:07.500Z");
const rules = { nowMs, stepSecondsMin: 10, limits: wideLimits };
const hour = 3_600;

interface Row {
  readonly sentence: string;
  readonly seconds?: number;
  readonly step?: number;
  readonly downsample?: "1m" | "5m" | "1h";
  readonly minimum?: number;
  readonly answer: string;
}

/** The last `seconds` before the hour. */
function resolveLast({ seconds, step, downsample, minimum = 10 }: Omit<Row, "sentence" | "answer">): ResolvedWindow {
  const toMs = Date.parse("2026-01-31T12:00:00Z");
  const fromMs = seconds === undefined ? undefined : toMs - seconds * 1_000;
  return resolveWindow({ fromMs, toMs, stepSeconds: step }, downsample, { ...rules, stepSecondsMin: minimum });
}

describe("step and downsample (Operational Metrics API §4.7.5 and §8)", () => {
  const rows: readonly Row[] = [
    { sentence: "three hours without a step", answer: "15s none" },
    { sentence: "a short window takes the smallest step", seconds: hour, answer: "10s none" },
    {
      sentence: "a metric's minimum that gives few enough points is taken as it is",
      seconds: hour,
      minimum: 40,
      answer: "40s none",
    },
    { sentence: "a step that is asked for is kept", seconds: hour, step: 37, answer: "37s none" },
    { sentence: "a downsample raises the step", seconds: hour, step: 10, downsample: "1m", answer: "1m 1m" },
    {
      sentence: "a coarser step stands beside a downsample",
      seconds: 4 * hour,
      step: 600,
      downsample: "1m",
      answer: "10m 1m",
    },
    { sentence: "exactly a day is not downsampled", seconds: 24 * hour, step: 10, answer: "10s none" },
    { sentence: "more than a day has points of five minutes", seconds: 24 * hour + 1, step: 10, answer: "5m 5m" },
    { sentence: "more than a day raises a finer downsample", seconds: 48 * hour, downsample: "1m", answer: "5m 5m" },
    { sentence: "more than a day keeps a coarser downsample", seconds: 48 * hour, downsample: "1h", answer: "1h 1h" },
    { sentence: "exactly a week has points of five minutes", seconds: 168 * hour, step: 60, answer: "5m 5m" },
    { sentence: "a week without a step has at most a thousand points", seconds: 168 * hour, answer: "15m 5m" },
    { sentence: "more than a week has points of an hour", seconds: 169 * hour, step: 300, answer: "1h 1h" },
  ];
  test.each(rows)("$sentence", ({ answer, ...asked }) => {
    const { stepSeconds, downsample } = resolveLast(asked);
    expect(`${formatDuration(stepSeconds)} ${downsample ?? "none"}`).toBe(answer);
  });

  test("a step below the minimum is refused with the minimum as a suggestion", () => {
    const refusal = refusalOf(() => resolveLast({ seconds: hour, step: 10, minimum: 60 }));
    expect([refusal.code, refusal.suggestion]).toEqual(["invalid_step", { step: "1m" }]);
  });

  test("a step below the minimum is refused in a long window too", () => {
    expect(refused(() => resolveLast({ seconds: 48 * hour, step: 10, minimum: 60 }))).toBe("invalid_step step");
  });

  test("more points than a store returns are refused with a step that fits", () => {
    const limits = { ...wideLimits, maxWindowSeconds: nowMs };
    const asked = { fromMs: 0, toMs: nowMs, stepSeconds: hour };
    const refusal = refusalOf(() => resolveWindow(asked, undefined, { ...rules, limits }));
    expect([refusal.code, refusal.suggestion]).toEqual(["invalid_step", { step: "2d" }]);
  });
});

describe("the ends of a window", () => {
  const refusals = [
    ["from after to", "2026-01-31T11:00:00Z", "2026-01-31T10:00:00Z", "invalid_window from"],
    ["from equal to to", "2026-01-31T11:00:00Z", "2026-01-31T11:00:00Z", "invalid_window from"],
    ["from in the future", "2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z", "invalid_window from"],
    ["a window shorter than a point", "2026-01-31T11:59:55Z", "2026-01-31T12:00:00Z", "invalid_window from"],
  ] as const;
  test.each(refusals)("are refused: %s", (_sentence, from, to, refusal) => {
    const asked = { fromMs: Date.parse(from), toMs: Date.parse(to), stepSeconds: undefined };
    expect(refused(() => resolveWindow(asked, undefined, rules))).toBe(refusal);
  });

  test("are refused when the window is wider than the class allows", () => {
    const limits = { ...wideLimits, maxWindowSeconds: 6 * hour };
    const asked = { fromMs: nowMs - 7 * hour * 1_000, toMs: undefined, stepSeconds: undefined };
    expect(refused(() => resolveWindow(asked, undefined, { ...rules, limits }))).toBe("invalid_window from");
  });

  test("are the last three hours by default, and no wider than the class allows", () => {
    const none = { fromMs: undefined, toMs: undefined, stepSeconds: undefined };
    expect(pointCount(resolveWindow(none, undefined, rules)) * 15).toBeGreaterThanOrEqual(3 * hour);
    const narrow = resolveWindow(none, undefined, { ...rules, limits: { ...wideLimits, maxWindowSeconds: hour } });
    expect(narrow.toMs - narrow.fromMs).toBeLessThanOrEqual(hour * 1_000 + narrow.stepSeconds * 1_000);
  });

  test("end now at the latest", () => {
    const asked = { fromMs: nowMs - hour * 1_000, toMs: nowMs + hour * 1_000, stepSeconds: 60 };
    expect(resolveWindow(asked, undefined, rules).toMs).toBe(Date.parse("2026-01-31T12:00:00Z"));
  });
});

describe("the grid", () => {
  const asked = fc.record({
    fromMs: fc.integer({ min: 0, max: nowMs - 2 }),
    lengthMs: fc.integer({ min: 1, max: 400 * 86_400_000 }),
    stepSeconds: fc.option(fc.integer({ min: 10, max: 90_000 }), { nil: undefined }),
    downsample: fc.constantFrom(undefined, "1m" as const, "5m" as const, "1h" as const),
  });

  test("is aligned to the epoch, ends before now, covers the window but for its last point and holds a bounded number of points", () => {
    fc.assert(
      fc.property(asked, ({ fromMs, lengthMs, stepSeconds, downsample }) => {
        const toMs = Math.min(fromMs + lengthMs, nowMs);
        fc.pre((toMs - fromMs) / 1_000 >= Math.max(stepSeconds ?? 10, 3_600));
        const window = resolveWindow({ fromMs, toMs, stepSeconds }, downsample, rules);
        const stepMs = window.stepSeconds * 1_000;
        const times = pointTimes(window);
        expect(times.every((ms) => ms % stepMs === 0)).toBe(true);
        expect(times.at(-1)).toBe(window.toMs);
        expect(window.toMs).toBeLessThanOrEqual(toMs);
        expect(window.toMs).toBeGreaterThan(toMs - stepMs);
        expect(window.fromMs).toBeLessThanOrEqual(fromMs);
        expect(window.fromMs).toBeGreaterThan(fromMs - stepMs);
        expect(times.length).toBeLessThanOrEqual(stepSeconds === undefined ? 1_001 : pointsMax + 1);
        expect(window.stepSeconds).toBeGreaterThanOrEqual(stepSeconds ?? 10);
      }),
    );
  });

  test("of neighbouring windows shares no point and leaves none out", () => {
    const at = (from: string, to: string) =>
      pointTimes(resolveWindow({ fromMs: Date.parse(from), toMs: Date.parse(to), stepSeconds: 60 }, undefined, rules));
    const halves = [
      ...at("2026-01-31T10:00:00Z", "2026-01-31T11:00:00Z"),
      ...at("2026-01-31T11:00:00Z", "2026-01-31T12:00:00Z"),
    ];
    expect(halves).toEqual(at("2026-01-31T10:00:00Z", "2026-01-31T12:00:00Z"));
  });
});

describe("an instant", () => {
  test("is the last whole point at or before its time", () => {
    const window = resolveInstant(Date.parse("2026-01-31T11:30:59Z"), undefined, { nowMs, stepSecondsMin: 60 });
    expect(pointTimes(window)).toEqual([Date.parse("2026-01-31T11:30:00Z")]);
    expect(window.stepSeconds).toBe(60);
  });

  test("is now without a time or with one in the future, as wide as its downsample", () => {
    const window = resolveInstant(nowMs + 1_000_000, "5m", { nowMs, stepSecondsMin: 60 });
    expect([window.toMs, window.stepSeconds]).toEqual([Date.parse("2026-01-31T12:00:00Z"), 300]);
  });
});

test("a suggestion is the next coarser step and downsample, if there is one", () => {
  const steps = [10, 61, 86_400].map((stepSeconds) =>
    coarserStep({ fromMs: 0, toMs: 400 * 86_400_000, stepSeconds, widthSeconds: stepSeconds }),
  );
  expect(steps).toEqual([15, 120, undefined]);
  expect([
    coarserDownsample(10, Infinity),
    coarserDownsample(60, Infinity),
    coarserDownsample(3_600, Infinity),
  ]).toEqual(["1m", "5m", undefined]);
});

describe("a suggestion for points whose width is not their step", () => {
  const window = { fromMs: 0, toMs: 4 * hour * 1_000, stepSeconds: 20, widthSeconds: 300 };

  test("is a multiple of the step, since another one reads as many points", () => {
    expect([coarserStep(window), coarserStep({ ...window, widthSeconds: 20 })]).toEqual([60, 30]);
  });

  test("costs the share at most, width included", () => {
    const units = (stepSeconds: number): number => ((4 * hour) / stepSeconds + 1) * Math.ceil(300 / stepSeconds);
    for (const share of [0.9, 0.3, 0.1, 0.02, 0.005]) {
      const step = stepWithin(window, share) ?? Number.NaN;
      expect(units(step)).toBeLessThanOrEqual(pointCount(window) * 15 * share);
    }
    expect(stepWithin(window, 0.0001)).toBeUndefined();
  });
});

describe("a window that is shorter than one point", () => {
  const half = { fromMs: Date.parse("2026-01-01T11:20:00Z"), toMs: Date.parse("2026-01-01T11:50:00Z") };

  test.each<[string, object, "1m" | "5m" | "1h" | undefined, string]>([
    ["the downsample, which alone makes it so", {}, "1h", "invalid_downsample downsample"],
    ["the downsample, which raises the step", { stepSeconds: 60 }, "1h", "invalid_downsample downsample"],
    ["the step, which is as wide by itself", { stepSeconds: 3_600 }, "1h", "invalid_step step"],
    ["the step", { stepSeconds: 7_200 }, undefined, "invalid_step step"],
  ])("is blamed on %s", (_sentence, asked, downsample, expected) => {
    expect(refused(() => resolveWindow({ ...half, stepSeconds: undefined, ...asked }, downsample, rules))).toBe(
      expected,
    );
  });
});
