import { barText, figureText, type Row } from "./figures.ts";

/** One part of a result, as far as a page shows it. */
export interface PageResult {
  readonly quiet: { readonly isQuiet: boolean; readonly load: number };
  readonly rows: readonly Row[];
}

const head = ["| Part | Figure | Value | Reference, ratio | Bar | Result |", "| --- | --- | --- | --- | --- | --- |"];

/**
 * A page whose tables hold the rows of a result. A table stands between `<!-- figures of HALF -->` and `<!-- end -->`;
 * without rows of its half it stays as it is.
 */
export function withTables(
  page: string,
  results: readonly PageResult[],
  parts: Readonly<Record<string, readonly string[]>>,
): string {
  return page.replaceAll(
    /(?<start><!-- figures of (?<half>[\w-]+) -->\n)(?<table>[\s\S]*?)(?<end><!-- end -->)/gu,
    (whole: string, start: string, half: string, _table: string, end: string) => {
      const lines = results.flatMap(({ quiet, rows }) =>
        rows.filter(({ part }) => parts[half]?.includes(part)).map((row) => lineOf(row, quiet)),
      );
      return lines.length === 0 ? whole : `${start}${[...head, ...lines].join("\n")}\n${end}`;
    },
  );
}

function lineOf(
  { part, name, unit, value, reference, ratio, bar, result, note }: Row,
  quiet: PageResult["quiet"],
): string {
  const spread = (of: { median: number; min: number; max: number }): string =>
    of.min === of.max
      ? figureText(of.median)
      : `${figureText(of.median)} (${figureText(of.min)}–${figureText(of.max)})`;
  const loud = quiet.isQuiet ? "" : `, never quiet: load ${figureText(quiet.load)}`;
  const cells = [
    part,
    `${name}${note === undefined ? "" : `; ${note}`}`,
    value === undefined ? "" : `${spread(value)} ${unit}`.trim(),
    reference === undefined ? "" : `${reference.name} ${spread(reference)}, ${figureText(ratio ?? Number.NaN)}`,
    bar === undefined ? "" : barText(bar, unit),
    `${result === "no bar" ? "" : result}${loud}`.replace(/^, /u, ""),
  ];
  return `| ${cells.join(" | ")} |`;
}
