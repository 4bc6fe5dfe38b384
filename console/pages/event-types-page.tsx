import type { EventTypeSummary } from "../../api/events.ts";
import type { JSX } from "preact";
import type { ListPage } from "../api/types.ts";
import { useRead } from "../api/use-read.ts";
import { DataTable, type Column } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { FilterForm } from "../components/filter-form.tsx";
import { Page } from "../components/page.tsx";
import { Pager } from "../components/pager.tsx";
import { Reading } from "../components/reading.tsx";
import { StateAndEnd, typeStates } from "../event-types/schema-tree.tsx";
import { changedQuery, pathTo } from "../router/place.ts";
import { Link, useQueryState } from "../router/router.tsx";

const rowsMax = 50;
const filters = ["search", "state"] as const;

/** The declared event types that the token may see. */
export function EventTypesPage(): JSX.Element {
  const { get } = useQueryState();
  const [search, state, cursor] = [get("search"), get("state"), get("cursor")];
  const query = changedQuery(new URLSearchParams(), { search, state, cursor, limit: String(rowsMax) });
  const read = useRead<ListPage<EventTypeSummary>>(`/webhooks/types${query}`);
  return (
    <Page title="Event types">
      <FilterForm
        fields={[
          { name: "search", label: "Type, description or owner", placeholder: "payout" },
          { name: "state", label: "State", kind: "select", options: typeStates },
        ]}
        action="Filter"
      />
      <Reading read={read} what="the event types" lines={10}>
        {({ data, meta }) => (
          <>
            <DataTable
              caption="Event types"
              columns={columns}
              rows={data}
              rowKey={({ type }) => type}
              isCards
              look="event-type-rows"
              empty={filters.some((name) => get(name) !== "") ? <NoMatch /> : <NoTypes />}
            />
            <Pager cursor={meta.cursor} />
          </>
        )}
      </Reading>
    </Page>
  );
}

function NoMatch(): JSX.Element {
  const state = useQueryState();
  return (
    <Empty
      title="No event types match"
      why="No event type that your token may see has this text and state."
      next={<Link to={state.to({ search: null, state: null, cursor: null })}>Show all event types</Link>}
    />
  );
}

function NoTypes(): JSX.Element {
  return (
    <Empty
      title="No event types"
      why={
        "No EventCatalog declares a type that your token may see. Events are delivered without one, but nothing " +
        "checks their data, and their schemas are not listed here."
      }
      next={
        <>
          Apply an <code>EventCatalog</code> with a type, its schema and an example. Check it first with{" "}
          <code>heliograph validate</code>. A token that is limited to partners sees the types that they subscribe to.
        </>
      }
    />
  );
}

function Versions({ all: [newest, ...older] }: { readonly all: EventTypeSummary["versions"] }): JSX.Element {
  return (
    <>
      {newest?.version}
      {older.length === 0 ? null : (
        <span class="quiet" title={older.map(({ version }) => version).join(", ")}>
          {" "}
          and {older.length} older
        </span>
      )}
    </>
  );
}

const columns: readonly Column<EventTypeSummary>[] = [
  {
    header: "Type",
    cell: ({ type }) => (
      <Link to={pathTo("types", type)} class="id">
        {type}
      </Link>
    ),
    isInCard: true,
  },
  { header: "Description", cell: ({ description }) => <span title={description}>{description}</span>, isInCard: true },
  {
    header: "State",
    cell: ({ state, versions: [newest] }) => <StateAndEnd state={state} end={newest} />,
    isInCard: true,
  },
  { header: "Versions", cell: ({ versions }) => <Versions all={versions} /> },
  { header: "Owner", cell: ({ owner }) => owner },
];
