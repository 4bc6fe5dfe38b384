import { pointRows, type QueryBody } from "./query-body.ts";

/** Source: RFC 4180 §3. */
export const csvMediaType = "text/csv";

/**
 * Whether text cells are written as they are, for programs, or so that no spreadsheet takes one for a formula. Numbers
 * are the same in both.
 */
export type CsvForm = "neutral" | "raw";

/** First characters of a cell that spreadsheets take for a formula. Source: OWASP, "CSV Injection". */
const formulaStart = /^[=+\-@\t\r]/u;

/**
 * A table with one row for each point: metric, the labels that were grouped by, timestamp, value. A label that a series
 * does not carry is empty. Source: RFC 4180; lines end with CR LF, the first one holds the names.
 */
export function csvOf(body: QueryBody, form: CsvForm): string {
  const { group_by: labels } = body.meta;
  const text = (cell: string): string => (form === "neutral" && formulaStart.test(cell) ? `'${cell}` : cell);
  const rows = pointRows(body).map((row) => [
    text(row.metric),
    ...labels.map((label) => text(row.labels[label] ?? "")),
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
