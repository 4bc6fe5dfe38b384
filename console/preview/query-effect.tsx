import type { PreviewedQueries } from "../../api/previews.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { DataTable } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { formatNumber, formatSeconds, formatTime } from "../components/format.ts";
import { Section } from "../components/page.tsx";

type Shape = PreviewedQueries["shapes"][number];

/** Which recorded queries the edit refuses, allows, or makes dearer or cheaper. */
export function QueryEffect({ queries }: { readonly queries: PreviewedQueries | null }): JSX.Element {
  return (
    <Section title="Recorded queries" lead={queries === null ? undefined : `Exact. ${coverageOf(queries)}`}>
      {queries === null ? (
        <Empty title="Your token sees no recorded queries" why="It is narrowed to partners, or to no metrics." />
      ) : (
        <DataTable
          caption="Queries with another price or result"
          rows={queries.shapes}
          rowKey={(shape) => JSON.stringify(shape)}
          columns={[
            { header: "Query", cell: queryText },
            { header: "Effect", cell: ({ effect }) => <Badge state={effect} tone={toneOf(effect)} /> },
            { header: "Client", cell: ({ client }) => client },
            { header: "Count", cell: ({ count }) => formatNumber(count), isNumber: true },
            { header: "Before", cell: ({ before }) => judgedText(before) },
            { header: "After", cell: ({ after }) => judgedText(after) },
          ]}
          empty={<Empty title="No query differs" why="Each is allowed or refused as before, at the same price." />}
        />
      )}
    </Section>
  );
}

function coverageOf({ judged, since, pods }: PreviewedQueries): string {
  const silent = pods.live - pods.answered;
  const missing = silent === 0 ? "" : ` ${silent} of ${pods.live} pods did not answer.`;
  return `${formatNumber(judged)} queries since ${formatTime(since)}.${missing}`;
}

function toneOf(effect: string): "bad" | "good" | "warn" {
  if (effect === "refused") return "bad";
  return effect === "dearer" ? "warn" : "good";
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
