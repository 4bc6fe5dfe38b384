import type { Query } from "../planning/query.ts";
import { identityOf } from "../planning/query-identity.ts";
import type { Result } from "../execution/run-plan.ts";

/** How long pages can be cut from the data of the first one. */
const snapshotMs = 5 * 60_000;
/** All that is kept at once. */
const keptBytesMax = 64 * 1024 * 1024;
/** A result above this is not kept: its later pages have to find the same data in the stores again. */
const resultBytesMax = 16 * 1024 * 1024;
/** What a series takes besides its values: labels, keys, exemplars. */
const seriesBytes = 512;

/** The data of one answer that has more pages. */
interface Snapshot {
  readonly result: Result;
  /** Unix milliseconds of the request that read it; what `now` is for every page. */
  readonly nowMs: number;
}

/**
 * The results of the last minutes that were longer than their page, by the name of their data. A page is only cut from
 * a result of the very same query over the very same catalog, so that a name that leaks gives nobody anything.
 */
export interface Snapshots {
  /** Keeps a result if there is room for it; the oldest make way. */
  keep(name: string, query: Query, snapshot: Snapshot): void;
  /** When the data of this name was read, whosever it is; undefined when it is gone. */
  readAtMs(name: string, nowMs: number): number | undefined;
  /** The data of this name, if it is this query's. */
  find(name: string, query: Query, nowMs: number): Snapshot | undefined;
}

interface Kept extends Snapshot {
  readonly identity: string;
  readonly bytes: number;
}

/** An empty keeper. */
export function createSnapshots(): Snapshots {
  // Insertion order is age.
  const kept = new Map<string, Kept>();
  let keptBytes = 0;
  const drop = (name: string): void => {
    keptBytes -= kept.get(name)?.bytes ?? 0;
    kept.delete(name);
  };
  const makeRoom = (bytes: number, nowMs: number): void => {
    for (const [name, snapshot] of kept) {
      if (isFresh(snapshot, nowMs) && keptBytes + bytes <= keptBytesMax) return;
      drop(name);
    }
  };
  const alive = (name: string, nowMs: number): Kept | undefined => {
    const found = kept.get(name);
    return found !== undefined && isFresh(found, nowMs) ? found : undefined;
  };
  return {
    keep(name, query, snapshot) {
      const bytes = bytesOf(snapshot.result);
      if (bytes > resultBytesMax) return;
      drop(name);
      makeRoom(bytes, snapshot.nowMs);
      kept.set(name, { ...snapshot, identity: identityOf(query), bytes });
      keptBytes += bytes;
    },
    readAtMs: (name, nowMs) => alive(name, nowMs)?.nowMs,
    find(name, query, nowMs) {
      const found = alive(name, nowMs);
      return found?.identity === identityOf(query) ? found : undefined;
    },
  };
}

function isFresh({ nowMs: readAtMs }: Snapshot, nowMs: number): boolean {
  return nowMs - readAtMs < snapshotMs;
}

function bytesOf({ series }: Result): number {
  return series.reduce((sum, { values, bounds }) => {
    const arrays = bounds === undefined ? 1 : 3;
    return sum + values.byteLength * arrays + seriesBytes;
  }, 0);
}
