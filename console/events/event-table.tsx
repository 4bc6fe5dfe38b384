import type { EventSummary } from "../../api/histories.ts";
import type { JSX } from "preact";
import { DataTable, type Column } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { DeliveryLines, EventLink } from "../webhooks/links.tsx";

interface EventTableProps {
  readonly rows: readonly EventSummary[];
  readonly isFiltered: boolean;
  /** True when the list may go on at older events. */
  readonly hasMore: boolean;
}

const columns: readonly Column<EventSummary>[] = [
  { header: "Event", cell: ({ event_id }) => <EventLink id={event_id} /> },
  { header: "Accepted", cell: ({ accepted_at }) => <Timestamp at={accepted_at} /> },
  { header: "Type", cell: ({ type }) => <code>{type}</code> },
  { header: "Tenant", cell: ({ tenant }) => <code>{tenant}</code> },
  { header: "Deliveries", cell: ({ deliveries }) => <DeliveryLines deliveries={deliveries} /> },
];

/** Events, with the state of each delivery. */
export function EventTable({ rows, isFiltered, hasMore }: EventTableProps): JSX.Element {
  return (
    <DataTable
      caption="Events"
      columns={columns}
      rows={rows}
      rowKey={({ tenant, event_id }) => `${tenant} ${event_id}`}
      empty={<NoEvents isFiltered={isFiltered} hasMore={hasMore} />}
    />
  );
}

function NoEvents({ isFiltered, hasMore }: Omit<EventTableProps, "rows">): JSX.Element {
  if (hasMore) {
    return (
      <Empty title="Nothing matches so far" why="Older events were not looked at yet." next="Go on at the next page." />
    );
  }
  if (isFiltered) {
    return (
      <Empty
        title="No events match"
        why="No event of this time that your token may see fits every filter."
        next="Remove a filter, or choose an earlier start. Without a start the list shows one day."
      />
    );
  }
  return (
    <Empty
      title="No events in the last day"
      why="No producer sent one for a tenant that your token may see."
      next="Send one with POST /webhooks/events, or choose an earlier start."
    />
  );
}
