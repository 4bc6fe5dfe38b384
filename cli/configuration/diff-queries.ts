import { formatDuration } from "../../runtime/metrics/request/duration.ts";
import type { QueryEffect, JudgedQuery, ShapeEffect } from "../../runtime/metrics/query-effect.ts";

/** Writes a table in the form of the output. */
export type Table = (
  heads: readonly string[],
  align: readonly string[],
  rows: readonly (readonly string[])[],
) => readonly string[];

const heads = ["Effect", "Query", "Client", "Count", "Before", "After"];
const align = ["---", "---", "---", "---:", "---", "---"];
const effectWords: Readonly<Record<ShapeEffect["effect"], string>> = {
  refused: "refused",
  allowed: "allowed",
  dearer: "costs more",
  cheaper: "costs less",
};

/** The effect on recorded queries: a sentence, and a table of the shapes with an effect. */
export function queryLines(queries: QueryEffect, table: Table): readonly string[] {
  const { judged, refused, allowed, dearer, cheaper, shapes } = queries;
  if (judged === 0) return [];
  const sum =
    `${judged} recorded queries: ${refused} would be refused, ${allowed} would be allowed, ` +
    `${dearer} would cost more, ${cheaper} would cost less.`;
  if (shapes.length === 0) return ["", sum];
  const rows = shapes.map(({ effect, client, count, before, after, ...shape }) => {
    return [effectWords[effect], queryText(shape), client, String(count), judgedText(before), judgedText(after)];
  });
  return ["", sum, "", ...table(heads, align, rows)];
}

/** What of the queries was compared. */
export function queryCoverage({ since, pods, seen, judged }: QueryEffect): string {
  const count = seen === null ? `${judged} within the rights of the token` : `${judged} of ${seen}`;
  const asked = `${pods.answered} of ${pods.live} processes`;
  return `Queries: ${count} compared, recorded since ${since} by ${asked}; equal requests count once.`;
}

type Shape = Omit<ShapeEffect, "effect" | "client" | "count" | "before" | "after">;

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

function judgedText({ class: queryClass, cost, code }: JudgedQuery): string {
  return [...(code === null ? [] : [code]), ...(cost === null ? [] : [`${cost} units`]), ...classText(queryClass)].join(
    ", ",
  );
}

function classText(queryClass: string | null): readonly string[] {
  return queryClass === null ? [] : [`class ${queryClass}`];
}
