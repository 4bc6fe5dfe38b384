// Draws by uPlot. Loaded with the first chart that is seen.
import Plot from "uplot";
import type { TimeZone } from "../components/format.ts";
import { axisLabels, type ChartColumns, type ChartSeries, colorOf, seriesColors } from "./chart-data.ts";

/** A part of the time axis, Unix milliseconds. */
export interface TimeSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Where and how a chart is drawn. */
export interface DrawOptions {
  readonly target: HTMLElement;
  readonly series: readonly ChartSeries[];
  readonly columns: ChartColumns;
  readonly heightPx: number;
  /** True: the axis spans the values only. */
  readonly isFitted: boolean;
  readonly format: (value: number) => string;
  /** Of the time axis. */
  readonly zone: TimeZone;
  /** Name of the value axis. */
  readonly unit: string | undefined;
  /** What the time axis covers; undefined: the times of the series. */
  readonly span: TimeSpan | undefined;
  /** Labels of series that are not drawn. */
  readonly hidden: ReadonlySet<string>;
  /** Receives the time over which a person drags; undefined: dragging does nothing. */
  readonly onSelect: ((span: TimeSpan) => void) | undefined;
  /** Index of the time under the pointer; null when it leaves. */
  readonly onPoint: (index: number | null) => void;
}

/** A drawn chart. */
export type Drawing = ReturnType<typeof drawChart>;

const axisPxMin = 48;
const axisPxMax = 120;
/** Of a character of a label, at most. */
const characterPx = 7.5;
const labelPx = 20;
/** A shorter drag is a click. */
const dragPxMin = 6;
const barShare = 0.7;
const pointPx = 5;
const dashPx = [6, 4];

/** Draws a chart in the colours of the style sheet. */
export function drawChart(options: DrawOptions) {
  const { target, series, columns, heightPx, isFitted, format, zone, unit, span, hidden, onSelect, onPoint } = options;
  const style = getComputedStyle(target);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: color("--quiet"),
    grid: { stroke: color("--line"), width: 1 },
    ticks: { stroke: color("--line") },
  };
  const plot = new Plot(
    {
      width: Math.max(target.clientWidth, 1),
      height: heightPx,
      legend: { show: false },
      cursor: {
        drag: { x: onSelect !== undefined, y: false, setScale: false, dist: dragPxMin },
        points: { show: series.length <= seriesColors },
      },
      tzDate: (seconds) => inZone(new Date(seconds * 1_000), zone),
      scales: {
        ...(span === undefined ? {} : { x: { range: () => [span.fromMs / 1_000, span.toMs / 1_000] } }),
        y: { range: isFitted ? fittedRange : rangeOf },
      },
      axes: [
        { ...axis, values: timeLabels, space: timeLabelPx },
        {
          ...axis,
          ...(unit === undefined ? {} : { label: unit, labelSize: labelPx }),
          size: axisSize,
          values: (_plot, ticks) => axisLabels(ticks, format),
        },
      ],
      series: [
        {},
        ...series.map((one, index) => ({
          ...lineOf(one, color(`--series-${colorOf(one, index)}`)),
          show: !hidden.has(one.label),
        })),
      ],
      hooks: {
        setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)],
        setSelect: [(drawn) => select(drawn, onSelect)],
      },
    },
    [columns.timesMs.map((ms) => ms / 1_000), ...columns.values.map((column) => [...column])],
    target,
  );
  return {
    resize: (widthPx: number) => plot.setSize({ width: Math.max(widthPx, 1), height: heightPx }),
    remove: () => plot.destroy(),
  };
}

/** Reports the selected time, and removes the mark of the selection. */
function select(plot: Plot, onSelect: DrawOptions["onSelect"]): void {
  const { left, width } = plot.select;
  if (onSelect === undefined || width < dragPxMin) return;
  const [fromMs, toMs] = [left, left + width].map((px) => Math.round(plot.posToVal(px, "x")) * 1_000);
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  if (fromMs !== undefined && toMs !== undefined && toMs > fromMs) onSelect({ fromMs, toMs });
}

/** As wide as the longest label. */
function axisSize(_plot: Plot, labels: readonly string[] | null): number {
  const longest = Math.max(0, ...(labels ?? []).map((label) => label.length));
  return Math.min(axisPxMax, Math.max(axisPxMin, Math.ceil(longest * characterPx) + 16));
}

function inZone(date: Date, zone: TimeZone): Date {
  return zone === "utc" ? Plot.tzDate(date, "Etc/UTC") : date;
}

/** Room of a label of the time axis, so that labels never collide. */
const timeLabelPx = 64;
const secondsOfDay = 86_400;

/** Labels as the console writes times: `14:05`, with seconds below a minute, and the date at the start of a day. */
const timeLabels: Plot.Axis.Values = [
  [secondsOfDay, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  [0.001, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
];

function lineOf({ label, kind = "line", isDashed = false }: ChartSeries, stroke: string): Plot.Series {
  const bars = Plot.paths.bars?.({ size: [barShare, Number.POSITIVE_INFINITY] });
  return {
    label,
    stroke,
    width: isDashed ? 1 : 2,
    ...(isDashed ? { dash: dashPx } : {}),
    // Lines need two values side by side: one between gaps is a point.
    points: { show: true, size: pointPx, fill: stroke, filter: lonePoints },
    ...(kind === "line" ? {} : { fill: kind === "bars" ? stroke : `color-mix(in srgb, ${stroke} 20%, transparent)` }),
    ...(kind === "bars" && bars !== undefined ? { paths: bars } : {}),
  };
}

/** The values of a column that have gaps on both sides. */
function lonePoints({ data }: Plot, column: number): number[] {
  const values = data[column] ?? [];
  const isGap = (index: number): boolean => (values[index] ?? null) === null;
  return [...values.keys()].filter((index) => !isGap(index) && isGap(index - 1) && isGap(index + 1));
}

/** From zero, unless there is less; with room above the greatest value. */
function rangeOf(_plot: Plot, least: number | null, most: number | null): [number, number] {
  const [low, high] = [Math.min(least ?? 0, 0), Math.max(most ?? 0, 0)];
  return high === low ? [low, low + 1] : [low, high + (high - low) * 0.05];
}

/** Just the values, with room on both sides; from zero for equal values. */
function fittedRange(plot: Plot, least: number | null, most: number | null): [number, number] {
  if (least === null || most === null || least === most) return rangeOf(plot, least, most);
  const room = (most - least) * 0.1;
  return [least >= 0 ? Math.max(0, least - room) : least - room, most + room];
}
