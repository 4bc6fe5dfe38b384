import type {
  PreviewedEvents,
  JudgedQuery,
  Preview,
  PreviewedQueries,
  PreviewedResources,
  PreviewedShape,
} from "../../api/previews.ts";
import { formatDuration } from "../../runtime/metrics/request/time.ts";
import type { OfflinePreview } from "../../runtime/preview/offline-preview.ts";
import type { FieldChange } from "../../runtime/preview/resource-changes.ts";
import { eventLines, payloadLines } from "./event-lines.ts";
import { readerLines, readerNotes, type Table } from "./reader-lines.ts";
import { plain } from "../command-line/terminal.ts";

/** Objects whose names a note has. */
const namesShown = 3;

/** `text` for a terminal, or `markdown` that a pull request shows. */
type TextForm = "text" | "markdown";

interface Heads {
  readonly titles: readonly string[];
  /** Of Markdown: `---` or `---:` for each column. */
  readonly align: readonly string[];
}

/** What `diff` found, on a server or between two folders. */
type Found = OfflinePreview | Preview;

const queryTitles = ["Effect", "Query", "Client", "Count", "Before", "After"];
const queryAlign = ["---", "---", "---", "---:", "---", "---"];
const effectWords: Readonly<Record<PreviewedShape["effect"], string>> = {
  refused: "refused",
  allowed: "allowed",
  dearer: "costs more",
  cheaper: "costs less",
};

/** True when the edit changes a resource, or would be rejected. */
export function isDifferent({ resources }: Found): boolean {
  const { added, removed, changed, refused } = resources;
  return added.length + removed.length + changed.length + refused.length > 0;
}

/** Adds objects that would be rejected. */
export function withRejected<F extends Found>(found: F, objects: PreviewedResources["refused"]): F {
  const { resources } = found;
  return { ...found, resources: { ...resources, refused: [...objects, ...resources.refused] } };
}

/** The effect of an edit for people: as text, or as Markdown that a pull request shows. */
export function diffText(found: Found, form: TextForm): string {
  const { resources, events } = found;
  const lines = form === "text" ? textLines(resources) : markdownLines(resources);
  const table: Table = (titles, align, rows) => tableOf(form, { titles, align }, rows);
  const fields = payloadLines(resources, table);
  const more = events === null ? [] : ["", ...eventLines(events, table)];
  const queries = queriesOf(found);
  const recorded = queries === null ? [] : queryLines(queries, table);
  const affected = readerLines(found, table);
  const text = isDifferent(found) ? [...lines, ...fields, ...more, ...recorded, ...affected] : ["No difference."];
  return `${text.map((line) => plain(line).trimEnd()).join("\n")}\n`;
}

/** Two folders have no queries, and neither have previews of older servers. */
function queriesOf(found: Found): Preview["queries"] {
  return "queries" in found ? found.queries : null;
}

/** What was not compared. */
export function diffNotes(found: Found): readonly string[] {
  const { resources, events } = found;
  const queries = queriesOf(found);
  const { unnamed, removed } = resources;
  const kept = unnamed.filter((object) => !removed.includes(object));
  const names = kept.slice(0, namesShown).join(", ");
  return [
    ...(kept.length === 0 ? [] : [`${kept.length} objects on the server are not in the edit and stay: ${names}`]),
    ...(events !== null && "oldest_event" in events ? coverage(events) : []),
    ...(queries === null ? [] : [queryCoverage(queries)]),
    ...readerNotes(found),
    "Not compared: bytes of Secrets, and names that the policy of the installation may reject.",
  ];
}

function coverage({ oldest_event: oldest, complete, attempts }: PreviewedEvents): readonly string[] {
  const { oldest_attempt: oldestAttempt, skipped } = attempts;
  const since = (time: string | null): string => (time === null ? "none is stored" : `stored since ${time}`);
  return [
    `Events: ${since(oldest)}. Attempts: ${since(oldestAttempt)}.`,
    ...(skipped > 0 ? [`Attempts for ${skipped} more events were not read.`] : []),
    ...(complete ? [] : ["The window has more events than a preview reads; the most recent events are not counted."]),
  ];
}

function textLines({ added, removed, changed, refused }: PreviewedResources): readonly string[] {
  return [
    ...refused.map(({ object, reason, message }) => `! ${object} would be rejected: ${reason}: ${message}`),
    ...added.map((object) => `+ ${object}`),
    ...removed.map((object) => `- ${object}`),
    ...changed.flatMap(({ object, fields }) => [
      `~ ${object}`,
      ...fields.map((change) => `    ${change.field}: ${changeText(change)}`),
    ]),
  ];
}

function markdownLines({ added, removed, changed, refused }: PreviewedResources): readonly string[] {
  const objects = [
    ...refused.map(({ object, reason, message }) =>
      markdownRow("rejected", code(object), `${reason}: ${escaped(message)}`),
    ),
    ...added.map((object) => markdownRow("added", code(object), "")),
    ...removed.map((object) => markdownRow("removed", code(object), "")),
    ...changed.flatMap(({ object, fields }) =>
      fields.map((change) =>
        markdownRow("changed", code(object), `${code(change.field)}: ${escaped(changeText(change))}`),
      ),
    ),
  ];
  return [
    "### Effect of this edit",
    "",
    markdownRow("Change", "Resource", "Field"),
    markdownRow("---", "---", "---"),
    ...objects,
  ];
}

function changeText({ field, before, after, hidden = [] }: FieldChange): string {
  // The path ends at an entry of a list, which only one side has.
  if (field.endsWith("]") && (before === undefined || after === undefined))
    return after !== undefined || hidden.join(",") === "after" ? "added" : "removed";
  // A server of an earlier version does not list what it withholds.
  if (before === undefined && after === undefined && hidden.length !== 1) return "changed (values hidden)";
  const textOf = (name: "before" | "after", value: string | undefined): string =>
    value ?? (hidden.includes(name) ? "(hidden)" : "(not set)");
  return `${textOf("before", before)} → ${textOf("after", after)}`;
}

function code(text: string): string {
  return `\`${text.replaceAll("`", "'").replaceAll("|", String.raw`\|`)}\``;
}

/** The effect on recorded queries: a sentence, and a table of the shapes with an effect. */
function queryLines(queries: PreviewedQueries, table: Table): readonly string[] {
  const { judged, refused, allowed, dearer, cheaper, shapes, other_values: others = 0 } = queries;
  const definitions = definitionLines(queries);
  if (judged === 0) return definitions;
  const sum =
    `${judged} recorded queries: ${refused} would be rejected, ${allowed} would be allowed, ` +
    `${dearer} would cost more, ${cheaper} would cost less` +
    `${others === 0 ? "" : `, ${others} would return other values`}.`;
  if (shapes.length === 0) return ["", sum, ...definitions];
  const rows = shapes.map(({ effect, client, count, before, after, ...shape }) => {
    return [effectWords[effect], queryText(shape), client, String(count), judgedText(before), judgedText(after)];
  });
  return ["", sum, ...definitions, "", ...table(queryTitles, queryAlign, rows)];
}

/** A line for each metric whose values change. */
function definitionLines({ changed_metrics: changed = [] }: PreviewedQueries): readonly string[] {
  return changed.flatMap(({ metric, fields, queries, objectives }) => [
    "",
    `The values of ${metric} change (${fields.join(", ")}): ${queries} recorded queries, ` +
      `${objectives.length === 0 ? "no objectives" : `objectives ${objectives.join(", ")}`}.`,
  ]);
}

/** What of the queries was compared. */
function queryCoverage({ since, pods, seen, judged }: PreviewedQueries): string {
  const count = seen === null ? `${judged} visible to the token` : `${judged} of ${seen}`;
  const readPods = `${pods.answered} of ${pods.live} pods`;
  return `Queries: ${count} compared, recorded since ${since} by ${readPods}; equal requests count once.`;
}

type Shape = Omit<PreviewedShape, "effect" | "client" | "count" | "before" | "after">;

function queryText({ metrics, aggregation, group_by: groups, filters, window_seconds: window, step }: Shape): string {
  return [
    metrics.join(","),
    ...(aggregation === null ? [] : [aggregation]),
    ...(groups.length === 0 ? [] : [`by ${groups.join(",")}`]),
    ...(filters.length === 0 ? [] : [`where ${filters.join(",")}`]),
    ...(window === null ? [] : [`over ${formatDuration(window)}`]),
    ...(step === null ? [] : [`step ${step}`]),
  ].join(" ");
}

function judgedText({ class: queryClass, cost, code: error }: JudgedQuery): string {
  return [
    ...(error === null ? [] : [error]),
    ...(cost === null ? [] : [`${cost} units`]),
    ...classText(queryClass),
  ].join(", ");
}

function classText(queryClass: string | null): readonly string[] {
  return queryClass === null ? [] : [`class ${queryClass}`];
}

/** A table, one line per row. */
function tableOf(form: TextForm, { titles, align }: Heads, rows: readonly (readonly string[])[]) {
  return form === "text" ? textTable(titles, rows) : markdownTable(titles, align, rows);
}

function textTable(titles: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const all = [titles.map((title) => title.toUpperCase()), ...rows];
  const widths = titles.map((_, at) => Math.max(...all.map((cells) => cells[at]?.length ?? 0)));
  return all.map((cells) => cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("   "));
}

function markdownTable(
  titles: readonly string[],
  align: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  return [markdownRow(...titles), markdownRow(...align), ...rows.map((cells) => markdownRow(...cells.map(escaped)))];
}

/** One row of a Markdown table, whose cells are escaped already. */
function markdownRow(...cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

/** Text of events and resources must not become Markdown or HTML. */
function escaped(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]<>|#@&]/gu, String.raw`\$&`);
}
