import type { PartnerDetail } from "../../api/partners.ts";
import type { DeadLetterCounts } from "../../api/replays.ts";
import type { JSX } from "preact";
import { useRead } from "../api/use-read.ts";
import { Badge } from "../components/badge.tsx";
import { DataTable, type Column } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { Section } from "../components/page.tsx";
import { changedQuery } from "../router/place.ts";
import { Link } from "../router/router.tsx";
import { timelineOf, type TimelineItem } from "./timeline.ts";

const everySeconds = 30;

const columns: readonly Column<TimelineItem>[] = [
  { header: "Time", cell: ({ at }) => <Timestamp at={at} /> },
  { header: "Age", cell: ({ at }) => <Timestamp at={at} shows="age" /> },
  { header: "State", cell: ({ state }) => <Badge state={state} />, isInCard: true },
  { header: "Event", cell: ({ text }) => text, isInCard: true },
];

/** A folder has no conditions. */
function leadOf({ managed_by: place }: PartnerDetail): string | undefined {
  return place?.source === "folder" ? undefined : "Conditions of the WebhookPartner are in kubectl describe.";
}

/** The moments that the runtime knows. Without the counts of dead letters the rest is of use. */
export function TimelineSection({ partner }: { readonly partner: PartnerDetail }): JSX.Element {
  const query = changedQuery(new URLSearchParams(), { partner: partner.partner });
  const counts = useRead<DeadLetterCounts>(`/webhooks/dead-letters/counts${query}`, { everySeconds });
  const items = timelineOf(partner, counts.data?.data ?? []);
  return (
    <Section
      title="Timeline"
      lead={leadOf(partner)}
      actions={
        <>
          <Link to={`/events${query}`}>Events</Link>
          <Link to={`/dead-letters${query}`}>Dead letters</Link>
        </>
      }
    >
      <DataTable
        caption="Timeline"
        isCards
        columns={columns}
        rows={items}
        rowKey={({ at, text }) => `${at} ${text}`}
        empty={<Empty title="No dates" why="No key expires, no delivery is due, and there are no dead letters." />}
      />
    </Section>
  );
}
