import type { ReplaySummary } from "../../api/replays.ts";
import type { JSX } from "preact";
import type { ListPage } from "../api/types.ts";
import { useRead } from "../api/use-read.ts";
import { Badge } from "../components/badge.tsx";
import { type Column, DataTable } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { FilterForm, partnerField, PartnerMatch, partOfPartner } from "../components/filter-form.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { Page } from "../components/page.tsx";
import { Pager } from "../components/pager.tsx";
import { Reading } from "../components/reading.tsx";
import { Progress } from "../replays/progress.tsx";
import { changedQuery } from "../router/place.ts";
import { Link, useQueryState } from "../router/router.tsx";
import { ReplayLink } from "../webhooks/links.tsx";
import { formatNumber } from "../components/format.ts";
import { useFormatTime } from "../components/preferences.tsx";

const pageItems = 50;
const everySeconds = 5;

/** Replays and redrives, the newest first: who requested them, what they send, and their progress. */
export function ReplaysPage(): JSX.Element {
  const state = useQueryState();
  const query = changedQuery(new URLSearchParams({ limit: String(pageItems) }), {
    cursor: state.get("cursor"),
    partner: state.get("partner"),
  });
  const isPart = partOfPartner(state.query) !== undefined;
  const read = useRead<ListPage<ReplaySummary>>(isPart ? undefined : `/webhooks/replay${query}`, { everySeconds });
  return (
    <Page title="Replays" lead="Replays, redrives and acknowledgements, newest first.">
      <FilterForm fields={[partnerField]} />
      <PartnerMatch>
        <Reading read={read} what="the replays" lines={10}>
          {({ data, meta }) => (
            <>
              <DataTable
                caption="Replays"
                isCards
                look="replay-rows"
                columns={columns}
                rows={data}
                rowKey={({ replay_id }) => replay_id}
                empty={
                  <Empty
                    title="No replays"
                    why={
                      state.get("partner") === ""
                        ? "Nobody started a replay within the partners and tenants of your token."
                        : "No replay sends to this partner."
                    }
                    next={<Link to="/events">Filter events to replay</Link>}
                  />
                }
              />
              <Pager cursor={meta.cursor} />
            </>
          )}
        </Reading>
      </PartnerMatch>
    </Page>
  );
}

const columns: readonly Column<ReplaySummary>[] = [
  { header: "Replay", cell: ({ replay_id }) => <ReplayLink id={replay_id} /> },
  { header: "Requested", cell: ({ created_at }) => <Timestamp at={created_at} /> },
  { header: "By", cell: ({ requested_by: by }) => by ?? "–" },
  { header: "Status", cell: ({ status }) => <Badge state={status} />, isInCard: true },
  { header: "Selection", cell: (replay) => <ReplaySelection replay={replay} />, isInCard: true },
  { header: "Progress", cell: (replay) => <Progress replay={replay} />, isInCard: true },
];

const kindWords: Readonly<Record<ReplaySummary["kind"], string>> = {
  replay: "deliveries",
  redrive: "dead letters",
  acknowledge: "acknowledgement of dead letters",
};

/** What a replay sends again, with times in the zone that the person chose. */
function ReplaySelection({ replay }: { readonly replay: ReplaySummary }): JSX.Element {
  const formatTime = useFormatTime();
  return <>{replaySelection(replay, formatTime)}</>;
}

/** What a replay sends again, in words. */
export function replaySelection(
  { filter, window, event_ids: ids, kind, selected_partners: selected = [] }: ReplaySummary,
  formatTime: (at: string) => string,
): string {
  const parts = [
    kindWords[kind],
    ...(ids === null ? [] : [ids === 1 ? "of 1 event" : `of ${formatNumber(ids)} events`]),
    ...(window === null ? [] : [windowWords(window, formatTime)]),
    ...(filter.partners.length === 0 ? [] : [`to ${filter.partners.join(", ")}`]),
    ...(selected.length === 0 ? [] : [`to ${namesText(selected)}`]),
    ...(filter.types.length === 0 ? [] : [`of type ${filter.types.join(", ")}`]),
    ...(filter.only_failed && kind === "replay" ? ["only failed ones"] : []),
  ];
  return parts.join(" ");
}

const namesShown = 3;

function namesText(names: readonly string[]): string {
  const more = names.length - namesShown;
  return [...names.slice(0, namesShown), ...(more > 0 ? [`${formatNumber(more)} more`] : [])].join(", ");
}

/** The time range of a replay in words. */
export function windowWords(
  { from, to }: NonNullable<ReplaySummary["window"]>,
  formatTime: (at: string) => string,
): string {
  return from === null ? `until ${formatTime(to)}` : `from ${formatTime(from)} to ${formatTime(to)}`;
}
