import type { ClassLimits } from "../../../crds/config.ts";
import { refuseField } from "../../errors/refusal.ts";
import { formatDuration, parseDuration } from "./duration.ts";
import { downsamples, type AskedWindow, type Downsample } from "./parameters.ts";

const daySeconds = 86_400;
/** Source: seed "Operational Metrics API" §8. */
export const windowSecondsDefault = 3 * 3_600;
export const stepSecondsMin = 10;
export const publicStepSecondsMin = 60;
/** Points of one series when the caller names no step. Source: wire, "Metrics". */
const pointsDefaultMax = 1_000;
/** Points of one series at all: what Prometheus itself gives in one range query. */
export const pointsMax = 11_000;

/** Steps that are chosen for a caller; each divides the next day evenly, so that panels share them. */
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
 * Windows longer than this get at least these points. Source: seed "Operational Metrics API" §4.7.5, wire "Metrics".
 */
const autoDownsample: readonly { readonly aboveSeconds: number; readonly downsample: Downsample }[] = [
  { aboveSeconds: 7 * daySeconds, downsample: "1h" },
  { aboveSeconds: daySeconds, downsample: "5m" },
];

/**
 * The points of an answer: `fromMs + step`, …, `toMs`. A point t covers (t − step, t], so that the points cover the
 * window once and neighbouring windows share nothing. Both ends are multiples of the step since the epoch. Source:
 * design §5 rule 1.
 */
interface Grid {
  readonly fromMs: number;
  readonly toMs: number;
  readonly stepSeconds: number;
}

/** A grid and how it came to be. */
export interface ResolvedWindow extends Grid {
  readonly downsample: Downsample | undefined;
}

/** What bounds the times of a query. */
interface WindowRules {
  readonly nowMs: number;
  /** Smallest step of this caller for these metrics, in seconds. */
  readonly stepSecondsMin: number;
  readonly limits: ClassLimits;
}

/** Number of points of a grid. */
export function pointCount({ fromMs, toMs, stepSeconds }: Grid): number {
  return Math.round((toMs - fromMs) / (stepSeconds * 1_000));
}

/** End of each point, in Unix milliseconds. */
export function pointTimes(grid: Grid): readonly number[] {
  return Array.from({ length: pointCount(grid) }, (_, index) => grid.fromMs + (index + 1) * grid.stepSeconds * 1_000);
}

/**
 * Fills in, raises and aligns what the caller asked. A step finer than the window allows is raised, a step below the
 * minimum refused. The end is never in the future. Source: seed "Operational Metrics API" §4.7 and §8.
 *
 * @throws Refusal `invalid_window`, `invalid_step`, `invalid_downsample`
 */
export function resolveWindow(
  asked: AskedWindow,
  downsampleAsked: Downsample | undefined,
  rules: WindowRules,
): ResolvedWindow {
  const { fromMs, toMs } = boundsOf(asked, rules);
  const windowSeconds = (toMs - fromMs) / 1_000;
  if (windowSeconds > rules.limits.maxWindowSeconds) {
    const longest = formatDuration(rules.limits.maxWindowSeconds);
    throw refuseField("invalid_window", "from", `the window is longer than the ${longest} of this caller's class`);
  }
  requireMinimum(asked.stepSeconds, rules.stepSecondsMin);
  const downsample = coarser(downsampleAsked, downsampleFor(windowSeconds));
  const smallest = Math.max(rules.stepSecondsMin, secondsOf(downsample));
  const stepSeconds =
    asked.stepSeconds === undefined ? defaultStep(windowSeconds, smallest) : Math.max(asked.stepSeconds, smallest);
  requireFit(windowSeconds, stepSeconds, { step: asked.stepSeconds, downsample: downsampleAsked });
  return { ...align(fromMs, toMs, stepSeconds), stepSeconds, downsample };
}

/** The single point at or before a time: what `instant` answers. Source: design §5 rule 1. */
export function resolveInstant(
  tsMs: number | undefined,
  downsample: Downsample | undefined,
  rules: Pick<WindowRules, "nowMs" | "stepSecondsMin">,
): ResolvedWindow {
  const stepSeconds = Math.max(rules.stepSecondsMin, secondsOf(downsample));
  const stepMs = stepSeconds * 1_000;
  const toMs = Math.floor(Math.min(tsMs ?? rules.nowMs, rules.nowMs) / stepMs) * stepMs;
  return { fromMs: toMs - stepMs, toMs, stepSeconds, downsample };
}

/** The next step that is worth suggesting to a caller whose query was too much; undefined past the coarsest. */
export function coarserStep(stepSeconds: number, mostSeconds: number): number | undefined {
  return niceStepsSeconds.find((step) => step > stepSeconds && step <= mostSeconds);
}

/**
 * The finest step that makes at most this share of a window's points, however the window lies on it; undefined where
 * none does.
 */
export function stepWithin(window: Grid, share: number): number | undefined {
  const seconds = windowSecondsOf(window);
  const most = pointCount(window) * share;
  return niceStepsSeconds.find(
    (step) => step > window.stepSeconds && step <= seconds && Math.ceil(seconds / step) + 1 <= most,
  );
}

/** The next downsample above a step; undefined past the coarsest. */
export function coarserDownsample(stepSeconds: number, mostSeconds: number): Downsample | undefined {
  return downsamples.find((downsample) => secondsOf(downsample) > stepSeconds && secondsOf(downsample) <= mostSeconds);
}

/** How long a window is, in seconds. */
export function windowSecondsOf({ fromMs, toMs }: Grid): number {
  return (toMs - fromMs) / 1_000;
}

function boundsOf(asked: AskedWindow, { nowMs, limits }: WindowRules): { fromMs: number; toMs: number } {
  const toMs = Math.min(asked.toMs ?? nowMs, nowMs);
  const defaultSeconds = Math.min(windowSecondsDefault, limits.maxWindowSeconds);
  const fromMs = asked.fromMs ?? Math.max(0, toMs - defaultSeconds * 1_000);
  if (fromMs < toMs) return { fromMs, toMs };
  const beforeEnd = asked.toMs === undefined || fromMs < asked.toMs;
  throw refuseField("invalid_window", "from", beforeEnd ? "from is in the future" : "from is not before to");
}

function requireMinimum(stepSeconds: number | undefined, minimum: number): void {
  if (stepSeconds === undefined || stepSeconds >= minimum) return;
  const step = formatDuration(minimum);
  const detail = `step=${formatDuration(stepSeconds)} is below the smallest step of ${step}`;
  throw refuseField("invalid_step", "step", detail, { suggestion: { step } });
}

interface AskedPoints {
  readonly step: number | undefined;
  readonly downsample: Downsample | undefined;
}

function requireFit(windowSeconds: number, stepSeconds: number, asked: AskedPoints): void {
  if (windowSeconds < stepSeconds) {
    const [code, field] = whatIsTooWide(stepSeconds, asked);
    throw refuseField(code, field, `the window is shorter than one point of ${formatDuration(stepSeconds)}`);
  }
  if (windowSeconds / stepSeconds <= pointsMax) return;
  const step = formatDuration(niceStep(windowSeconds / pointsMax));
  const detail = `the window holds more than ${pointsMax} points of ${formatDuration(stepSeconds)}`;
  throw refuseField("invalid_step", "step", detail, { suggestion: { step } });
}

/** What made points as wide as they are. */
function whatIsTooWide(stepSeconds: number, { step, downsample }: AskedPoints) {
  if (step !== undefined && step >= stepSeconds) return ["invalid_step", "step"] as const;
  if (secondsOf(downsample) === stepSeconds) return ["invalid_downsample", "downsample"] as const;
  return step === undefined ? (["invalid_window", "from"] as const) : (["invalid_step", "step"] as const);
}

function defaultStep(windowSeconds: number, smallest: number): number {
  const needed = windowSeconds / pointsDefaultMax;
  return smallest >= needed ? smallest : Math.max(smallest, niceStep(needed));
}

/** The smallest nice step at or above; whole days above a day. */
function niceStep(seconds: number): number {
  return niceStepsSeconds.find((step) => step >= seconds) ?? Math.ceil(seconds / daySeconds) * daySeconds;
}

function align(fromMs: number, toMs: number, stepSeconds: number): { fromMs: number; toMs: number } {
  const stepMs = stepSeconds * 1_000;
  return { fromMs: Math.floor(fromMs / stepMs) * stepMs, toMs: Math.floor(toMs / stepMs) * stepMs };
}

function downsampleFor(windowSeconds: number): Downsample | undefined {
  return autoDownsample.find(({ aboveSeconds }) => windowSeconds > aboveSeconds)?.downsample;
}

function coarser(a: Downsample | undefined, b: Downsample | undefined): Downsample | undefined {
  return secondsOf(a) >= secondsOf(b) ? a : b;
}

function secondsOf(downsample: Downsample | undefined): number {
  return downsample === undefined ? 0 : (parseDuration(downsample) ?? 0);
}
