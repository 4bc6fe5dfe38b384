import { pointRows, type QueryBody } from "./query-body.ts";

/** Source: RFC 4180 §3. */
export const csvMediaType = "text/csv";

/**
 * A table with one row for each point: metric, the labels that were grouped by, timestamp, value. A label that a series
 * does not carry is empty. Source: RFC 4180; lines end with CR LF, the first one holds the names.
 */
export function csvOf(body: QueryBody): string {
  const { group_by: labels } = body.meta;
  const rows = pointRows(body).map((row) => [
    row.metric,
    ...labels.map((label) => row.labels[label] ?? ""),
    row.timestamp,
    String(row.value),
  ]);
  return [["metric", ...labels, "timestamp", "value"], ...rows]
    .map((row) => `${row.map(field).join(",")}\r\n`)
    .join("");
}

function field(text: string): string {
  return /[",\r\n]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
