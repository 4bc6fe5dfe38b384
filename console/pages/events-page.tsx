import type { EventPage, EventSummary } from "../../api/histories.ts";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { mayUse, useSession } from "../api/session-context.ts";
import { Badge } from "../components/badge.tsx";
import { Page } from "../components/page.tsx";
import { Pager } from "../components/pager.tsx";
import { useFormatTime } from "../components/preferences.tsx";
import { ProblemNotice } from "../components/problem-notice.tsx";
import { Reading } from "../components/reading.tsx";
import { changedQuery } from "../router/place.ts";
import { useQueryState } from "../router/router.tsx";
import {
  type EventFilters,
  eventsPath,
  filtersOf,
  filterWords,
  followPath,
  isWindowEnough,
  meansFailed,
  rangeText,
  windowOf,
} from "../events/event-filters.ts";
import { PartnerMatch, partOfPartner } from "../components/filter-form.tsx";
import { EventTable } from "../events/event-table.tsx";
import { FilterBar } from "../events/filter-bar.tsx";
import { useKnownValues } from "../events/use-known-values.ts";
import { type ReplayBody, StartReplay } from "../webhooks/start-replay.tsx";
import type { ApiClient } from "../api/client.ts";
import { formatNumber } from "../components/format.ts";
import { type Follow, useFollow } from "../api/use-follow.ts";
import { type ReadState, useRead } from "../api/use-read.ts";

/** Events, newest first, by filters that the address holds; followed, and replayed. */
export function EventsPage(): JSX.Element {
  const state = useQueryState();
  const { me } = useSession();
  const [isReplaying, setReplaying] = useState(false);
  const [turn, setTurn] = useState(0);
  const formatTime = useFormatTime();
  const range = changedQuery(state.query, { open: null, follow: null });
  // A preset starts at the same time until filters change or the list is refreshed, so its pages belong together.
  const nowMs = useMemo(() => Date.now(), [range, turn]);
  const filters = useMemo(() => filtersOf(new URLSearchParams(range), nowMs), [range, nowMs]);
  const cursor = state.get("cursor");
  const isFollowing = state.get("follow") === "1" && cursor === "";
  const isPart = partOfPartner(state.query) !== undefined;
  const events = useLiveEvents(filters, isPart ? undefined : cursor, isFollowing);
  const { read, rows } = events;
  const known = useKnownValues(rows, filters["partner"]);
  const refresh = (): void => {
    setTurn((before) => before + 1);
    read.refresh();
  };
  return (
    <Page
      title="Events"
      lead={`${rangeText(state.query, nowMs, formatTime)}, newest first`}
      actions={
        <>
          <FollowState events={events} isFollowing={isFollowing} />
          <button
            type="button"
            aria-pressed={isFollowing}
            onClick={() => state.set({ follow: isFollowing ? null : "1", cursor: null })}
          >
            {isFollowing ? "Stop following" : "Follow"}
          </button>
          <button type="button" onClick={refresh}>
            Refresh
          </button>
          {mayUse(me, ["webhooks:replay"]) && !isPart ? (
            <button type="button" aria-expanded={isReplaying} onClick={() => setReplaying(!isReplaying)}>
              Replay matching
            </button>
          ) : null}
        </>
      }
    >
      <FilterBar known={known} />
      {isReplaying && !isPart ? (
        <ReplayMatches key={range} filters={filters} onClose={() => setReplaying(false)} />
      ) : null}
      {events.follow.problem === undefined ? null : <ProblemNotice problem={events.follow.problem} />}
      <PartnerMatch>
        <Reading read={read} what="the events" lines={16}>
          {({ meta }) => (
            <>
              {meta.complete === false ? (
                <p class="notice warn">The index of this pod starts later. Older events may be missing.</p>
              ) : null}
              <EventTable rows={rows} isFiltered={Object.keys(filters).length > 0} hasMore={meta.cursor !== null} />
              <Pager cursor={meta.cursor} />
            </>
          )}
        </Reading>
      </PartnerMatch>
    </Page>
  );
}

interface FollowStateProps {
  readonly events: LiveEvents;
  readonly isFollowing: boolean;
}

function FollowState({ events: { follow, read }, isFollowing }: FollowStateProps): JSX.Element | null {
  if (!isFollowing) return null;
  if (follow.state === "failing") return <Badge state="failing" label="following failed" />;
  if (follow.state === "on" || read.data?.meta.newest !== undefined) return <Badge state="ok" label="following" />;
  return <Badge state="off" label="connecting" />;
}

interface ReplayMatchesProps {
  readonly filters: EventFilters;
  readonly onClose: () => void;
}

function ReplayMatches({ filters, onClose }: ReplayMatchesProps): JSX.Element {
  const { api } = useSession();
  const [nowMs] = useState(() => Date.now());
  const what = [
    `Deliveries of events ${filterWords(filters, nowMs).join(", ")}.`,
    meansFailed(filters) ? "Only deliveries that ended without success." : "Also those that were delivered already.",
    ...(isWindowEnough(filters) ? [] : ["The events are named by their ids, at most 1,000 of them."]),
  ];
  return (
    <StartReplay
      path="/webhooks/replay"
      action="Replay"
      what={what}
      body={(signal) => replayBody(api, filters, nowMs, signal)}
      onClose={onClose}
    />
  );
}

/** Ids that one replay takes at most. Source: docs/reference/api.md, ReplayRequest. */
const idsMax = 1_000;
const pageItems = 200;
/** Pages may be short, since a server ends one after some reading. */
const pagesMax = 50;

/**
 * The replay of everything that filters select at a moment. States, statuses and reasons are no part of a replay, so
 * the ids of such events are read first.
 *
 * @throws Error when more events match than one replay takes; ProblemError
 */
export async function replayBody(
  api: Pick<ApiClient, "read">,
  filters: EventFilters,
  nowMs: number,
  signal: AbortSignal,
): Promise<ReplayBody> {
  const { type, partner } = filters;
  const window = windowOf(filters, nowMs);
  const selected = {
    ...(partner === undefined ? {} : { partners: [partner] }),
    ...(meansFailed(filters) ? { only_failed: true } : {}),
  };
  if (isWindowEnough(filters)) return { ...window, ...selected, ...(type === undefined ? {} : { types: [type] }) };
  const ids = await readIds(api, { ...filters, ...window }, signal);
  if (ids.length === 0) throw new Error("No event matches these filters now. Change them.");
  return { event_ids: ids, ...selected };
}

async function readIds(
  api: Pick<ApiClient, "read">,
  filters: EventFilters,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const ids = new Set<string>();
  const query = new URLSearchParams({ order: "desc", limit: String(pageItems) });
  let cursor = "";
  for (let page = 0; page < pagesMax; page += 1) {
    const path = `/webhooks/events${changedQuery(query, { ...filters, cursor })}`;
    const { body } = await api.read<EventPage>(path, signal);
    for (const { event_id: id } of body.data) ids.add(id);
    if (ids.size > idsMax || (ids.size === idsMax && body.meta.cursor !== null)) break;
    if (body.meta.cursor === null) return [...ids];
    cursor = body.meta.cursor;
  }
  throw new Error(
    `More than ${formatNumber(idsMax)} events match, or they lie too far apart. One replay by state, status or ` +
      "reason takes no more: choose a shorter time, or remove these three filters.",
  );
}

/** A list of events, and those that came since it was read. */
interface LiveEvents {
  readonly read: ReadState<EventPage>;
  readonly follow: Follow;
  /** Newest first: events that came since, then the list. */
  readonly rows: readonly EventSummary[];
}

/** While following, so that states of deliveries continue too. */
const everySeconds = 10;
const newRowsMax = 500;

/** Reads a page of events, and follows the newest ones. @param cursor of the page; undefined reads nothing */
function useLiveEvents(filters: EventFilters, cursor: string | undefined, isFollowing: boolean): LiveEvents {
  const path = cursor === undefined ? undefined : eventsPath(filters, cursor);
  const read = useRead<EventPage>(path, isFollowing ? { everySeconds } : {});
  const [fresh, setFresh] = useState<readonly EventSummary[]>([]);
  const [start, setStart] = useState<{ readonly path: string; readonly from: string } | undefined>(undefined);
  const newest = read.isStale ? undefined : read.data?.meta.newest;
  useEffect(() => {
    setFresh([]);
    setStart(undefined);
  }, [path, isFollowing]);
  useEffect(() => {
    // The first cursor stays: a poll continues from its last response.
    if (isFollowing && newest !== undefined && path !== undefined)
      setStart((before) => (before?.path === path ? before : { path, from: newest }));
  }, [path, isFollowing, newest]);
  const follow = useFollow<EventSummary>({
    pathAt: (at) => followPath(filters, at),
    from: isFollowing && start !== undefined && start.path === path ? start.from : undefined,
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
