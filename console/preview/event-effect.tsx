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

function PartnerTable({ events: { partners }, isOver }: EventEffectProps): JSX.Element {
  return (
    <DataTable
      caption="Partners whose events change"
      rows={partners}
      rowKey={({ partner }) => partner}
      columns={[
        { header: "Partner", cell: ({ partner }) => partner },
        { header: "Before", cell: ({ before }) => formatNumber(before), isNumber: true },
        { header: "After", cell: ({ after }) => formatNumber(after), isNumber: true },
        { header: "Added", cell: ({ gained }) => formatNumber(gained), isNumber: true },
        { header: "Removed", cell: ({ lost }) => formatNumber(lost), isNumber: true },
        { header: "Added events", cell: ({ gained, gained_ids: ids }) => <EventLinks ids={ids} count={gained} /> },
        { header: "Removed events", cell: ({ lost, lost_ids: ids }) => <EventLinks ids={ids} count={lost} /> },
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

const exactness = "Exact up to the first instant that the edit moves.";

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
        rows={attempts.partners}
        rowKey={({ partner }) => partner}
        columns={[
          { header: "Partner", cell: ({ partner }) => partner },
          { header: "Unchanged", cell: ({ exact }) => formatNumber(exact), isNumber: true },
          { header: "At other times", cell: ({ moved }) => formatNumber(moved), isNumber: true },
          { header: "Removed", cell: ({ gone }) => formatNumber(gone), isNumber: true },
          { header: "Retried instead", cell: ({ would_retry: count }) => formatNumber(count), isNumber: true },
          { header: "Given up earlier", cell: ({ would_end: count }) => formatNumber(count), isNumber: true },
        ]}
      />
    </Section>
  );
}
