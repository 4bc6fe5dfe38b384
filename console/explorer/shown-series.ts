import type { QueryAnswer, QueryItem } from "../../api/queries.ts";
import type { ChartSeries } from "../charts/chart-data.ts";
import { formatMs } from "../components/format.ts";
import { durationText, secondsOf } from "./explorer-query.ts";

/** A difference of times that is no gap yet: steps of a store may begin a little late. */
const gapFactor = 1.5;

/**
 * The series of a response with a null in each gap, so that no line is drawn over it. Each is followed by its points of
 * the earlier window, if there are any. @param unit of the values
 */
export function shownSeries({ data, meta }: QueryAnswer, unit: string): readonly ChartSeries[] {
  const stepMs = (secondsOf(meta.step) ?? 0) * 1_000;
  return data.flatMap((item, index): readonly ChartSeries[] => {
    const label = seriesLabel(item);
    const own: ChartSeries = { label, points: withGaps(item.points, stepMs), color: index };
    const { previous = [] } = item;
    if (meta.compare === undefined) return [own];
    const before = `${label}, ${durationText(meta.compare.shift)} earlier`;
    const earlier = { label: before, points: withGaps(previous, stepMs), color: index, isDashed: true };
    return [{ ...own, changes: changesOf(item, unit) }, ...(previous.length === 0 ? [] : [earlier])];
  });
}

function changesOf({ points, change = [] }: QueryItem, unit: string): ReadonlyMap<number, string> {
  return new Map(
    points.flatMap(([at], index) => {
      const [absolute, relative] = change[index] ?? [null, null];
      return absolute === null ? [] : [[Date.parse(at), changeText(absolute, relative, unit)] as const];
    }),
  );
}

/** A change with its sign: `+12 (+4.5%)`. Shares change by percentage points. */
function changeText(absolute: number, relative: number | null, unit: string): string {
  const format = formatOfUnit(unit);
  const size = unit === "ratio" ? `${small.format(absolute * 100)} pp` : format(absolute);
  const share = relative === null ? "" : ` (${signed(relative, shares.format(relative))})`;
  return `${signed(absolute, size)}${share}`;
}

function signed(value: number, text: string): string {
  return value > 0 ? `+${text}` : text;
}

function withGaps(points: QueryItem["points"], stepMs: number): ChartSeries["points"] {
  const shown: [number, number | null][] = [];
  let beforeMs: number | undefined;
  for (const [at, value] of points) {
    const atMs = Date.parse(at);
    if (beforeMs !== undefined && stepMs > 0 && atMs - beforeMs > stepMs * gapFactor)
      shown.push([beforeMs + stepMs, null]);
    shown.push([atMs, value]);
    beforeMs = atMs;
  }
  return shown;
}

/** The labels of a series, `region=eu, psp=north`; its metric without labels. */
export function seriesLabel({ metric, labels, other }: Pick<QueryItem, "metric" | "labels" | "other">): string {
  if (other !== undefined) return `${other} others`;
  const named = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return named.length === 0 ? metric : named.join(", ");
}

/** Points of all series, for a sentence. */
export function pointCountOf({ data }: QueryAnswer): number {
  return data.reduce((sum, { points }) => sum + points.length, 0);
}

const small = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });
const large = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const shares = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 3 });
const largeFrom = 10_000;

const minuteMs = 60_000;

/** Milliseconds with five digits below a minute, so that neighbouring labels of an axis differ. */
function formatDuration(ms: number): string {
  if (Math.abs(ms) >= minuteMs) return formatMs(ms);
  return Math.abs(ms) < 1_000 ? `${small.format(ms)} ms` : `${small.format(ms / 1_000)} s`;
}

/** How values of a unit are written. */
export function formatOfUnit(unit: string): (value: number) => string {
  if (unit === "ratio") return (value) => shares.format(value);
  if (unit === "ms") return formatDuration;
  if (unit === "s") return (value) => formatDuration(value * 1_000);
  return (value) => (Math.abs(value) < largeFrom ? small : large).format(value);
}

/** Units that {@link formatOfUnit} writes with each value. */
const writtenUnits = new Set(["ratio", "ms", "s"]);

/** The name of the value axis; undefined if its labels have the unit. */
export function axisUnit(unit: string): string | undefined {
  return writtenUnits.has(unit) ? undefined : unit;
}
