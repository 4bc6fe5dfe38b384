import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
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
  filterWords,
  filtersOf,
  isWindowEnough,
  meansFailed,
  rangeText,
  type EventFilters,
} from "../events/event-filters.ts";
import { EventTable } from "../events/event-table.tsx";
import { FilterBar } from "../events/filter-bar.tsx";
import { replayBody } from "../events/replay-body.ts";
import { useKnownValues } from "../events/use-known-values.ts";
import { useLiveEvents, type LiveEvents } from "../events/use-live-events.ts";
import { StartReplay } from "../webhooks/start-replay.tsx";

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
  const events = useLiveEvents(filters, cursor, isFollowing);
  const { read, rows } = events;
  const known = useKnownValues(rows);
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
          {mayUse(me, ["webhooks:replay"]) ? (
            <button type="button" aria-expanded={isReplaying} onClick={() => setReplaying(!isReplaying)}>
              Replay matching
            </button>
          ) : null}
        </>
      }
    >
      <FilterBar known={known} />
      {isReplaying ? <ReplayMatches key={range} filters={filters} onClose={() => setReplaying(false)} /> : null}
      {events.follow.problem === undefined ? null : <ProblemNotice problem={events.follow.problem} />}
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
