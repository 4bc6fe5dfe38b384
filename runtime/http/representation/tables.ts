import type { InstantItem, QueryItem } from "../../../api/queries.ts";

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
 * does not carry is empty. A ranking adds the rank, which is `other` for the sum of the other series. A comparison adds
 * the earlier value and the change, and rows of times with an earlier value only. Source: RFC 4180; lines end with
 * CR LF, the first one holds the names.
 */
export function csvOf(body: QueryBody, form: CsvForm): string {
  const { group_by: labels, top, compare } = body.meta;
  const ranked = top === undefined ? [] : (["rank"] as const);
  const more = [...ranked, ...(compare === undefined ? [] : (["previous", "change", "change_ratio"] as const))];
  const rows = pointRows(body).map((row) => [
    row.metric,
    ...labels.map((label) => row.labels[label] ?? ""),
    row.timestamp,
    row.value,
    ...more.map((name) => row[name]),
  ]);
  return csvLines(["metric", ...labels, "timestamp", "value", ...more], rows, form);
}

/** A table of text cells and numbers. Source: RFC 4180. */
export function csvLines(
  names: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  form: CsvForm,
): string {
  const text = (cell: string): string => (form === "neutral" && formulaStart.test(cell) ? `'${cell}` : cell);
  const cells = rows.map((row) => row.map((cell) => (typeof cell === "number" ? String(cell) : text(cell))));
  return [names, ...cells].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

function field(text: string): string {
  return /[",\r\n]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The members of a query or instant body that CSV and NDJSON use. */
export interface QueryBody {
  readonly data: readonly (
    | Pick<QueryItem, "metric" | "labels" | "points" | "rank" | "other" | "previous" | "change">
    | Pick<InstantItem, "metric_id" | "labels" | "timestamp" | "value">
  )[];
  readonly meta: { readonly group_by: readonly string[]; readonly top?: object; readonly compare?: object };
  /** Metrics that failed alone. @default none */
  readonly errors?: readonly object[];
}

/** One row of a table: a point of a series. */
interface PointRow {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly timestamp: string;
  readonly value: Cell;
  readonly rank: Cell;
  readonly previous: Cell;
  readonly change: Cell;
  readonly change_ratio: Cell;
}

/** A number, or the empty text without one. */
type Cell = number | string;

/** The points of a body in the order of its series, then of time. */
function pointRows({ data }: QueryBody): readonly PointRow[] {
  return data.flatMap((item): readonly PointRow[] => {
    if (!("points" in item))
      return [
        { ...noCells, metric: item.metric_id, labels: item.labels, timestamp: item.timestamp, value: item.value },
      ];
    const { metric, labels, points, previous, change = [], rank = item.other === undefined ? "" : "other" } = item;
    const own = { ...noCells, metric, labels, rank };
    if (previous === undefined) return points.map(([timestamp, value]) => ({ ...own, timestamp, value }));
    const before = new Map(previous);
    const rows = points.map(([timestamp, value], index) => {
      const [absolute, relative] = change[index] ?? [];
      const compared = { previous: before.get(timestamp) ?? "", change: absolute ?? "", change_ratio: relative ?? "" };
      before.delete(timestamp);
      return { ...own, ...compared, timestamp, value };
    });
    const alone = [...before].map(([timestamp, value]) => ({ ...own, timestamp, previous: value }));
    return alone.length === 0 ? rows : [...rows, ...alone].sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1));
  });
}

const noCells = { value: "", rank: "", previous: "", change: "", change_ratio: "" };

/** The usual name; no name is registered. */
export const ndjsonMediaType = "application/x-ndjson";

/**
 * Writes each item of the list on a line, then all other members on a last line. A reader with the last line has the
 * whole list.
 * @param list name of the member that is the list
 */
export function ndjsonOf(body: Readonly<Record<string, unknown>>, list: string): string {
  const { [list]: items, ...rest } = body;
  const lines: readonly unknown[] = Array.isArray(items) ? items : [];
  return [...lines, rest].map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** Most characters of the header that carries the `meta` of a table. */
const metaCharactersMax = 1_024;
/** Members that are left out of a longer one, one after the other. */
const omitted = [
  "aggregations",
  "deprecated",
  "reasons",
  "details",
  "errors",
  "regions",
  "top",
  "compare",
  "schema_version",
] as const;
type Omitted = (typeof omitted)[number];

interface RegionOf {
  readonly region: string;
  readonly state: string;
}

type TableMeta = QueryBody["meta"] & {
  readonly regions?: readonly RegionOf[];
  readonly errors?: readonly { readonly metric?: string; readonly code?: string }[];
};

/**
 * The `meta` of a table for its header, with its errors. A long one leaves members out and names them in `omitted`;
 * JSON and NDJSON have them all.
 */
export function tableMeta({ meta, errors }: QueryBody): string {
  const whole: TableMeta = errors === undefined ? meta : { ...meta, errors };
  for (let count = 0; count <= omitted.length; count += 1) {
    const text = JSON.stringify(without(whole, omitted.slice(0, count)));
    if (text.length <= metaCharactersMax) return inAscii(text);
  }
  return JSON.stringify({ omitted });
}

function without(meta: TableMeta, names: readonly Omitted[]): object {
  if (names.length === 0) return meta;
  const { regions, errors, ...rest } = meta;
  const isLeftOut = (name: Omitted): boolean => names.includes(name);
  const short = {
    ...rest,
    ...(errors === undefined ? {} : { errors: isLeftOut("details") ? errors.map(codeOf) : errors }),
    ...(regions === undefined ? {} : { regions: isLeftOut("reasons") ? regions.map(stateOf) : regions }),
  };
  const kept = Object.entries(short).filter(([name]) => !names.some((one) => one === name));
  return { ...Object.fromEntries(kept), omitted: names };
}

function codeOf({ metric, code }: { readonly metric?: string; readonly code?: string }): object {
  return { metric, code };
}

function stateOf({ region, state }: RegionOf): object {
  return { region, state };
}

/** A header holds no other characters. */
function inAscii(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => unicodeEscape(character.charCodeAt(index))).join(""),
  );
}

function unicodeEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}
