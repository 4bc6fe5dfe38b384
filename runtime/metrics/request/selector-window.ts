import { invalidField } from "../../errors/api-error.ts";
import type { SelectorSlices, SelectorTimes, Stamps } from "./selector.ts";
import { formatAlike, formatDuration } from "./time.ts";
import {
  downsampleFor,
  firstPointMs,
  onePoint,
  pointCount,
  pointsMax,
  requireWindow,
  type ResolvedWindow,
  secondsOf,
  type WindowRules,
  windowSecondsOf,
} from "./window.ts";

type RangeTimes = Extract<SelectorTimes, { readonly startMs: number }>;

/** The points that a selector reads, and the stamps of its response. */
export interface SelectorWindow {
  /** Without a stamp it has one point, which nobody needs. */
  readonly window: ResolvedWindow;
  readonly stamps: Stamps;
  /** For each stamp the index of its point: the last one at or before the stamp. */
  readonly places: readonly number[];
}

/**
 * Resolves the points of a selector. The stamp t has the point at τ = ⌊t/L⌋·L, where L is the smallest step, or the
 * downsample where that is coarser; the point covers (τ − width, τ].
 *
 * @param widthSeconds time that each point covers. Undefined: the greater of L and the step; in an instant the smallest
 *   step
 * @throws ApiError `invalid_window`, `invalid_step`; the details of wrong times are those of Prometheus
 */
export function resolveSelectorWindow(
  times: SelectorTimes,
  widthSeconds: number | undefined,
  rules: WindowRules,
): SelectorWindow {
  const window = selectorWindowAt(times, widthSeconds, rules)(rules.nowMs);
  const stamps = stampsAt(times, rules.nowMs);
  return { window, stamps, places: placesOf(window, stamps) };
}

/**
 * The window of {@link resolveSelectorWindow} at another time. It and {@link stampsAt} decide if a response is current.
 */
export function selectorWindowAt(
  times: SelectorTimes,
  widthSeconds: number | undefined,
  rules: Omit<WindowRules, "nowMs">,
): (nowMs: number) => ResolvedWindow {
  return (nowMs) => {
    requireWidth(widthSeconds, rules.stepSecondsMin);
    const points = { ...rules, nowMs, widthSeconds };
    const window = "timeMs" in times ? instantWindow(times, points) : rangeWindow(times, points);
    requireWindow(windowSecondsOf(window), rules.limits, "timeMs" in times ? "query" : "start");
    if ("stepMs" in times) requirePoints(window, times.stepMs / 1_000);
    return window;
  };
}

/**
 * The times of a selector with an offset. They have no stamp that the request does not have at this time.
 *
 * @throws ApiError `invalid_window`
 */
export function timesBefore(times: SelectorTimes, offsetSeconds: number | undefined, nowMs: number): SelectorTimes {
  if (offsetSeconds === undefined) return times;
  const ms = offsetSeconds * 1_000;
  const startMs = ("timeMs" in times ? times.timeMs : times.startMs) - ms;
  if (startMs < 0) throw invalidField("invalid_window", "query", "the offset reaches before 1970; use a shorter one");
  if ("timeMs" in times) return { timeMs: startMs };
  return { ...times, startMs, endMs: Math.min(times.endMs, Math.max(times.startMs, nowMs)) - ms };
}

/**
 * The stamps of a response, which no selector changes. None of a range is in the future. An instant may be, as in
 * Prometheus: its point has the samples that its width still covers.
 */
export function stampsAt(times: SelectorTimes, nowMs: number): Stamps {
  if ("timeMs" in times) return { startMs: times.timeMs, stepMs: 1_000, count: 1 };
  requireRange(times);
  const { startMs, endMs, stepMs } = times;
  const count = Math.max(0, Math.floor((Math.min(endMs, nowMs) - startMs) / stepMs) + 1);
  return { startMs, stepMs, count };
}

type RequestedPoints = WindowRules & { readonly widthSeconds: number | undefined };

/** The points of slices: every slice of the windows that end with the stamps. None is a downsample. */
export function resolveSlices(
  times: SelectorTimes,
  { condition: { sliceSeconds }, windowSeconds }: SelectorSlices,
  rules: WindowRules,
): SelectorWindow {
  const window = sliceWindowAt(times, { sliceSeconds, windowSeconds }, rules)(rules.nowMs);
  const stamps = stampsAt(times, rules.nowMs);
  return { window, stamps, places: placesOf(window, stamps) };
}

/** The window of {@link resolveSlices} at another time. */
export function sliceWindowAt(
  times: SelectorTimes,
  { sliceSeconds, windowSeconds }: { readonly sliceSeconds: number; readonly windowSeconds: number },
  rules: Omit<WindowRules, "nowMs">,
): (nowMs: number) => ResolvedWindow {
  return (nowMs) => {
    requireWidth(sliceSeconds, rules.stepSecondsMin);
    const { startMs, stepMs, count } = stampsAt(times, nowMs);
    const firstMs = floorTo(count === 0 ? nowMs : startMs, sliceSeconds * 1_000);
    const toMs = count === 0 ? firstMs : floorTo(startMs + (count - 1) * stepMs, sliceSeconds * 1_000);
    const point = { stepSeconds: sliceSeconds, widthSeconds: sliceSeconds, downsample: undefined };
    const window = { ...point, fromMs: firstMs - windowSeconds * 1_000, toMs };
    requireWindow(windowSecondsOf(window), rules.limits, "timeMs" in times ? "query" : "start");
    if (pointCount(window) <= pointsMax + 1) return window;
    const slices = `${pointsMax} slices of ${formatDuration(sliceSeconds)}`;
    const detail = `more than ${slices} lie in the windows; use a shorter range`;
    throw invalidField("invalid_window", "query", detail);
  };
}

/** One point, whose step is its width. */
function instantWindow(
  times: SelectorTimes,
  { nowMs, stepSecondsMin, widthSeconds = stepSecondsMin }: RequestedPoints,
): ResolvedWindow {
  const downsample = downsampleFor(widthSeconds);
  const gridMs = Math.max(stepSecondsMin, secondsOf(downsample)) * 1_000;
  return { ...onePoint(floorTo(stampsAt(times, nowMs).startMs, gridMs), widthSeconds), downsample };
}

function rangeWindow(times: RangeTimes, { nowMs, stepSecondsMin, widthSeconds }: RequestedPoints): ResolvedWindow {
  const { startMs, stepMs, count } = stampsAt(times, nowMs);
  const stepSeconds = stepMs / 1_000;
  const lastMs = startMs + Math.max(0, count - 1) * stepMs;
  const coveredSeconds = (lastMs - startMs) / 1_000 + (widthSeconds ?? Math.max(stepSecondsMin, stepSeconds));
  const downsample = downsampleFor(coveredSeconds);
  const gridSeconds = Math.max(stepSecondsMin, secondsOf(downsample));
  const gridMs = gridSeconds * 1_000;
  const firstMs = floorTo(count === 0 ? nowMs : startMs, gridMs);
  const toMs = count === 0 ? firstMs : floorTo(lastMs, gridMs);
  const readSeconds = stepSeconds % gridSeconds === 0 ? stepSeconds : gridSeconds;
  const point = onePoint(firstMs, widthSeconds ?? Math.max(gridSeconds, stepSeconds));
  return { ...point, toMs, stepSeconds: readSeconds, downsample };
}

function placesOf(window: ResolvedWindow, { startMs, stepMs, count }: Stamps): readonly number[] {
  const [firstMs, readMs] = [firstPointMs(window), window.stepSeconds * 1_000];
  return Array.from({ length: count }, (_, index) => Math.floor((startMs + index * stepMs - firstMs) / readMs));
}

function floorTo(ms: number, unitMs: number): number {
  return Math.floor(ms / unitMs) * unitMs;
}

function requireWidth(widthSeconds: number | undefined, smallest: number): void {
  if (widthSeconds === undefined) return;
  if (Number.isSafeInteger(widthSeconds) && widthSeconds >= smallest) return;
  const [own, wider] = alike(widthSeconds, Math.max(smallest, Math.ceil(widthSeconds)));
  const reason = widthSeconds < smallest ? `below the minimum range of ${wider}` : "not a whole number of seconds";
  throw invalidField("invalid_step", "query", `the range [${own}] is ${reason}; use [${wider}]`);
}

/** Source of the details: Prometheus HTTP API, "Range queries". */
function requireRange({ startMs, endMs, stepMs }: RangeTimes): void {
  if (endMs < startMs) throw invalidField("invalid_window", "end", "end timestamp must not be before start time");
  if (!(stepMs > 0)) {
    const detail = "zero or negative query resolution step widths are not accepted. Try a positive integer";
    throw invalidField("invalid_step", "step", detail);
  }
  if ((endMs - startMs) / stepMs > pointsMax) {
    const detail =
      "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)";
    throw invalidField("invalid_step", "step", detail);
  }
  if (stepMs % 1_000 === 0) return;
  const wholeSeconds = Math.ceil(stepMs / 1_000);
  const [own, whole] = alike(stepMs / 1_000, wholeSeconds);
  const detail = `step=${own} is not a whole number of seconds; use step=${whole}`;
  throw invalidField("invalid_step", "step", detail, { suggestion: { step: formatDuration(wholeSeconds) } });
}

/** A step that is no multiple of the grid reads the whole grid. */
function requirePoints(window: ResolvedWindow, stepSeconds: number): void {
  if (pointCount(window) <= pointsMax + 1) return;
  const grid = window.stepSeconds;
  const coarser = Math.ceil(stepSeconds / grid) * grid;
  const [own, multiple, other] = formatAlike(stepSeconds, grid, coarser);
  const detail =
    `step=${own} is not a multiple of ${multiple}, ` +
    `and more than ${pointsMax} points of ${multiple} lie between its ends; use step=${other}`;
  throw invalidField("invalid_step", "step", detail, { suggestion: { step: formatDuration(coarser) } });
}

/** Durations in one unit; seconds unless both are whole. */
function alike(seconds: number, other: number): readonly string[] {
  return Number.isSafeInteger(seconds) ? formatAlike(seconds, other) : [`${seconds}s`, `${other}s`];
}
