import type { DeadLetter } from "../../api/replays.ts";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { mayUse, useSession } from "../api/session-context.ts";
import type { ListPage } from "../api/types.ts";
import { useRead } from "../api/use-read.ts";
import { AckPanel } from "../webhooks/ack-panel.tsx";
import { DeadLetterCountsSection } from "../webhooks/dead-letter-counts.tsx";
import { EventLink, PartnerLink } from "../webhooks/links.tsx";
import { StartReplay } from "../webhooks/start-replay.tsx";
import { Badge } from "../components/badge.tsx";
import { DataTable, type Column } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { FilterForm, type FilterField } from "../components/filter-form.tsx";
import { formatNumber, formatWord } from "../components/format.ts";
import { Timestamp } from "../components/timestamp.tsx";
import { Page, Section } from "../components/page.tsx";
import { Pager } from "../components/pager.tsx";
import { Reading } from "../components/reading.tsx";
import { changedQuery, pathTo } from "../router/place.ts";
import { Link, useQueryState } from "../router/router.tsx";

const pageItems = 50;

const fields: readonly FilterField[] = [
  { name: "partner", label: "Partner", placeholder: "namespace/name" },
  { name: "reason", label: "Reason", placeholder: "status_404" },
];

/** Deliveries that ended without success, the newest first; by reason, redriven, or acknowledged by hand. */
export function DeadLettersPage(): JSX.Element {
  const state = useQueryState();
  const { me } = useSession();
  const [isRedriving, setRedriving] = useState(false);
  const [acked, setAcked] = useState<DeadLetter | undefined>(undefined);
  const filters = { partner: state.get("partner"), reason: state.get("reason") };
  const query = new URLSearchParams({ order: "desc", limit: String(pageItems) });
  const path = `/webhooks/dead-letters${changedQuery(query, { ...filters, cursor: state.get("cursor") })}`;
  const read = useRead<ListPage<DeadLetter>>(path);
  const mayAck = mayUse(me, ["webhooks:ack"]);
  return (
    <Page
      title="Dead letters"
      lead="Deliveries that ended without success. They wait for a redrive, or for somebody who handles them by hand."
      actions={
        <>
          <button type="button" onClick={read.refresh}>
            Refresh
          </button>
          {mayUse(me, ["webhooks:replay"]) ? (
            <button type="button" aria-expanded={isRedriving} onClick={() => setRedriving(!isRedriving)}>
              Redrive all that match
            </button>
          ) : null}
        </>
      }
    >
      <DeadLetterCountsSection partner={filters.partner} turnMs={read.atMs} />
      <Section title="Newest first">
        <FilterForm fields={fields} />
        {isRedriving ? <Redrive key={path} filters={filters} onClose={() => setRedriving(false)} /> : null}
        {acked === undefined ? null : (
          <AckPanel
            key={`${acked.tenant} ${acked.event_id} ${acked.partner}`}
            letter={acked}
            onDone={read.refresh}
            onClose={() => setAcked(undefined)}
          />
        )}
        <Reading read={read} what="the dead letters" lines={12}>
          {({ data, meta }) => (
            <>
              <DataTable
                caption="Dead letters"
                columns={mayAck ? [...columns, ackColumn(setAcked)] : columns}
                rows={data}
                rowKey={({ tenant, event_id, partner, ended_at }) => `${tenant} ${event_id} ${partner} ${ended_at}`}
                empty={<NoDeadLetters isFiltered={filters.partner + filters.reason !== ""} />}
              />
              <Pager cursor={meta.cursor} />
            </>
          )}
        </Reading>
      </Section>
    </Page>
  );
}

const columns: readonly Column<DeadLetter>[] = [
  { header: "Event", cell: ({ event_id }) => <EventLink id={event_id} /> },
  { header: "Ended", cell: ({ ended_at }) => <Timestamp at={ended_at} /> },
  {
    header: "Ended as",
    cell: ({ state, reason }) => (
      <>
        <Badge state={state} /> <span class="quiet">{formatWord(reason)}</span>
      </>
    ),
  },
  {
    header: "Partner, tenant",
    cell: ({ partner, tenant }) => (
      <>
        <PartnerLink partner={partner} /> <code>{tenant}</code>
      </>
    ),
  },
  { header: "Type", cell: ({ type }) => <code>{type}</code> },
  {
    header: "Attempts",
    cell: ({ attempts, replay_id: id }) => (
      <>
        {formatNumber(attempts)}
        {id === null ? null : <Link to={pathTo("replays", id)}> by replay</Link>}
      </>
    ),
  },
];

function ackColumn(choose: (letter: DeadLetter) => void): Column<DeadLetter> {
  return {
    header: "By hand",
    cell: (letter) => (
      <button
        type="button"
        class="small"
        aria-label={`Acknowledge ${letter.event_id} for ${letter.partner}`}
        onClick={() => choose(letter)}
      >
        Acknowledge
      </button>
    ),
  };
}

function NoDeadLetters({ isFiltered }: { readonly isFiltered: boolean }): JSX.Element {
  return isFiltered ? (
    <Empty
      title="No dead letters match"
      why="No dead letter that your token may see fits these filters."
      next="Remove a filter."
    />
  ) : (
    <Empty title="No dead letters" why="All deliveries visible to you have succeeded or are still being retried." />
  );
}

interface RedriveProps {
  readonly filters: { readonly partner: string; readonly reason: string };
  readonly onClose: () => void;
}

function Redrive({ filters: { partner, reason }, onClose }: RedriveProps): JSX.Element {
  if (partner === "") {
    return (
      <Empty
        title="Choose a partner first"
        why="A redrive takes the dead letters of one partner."
        next="Choose one in the counts above, or write its name into the filter."
      />
    );
  }
  const what = reason === "" ? `All dead letters of ${partner}.` : `Dead letters of ${partner} with reason ${reason}.`;
  return (
    <StartReplay
      path="/webhooks/dead-letters/redrive"
      action="Redrive"
      what={[what]}
      body={() => Promise.resolve({ partner, ...(reason === "" ? {} : { reason }) })}
      onClose={onClose}
    />
  );
}
