// Queries of the metrics API: choosing a metric, its parameters, its plan, its chart. Objectives are elsewhere.
import type { CatalogEntry } from "../../api/catalog.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { DataTable, type Column } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { FilterForm } from "../components/filter-form.tsx";
import { formatCount, formatNumber, formatShare } from "../components/format.ts";
import { changedQuery } from "../router/place.ts";
import { Link, useQueryState } from "../router/router.tsx";
import {
  type CatalogChecks,
  CatalogSummary,
  CheckBadge,
  statusChoices,
  statusOf,
  useCatalogChecks,
} from "./catalog-checks.tsx";
import { useMetricUsage, type UsageByMetric } from "./metric-usage.ts";

/** The address of the Explorer with one metric. */
export function metricPath(metric: string): string {
  return `/explorer${changedQuery(new URLSearchParams(), { metric })}`;
}

function nameColumn(checks: CatalogChecks): Column<CatalogEntry> {
  return {
    header: "Metric",
    cell: ({ metric_id: id, state }) => (
      <>
        <Link to={metricPath(id)}>
          <code class="one-line">{id}</code>
        </Link>{" "}
        {state === "Active" ? null : <Badge state={state} tone="warn" label="deprecated" />}
        {checks.byMetric?.get(id)?.status === "False" ? <CheckBadge status="False" /> : null}
      </>
    ),
  };
}

const columns: readonly Column<CatalogEntry>[] = [
  { header: "Description", cell: ({ description }) => description },
  { header: "Unit", cell: ({ unit }) => unit },
  { header: "Category", cell: ({ category }) => category },
];

function ownerColumns(named: readonly (typeof optional)[number][]): readonly Column<CatalogEntry>[] {
  return named.map(({ name, label }) => ({ header: label, cell: (entry) => entry[name] ?? "" }));
}

type Usage = ReturnType<typeof useMetricUsage>;

/** Columns of the last 24 hours, where the server counts usage. */
function usageColumns(usage: Usage): readonly Column<CatalogEntry>[] {
  if (usage === "none") return [];
  // Their room is there from the start, so that nothing moves.
  const byMetric = usage === "reading" ? undefined : usage.byMetric;
  return [
    {
      header: "Cost, 24 h",
      cell: ({ metric_id: id }) => (byMetric === undefined ? "…" : formatCount(byMetric.get(id)?.cost ?? 0, "unit")),
      isNumber: true,
    },
    { header: "Requests", cell: ({ metric_id: id }) => formatNumber(byMetric?.get(id)?.requests ?? 0), isNumber: true },
    { header: "From cache", cell: ({ metric_id: id }) => formatShare(byMetric?.get(id)?.cache_share), isNumber: true },
  ];
}

/** Columns and filters that only catalogs with values have. */
const optional = [
  { name: "owner", label: "Owner" },
  { name: "domain", label: "Domain" },
] as const;

function statusIn(byMetric: NonNullable<CatalogChecks["byMetric"]>, { metric_id: id }: CatalogEntry) {
  const check = byMetric.get(id);
  return check && statusOf(check);
}

/** The metrics whose texts and names match. */
export function foundEntries(
  entries: readonly CatalogEntry[],
  get: (name: string) => string,
  { byMetric }: Pick<CatalogChecks, "byMetric">,
): readonly CatalogEntry[] {
  const find = get("find").toLowerCase();
  const isNamed = (entry: CatalogEntry, name: "category" | "owner" | "domain"): boolean =>
    get(name) === "" || entry[name] === get(name);
  return entries.filter(
    (entry) =>
      (get("stores") === "" || byMetric === undefined || statusIn(byMetric, entry) === get("stores")) &&
      (["category", "owner", "domain"] as const).every((name) => isNamed(entry, name)) &&
      [entry.metric_id, entry.description, entry.owner ?? "", entry.contact ?? "", entry.domain ?? ""].some((text) =>
        text.toLowerCase().includes(find),
      ),
  );
}

const statusField = { name: "stores", label: "Stores", kind: "select", options: statusChoices } as const;

/** Sorted values of the catalog; a value of the address stays a choice. */
function valuesOf(entries: readonly CatalogEntry[], name: "category" | "owner" | "domain", chosen: string) {
  const values = entries.flatMap((entry) => entry[name] ?? []);
  return [...new Set(chosen === "" ? values : [...values, chosen])].sort().map((value) => ({ value, label: value }));
}

/** The metrics that the token may read, narrowed by a text, a category, an owner and a domain of the address. */
export function CatalogTable({ entries }: { readonly entries: readonly CatalogEntry[] }): JSX.Element {
  const { get } = useQueryState();
  const usage = useMetricUsage();
  const checks = useCatalogChecks();
  const found = foundEntries(entries, get, checks);
  const cost = ({ metric_id: id }: CatalogEntry): number =>
    typeof usage === "string" ? 0 : (usage.byMetric.get(id)?.cost ?? 0);
  const shown = get("sort") === "cost" ? found.toSorted((a, b) => cost(b) - cost(a)) : found;
  const named = optional.filter(({ name }) => get(name) !== "" || entries.some((entry) => entry[name] !== undefined));
  const [description, ...others] = columns;
  return (
    <>
      <FilterForm
        fields={[
          { name: "find", label: "Find", placeholder: "name, description or owner" },
          ...[{ name: "category", label: "Category" } as const, ...named].map(({ name: field, label }) => ({
            name: field,
            label,
            kind: "select" as const,
            options: valuesOf(entries, field, get(field)),
          })),
          statusField,
        ]}
        action="Find"
      />
      <CatalogSummary {...checks} />
      {usage === "none" ? null : <SortLinks usage={usage} />}
      <div class="catalog">
        <DataTable
          caption="Metrics of the catalog"
          columns={[nameColumn(checks), description]
            .flatMap((column) => column ?? [])
            .concat(usageColumns(usage), others, ownerColumns(named))}
          rows={shown}
          rowKey={({ metric_id: id }) => id}
          empty={<NoMetric isNarrowed={entries.length > 0} />}
        />
      </div>
    </>
  );
}

function SortLinks({ usage }: { readonly usage: Exclude<Usage, "none"> }): JSX.Element {
  const { get, to } = useQueryState();
  const isByCost = get("sort") === "cost";
  return (
    <div class="choices">
      <span class="quiet">Sort by</span>
      <Link to={to({ sort: null })} isCurrent={!isByCost}>
        Name
      </Link>
      <Link to={to({ sort: "cost" })} isCurrent={isByCost}>
        Cost
      </Link>
      <span class="quiet">{usage === "reading" ? "…" : scopeText(usage)}</span>
    </div>
  );
}

function scopeText({ isOwn, isComplete }: UsageByMetric): string {
  const whose = isOwn ? "Cost of the queries of your client." : "Cost of the queries of all clients.";
  return isComplete ? whose : `${whose} Some usage of the last 24 hours may be missing.`;
}

function NoMetric({ isNarrowed }: { readonly isNarrowed: boolean }): JSX.Element {
  return isNarrowed ? (
    <Empty title="No metrics match" why="The catalog has no metric with this text and these values." />
  ) : (
    <Empty
      title="No metrics"
      why="No catalog is applied, or your token may read none of its metrics."
      next="Apply a MetricCatalog, or request a token with metrics."
    />
  );
}
