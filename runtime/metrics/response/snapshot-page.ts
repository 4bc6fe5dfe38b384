import { later } from "../reads/read-stores.ts";
import type { Result } from "../reads/run-plan.ts";
import type { Query } from "../planning/query.ts";
import type { Parameters } from "../request/parameters.ts";
import { requireSnapshot, snapshotOf } from "./snapshot-id.ts";
import type { Snapshots } from "./snapshot-store.ts";

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
  const agedSeconds = Math.ceil((nowMs - found.nowMs) / 1_000);
  const result = { ...found.result, freshnessSeconds: later(found.result.freshnessSeconds, agedSeconds) };
  return { result, snapshot: query.snapshot, source: "snapshot", nowMs: found.nowMs };
}

/**
 * Names the data that was read, and stores it when it has more pages.
 *
 * @throws Refusal `snapshot_gone` when the query names other data
 */
export function takeSnapshot(result: Result, query: Query, nowMs: number, snapshots: Snapshots): QueryData {
  const snapshot = snapshotOf(result, query);
  requireSnapshot(query.snapshot, snapshot);
  if (result.series.length > query.limit) snapshots.add(snapshot, query, { result, nowMs });
  return { result, snapshot, source: "store", nowMs };
}
