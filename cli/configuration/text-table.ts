/** `text` for a terminal, or `markdown` that a pull request shows. */
export type TextForm = "text" | "markdown";

interface Heads {
  readonly titles: readonly string[];
  /** Of Markdown: `---` or `---:` for each column. */
  readonly align: readonly string[];
}

/** A table, one line per row. */
export function tableOf(form: TextForm, { titles, align }: Heads, rows: readonly (readonly string[])[]) {
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
export function markdownRow(...cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

/** Text of events and resources must not become Markdown or HTML. */
export function escaped(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]<>|#@&]/gu, String.raw`\$&`);
}
