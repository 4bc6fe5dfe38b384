import type { QueryItem, RegionState } from "../../api/queries.ts";
import { plain } from "../command-line/terminal.ts";

/** One series of a response. */
export type Series = Pick<QueryItem, "metric" | "labels" | "points" | "rank" | "other" | "previous" | "change">;

const rows = 8;
const widthMin = 20;
/** Width of an output that is no terminal. */
const widthDefault = 80;
/** Eighths of a character, from none to all. */
const levels = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const;
const eighths = levels.length - 1;

/** The time that a chart shows. */
interface ChartWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

/** `region=eu,service=api` */
export function labelText(labels: Series["labels"]): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}

export function lowest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((one, other) => Math.min(one, other));
}

export function highest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((one, other) => Math.max(one, other));
}

/** `latam (late)`: regions that are not complete, with their state */
export function missingRegions(regions: readonly RegionState[]): readonly string[] {
  return regions.filter(({ state }) => state !== "ok").map(({ region, state }) => `${region} (${state})`);
}

/** At most five digits, whole numbers in full. */
export function shortNumber(value: number | undefined): string | undefined {
  if (value === undefined) return undefined;
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5)));
}

/** A chart of one series: columns over time, the lowest value at the bottom. A gap stays empty. */
export function chartOf(series: Series, window: ChartWindow, width = process.stdout.columns || widthDefault): string {
  const { metric, labels, points } = series;
  const title = plain([metric, labelText(labels)].filter((text) => text !== "").join(" "));
  const values = points.map(([, value]) => value);
  const [low = 0, high = 0] = [lowest(values), highest(values)];
  const axis = [shortNumber(high) ?? "", shortNumber(low) ?? ""];
  const axisWidth = Math.max(...axis.map((text) => text.length));
  const columns = columnsOf(series, window, Math.max(widthMin, width - axisWidth - 2));
  const lines = Array.from({ length: rows }, (_, row) => {
    const name = row === 0 ? axis[0] : row === rows - 1 ? axis[1] : "";
    const cells = columns.map((value) => cellOf(value, low, high, rows - 1 - row)).join("");
    return `${(name ?? "").padStart(axisWidth)} │${cells}`.trimEnd();
  });
  const [from, to] = [window.fromMs, window.toMs].map((ms) => new Date(ms).toISOString().slice(0, 16));
  const times = `${" ".repeat(axisWidth + 2)}${`${from}Z`.padEnd(Math.max(19, columns.length - 17))}${to}Z`;
  return [title, ...lines, times, ""].join("\n");
}

/** The mean of the points of each column; undefined without any. */
function columnsOf({ points }: Series, { fromMs, toMs }: ChartWindow, width: number): readonly (number | undefined)[] {
  const sums = Array.from({ length: Math.min(width, Math.max(points.length, widthMin)) }, () => ({ sum: 0, count: 0 }));
  for (const [time, value] of points) {
    const share = (Date.parse(time) - fromMs) / Math.max(1, toMs - fromMs);
    const column = sums[Math.min(sums.length - 1, Math.max(0, Math.floor(share * sums.length)))];
    if (column === undefined) continue;
    column.sum += value;
    column.count += 1;
  }
  return sums.map(({ sum, count }) => (count === 0 ? undefined : sum / count));
}

/** The part of a column that lies in one row, counted from the bottom. The lowest value is one eighth high. */
function cellOf(value: number | undefined, low: number, high: number, row: number): string {
  if (value === undefined) return " ";
  const share = high === low ? 0.5 : (value - low) / (high - low);
  const height = 1 + Math.round(share * (rows * eighths - 1));
  return levels[Math.min(eighths, Math.max(0, height - row * eighths))] ?? " ";
}
