import type { PointGrid, StoreSeries } from "../../stores/prometheus/matrix.ts";
import type { RangeBoundary } from "../../stores/prometheus/probe-store.ts";
import type { Piece, PrometheusClient } from "../../stores/prometheus/prometheus-client.ts";
import type { StoreCall } from "../../stores/prometheus/store-http.ts";
import { StoreError } from "../../stores/store-error.ts";
import type { PartSeries } from "../merge/merge.ts";
import type { Plan, PlannedPart } from "../planning/plan.ts";
import { printVector, type Selector, type Vector } from "../promql/promql.ts";

/** One part and its store. */
export interface PartRead {
  readonly plan: Plan;
  readonly part: PlannedPart;
  readonly client: PrometheusClient;
  readonly call: StoreCall;
  readonly boundary: RangeBoundary;
}

/** The series of one part, and their newest sample. */
export interface SampledPart extends PartSeries {
  /** Time of the newest sample up to the end of the window; undefined when the store names none. */
  readonly newestMs: number | undefined;
}

/** Most times at which a store looks for the newest sample of a point. */
const looksMax = 288;

/** The newest sample's time at the end of the window; undefined without a recent one, or if the points tell it. */
export function readNewest(reading: PartRead): Promise<number | undefined> | undefined {
  return isDatedByPoints(reading) ? undefined : readAtEnd(reading);
}

function readAtEnd(reading: PartRead): Promise<number | undefined> {
  return readTime(reading.part.newest, reading.plan.query.window.toMs, reading);
}

/** The width of a point as a share of its age, below which the start of the point tells the age of its sample. */
const agesMin = 288;

/**
 * Tests if the newest sample is in the last present point, and if the width of that point is small against the age of
 * the data. An average or an extreme over a range of a gauge is present only where the range has a sample. Other points
 * may have their value of a sample before.
 */
function isDatedByPoints({ part, plan }: Pick<PartRead, "part" | "plan">): boolean {
  const { window } = plan.query;
  const isOld = part.isSettled && plan.nowMs - window.toMs >= agesMin * window.widthSeconds * 1_000;
  return isOld && part.ranges.length > 0 && part.ranges.every((range) => isOverSamples(range, part.newest));
}

/** Whether each point has samples of the series that date the data, within its own time. */
function isOverSamples(range: Vector, newest: PartRead["part"]["newest"]): boolean {
  if (newest.kind !== "timestamp" || range.kind !== "aggregate" || range.of.kind !== "over") return false;
  const { fn, of, offsetMs = 0 } = range.of;
  return fn !== "increase" && offsetMs === 0 && sameSeries(of, newest.of);
}

function sameSeries(one: Selector, other: Selector): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/**
 * The time of the newest sample of the last present point, where the store names none at the end of the window: its
 * series have ended, or have no sample within the look-back of the store. A failure of this read is none of the query.
 */
export async function findNewest(
  reading: PartRead,
  points: Pick<PartSeries, "ranges" | "histograms">,
): Promise<number | undefined> {
  const { part, plan } = reading;
  const last = lastPointMs(points, plan.grid);
  if (isDatedByPoints(reading)) return last === undefined ? readAtEnd(reading) : undefined;
  if (last === undefined || part.newest.kind !== "timestamp") return undefined;
  const rangeMs = plan.query.window.widthSeconds * 1_000;
  const stepMs = Math.max(part.store.intervalSeconds * 1_000, Math.ceil(rangeMs / looksMax));
  try {
    return await readTime({ ...part.newest, within: { rangeMs, stepMs } }, last, reading);
  } catch (error) {
    if (error instanceof StoreError) return undefined;
    throw error;
  }
}

async function readTime(
  newest: Vector,
  timeMs: number,
  { client, call, boundary }: PartRead,
): Promise<number | undefined> {
  const seconds = await client.single(printVector(newest, boundary), timeMs, call);
  return seconds === undefined ? undefined : seconds * 1_000;
}

type Points = Pick<PartSeries, "ranges" | "histograms">;

/** The end of the last present point; undefined without any. */
function lastPointMs({ ranges, histograms }: Points, { startMs, stepMs }: PointGrid): number | undefined {
  const indexes = [
    ...ranges.map(lastPresent),
    ...histograms.map((series) => series.histograms.findLastIndex((histogram) => histogram !== undefined)),
  ];
  const last = indexes.reduce((a, b) => Math.max(a, b), -1);
  return last < 0 ? undefined : startMs + last * stepMs;
}

/** The index of the last present point of all series; -1 without one. It reads as few pieces as it can. */
function lastPresent({ pieces, series }: PartSeries["ranges"][number]): number {
  const lastOf = (own: readonly StoreSeries[]): number =>
    own.reduce((last, { present }) => Math.max(last, present.lastIndexOf(1)), -1);
  if (pieces === undefined) return lastOf(series);
  for (const { offset, count, cut } of latestFirst(pieces)) {
    const last = lastOf(cut(0, count));
    if (last !== -1) return offset + last;
  }
  return -1;
}

/** The time at which the last points were read; undefined when they were read now. */
function lastReadAtMs({ ranges }: Points): number | undefined {
  const times = ranges.flatMap(({ pieces = [] }) => latestFirst(pieces)[0]?.readAtMs ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

/** Cached pieces come before those of a read, whatever their times. */
function latestFirst<Series>(pieces: readonly Piece<Series>[]): readonly Piece<Series>[] {
  return pieces.toSorted((a, b) => b.offset - a.offset);
}

/** The results of one plan. */
interface PlanResults {
  readonly plan: Plan;
  readonly results: readonly SampledPart[];
}

/**
 * The time of the newest sample behind a response, in the stalest store: of each metric in each store the newest one,
 * over all plans, and of these the oldest. Stores without a sample do not count; undefined without any. Source: seed
 * "Operational Metrics API" §6.
 */
export function stalestMs(read: readonly PlanResults[]): number | undefined {
  const newest = new Map<string, number>();
  for (const { plan, results } of read) {
    for (const result of results) {
      const { metric, store } = result.part;
      const key = JSON.stringify([metric.entry.metric.id, store.key]);
      const ms = newestOf(result, plan);
      if (ms !== undefined) newest.set(key, Math.max(newest.get(key) ?? ms, ms));
    }
  }
  return newest.size === 0 ? undefined : Math.min(...newest.values());
}

/** The age of the newest sample of the stalest store in whole seconds, rounded up. */
export function ageSeconds(newestMs: number | undefined, nowMs: number): number | undefined {
  return newestMs === undefined ? undefined : Math.max(0, Math.ceil((nowMs - newestMs) / 1_000));
}

/** An age some seconds later. */
export function agedSeconds(seconds: number | undefined, passedSeconds: number): number | undefined {
  return seconds === undefined ? undefined : seconds + passedSeconds;
}

function newestOf(result: SampledPart, plan: Plan): number | undefined {
  const { grid, query } = plan;
  const last = lastPointMs(result, grid);
  // A store that lacks a part adds nothing to the response.
  if (last !== undefined && lacksPart(result, plan)) return undefined;
  // A cached point has no sample that is newer than its read.
  if (result.newestMs !== undefined) return Math.min(result.newestMs, lastReadAtMs(result) ?? result.newestMs);
  // The sample lies in the last present point. Its start is the earliest time, so that the age is never too low.
  return last === undefined ? undefined : last - query.window.widthSeconds * 1_000;
}

/** Tests if a store has some parts of a value, and no point of a part that every value needs. */
function lacksPart({ part, ranges }: SampledPart, { grid }: Plan): boolean {
  const { recipe } = part.metric;
  if (recipe.kind !== "scalar") return false;
  return ranges.some((range, index) => {
    const isNeeded = recipe.statistics[index]?.absent !== "none";
    return isNeeded && lastPointMs({ ranges: [range], histograms: [] }, grid) === undefined;
  });
}
