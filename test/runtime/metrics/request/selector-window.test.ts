import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  resolveSelectorWindow,
  selectorWindowAt,
  stampsAt,
} from "../../../../runtime/metrics/request/selector-window.ts";
import type { SelectorTimes } from "../../../../runtime/metrics/request/selector.ts";
import { pointTimes } from "../../../../runtime/metrics/request/window.ts";
import { wideLimits } from "../oracle/universe.ts";
import { refusalOf, refused } from "../refused.ts";

const seed = 20_260_131;
const nowMs = Date.parse("2026-01-31T12:00:07.500Z");
const minute = 60_000;
const hour = 60 * minute;
const daySeconds = 86_400;

interface Asked {
  readonly times: SelectorTimes;
  readonly width?: number | undefined;
  readonly smallest?: number;
  readonly maxWindowSeconds?: number;
  readonly atMs?: number;
}

const rulesOf = ({ smallest = 10, maxWindowSeconds = 400 * daySeconds, atMs = nowMs }: Omit<Asked, "times">) => ({
  nowMs: atMs,
  stepSecondsMin: smallest,
  limits: { ...wideLimits, maxWindowSeconds },
});
const resolve = (asked: Asked) => resolveSelectorWindow(asked.times, asked.width, rulesOf(asked));
/** The end of the point of each stamp. */
const endsOf = (asked: Asked): readonly (number | undefined)[] => {
  const { window, places } = resolve(asked);
  const times = pointTimes(window);
  return places.map((place) => times[place]);
};
const last = (ms: number, stepMs: number): SelectorTimes => ({ startMs: nowMs - ms, endMs: nowMs, stepMs });

/** What a stamp covers, from the definition alone. */
function coveredBy(stampMs: number, smallest: number, downsampleSeconds: number): number {
  const gridMs = Math.max(smallest, downsampleSeconds) * 1_000;
  return stampMs - (stampMs % gridMs);
}

function downsampleOf(coveredSeconds: number): number {
  if (coveredSeconds > 7 * daySeconds) return 3_600;
  return coveredSeconds > daySeconds ? 300 : 0;
}

describe("the points of a range", () => {
  const asked = fc.record({
    startMs: fc.integer({ min: nowMs - 20 * daySeconds * 1_000, max: nowMs + hour }),
    stepMs: fc
      .oneof(
        fc.integer({ min: 1, max: 7_300 }),
        fc
          .constantFrom(10, 20, 60, 77, 300)
          .chain((unit) => fc.integer({ min: 1, max: 6 }).map((times) => times * unit)),
      )
      .map((seconds) => seconds * 1_000),
    steps: fc.integer({ min: 0, max: 300 }),
    rest: fc.double({ min: 0, max: 0.999, noNaN: true }),
    smallest: fc.constantFrom(10, 20, 60, 77),
    over: fc.option(fc.integer({ min: 0, max: 10_000 }), { nil: undefined }),
  });

  test("have the ends, the width and the stamps of the definition, for any times", () => {
    let [phases, grids] = [0, 0];
    fc.assert(
      fc.property(asked, ({ startMs, stepMs, steps, rest, smallest, over }) => {
        const endMs = startMs + steps * stepMs + Math.floor(rest * stepMs);
        const width = over === undefined ? undefined : smallest + over;
        const { window, stamps, places } = resolve({ times: { startMs, endMs, stepMs }, width, smallest });
        const wanted: number[] = [];
        for (let ms = startMs; ms <= Math.min(endMs, nowMs); ms += stepMs) wanted.push(ms);
        expect(stamps).toEqual({ startMs, stepMs, count: wanted.length });
        const spanSeconds = ((wanted.at(-1) ?? startMs) - startMs) / 1_000;
        const downsample = downsampleOf(spanSeconds + (width ?? Math.max(smallest, stepMs / 1_000)));
        const ends = pointTimes(window);
        expect(places.map((place) => ends[place])).toEqual(wanted.map((ms) => coveredBy(ms, smallest, downsample)));
        expect(window.widthSeconds).toBe(width ?? Math.max(smallest, downsample, stepMs / 1_000));
        expect(ends.at(-1)).toBe(window.toMs);
        expect((ends[0] ?? 0) - window.fromMs).toBe(window.widthSeconds * 1_000);
        if (window.stepSeconds * 1_000 !== stepMs) grids += 1;
        else if ((ends[0] ?? 0) % stepMs !== 0) phases += 1;
      }),
      { seed, numRuns: 1_000 },
    );
    expect([phases > 100, grids > 100]).toEqual([true, true]);
  });

  test("repeat below the smallest step, which is then what is read", () => {
    const startMs = Date.parse("2026-01-31T11:00:03Z");
    const fine = { times: { startMs, endMs: startMs + 12_000, stepMs: 4_000 }, width: 60 };
    expect(endsOf(fine).map((ms) => (ms ?? 0) - startMs)).toEqual([-3_000, -3_000, 7_000, 7_000]);
    expect(resolve(fine).window).toMatchObject({ stepSeconds: 10, widthSeconds: 60 });
  });

  test("keep the phase of the start when the step is a multiple of the smallest one", () => {
    const startMs = Date.parse("2026-01-31T11:00:25Z");
    const { window } = resolve({ times: { startMs, endMs: startMs + 10 * minute, stepMs: minute }, width: 300 });
    expect(pointTimes(window).map((ms) => (ms % minute) / 1_000)).toEqual(Array.from({ length: 11 }, () => 20));
    expect(window).toMatchObject({ stepSeconds: 60, widthSeconds: 300 });
  });

  test("that start in the future have no stamp", () => {
    const { stamps, places } = resolve({ times: { startMs: nowMs + 1, endMs: nowMs + hour, stepMs: minute } });
    expect([stamps.count, places]).toEqual([0, []]);
  });

  test("grow with the time until the end has come, and then stay", () => {
    const times = { startMs: nowMs - hour, endMs: nowMs + minute, stepMs: 30_000 };
    const counts = [0, 30_000, 60_000, 90_000].map((ms) => stampsAt(times, nowMs + ms).count);
    expect(counts).toEqual([121, 122, 123, 123]);
    const windowAt = selectorWindowAt(times, 60, rulesOf({}));
    expect(windowAt(nowMs)).toEqual(resolve({ times, width: 60 }).window);
    expect(windowAt(nowMs + 2 * minute)).toEqual(windowAt(nowMs + 3 * minute));
  });
});

describe("an instant", () => {
  test.each([
    ["1m", 60, 10],
    ["1d", daySeconds, 10],
    ["3d", 3 * daySeconds, 300],
    ["30d", 30 * daySeconds, 3_600],
  ])("over [%s] is one point, aligned as a range of that length", (_spelling, width, alignedSeconds) => {
    const { window, stamps, places } = resolve({ times: { timeMs: nowMs - 100 }, width });
    const toMs = coveredBy(nowMs - 100, alignedSeconds, 0);
    expect(window).toMatchObject({ toMs, fromMs: toMs - width * 1_000, stepSeconds: width, widthSeconds: width });
    expect([stamps.startMs, stamps.count, places]).toEqual([nowMs - 100, 1, [0]]);
  });

  test("covers the smallest step by default", () => {
    expect(resolve({ times: { timeMs: nowMs }, smallest: 60 }).window).toMatchObject({ widthSeconds: 60 });
  });

  test("in the future has its own time, so that its window still covers what came before now", () => {
    const { window, stamps } = resolve({ times: { timeMs: nowMs + hour }, width: 60 });
    const toMs = coveredBy(nowMs + hour, 10, 0);
    expect([stamps.startMs, window.fromMs, window.toMs]).toEqual([nowMs + hour, toMs - 60_000, toMs]);
  });
});

describe("leaves are refused", () => {
  const rows: readonly (readonly [sentence: string, asked: Asked, refusal: string, detail: string])[] = [
    [
      "with a range below the smallest step",
      { times: last(hour, minute), width: 30, smallest: 60 },
      "invalid_step query",
      "the range [30s] is below the minimum range of 60s; use [60s]",
    ],
    [
      "with a range that is not a whole number of seconds",
      { times: { timeMs: nowMs }, width: 90.5 },
      "invalid_step query",
      "the range [90.5s] is not a whole number of seconds; use [91s]",
    ],
    [
      "with a step that is not a whole number of seconds",
      { times: last(hour, 1_500) },
      "invalid_step step",
      "step=1.5s is not a whole number of seconds; use step=2s",
    ],
    [
      "without a step",
      { times: last(hour, 0) },
      "invalid_step step",
      "zero or negative query resolution step widths are not accepted. Try a positive integer",
    ],
    [
      "when they end before they start",
      { times: { startMs: nowMs, endMs: nowMs - 1, stepMs: minute } },
      "invalid_window end",
      "end timestamp must not be before start time",
    ],
    [
      "with more than 11,000 steps",
      { times: last(11_001 * 1_000, 1_000) },
      "invalid_step step",
      "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)",
    ],
    [
      "when the grid of a step that is no multiple has too many points",
      { times: last(20 * hour, 65_000), smallest: 2 },
      "invalid_step step",
      "step=65s is not a multiple of 2s, and more than 11000 points of 2s lie between its ends; use step=66s",
    ],
    [
      "when the time is longer than the class allows, also with a step that is no multiple",
      { times: last(800 * 24 * hour, 1_000_000_000), maxWindowSeconds: 31 * 86_400 },
      "invalid_window start",
      "the window is 810.16d long; this caller's class allows 31d",
    ],
    [
      "when the covered time is longer than the class allows",
      { times: last(hour, minute), width: 3_600, maxWindowSeconds: 7_199 },
      "invalid_window start",
      "the window is 7200s long; this caller's class allows 7199s",
    ],
    [
      "when the range of an instant is longer than the class allows",
      { times: { timeMs: nowMs }, width: 7_200, maxWindowSeconds: 3_600 },
      "invalid_window query",
      "the window is 2h long; this caller's class allows 1h",
    ],
  ];
  test.each(rows)("%s", (_sentence, asked, refusal, detail) => {
    expect(refused(() => resolve(asked))).toBe(refusal);
    expect(refusalOf(() => resolve(asked)).message).toBe(detail);
  });

  test("only with more than 11,000 steps, and with a step to use that is accepted", () => {
    expect(resolve({ times: last(11_000 * 10_000, 10_000) }).stamps.count).toBe(11_001);
    const { suggestion } = refusalOf(() => resolve({ times: last(20 * hour, 65_000), smallest: 2 }));
    expect(suggestion).toEqual({ step: "66s" });
    expect(resolve({ times: last(20 * hour, 66_000), smallest: 2 }).stamps.count).toBe(1_091);
  });
});
