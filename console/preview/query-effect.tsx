import type { PreviewedQueries } from "../../api/previews.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { DataTable } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { formatNumber, formatSeconds, formatTime } from "../components/format.ts";
import { Section } from "../components/page.tsx";

type Shape = PreviewedQueries["shapes"][number];

/** Recorded queries that the edit rejects, allows, or makes more or less expensive. */
export function QueryEffect({ queries }: { readonly queries: PreviewedQueries | null }): JSX.Element {
  return (
    <Section title="Recorded queries" lead={queries === null ? undefined : coverageOf(queries)}>
      {queries === null ? (
        <Empty title="No recorded queries" why="Your token is narrowed to partners, or has no metrics." />
      ) : (
        <DataTable
          caption="Queries with a different cost or result"
          rows={queries.shapes}
          rowKey={(shape) => JSON.stringify(shape)}
          columns={[
            { header: "Query", cell: queryText },
            {
              header: "Effect",
              cell: ({ effect }) => <Badge state={effect} tone={toneOf(effect)} label={wordOf(effect)} />,
            },
            { header: "Client", cell: ({ client }) => client },
            { header: "Count", cell: ({ count }) => formatNumber(count), isNumber: true },
            { header: "Before", cell: ({ before }) => judgedText(before) },
            { header: "After", cell: ({ after }) => judgedText(after) },
          ]}
          empty={
            <Empty title="No query changes" why="Each query is allowed or rejected as before, at the same cost." />
          }
        />
      )}
    </Section>
  );
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
