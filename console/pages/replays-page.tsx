import type { ReplaySummary } from "../../api/replays.ts";
import type { JSX } from "preact";
import type { ListPage } from "../api/types.ts";
import { useRead } from "../api/use-read.ts";
import { Badge } from "../components/badge.tsx";
import { DataTable, type Column } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { Page } from "../components/page.tsx";
import { Pager } from "../components/pager.tsx";
import { Reading } from "../components/reading.tsx";
import { Progress } from "../replays/progress.tsx";
import { ReplaySelection } from "../replays/replay-selection.tsx";
import { changedQuery } from "../router/place.ts";
import { Link, useQueryState } from "../router/router.tsx";
import { ReplayLink } from "../webhooks/links.tsx";

const pageItems = 50;
const everySeconds = 5;

/** Replays and redrives, the newest first: who requested them, what they send, and their progress. */
export function ReplaysPage(): JSX.Element {
  const state = useQueryState();
  const query = changedQuery(new URLSearchParams({ limit: String(pageItems) }), { cursor: state.get("cursor") });
  const read = useRead<ListPage<ReplaySummary>>(`/webhooks/replay${query}`, { everySeconds });
  return (
    <Page
      title="Replays"
      lead="Newest first. A replay sends events again that match a filter, and a redrive sends dead letters again."
    >
      <Reading read={read} what="the replays" lines={10}>
        {({ data, meta }) => (
          <>
            <DataTable
              caption="Replays"
              columns={columns}
              rows={data}
              rowKey={({ replay_id }) => replay_id}
              empty={
                <Empty
                  title="No replays"
                  why="Nobody started a replay within the partners and tenants of your token."
                  next={<Link to="/events">Filter events to replay</Link>}
                />
              }
            />
            <Pager cursor={meta.cursor} />
          </>
        )}
      </Reading>
    </Page>
  );
}

const columns: readonly Column<ReplaySummary>[] = [
  { header: "Replay", cell: ({ replay_id }) => <ReplayLink id={replay_id} /> },
  { header: "Requested", cell: ({ created_at }) => <Timestamp at={created_at} /> },
  { header: "By", cell: ({ requested_by: by }) => by ?? "–" },
  { header: "Status", cell: ({ status }) => <Badge state={status} /> },
  { header: "Selection", cell: (replay) => <ReplaySelection replay={replay} /> },
  { header: "Progress", cell: (replay) => <Progress replay={replay} /> },
];
