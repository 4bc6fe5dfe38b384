import { downsamples, type Downsample } from "../../../api/queries.ts";
import type { ClassLimits } from "../../../crds/config.ts";
import { invalidField } from "../../errors/api-error.ts";
import {
  formatAlike,
  formatDuration,
  formatTime,
  formatWithLimit,
  parseDuration,
  type RequestedWindow,
} from "./time.ts";

const daySeconds = 86_400;
/** Source: seed "Operational Metrics API" §8. */
export const windowSecondsDefault = 3 * 3_600;
export const stepSecondsMin = 10;
export const publicStepSecondsMin = 60;
/** Most points of one series without a requested step. */
const pointsDefaultMax = 1_000;
/** Most points of one series: the limit of Prometheus for one range query. */
export const pointsMax = 11_000;

/** Steps that the API selects. Each divides a day evenly, so that panels share cached points. */
export const niceStepsSeconds = [
  10,
  15,
  20,
  30,
  60,
  120,
  300,
  600,
  900,
  1_800,
  3_600,
  7_200,
  10_800,
  21_600,
  43_200,
  daySeconds,
];

/**
 * The smallest downsample of windows longer than `aboveSeconds`. Source: seed "Operational Metrics API" §4.7.5.
 */
const autoDownsample: readonly { readonly aboveSeconds: number; readonly downsample: Downsample }[] = [
  { aboveSeconds: 7 * daySeconds, downsample: "1h" },
  { aboveSeconds: daySeconds, downsample: "5m" },
];

/**
 * The points of a response: `fromMs + width`, …, `toMs`, one each step. A point t covers (t − width, t]: together the
 * points cover no time outside of (`fromMs`, `toMs`].
 */
interface Grid {
  readonly fromMs: number;
  readonly toMs: number;
  readonly stepSeconds: number;
  /** In native queries the step: the points cover the window once, and both ends are multiples of the step. */
  readonly widthSeconds: number;
}

/** A grid and the downsample that applies to it. */
export interface ResolvedWindow extends Grid {
  readonly downsample: Downsample | undefined;
}

/** Limits on the times of a query. */
export interface WindowRules {
  readonly nowMs: number;
  /** Smallest step that this caller may request of these metrics, in seconds. */
  readonly stepSecondsMin: number;
  readonly limits: ClassLimits;
}

/** Counts the points of a grid. */
export function pointCount({ fromMs, toMs, stepSeconds, widthSeconds }: Grid): number {
  return Math.round((toMs - fromMs - widthSeconds * 1_000) / (stepSeconds * 1_000)) + 1;
}

/** End of the first point, in Unix milliseconds. */
export function firstPointMs({ fromMs, widthSeconds }: Pick<Grid, "fromMs" | "widthSeconds">): number {
  return fromMs + widthSeconds * 1_000;
}

/** The width of points, where it is not their step. Names of native queries hold the step alone. */
export function widthApart({ stepSeconds, widthSeconds }: Grid): readonly number[] {
  return widthSeconds === stepSeconds ? [] : [widthSeconds];
}

/** End of each point, in Unix milliseconds. */
export function pointTimes(grid: Grid): readonly number[] {
  const [firstMs, stepMs] = [firstPointMs(grid), grid.stepSeconds * 1_000];
  return Array.from({ length: pointCount(grid) }, (_, index) => firstMs + index * stepMs);
}

/**
 * Fills in defaults, raises the step and aligns both ends. A step that is too fine for the window is raised; a step
 * below the minimum is rejected. The end is never in the future. Source: seed "Operational Metrics API" §4.7 and §8.
 *
 * @throws ApiError `invalid_window`, `invalid_step`, `invalid_downsample`
 */
export function resolveWindow(
  requested: RequestedWindow,
  requestedDownsample: Downsample | undefined,
  rules: WindowRules,
): ResolvedWindow {
  const { fromMs, toMs } = boundsOf(requested, rules);
  const windowSeconds = (toMs - fromMs) / 1_000;
  requireWindow(windowSeconds, rules.limits, "from");
  requireMinimum(requested.stepSeconds, rules.stepSecondsMin);
  const downsample = coarser(requestedDownsample, downsampleFor(windowSeconds));
  const smallest = Math.max(rules.stepSecondsMin, secondsOf(downsample));
  const stepSeconds =
    requested.stepSeconds === undefined
      ? defaultStep(windowSeconds, smallest)
      : Math.max(requested.stepSeconds, smallest);
  requireFit(windowSeconds, stepSeconds, { step: requested.stepSeconds, downsample: requestedDownsample });
  return { ...align(fromMs, toMs, stepSeconds), stepSeconds, widthSeconds: stepSeconds, downsample };
}

/** Resolves the one point at or before a time, for `instant`. */
export function resolveInstant(
  tsMs: number | undefined,
  downsample: Downsample | undefined,
  rules: Pick<WindowRules, "nowMs" | "stepSecondsMin">,
): ResolvedWindow {
  const stepSeconds = Math.max(rules.stepSecondsMin, secondsOf(downsample));
  const stepMs = stepSeconds * 1_000;
  const toMs = Math.floor(Math.min(tsMs ?? rules.nowMs, rules.nowMs) / stepMs) * stepMs;
  return { fromMs: toMs - stepMs, toMs, stepSeconds, widthSeconds: stepSeconds, downsample };
}

/** The window of one point that ends at a time, without a downsample. */
export function onePoint(timeMs: number, seconds: number): ResolvedWindow {
  const fromMs = timeMs - seconds * 1_000;
  return { fromMs, toMs: timeMs, stepSeconds: seconds, widthSeconds: seconds, downsample: undefined };
}

/** The number of steps that a point covers at least a part of. */
export function stepsPerPoint({ stepSeconds, widthSeconds }: Pick<Grid, "stepSeconds" | "widthSeconds">): number {
  return Math.ceil(widthSeconds / stepSeconds);
}

/** The next coarser step, for a suggestion; undefined past the coarsest. */
export function coarserStep(window: Grid): number | undefined {
  return coarserSteps(window)[0];
}

/**
 * The finest step that costs at most this share of a window's points, for any alignment of the window; undefined
 * without one.
 */
export function stepWithin(window: Grid, share: number): number | undefined {
  const seconds = windowSecondsOf(window);
  const isTiled = window.widthSeconds === window.stepSeconds;
  const most = pointCount(window) * stepsPerPoint(window) * share;
  return coarserSteps(window).find((stepSeconds) => {
    const points = Math.ceil(seconds / stepSeconds) + 1;
    return points * (isTiled ? 1 : stepsPerPoint({ ...window, stepSeconds })) <= most;
  });
}

/** Coarser steps within a window. Where points keep their width, a step that is no multiple would read as many. */
function coarserSteps(window: Grid): readonly number[] {
  const isTiled = window.widthSeconds === window.stepSeconds;
  return niceStepsSeconds.filter(
    (step) =>
      step > window.stepSeconds && step <= windowSecondsOf(window) && (isTiled || step % window.stepSeconds === 0),
  );
}

/** The next downsample above a step, for a suggestion; undefined past the coarsest. */
export function coarserDownsample(stepSeconds: number, mostSeconds: number): Downsample | undefined {
  return downsamples.find((downsample) => secondsOf(downsample) > stepSeconds && secondsOf(downsample) <= mostSeconds);
}

/** The length of a window in seconds. */
export function windowSecondsOf({ fromMs, toMs }: Grid): number {
  return (toMs - fromMs) / 1_000;
}

/** @throws ApiError `invalid_window` for a longer window than the class allows */
export function requireWindow(windowSeconds: number, { maxWindowSeconds }: ClassLimits, field: string): void {
  if (windowSeconds <= maxWindowSeconds) return;
  const [length, longest] = formatWithLimit(windowSeconds, maxWindowSeconds);
  const detail = `the window is ${length} long; this caller's class allows ${longest}`;
  throw invalidField("invalid_window", field, detail);
}

function boundsOf(requested: RequestedWindow, { nowMs, limits }: WindowRules): { fromMs: number; toMs: number } {
  const toMs = Math.min(requested.toMs ?? nowMs, nowMs);
  const defaultSeconds = Math.min(windowSecondsDefault, limits.maxWindowSeconds);
  const fromMs = requested.fromMs ?? Math.max(0, toMs - defaultSeconds * 1_000);
  if (fromMs < toMs) return { fromMs, toMs };
  const beforeEnd = requested.toMs === undefined || fromMs < requested.toMs;
  const from = `from=${formatTime(fromMs)}`;
  const detail = beforeEnd
    ? `${from} is in the future; use an earlier time`
    : `${from} is not before to=${formatTime(toMs)}; use an earlier from or a later to`;
  throw invalidField("invalid_window", "from", detail);
}

function requireMinimum(stepSeconds: number | undefined, minimum: number): void {
  if (stepSeconds === undefined || stepSeconds >= minimum) return;
  const [own, smallest] = formatAlike(stepSeconds, minimum);
  const detail = `step=${own} is below the minimum step of ${smallest}; use ${smallest} or more`;
  throw invalidField("invalid_step", "step", detail, { suggestion: { step: formatDuration(minimum) } });
}

interface RequestedPoints {
  readonly step: number | undefined;
  readonly downsample: Downsample | undefined;
}

function requireFit(windowSeconds: number, stepSeconds: number, requested: RequestedPoints): void {
  if (windowSeconds < stepSeconds) {
    const [code, field] = causeOfWidth(stepSeconds, requested);
    const point = formatDuration(stepSeconds);
    const detail = `the window is shorter than one point of ${point}; use a longer window or a finer step`;
    throw invalidField(code, field, detail);
  }
  if (windowSeconds / stepSeconds <= pointsMax) return;
  const widerSeconds = niceStep(windowSeconds / pointsMax);
  const [own, other] = formatAlike(stepSeconds, widerSeconds);
  const detail = `the window has more than ${pointsMax} points of ${own}; use step=${other}`;
  throw invalidField("invalid_step", "step", detail, { suggestion: { step: formatDuration(widerSeconds) } });
}

/** The error code and the field that made the points as wide as they are. */
function causeOfWidth(stepSeconds: number, { step, downsample }: RequestedPoints) {
  if (step !== undefined && step >= stepSeconds) return ["invalid_step", "step"] as const;
  if (secondsOf(downsample) === stepSeconds) return ["invalid_downsample", "downsample"] as const;
  return step === undefined ? (["invalid_window", "from"] as const) : (["invalid_step", "step"] as const);
}

function defaultStep(windowSeconds: number, smallest: number): number {
  const needed = windowSeconds / pointsDefaultMax;
  return smallest >= needed ? smallest : Math.max(smallest, niceStep(needed));
}

/** The smallest step of {@link niceStepsSeconds} at or above a number of seconds; whole days above one day. */
function niceStep(seconds: number): number {
  return niceStepsSeconds.find((step) => step >= seconds) ?? Math.ceil(seconds / daySeconds) * daySeconds;
}

function align(fromMs: number, toMs: number, stepSeconds: number): { fromMs: number; toMs: number } {
  const stepMs = stepSeconds * 1_000;
  return { fromMs: Math.floor(fromMs / stepMs) * stepMs, toMs: Math.floor(toMs / stepMs) * stepMs };
}

/** The smallest downsample of a window of this length. */
export function downsampleFor(windowSeconds: number): Downsample | undefined {
  return autoDownsample.find(({ aboveSeconds }) => windowSeconds > aboveSeconds)?.downsample;
}

function coarser(a: Downsample | undefined, b: Downsample | undefined): Downsample | undefined {
  return secondsOf(a) >= secondsOf(b) ? a : b;
}

/** The width of a downsample; 0 without one. */
export function secondsOf(downsample: Downsample | undefined): number {
  return downsample === undefined ? 0 : (parseDuration(downsample) ?? 0);
}
