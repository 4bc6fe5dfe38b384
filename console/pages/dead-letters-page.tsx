import type { DeadLetter } from "../../api/replays.ts";
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
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
import { FilterForm, partnerField, PartnerMatch, partOfPartner, type FilterField } from "../components/filter-form.tsx";
import { formatCount, formatNumber, formatWord } from "../components/format.ts";
import { hasTimeRange, TimeRangePicker, timeRangeOf } from "../components/time-range.tsx";
import { useFormatTime } from "../components/preferences.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { Page, Section } from "../components/page.tsx";
import { Pager } from "../components/pager.tsx";
import { Reading } from "../components/reading.tsx";
import { failureWords } from "../partners/latest-failure.ts";
import { changedQuery, pathTo } from "../router/place.ts";
import { Link, useQueryState } from "../router/router.tsx";

const pageItems = 50;

const fields: readonly FilterField[] = [
  partnerField,
  { name: "reason", label: "Reason", placeholder: "status_404" },
  { name: "type", label: "Type", placeholder: "payout.*" },
  { name: "tenant", label: "Tenant", placeholder: "any" },
];

/** What a panel does, and with which dead letters. */
interface BulkAction {
  readonly action: "Redrive" | "Acknowledge";
  readonly body: Readonly<Record<string, unknown>>;
  readonly what: string;
}

/** Deliveries that ended without success, the newest first; some or all are redriven or acknowledged. */
export function DeadLettersPage(): JSX.Element {
  const state = useQueryState();
  const { me } = useSession();
  const [bulk, setBulk] = useState<BulkAction | undefined>(undefined);
  const [acked, setAcked] = useState<DeadLetter | undefined>(undefined);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const filters = useFilters();
  const query = new URLSearchParams({ order: "desc", limit: String(pageItems) });
  const path = `/webhooks/dead-letters${changedQuery(query, { ...filters, cursor: state.get("cursor") })}`;
  const isPart = partOfPartner(state.query) !== undefined;
  const read = useRead<ListPage<DeadLetter>>(isPart ? undefined : path);
  const mayAck = mayUse(me, ["webhooks:ack"]);
  const toggle = (ids: readonly string[], isOn: boolean): void => {
    const others = [...selected].filter((id) => !ids.includes(id));
    setSelected(new Set(isOn ? [...others, ...ids] : others));
  };
  const shown = [selectColumn(selected, toggle), ...columns, ...(mayAck ? [ackColumn(setAcked)] : [])];
  return (
    <Page
      title="Dead letters"
      lead="Failed deliveries that are no longer retried."
      actions={
        <button type="button" onClick={read.refresh}>
          Refresh
        </button>
      }
    >
      {isPart ? null : <DeadLetterCountsSection filters={filters} turnMs={read.atMs} />}
      <Section
        title="Dead letters, newest first"
        actions={isPart ? undefined : <BulkButtons selected={selected} filters={filters} onChoose={setBulk} />}
      >
        <TimeRangePicker standard="all" />
        <FilterForm fields={fields} />
        {bulk === undefined ? null : (
          <BulkPanel key={JSON.stringify([bulk.action, bulk.body])} bulk={bulk} onClose={() => setBulk(undefined)} />
        )}
        {acked === undefined ? null : (
          <AckPanel
            key={`${acked.tenant} ${acked.event_id} ${acked.partner}`}
            letter={acked}
            onDone={read.refresh}
            onClose={() => setAcked(undefined)}
          />
        )}
        <PartnerMatch>
          <Reading read={read} what="the dead letters" lines={12}>
            {({ data, meta }) => (
              <>
                <SelectPage letters={data} selected={selected} toggle={toggle} />
                <div class="letter-rows">
                  <DataTable
                    caption="Dead letters"
                    isCards
                    columns={shown}
                    rows={data}
                    rowKey={({ tenant, event_id, partner, ended_at }) => `${tenant} ${event_id} ${partner} ${ended_at}`}
                    empty={<NoDeadLetters isFiltered={Object.keys(filters).length > 0} />}
                  />
                </div>
                <Pager cursor={meta.cursor} />
              </>
            )}
          </Reading>
        </PartnerMatch>
      </Section>
    </Page>
  );
}

interface BulkPanelProps {
  readonly bulk: BulkAction;
  readonly onClose: () => void;
}

function BulkPanel({ bulk: { action, body, what }, onClose }: BulkPanelProps): JSX.Element {
  return (
    <StartReplay
      path={action === "Redrive" ? "/webhooks/dead-letters/redrive" : "/webhooks/dead-letters/ack"}
      action={action}
      what={[what]}
      body={() => Promise.resolve(body)}
      startsAtOnce
      onClose={onClose}
    />
  );
}

/** The filters of the address as parameters of the API, without empty ones. */
function useFilters(): Readonly<Record<string, string>> {
  const { query } = useQueryState();
  return useMemo(() => {
    const named = fields.map(({ name }) => [name, query.get(name) ?? ""] as const);
    const { preset, from, to } = timeRangeOf(query, Date.now());
    const range = hasTimeRange(query) ? { from, ...(preset === undefined ? { to } : {}) } : {};
    return { ...Object.fromEntries(named.filter(([, value]) => value !== "")), ...range };
  }, [query]);
}

interface BulkButtonsProps {
  readonly selected: ReadonlySet<string>;
  readonly filters: Readonly<Record<string, string>>;
  readonly onChoose: (bulk: BulkAction) => void;
}

/** Actions on the selected dead letters, or on all that match the filters. */
function BulkButtons({ selected, filters, onChoose }: BulkButtonsProps): JSX.Element {
  const { me } = useSession();
  const formatTime = useFormatTime();
  const words = selected.size > 0 ? `${formatNumber(selected.size)} selected` : "all that match";
  const choose = (action: BulkAction["action"]): void =>
    onChoose({ action, ...selectionOf(selected, filters, formatTime) });
  return (
    <>
      {mayUse(me, ["webhooks:replay"]) ? (
        <button type="button" onClick={() => choose("Redrive")}>
          Redrive {words}
        </button>
      ) : null}
      {mayUse(me, ["webhooks:ack"]) ? (
        <button type="button" onClick={() => choose("Acknowledge")}>
          Acknowledge {words}
        </button>
      ) : null}
    </>
  );
}

/** The selection as a request, and in words with times in the zone of the reader. */
export function selectionOf(
  selected: ReadonlySet<string>,
  { type, ...filters }: Readonly<Record<string, string>>,
  formatTime: (at: string) => string,
): Omit<BulkAction, "action"> {
  if (selected.size > 0)
    return { body: { dead_letter_ids: [...selected] }, what: formatCount(selected.size, "selected dead letter") };
  const members = { ...filters, ...(type === undefined ? {} : { types: [type] }) };
  const names = Object.entries(members).map(([name, value]) =>
    typeof value === "string" && ["from", "to"].includes(name)
      ? `${name} ${formatTime(value)}`
      : `${name} ${String(value)}`,
  );
  if (names.length === 0) return { body: { all: true }, what: "All dead letters visible to your token" };
  return { body: members, what: `Dead letters with ${names.join(", ")}` };
}

type Toggle = (ids: readonly string[], isOn: boolean) => void;

interface SelectPageProps {
  readonly letters: readonly DeadLetter[];
  readonly selected: ReadonlySet<string>;
  readonly toggle: Toggle;
}

/** Selects the dead letters of the page, or clears the selection of all pages. */
function SelectPage({ letters, selected, toggle }: SelectPageProps): JSX.Element | null {
  const ids = letters.flatMap(({ dead_letter_id: id }) => id ?? []);
  if (ids.length === 0) return null;
  return (
    <div class="select-page">
      <label>
        <input
          type="checkbox"
          checked={ids.every((id) => selected.has(id))}
          onChange={(change) => toggle(ids, change.currentTarget.checked)}
        />{" "}
        Select this page
      </label>
      {selected.size === 0 ? null : (
        <button type="button" class="small" onClick={() => toggle([...selected], false)}>
          Clear selection
        </button>
      )}
    </div>
  );
}

function selectColumn(selected: ReadonlySet<string>, toggle: Toggle): Column<DeadLetter> {
  return {
    header: "Event",
    cell: ({ dead_letter_id: id, event_id: event, partner }) => (
      <span class="select-row">
        {id === undefined ? null : (
          <input
            type="checkbox"
            aria-label={`Select ${event} for ${partner}`}
            checked={selected.has(id)}
            onChange={(change) => toggle([id], change.currentTarget.checked)}
          />
        )}
        <EventLink id={event} partner={partner} />
      </span>
    ),
  };
}

const columns: readonly Column<DeadLetter>[] = [
  { header: "Ended", cell: ({ ended_at }) => <Timestamp at={ended_at} shows="age" /> },
  {
    header: "State, reason",
    isInCard: true,
    cell: (letter) => (
      <>
        <Badge state={letter.state} /> <span class="quiet">{formatWord(letter.reason)}</span>
        <EndCause letter={letter} />
      </>
    ),
  },
  {
    header: "Partner, tenant",
    isInCard: true,
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

/** Why nothing was sent at the end, and which failure came before; nothing if a request ended the delivery. */
function EndCause({ letter: { detail, last_failure: failure } }: { readonly letter: DeadLetter }): JSX.Element | null {
  if (detail === undefined) return null;
  return <div class="quiet">{[detail, failureWords(failure) ?? []].flat().join("; ")}</div>;
}

function ackColumn(choose: (letter: DeadLetter) => void): Column<DeadLetter> {
  return {
    header: "Action",
    isInCard: true,
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
      why="No dead letter visible to you matches these filters."
      next="Remove a filter."
    />
  ) : (
    <Empty title="No dead letters" why="All deliveries visible to you have succeeded or are still being retried." />
  );
}
