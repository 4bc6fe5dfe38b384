// The windows of an objective in time, and the reads that count their events with and without those of corrections.
import type { SloConfig } from "../../../crds/config.ts";
import { correctionIntervals } from "../../../crds/corrections.ts";
import type { Interval } from "../../../crds/time-zone.ts";
import { pointCount, type ResolvedWindow } from "../request/window.ts";
import { sliceWindow } from "./judge-slices.ts";
import type { EventCounts } from "./slo-status.ts";

type Corrections = NonNullable<SloConfig["corrections"]>;

const dayMs = 86_400_000;

/** A point of a read. */
export interface ReadPoint {
  /** Index of the read. */
  readonly read: number;
  /** Index of the point. */
  readonly point: number;
}

/** A window, and what does not count of it. */
export interface CountedWindow {
  readonly all: Interval;
  /** Parts of the window that corrections leave out, apart from each other. */
  readonly left: readonly Interval[];
}

/** The reads of some windows. */
export interface WindowReads {
  /** Those of the windows first, in their order. */
  readonly reads: readonly ResolvedWindow[];
  readonly windows: readonly CountedWindow[];
  /** The point of each window and part. Slices are counted without it. */
  readonly places: ReadonlyMap<string, ReadPoint>;
}

/**
 * Plans the reads of windows. A part that several windows lack is read once, and the slices of a gauge are read once
 * for all windows.
 *
 * @param singleStepSeconds reads each window alone, at the cost of as many points as it has such steps
 */
export function sloWindows(
  slo: SloConfig,
  spans: readonly Interval[],
  stepSecondsMin: number,
  singleStepSeconds?: number,
): WindowReads {
  const { over, corrections = [] } = slo;
  const excluded = excludedIntervals(corrections, enclosing(spans), correctionStep(slo, stepSecondsMin));
  const left = spans.map((span) => excluded.flatMap((interval) => overlap(interval, span)));
  if (over !== undefined) {
    const { fromMs, toMs } = enclosing(spans);
    const windows = spans.map((all, index) => ({ all, left: left[index] ?? [] }));
    return { reads: [sliceWindow(over, toMs, (toMs - fromMs) / 1_000)], windows, places: new Map() };
  }
  const pieces = cutIntervals(left.flat());
  const own = singleStepSeconds === undefined ? groupSpans(spans, 0) : singleSpans(spans, singleStepSeconds);
  const others = groupSpans(pieces, own.reads.length);
  return {
    reads: [...own.reads, ...others.reads],
    windows: spans.map((all, index) => ({
      all,
      left: pieces.filter((piece) => left[index]?.some((part) => isWithin(piece, part))),
    })),
    places: new Map([...others.places, ...own.places]),
  };
}

/** The point that counts a window, or a part of one. */
export function placeOf(places: WindowReads["places"], span: Interval): ReadPoint {
  const found = places.get(keyOf(span));
  if (found === undefined) throw new Error("a part of a window is not read");
  return found;
}

/** The events of a window without those of its corrections. Stores extrapolate each, so neither falls below 0. */
export function correctedCounts(
  { all, left }: CountedWindow,
  countsOf: (span: Interval) => EventCounts | undefined,
): EventCounts | undefined {
  const whole = countsOf(all);
  if (whole === undefined || left.length === 0) return whole;
  // The parts of a window that corrections leave out entirely do not add up to it: stores extrapolate each.
  if (isCoveredBy(all, left)) return { total: 0, good: 0 };
  const parts = left.flatMap((part) => countsOf(part) ?? []);
  const without = (count: (events: EventCounts) => number): number => {
    return Math.max(0, count(whole) - parts.reduce((sum, part) => sum + count(part), 0));
  };
  const total = without((events) => events.total);
  return {
    total,
    good: Math.min(
      total,
      without((events) => events.good),
    ),
  };
}

/**
 * The intervals of corrections that overlap a span, apart from each other and in order. Points are as wide as the
 * smallest step of the metric; an interval that covers a part of a point excludes the whole point.
 */
export function excludedIntervals(
  corrections: Corrections,
  span: Interval,
  stepSecondsMin: number,
): readonly Interval[] {
  const stepMs = stepSecondsMin * 1_000;
  const rounded = corrections
    .flatMap((correction) => correctionIntervals(correction, span))
    .map(({ fromMs, toMs }) => ({
      fromMs: Math.floor(fromMs / stepMs) * stepMs,
      toMs: Math.ceil(toMs / stepMs) * stepMs,
    }))
    .sort((one, other) => one.fromMs - other.fromMs);
  const joined: Interval[] = [];
  for (const interval of rounded) {
    const last = joined.at(-1);
    if (last === undefined || last.toMs < interval.fromMs) joined.push(interval);
    else joined[joined.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, interval.toMs) };
  }
  return joined;
}

/** The step that corrections are rounded to: a point of the metric, or a slice of the objective. */
export function correctionStep({ over }: Pick<SloConfig, "over">, stepSecondsMin: number): number {
  return over?.sliceSeconds ?? stepSecondsMin;
}

/** A correction as far as it concerns a window. */
export interface AppliedCorrection extends Interval {
  readonly reason: string;
  /** True at the end of the window. */
  readonly isActive: boolean;
  /** Excluded seconds of the window. */
  readonly seconds: number;
}

/**
 * The corrections that exclude a part of a window, or that are active at its end. The interval of each is the current
 * one, else the last.
 */
export function appliedCorrections(
  corrections: Corrections,
  span: Interval,
  stepSecondsMin: number,
): readonly AppliedCorrection[] {
  return corrections.flatMap((correction): readonly AppliedCorrection[] => {
    const { reason } = correction;
    const intervals = excludedIntervals([correction], { ...span, toMs: span.toMs + 1 }, stepSecondsMin);
    const last = intervals.at(-1);
    if (last === undefined) return [];
    const excluded = intervals.flatMap((interval) => overlap(interval, span));
    const ms = excluded.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
    return [{ ...last, reason, isActive: span.toMs < last.toMs, seconds: ms / 1_000 }];
  });
}

function enclosing(spans: readonly Interval[]): Interval {
  return {
    fromMs: Math.min(...spans.map(({ fromMs }) => fromMs)),
    toMs: Math.max(...spans.map(({ toMs }) => toMs)),
  };
}

function overlap(one: Interval, other: Interval): readonly Interval[] {
  const common = { fromMs: Math.max(one.fromMs, other.fromMs), toMs: Math.min(one.toMs, other.toMs) };
  return common.fromMs < common.toMs ? [common] : [];
}

/** Tests if parts that do not overlap fill an interval. */
function isCoveredBy({ fromMs, toMs }: Interval, parts: readonly Interval[]): boolean {
  return parts.reduce((sum, part) => sum + part.toMs - part.fromMs, 0) === toMs - fromMs;
}

function isWithin(inner: Interval, outer: Interval): boolean {
  return inner.fromMs >= outer.fromMs && inner.toMs <= outer.toMs;
}

function keyOf({ fromMs, toMs }: Interval): string {
  return `${fromMs} ${toMs}`;
}

/** Cuts intervals at each other's ends, so that the parts do not overlap. */
function cutIntervals(intervals: readonly Interval[]): readonly Interval[] {
  const ends = [...new Set(intervals.flatMap(({ fromMs, toMs }) => [fromMs, toMs]))].sort((a, b) => a - b);
  return ends
    .slice(1)
    .map((toMs, index) => ({ fromMs: ends[index] ?? toMs, toMs }))
    .filter((piece) => intervals.some((interval) => isWithin(piece, interval)));
}

/** Reads of some spans, and the place of each. */
interface GroupedSpans {
  readonly reads: readonly ResolvedWindow[];
  readonly places: ReadonlyMap<string, ReadPoint>;
}

/** A read may have this many times as many points as it needs. */
const spareFactorMax = 2;

/**
 * Reads spans of equal width at regular times together: those of a schedule, or the points of a history.
 *
 * @param first index of the first read
 */
function groupSpans(spans: readonly Interval[], first: number): GroupedSpans {
  const byWidth = [...Map.groupBy(spans, ({ fromMs, toMs }) => toMs - fromMs).values()];
  const groups = byWidth.flatMap((group) => {
    const read = readOf(group);
    if (pointCount(read) <= spareFactorMax * group.length) return [{ group, read }];
    // Zones change their clocks: each time of the day on its own.
    const byTime = [...Map.groupBy(group, ({ toMs }) => toMs % dayMs).values()];
    return byTime.map((one) => ({ group: one, read: readOf(one) }));
  });
  const places = groups.flatMap(({ group, read }, index) =>
    group.map((span): [string, ReadPoint] => [
      keyOf(span),
      { read: first + index, point: (span.fromMs - read.fromMs) / (read.stepSeconds * 1_000) },
    ]),
  );
  return { reads: groups.map(({ read }) => read), places: new Map(places) };
}

function singleSpans(spans: readonly Interval[], stepSecondsMax: number): GroupedSpans {
  const alone = spans.map((span) => readOf([span]));
  const reads = alone.map((read) => ({ ...read, stepSeconds: Math.min(read.stepSeconds, stepSecondsMax) }));
  return { reads, places: new Map(spans.map((span, read) => [keyOf(span), { read, point: 0 }])) };
}

/** The coarsest read with a point for each of some spans of equal width. */
function readOf(group: readonly Interval[]): ResolvedWindow {
  const { fromMs, toMs } = enclosing(group);
  const [{ fromMs: start, toMs: end } = { fromMs, toMs }] = group;
  const widthSeconds = (end - start) / 1_000;
  const stepMs = group.reduce((step, span) => greatestDivisor(step, span.fromMs - fromMs), 0);
  return {
    fromMs,
    toMs,
    stepSeconds: stepMs === 0 ? widthSeconds : stepMs / 1_000,
    widthSeconds,
    downsample: undefined,
  };
}

/** The greatest number that divides both. */
export function greatestDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestDivisor(other, one % other);
}
