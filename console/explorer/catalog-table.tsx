// Questions to the metrics API: choosing a metric, its parameters, its plan, its answer. Objectives are elsewhere.
import type { CatalogEntry } from "../../api/catalog.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { DataTable, type Column } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { FilterForm } from "../components/filter-form.tsx";
import { changedQuery } from "../router/place.ts";
import { Link, useQueryState } from "../router/router.tsx";

/** The address of the Explorer with one metric. */
export function metricPath(metric: string): string {
  return `/explorer${changedQuery(new URLSearchParams(), { metric })}`;
}

const columns: readonly Column<CatalogEntry>[] = [
  {
    header: "Metric",
    cell: ({ metric_id: id, state }) => (
      <>
        <Link to={metricPath(id)}>
          <code>{id}</code>
        </Link>{" "}
        {state === "Active" ? null : <Badge state={state} tone="warn" label="deprecated" />}
      </>
    ),
  },
  { header: "What it is", cell: ({ description }) => description },
  { header: "Unit", cell: ({ unit }) => unit },
  { header: "Category", cell: ({ category }) => category },
  { header: "Aggregations", cell: ({ aggregations }) => aggregations.join(" ") },
];

/** The metrics that the token may read, narrowed by a text and a category of the address. */
export function CatalogTable({ entries }: { readonly entries: readonly CatalogEntry[] }): JSX.Element {
  const { get } = useQueryState();
  const [find, category] = [get("find").toLowerCase(), get("category")];
  const shown = entries.filter(
    (entry) =>
      (category === "" || entry.category === category) &&
      `${entry.metric_id} ${entry.description}`.toLowerCase().includes(find),
  );
  const categories = [...new Set(entries.map((entry) => entry.category))].sort();
  return (
    <>
      <FilterForm
        fields={[
          { name: "find", label: "Find", placeholder: "name or description" },
          { name: "category", label: "Category", kind: "select", options: categories },
        ]}
        action="Find"
      />
      <DataTable
        caption="Metrics of the catalog"
        columns={columns}
        rows={shown}
        rowKey={({ metric_id: id }) => id}
        empty={<NoMetric isNarrowed={entries.length > 0} />}
      />
    </>
  );
}

function NoMetric({ isNarrowed }: { readonly isNarrowed: boolean }): JSX.Element {
  return isNarrowed ? (
    <Empty title="No metric fits" why="The catalog has metrics, but none with this text and category." />
  ) : (
    <Empty
      title="No metrics"
      why="No catalog is applied, or your token may read none of its metrics."
      next="Apply a MetricCatalog, or ask for a token with metrics."
    />
  );
}
