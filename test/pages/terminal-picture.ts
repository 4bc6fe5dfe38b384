import { text } from "node:stream/consumers";

/** Titles of the demo's parts that the picture shows. */
const shown = ["Deliveries, as the partners", "History of the retried event", "A percentile, merged"];
const columnsMax = 96;
const rowPx = 18;
const columnPx = 8;
const paddingPx = 16;

/** A picture of a terminal with the main parts of what `make demo ARGS=--once` printed, as SVG. */
export function terminalPicture(printed: string): string {
  const parts = printed.split(/\n(?=== )/u).filter((part) => shown.some((title) => part.includes(title)));
  if (parts.length !== shown.length) throw new Error(`the demo printed ${parts.length} of the parts of the picture`);
  const lines = ["$ make demo", ...parts.flatMap((part) => ["", ...part.trimEnd().split("\n")])].map(narrow);
  const size = { width: columnsMax * columnPx + 2 * paddingPx, height: lines.length * rowPx + 2 * paddingPx };
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" role="img">`,
    "<title>make demo: deliveries with a retry, and a percentile of two regional stores</title>",
    `<rect width="100%" height="100%" rx="8" fill="#16191f"/>`,
    `<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" xml:space="preserve">`,
    ...lines.map(lineText),
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

function narrow(line: string): string {
  return line.length > columnsMax ? `${line.slice(0, columnsMax - 1)}…` : line;
}

function lineText(line: string, row: number): string {
  const y = paddingPx + (row + 1) * rowPx - 5;
  return `<text x="${paddingPx}" y="${y}" fill="${colourOf(line)}">${escaped(line)}</text>`;
}

function colourOf(line: string): string {
  if (line.startsWith("== ") || line.startsWith("$ ")) return "#8ecbff";
  if (/^ +(?:4|5)\d\d /u.test(line)) return "#ffb38a";
  return /^ +2\d\d /u.test(line) ? "#9be49b" : "#d6dae0";
}

function escaped(line: string): string {
  return line.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

// make demo ARGS=--once | node test/pages/terminal-picture.ts > docs/demo.svg
if (import.meta.main) process.stdout.write(terminalPicture(await text(process.stdin)));
