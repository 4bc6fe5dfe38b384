import { hash } from "node:crypto";
import { ApiError, invalidField } from "../../errors/api-error.ts";
import { listNames } from "../authorization/access.ts";
import { measureName, type Query } from "../planning/query.ts";
import { bytesOfSeries } from "../reads/finish-metric.ts";
import { agedSeconds } from "../reads/read-newest.ts";
import type { Result, ResultSeries } from "../reads/run-plan.ts";
import { type Parameters, writtenFilters } from "../request/parameters.ts";
import { type ResolvedWindow, widthApart } from "../request/window.ts";

/** The source of the data of a response. */
export type DataSource = "store" | "snapshot";

/** The data of a response. */
export interface QueryData {
  readonly result: Result;
  /** Name of the data of all pages. */
  readonly snapshot: string;
  readonly source: DataSource;
  /** Unix milliseconds at which it was read. */
  readonly nowMs: number;
}

/** The time for which a query is parsed. A later page has the window of its snapshot. */
export function readTimeOf(params: Parameters, nowMs: number, snapshots: Snapshots): number {
  const [pinned] = params.get("snapshot") ?? [];
  return (pinned === undefined ? undefined : snapshots.readAtMs(pinned, nowMs)) ?? nowMs;
}

/** The data of the snapshot that a query names; undefined when the stores have to be read. */
export function findSnapshot(query: Query, nowMs: number, snapshots: Snapshots): QueryData | undefined {
  if (query.snapshot === undefined) return undefined;
  const found = snapshots.find(query.snapshot, query, nowMs);
  if (found === undefined || (query.isCompleteRequired && found.result.partial)) return undefined;
  const passedSeconds = Math.ceil((nowMs - found.nowMs) / 1_000);
  const result = { ...found.result, freshnessSeconds: agedSeconds(found.result.freshnessSeconds, passedSeconds) };
  return { result, snapshot: query.snapshot, source: "snapshot", nowMs: found.nowMs };
}

/**
 * Names the data that was read, and stores it when it has more pages.
 *
 * @throws ApiError `snapshot_gone` when the query names other data
 */
export function takeSnapshot(read: Result, query: Query, nowMs: number, snapshots: Snapshots): QueryData {
  const result = withoutInfinite(read);
  const snapshot = snapshotOf(result, query);
  requireSnapshot(query.snapshot, snapshot);
  if (result.series.length > query.limit) snapshots.add(snapshot, query, { result, nowMs });
  return { result, snapshot, source: "store", nowMs };
}

/** Time after the read for which its pages are served. */
const snapshotMs = 5 * 60_000;
/** A larger result is not stored: its later pages are read from the stores, and rejected if the data has changed. */
const resultBytesMax = 16 * 1024 * 1024;

/** The data of a response with several pages. */
interface Snapshot {
  readonly result: Result;
  /** Unix milliseconds of the request that read it; every page is parsed for this time. */
  readonly nowMs: number;
}

/**
 * Recent results with several pages, by the name of their data. A snapshot serves only the same query over the same
 * catalog, so that its name alone gives no access.
 */
export interface Snapshots {
  /** Stores a result that fits; the oldest ones are removed first. */
  add(name: string, query: Query, snapshot: Snapshot): void;
  /** Time of the read of the data with this name, for any query; undefined when it is gone. */
  readAtMs(name: string, nowMs: number): number | undefined;
  /** The data of this name, if it belongs to this query. */
  find(name: string, query: Query, nowMs: number): Snapshot | undefined;
}

interface StoredSnapshot extends Snapshot {
  readonly identity: string;
  readonly bytes: number;
}

/** Creates an empty store of snapshots. @param bytesMax bound on all snapshots */
export function createSnapshots(bytesMax: number): Snapshots {
  // Insertion order is age.
  const snapshots = new Map<string, StoredSnapshot>();
  let storedBytes = 0;
  const drop = (name: string): void => {
    storedBytes -= snapshots.get(name)?.bytes ?? 0;
    snapshots.delete(name);
  };
  const makeRoom = (bytes: number, nowMs: number): void => {
    for (const [name, snapshot] of snapshots) {
      if (isFresh(snapshot, nowMs) && storedBytes + bytes <= bytesMax) return;
      drop(name);
    }
  };
  const fresh = (name: string, nowMs: number): StoredSnapshot | undefined => {
    const found = snapshots.get(name);
    return found !== undefined && isFresh(found, nowMs) ? found : undefined;
  };
  return {
    add(name, query, snapshot) {
      const bytes = bytesOfSeries(snapshot.result.series);
      if (bytes > Math.min(resultBytesMax, bytesMax)) return;
      drop(name);
      makeRoom(bytes, snapshot.nowMs);
      snapshots.set(name, { ...snapshot, identity: identityOf(query), bytes });
      storedBytes += bytes;
    },
    readAtMs: (name, nowMs) => fresh(name, nowMs)?.nowMs,
    find(name, query, nowMs) {
      const found = fresh(name, nowMs);
      return found?.identity === identityOf(query) ? found : undefined;
    },
  };
}

function isFresh({ nowMs: readAtMs }: Snapshot, nowMs: number): boolean {
  return nowMs - readAtMs < snapshotMs;
}

const snapshotLength = 22;

/**
 * The name of the data of all pages: a digest of the window and of every series. A request for a page with the name of
 * other data is rejected, so that pages never mix.
 */
export function snapshotOf({ series }: Result, { window }: Query): string {
  const times = [window.fromMs, window.toMs, window.stepSeconds, ...widthApart(window)];
  const parts: Uint8Array[] = [Buffer.from(JSON.stringify(times))];
  for (const { metric, labels, values, previous } of series) {
    parts.push(Buffer.from(JSON.stringify([metric, labels])));
    parts.push(bytesOf(values));
    if (previous !== undefined) parts.push(bytesOf(previous));
  }
  // One call for all bytes: a call for each series takes longer than their copy.
  return hash("sha256", Buffer.concat(parts), "base64url").slice(0, snapshotLength);
}

function bytesOf({ buffer, byteOffset, byteLength }: Float64Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** @throws ApiError `snapshot_gone` */
function requireSnapshot(pinned: string | undefined, snapshot: string): void {
  if (pinned === undefined || pinned === snapshot) return;
  const detail = "the data has changed since that page; restart from page 1 with the from and to of its response";
  throw invalidField("snapshot_gone", "snapshot", detail);
}

/**
 * Digests everything in a query that its data depends on; limit and page are not part of it. The digest includes the
 * rights as granted stores and environments: callers with equal rights have equal digests, and others do not.
 */
export function identityOf(query: Query): string {
  const identity = JSON.stringify({
    tenant: query.tenant,
    environments: listNames(query.environments),
    metrics: query.metrics.map((metric) => [
      metric.entry.digest,
      measureName(metric),
      metric.stores.map(({ digest }) => digest),
    ]),
    filters: writtenFilters(query.filters),
    groupBy: query.groupBy,
    window: windowIdentity(query),
    exemplars: query.exemplars,
    schemaVersion: query.schemaVersion,
    ranking: query.ranking,
    compareSeconds: query.compareSeconds,
  });
  return hash("sha256", identity, "base64url");
}

/** Without the width of a query whose width is its step, so that digests of such queries stay as they are. */
function windowIdentity({ window: { widthSeconds, ...window } }: Query): object {
  return widthSeconds === window.stepSeconds ? window : { ...window, widthSeconds };
}

/**
 * A result without its infinite points, which JSON cannot represent, and the number of those in its window. A series
 * without other points is left out.
 */
function withoutInfinite(result: Result): Result {
  let infinitePoints = 0;
  const series = result.series.flatMap((one): readonly ResultSeries[] => {
    const count = countInfinite(one.values);
    const previous = one.previous && finite(one.previous);
    if (count === 0 && previous === one.previous) return [one];
    infinitePoints += count;
    const values = finite(one.values);
    const hasPoints = [values, previous ?? []].some((points) => points.some((value) => !Number.isNaN(value)));
    return hasPoints ? [{ ...one, values, ...(previous === undefined ? {} : { previous }) }] : [];
  });
  if (infinitePoints > 0) return { ...result, series, infinitePoints };
  return result.earlier === undefined ? result : { ...result, series };
}

/** The same array if all of its points are finite. */
function finite(points: Float64Array): Float64Array {
  if (countInfinite(points) === 0) return points;
  return points.map((value) => (Number.isFinite(value) ? value : Number.NaN));
}

/** It loops by index, because it reads every point of every response. */
function countInfinite(values: Float64Array): number {
  let count = 0;
  for (let index = 0; index < values.length; index += 1) if (Math.abs(values[index] ?? 0) === Infinity) count += 1;
  return count;
}

/** True when the same request at another time has the same window. A window that is rejected then is not the same. */
export function keepsWindow({ window, windowAt }: Pick<Query, "window" | "windowAt">, nowMs: number): boolean {
  return isSame(window, at(windowAt, nowMs));
}

function at(windowAt: Query["windowAt"], nowMs: number): ResolvedWindow | undefined {
  try {
    return windowAt(nowMs);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

function isSame(one: ResolvedWindow, other: ResolvedWindow | undefined): boolean {
  return (
    one.fromMs === other?.fromMs &&
    one.toMs === other.toMs &&
    one.stepSeconds === other.stepSeconds &&
    one.widthSeconds === other.widthSeconds &&
    one.downsample === other.downsample
  );
}
