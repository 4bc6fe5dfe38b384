import type { EventPage, EventSummary } from "../../api/histories.ts";
import { useEffect, useState } from "preact/hooks";
import { useFollow, type Follow } from "../api/use-follow.ts";
import { useRead, type ReadState } from "../api/use-read.ts";
import { eventsPath, followPath, type EventFilters } from "./event-filters.ts";

/** A list of events, and those that came since it was read. */
export interface LiveEvents {
  readonly read: ReadState<EventPage>;
  readonly follow: Follow;
  /** Newest first: events that came since, then the list. */
  readonly rows: readonly EventSummary[];
}

/** While following, so that states of deliveries continue too. */
const everySeconds = 10;
const newRowsMax = 500;

/** Reads a page of events, and follows the newest ones when asked. */
export function useLiveEvents(filters: EventFilters, cursor: string, isFollowing: boolean): LiveEvents {
  const path = eventsPath(filters, cursor);
  const read = useRead<EventPage>(path, isFollowing ? { everySeconds } : {});
  const [fresh, setFresh] = useState<readonly EventSummary[]>([]);
  const [start, setStart] = useState<{ readonly path: string; readonly from: string } | undefined>(undefined);
  const newest = read.isStale ? undefined : read.data?.meta.newest;
  useEffect(() => {
    setFresh([]);
    setStart(undefined);
  }, [path, isFollowing]);
  useEffect(() => {
    // The first cursor stays: a poll continues from its own answers.
    if (isFollowing && newest !== undefined)
      setStart((before) => (before?.path === path ? before : { path, from: newest }));
  }, [path, isFollowing, newest]);
  const follow = useFollow<EventSummary>({
    pathAt: (at) => followPath(filters, at),
    from: isFollowing && start?.path === path ? start.from : undefined,
    onItems: (items) => setFresh((before) => mergedRows(items.toReversed(), before).slice(0, newRowsMax)),
  });
  return { read, follow, rows: mergedRows(fresh, read.data?.data ?? []) };
}

/** Rows in their order, without repeats. A repeat keeps its place and takes the later rows' state. */
export function mergedRows(first: readonly EventSummary[], then: readonly EventSummary[]): readonly EventSummary[] {
  const latest = new Map(then.map((row) => [keyOf(row), row]));
  const rows = new Map(first.map((row) => [keyOf(row), latest.get(keyOf(row)) ?? row]));
  for (const row of then) if (!rows.has(keyOf(row))) rows.set(keyOf(row), row);
  return [...rows.values()];
}

function keyOf({ tenant, event_id: id }: EventSummary): string {
  return `${tenant} ${id}`;
}
