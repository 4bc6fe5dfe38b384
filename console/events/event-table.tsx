import type { DeliverySummary, EventSummary } from "../../api/histories.ts";
import type { JSX } from "preact";
import { Empty } from "../components/empty.tsx";
import { formatWord } from "../components/format.ts";
import { Timestamp } from "../components/timestamp.tsx";
import { Link, useQueryState } from "../router/router.tsx";
import { EventLink, partnerPath } from "../webhooks/links.tsx";
import { Badge } from "../components/badge.tsx";
import { countStates, failuresFirst, resultText, shownState } from "./failures-first.ts";
import { changedQuery, pathTo } from "../router/place.ts";

interface EventTableProps {
  readonly rows: readonly EventSummary[];
  readonly isFiltered: boolean;
  /** True when the list may continue at older events. */
  readonly hasMore: boolean;
}

const headers = ["Event", "Accepted", "Deliveries", "Partner, last result", "Type", "Tenant"];
/** Characters of states that fit a line, with the space around each badge. */
const lineLengthMax = 32;
const badgeLength = 3;
/** Rows whose deliveries the address can name. */
const openMax = 20;

/** Events, a line each. A click on the counts shows the deliveries; the address names the rows that show them. */
export function EventTable({ rows, isFiltered, hasMore }: EventTableProps): JSX.Element {
  const state = useQueryState();
  const open = state.query.getAll("open");
  if (rows.length === 0) return <NoEvents isFiltered={isFiltered} hasMore={hasMore} />;
  const toggle = (id: string): void => {
    const others = open.filter((one) => one !== id);
    state.set({ open: others.length < open.length ? others : [...others, id].slice(-openMax) }, true);
  };
  return (
    <div class="table-wrap" role="region" aria-label="Events" tabIndex={0}>
      <table class="event-table">
        <caption class="hidden">Events</caption>
        <thead>
          <tr>
            {headers.map((header) => (
              <th key={header} scope="col">
                {header}
              </th>
            ))}
          </tr>
        </thead>
        {rows.map((row) => (
          <EventRow
            key={`${row.tenant} ${row.event_id}`}
            row={row}
            partner={state.get("partner")}
            isOpen={open.includes(row.event_id)}
            onToggle={toggle}
          />
        ))}
      </table>
    </div>
  );
}

interface EventRowProps {
  readonly row: EventSummary;
  readonly partner: string;
  readonly isOpen: boolean;
  readonly onToggle: (id: string) => void;
}

function EventRow({ row, partner, isOpen, onToggle }: EventRowProps): JSX.Element {
  const { event_id: id, deliveries, type, tenant, accepted_at: acceptedAt } = row;
  return (
    <tbody>
      <tr class="event-row">
        <th scope="row">
          <EventLink id={id} />
        </th>
        <td class="event-time">
          <Timestamp at={acceptedAt} />
        </td>
        <td class="event-states">
          <button
            type="button"
            class="bare"
            aria-expanded={isOpen}
            disabled={deliveries.length === 0}
            onClick={() => onToggle(id)}
          >
            <DeliveryCounts deliveries={deliveries} partner={partner} />
            <span class="hidden"> of {id}</span>
          </button>
        </td>
        <td class="event-first">
          <FirstDelivery deliveries={deliveries} partner={partner} />
        </td>
        <td class="event-type">
          <code title={type}>{type}</code>
        </td>
        <td class="event-tenant">
          <code>{tenant}</code>
        </td>
      </tr>
      {isOpen ? (
        <tr class="event-details">
          <td colSpan={headers.length}>
            <DeliveryList eventId={id} deliveries={deliveries} />
          </td>
        </tr>
      ) : null}
    </tbody>
  );
}

function NoEvents({ isFiltered, hasMore }: Omit<EventTableProps, "rows">): JSX.Element {
  if (hasMore)
    return (
      <Empty title="No matches on this page" why="Older events were not searched yet." next="Open the next page." />
    );
  if (isFiltered) {
    return (
      <Empty
        title="No events match"
        why="No event in this time range that your token may see matches all filters."
        next="Remove a filter or choose a longer time range."
      />
    );
  }
  return (
    <Empty
      title="No events in the last 24 hours"
      why="No producer sent an event for a tenant that your token may see."
      next="Send one with POST /events, or choose a longer time range."
    />
  );
}

/** Numbers of deliveries by state, failures first: `1 dead`, `9 delivered`. The partner of the filter comes first. */
function DeliveryCounts({ deliveries, partner }: FirstDeliveryProps): JSX.Element {
  if (deliveries.length === 0) return <span class="quiet">no deliveries</span>;
  const { shown, others } = fitting(chipsOf(deliveries, partner));
  return (
    <>
      {shown.map(({ state, label }, index) => (
        <Badge key={`${index} ${state}`} state={state} label={label} />
      ))}
      {others === 0 ? null : <span class="quiet">+{others}</span>}
    </>
  );
}

/** Counts by state; the delivery to a partner first and separately. @param partner empty for none */
export function chipsOf(deliveries: readonly DeliverySummary[], partner: string): ReturnType<typeof countStates> {
  const own = deliveries.filter((delivery) => delivery.partner === partner);
  const others = deliveries.filter((delivery) => delivery.partner !== partner);
  return [...countStates(own), ...countStates(others)];
}

/** The first states that fit a line, and how many deliveries have another one. */
export function fitting(counts: ReturnType<typeof countStates>) {
  const labels = counts.map(([state, count]) => ({ state, count, label: `${count} ${formatWord(state)}` }));
  let length = 0;
  const shown = labels.filter(
    ({ label }, index) => (length += label.length + badgeLength) <= lineLengthMax || index === 0,
  );
  const others = labels.slice(shown.length).reduce((sum, { count }) => sum + count, 0);
  return { shown, others };
}

interface FirstDeliveryProps {
  readonly deliveries: readonly DeliverySummary[];
  /** The partner of the filter; empty for none. */
  readonly partner: string;
}

/** The delivery that a person looks for first, with its last result. */
function FirstDelivery({ deliveries, partner }: FirstDeliveryProps): JSX.Element | null {
  const [first] = failuresFirst(deliveries, partner);
  if (first === undefined) return null;
  const result = resultText(first);
  return (
    <>
      <Link to={partnerPath(first.partner)}>{first.partner}</Link>
      {result === "" ? null : <span class="quiet"> {result}</span>}
    </>
  );
}

interface DeliveryListProps {
  readonly eventId: string;
  readonly deliveries: readonly DeliverySummary[];
}

/** All deliveries of an event, failures first, a line each. */
function DeliveryList({ eventId, deliveries }: DeliveryListProps): JSX.Element {
  return (
    <ul class="plain delivery-list" aria-label={`Deliveries of ${eventId}`}>
      {failuresFirst(deliveries).map((delivery) => {
        const { partner } = delivery;
        return (
          <li key={partner}>
            <Badge state={shownState(delivery)} />
            <Link to={deliveryPath(eventId, partner)} label={`Delivery of ${eventId} to ${partner}`}>
              {partner}
            </Link>
            <span class="quiet">{resultText(delivery)}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** The page of an event with the delivery to this partner open. */
export function deliveryPath(eventId: string, partner: string): string {
  return pathTo("events", eventId) + changedQuery(new URLSearchParams(), { open: partner });
}
