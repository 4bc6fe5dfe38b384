import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { mayUse, useSession } from "../api/session-context.ts";
import { FilterForm } from "../components/filter-form.tsx";
import { Badge } from "../components/badge.tsx";
import { Page } from "../components/page.tsx";
import { Pager } from "../components/pager.tsx";
import { ProblemNotice } from "../components/problem-notice.tsx";
import { Reading } from "../components/reading.tsx";
import { useQueryState } from "../router/router.tsx";
import { eventFields, filterWords, filtersOf, isWindowEnough, meansFailed } from "../events/event-filters.ts";
import { EventTable } from "../events/event-table.tsx";
import { replayBody } from "../events/replay-body.ts";
import { useLiveEvents, type LiveEvents } from "../events/use-live-events.ts";
import { StartReplay } from "../webhooks/start-replay.tsx";

/** Events, newest first, by filters that the address holds; followed, and replayed. */
export function EventsPage(): JSX.Element {
  const state = useQueryState();
  const { me } = useSession();
  const [isReplaying, setReplaying] = useState(false);
  const filters = filtersOf(state.query);
  const cursor = state.get("cursor");
  const isFollowing = state.get("follow") === "1" && cursor === "";
  const events = useLiveEvents(filters, cursor, isFollowing);
  const { read, rows } = events;
  return (
    <Page
      title="Events"
      lead="Newest first. Without a start, the last day."
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
          <button type="button" onClick={read.refresh}>
            Refresh
          </button>
          {mayUse(me, ["webhooks:replay"]) ? (
            <button type="button" aria-expanded={isReplaying} onClick={() => setReplaying(!isReplaying)}>
              Replay all that match
            </button>
          ) : null}
        </>
      }
    >
      <FilterForm fields={eventFields} />
      {isReplaying ? <ReplayMatches key={state.query.toString()} onClose={() => setReplaying(false)} /> : null}
      {events.follow.problem === undefined ? null : <ProblemNotice problem={events.follow.problem} />}
      <Reading read={read} what="the events" lines={16}>
        {({ meta }) => (
          <>
            {meta.complete === false ? (
              <p class="notice warn">The index does not reach back to the start. Older events may be missing here.</p>
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
  if (follow.state === "failing") return <Badge state="failing" label="following fails" />;
  if (follow.state === "on" || read.data?.meta.newest !== undefined) return <Badge state="ok" label="following" />;
  return <Badge state="off" label="waits" />;
}

function ReplayMatches({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const { api } = useSession();
  const { query } = useQueryState();
  const [nowMs] = useState(() => Date.now());
  const filters = filtersOf(query);
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
