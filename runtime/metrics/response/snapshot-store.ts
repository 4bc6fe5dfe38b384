import type { Query } from "../planning/query.ts";
import { identityOf } from "../planning/query-identity.ts";
import { bytesOfSeries } from "../reads/finish-metric.ts";
import type { Result } from "../reads/run-plan.ts";

/** Time after the read for which its pages are served. */
const snapshotMs = 5 * 60_000;
/** A larger result is not stored: its later pages are read from the stores, and refused if the data has changed. */
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
