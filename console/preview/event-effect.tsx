// Edits before they are applied: what they change, exactly and as a simulation. Applying them is kubectl's business.
import type { PreviewedEvents } from "../../api/previews.ts";
import type { JSX } from "preact";
import { DataTable } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { formatNumber, formatTime } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { pathTo } from "../router/place.ts";
import { Link } from "../router/router.tsx";

interface EventEffectProps {
  readonly events: PreviewedEvents;
  readonly isOver: boolean;
}

/** Who gets the recorded events, and which recorded attempts stay as they were. */
export function EventEffect({ events, isOver }: EventEffectProps): JSX.Element {
  const { deliveries, unrouted } = events;
  return (
    <>
      <Section title="Recorded events" lead={coverageOf(events, isOver)}>
        <p>
          Deliveries {formatNumber(deliveries.before)} → <strong>{formatNumber(deliveries.after)}</strong>, events
          without a partner {formatNumber(unrouted.before)} → <strong>{formatNumber(unrouted.after)}</strong>.
        </p>
        <PartnerTable events={events} isOver={isOver} />
      </Section>
      <AttemptSection events={events} />
    </>
  );
}

function coverageOf({ read, complete, oldest_event: oldest }: PreviewedEvents, isOver: boolean): string {
  const count = `${formatNumber(read)} events were compared.`;
  const since = oldest === null ? "None is stored." : `The oldest stored one is of ${formatTime(oldest)}.`;
  if (!isOver) return `${count} More follow.`;
  return complete ? `${count} ${since}` : `${count} ${since} The count ended before the end of the window.`;
}

type Partner = PreviewedEvents["partners"][number];

const partnerFigures: readonly { readonly header: string; readonly of: (row: Partner) => number }[] = [
  { header: "Before", of: ({ before }) => before },
  { header: "After", of: ({ after }) => after },
  { header: "Added", of: ({ gained }) => gained },
  { header: "Removed", of: ({ lost }) => lost },
  { header: "Rejected", of: ({ rejected }) => rejected },
  { header: "Other payload", of: ({ changed }) => changed },
];

function PartnerTable({ events: { partners }, isOver }: EventEffectProps): JSX.Element {
  return (
    <DataTable
      caption="Partners whose events change"
      rows={partners}
      rowKey={({ partner }) => partner}
      isCards
      look="labelled"
      columns={[
        { header: "Partner", cell: ({ partner }) => partner },
        ...partnerFigures.map(({ header, of }) => ({
          header,
          cell: (row: Partner) => formatNumber(of(row)),
          isNumber: true,
          isInCard: true,
        })),
        {
          header: "Added events",
          cell: ({ gained, gained_ids: ids }) => <EventLinks ids={ids} count={gained} />,
          isInCard: true,
        },
        {
          header: "Removed events",
          cell: ({ lost, lost_ids: ids }) => <EventLinks ids={ids} count={lost} />,
          isInCard: true,
        },
      ]}
      empty={
        isOver ? (
          <Empty title="No partner gets other events" why="The edit routes the recorded events as before." />
        ) : (
          <p class="quiet">No difference so far.</p>
        )
      }
    />
  );
}

interface EventLinksProps {
  /** The first of them. */
  readonly ids: readonly string[];
  readonly count: number;
}

function EventLinks({ ids, count }: EventLinksProps): JSX.Element {
  return (
    <ul class="plain">
      {ids.map((id) => (
        <li key={id}>
          <Link to={pathTo("events", id)}>{id}</Link>
        </li>
      ))}
      {count > ids.length && ids.length > 0 ? <li class="quiet">and {formatNumber(count - ids.length)} more</li> : null}
    </ul>
  );
}

const exactness =
  "Exact up to the first instant that the edit moves. Of another address, key or limit no result is known: " +
  "all attempts then count as at other times.";

function AttemptSection({ events: { attempts } }: Pick<EventEffectProps, "events">): JSX.Element | null {
  if (attempts.partners.length === 0) return null;
  const skipped = attempts.skipped === 0 ? "" : ` ${formatNumber(attempts.skipped)} more were beyond the limit.`;
  return (
    <Section
      title="Recorded attempts"
      lead={`${exactness} Attempts of ${formatNumber(attempts.events)} events.${skipped}`}
    >
      <DataTable
        caption="Recorded attempts by partner"
        isCards
        look="labelled"
        rows={attempts.partners}
        rowKey={({ partner }) => partner}
        columns={[
          { header: "Partner", cell: ({ partner }) => partner },
          { header: "Unchanged", cell: ({ exact }) => formatNumber(exact), isNumber: true, isInCard: true },
          { header: "At other times", cell: ({ moved }) => formatNumber(moved), isNumber: true, isInCard: true },
          { header: "Removed", cell: ({ gone }) => formatNumber(gone), isNumber: true, isInCard: true },
          {
            header: "Retried instead",
            cell: ({ would_retry: count }) => formatNumber(count),
            isNumber: true,
            isInCard: true,
          },
          {
            header: "Given up earlier",
            cell: ({ would_end: count }) => formatNumber(count),
            isNumber: true,
            isInCard: true,
          },
        ]}
      />
    </Section>
  );
}
