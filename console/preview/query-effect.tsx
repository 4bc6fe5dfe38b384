import type { PreviewedQueries, PreviewedReaders } from "../../api/previews.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { DataTable } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { formatCount, formatNumber, formatSeconds, formatTime } from "../components/format.ts";
import { readerDays } from "../explorer/metric-usage.ts";
import { Section } from "../components/page.tsx";

type Shape = PreviewedQueries["shapes"][number];

/** Recorded queries that the edit rejects, allows, or makes more or less expensive. */
export function QueryEffect({ queries }: { readonly queries: PreviewedQueries | null }): JSX.Element {
  return (
    <Section title="Recorded queries" lead={queries === null ? undefined : coverageOf(queries)}>
      {queries === null ? (
        <Empty title="No recorded queries" why="Your token is narrowed to partners, or has no metrics." />
      ) : (
        <>
          <ChangedMetrics queries={queries} />
          <DataTable
            caption="Queries with a different cost or result"
            isCards
            look="labelled"
            rows={queries.shapes}
            rowKey={(shape) => JSON.stringify(shape)}
            columns={[
              { header: "Query", cell: queryText },
              {
                header: "Effect",
                cell: ({ effect }) => <Badge state={effect} tone={toneOf(effect)} label={wordOf(effect)} />,
                isInCard: true,
              },
              { header: "Client", cell: ({ client }) => client, isInCard: true },
              { header: "Count", cell: ({ count }) => formatNumber(count), isNumber: true, isInCard: true },
              { header: "Before", cell: ({ before }) => judgedText(before), isInCard: true },
              { header: "After", cell: ({ after }) => judgedText(after), isInCard: true },
            ]}
            empty={
              <Empty
                title="No change of permission or cost"
                why="Each query is allowed or rejected as before, at the same cost."
              />
            }
          />
        </>
      )}
    </Section>
  );
}

/** Metrics that mean something else with the edit. Servers of earlier versions do not compare definitions. */
function ChangedMetrics({ queries }: { readonly queries: PreviewedQueries }): JSX.Element | null {
  const { changed_metrics: changed = [], other_values: others = 0 } = queries;
  if (changed.length === 0) return null;
  return (
    <>
      <p class="notice warn">{otherValuesText(others)}</p>
      <DataTable
        caption="Metrics whose values change"
        isCards
        look="labelled"
        rows={changed}
        rowKey={({ metric }) => metric}
        columns={[
          { header: "Metric", cell: ({ metric }) => metric },
          { header: "Changed", cell: ({ fields }) => fields.join(", "), isInCard: true },
          { header: "Queries", cell: ({ queries: count }) => formatNumber(count), isNumber: true, isInCard: true },
          { header: "Objectives", cell: ({ objectives }) => objectives.join(", ") || "none", isInCard: true },
        ]}
      />
    </>
  );
}

/** How many recorded queries return other values. */
export function otherValuesText(count: number): string {
  if (count === 0) return "The definition of metrics changes. No recorded query used them.";
  return `${formatCount(count, "query returns", "queries return")} other values: the definition of a metric changes.`;
}

type Removal = PreviewedReaders["removed"][number];

/** The clients that used what the edit removes from metrics. */
export function ReaderEffect({ readers }: { readonly readers: PreviewedReaders }): JSX.Element | null {
  if (readers.removed.length === 0) return null;
  const { unavailable, complete, clients_shown: shown, removed } = readers;
  const limits = [
    ...(unavailable === undefined ? [] : [`Clients are unknown: ${unavailable}.`]),
    ...(unavailable !== undefined || complete ? [] : ["Some usage may be missing."]),
    ...(shown === "all" ? [] : ["Only your client is shown."]),
  ];
  const isSure = complete && shown === "all";
  return (
    <Section title="Clients of what is removed" lead={[`The last ${readerDays} days.`, ...limits].join(" ")}>
      <DataTable
        caption="Clients of what is removed"
        isCards
        look="labelled"
        rows={removed}
        rowKey={({ metric, what, name }) => `${metric} ${what} ${name ?? ""}`}
        columns={[
          { header: "Metric", cell: ({ metric }) => metric },
          { header: "Removed", cell: ({ what, name }) => (name === null ? what : `${what} ${name}`), isInCard: true },
          { header: "Clients", cell: (removal) => clientsText(removal, isSure), isInCard: true },
        ]}
      />
    </Section>
  );
}

/** "None" only if all usage is known. */
export function clientsText(
  { clients, more_clients: more, unknown_requests: unknown }: Removal,
  isSure: boolean,
): string {
  if (clients === null) return "unknown";
  const parts = [
    ...clients.map(({ client, requests }) => `${client} (${formatNumber(requests)})`),
    ...(more === 0 ? [] : [`${formatNumber(more)} more`]),
    ...(unknown === 0 ? [] : [`at most ${formatNumber(unknown)} requests of unknown clients`]),
  ];
  if (parts.length > 0) return parts.join(", ");
  return isSure ? "none" : "none known";
}

function coverageOf({ judged, since, pods }: PreviewedQueries): string {
  const silent = pods.live - pods.answered;
  const missing = silent === 0 ? "" : ` ${silent} of ${pods.live} pods did not respond.`;
  return `${formatNumber(judged)} queries since ${formatTime(since)}.${missing}`;
}

function toneOf(effect: string): "bad" | "good" | "warn" {
  if (effect === "refused") return "bad";
  return effect === "dearer" ? "warn" : "good";
}

/** Effects in the words of people. */
function wordOf(effect: string): string {
  if (effect === "refused") return "rejected";
  return effect === "dearer" ? "more expensive" : effect;
}

function queryText({ metrics, aggregation, group_by: groupBy, filters, window_seconds: span, step }: Shape): string {
  const parts = [
    metrics.join(" "),
    aggregation ?? "",
    groupBy.length === 0 ? "" : `by ${groupBy.join(", ")}`,
    filters.length === 0 ? "" : `filtered by ${filters.join(", ")}`,
    span === null ? "" : `over ${formatSeconds(span)}`,
    step === null ? "" : `step ${step}`,
  ];
  return parts.filter((part) => part !== "").join(" ");
}

function judgedText({ class: name, cost, code }: Shape["before"]): string {
  if (code !== null) return code;
  return [name === null ? "" : `class ${name}`, cost === null ? "" : `${formatNumber(cost)} units`]
    .filter((part) => part !== "")
    .join(", ");
}
