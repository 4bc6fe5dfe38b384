/** A line, an area or bars over time. */
export interface ChartSeries {
  readonly label: string;
  /** Times in Unix milliseconds, ascending; null is a gap. */
  readonly points: readonly (readonly [atMs: number, value: number | null])[];
  /** @default "line" */
  readonly kind?: "line" | "area" | "bars";
  /** Index of its colour. @default its place among the series */
  readonly color?: number;
  /** True for a line of an earlier window. @default false */
  readonly isDashed?: boolean;
  /** Changes since an earlier window by their times, as text. @default the series is not compared */
  readonly changes?: ReadonlyMap<number, string>;
}

/** Columns that share their times, as a chart draws and a table lists them. */
export interface ChartColumns {
  readonly timesMs: readonly number[];
  /** One column for each series, as long as the times. */
  readonly values: readonly (readonly (number | null)[])[];
}

/** Number of colours `--series-N` of the style sheet. */
export const seriesColors = 8;

/** The class of the mark of a series in a legend. @param index its place among the series */
export function swatchOf(series: ChartSeries, index: number): string {
  return `swatch series-${colorOf(series, index)}${series.isDashed === true ? " dashed" : ""}`;
}

/** The number of the colour of a series, from 1. */
export function colorOf({ color }: ChartSeries, index: number): number {
  return ((color ?? index) % seriesColors) + 1;
}

/** Puts series with times of their own side by side. */
export function alignSeries(series: readonly ChartSeries[]): ChartColumns {
  const timesMs = [...new Set(series.flatMap(({ points }) => points.map(([atMs]) => atMs)))].sort((a, b) => a - b);
  const values = series.map(({ points }) => {
    const byTime = new Map(points);
    return timesMs.map((atMs) => byTime.get(atMs) ?? null);
  });
  return { timesMs, values };
}

/** What a chart says to those who do not see it. */
export function describeSeries(series: readonly ChartSeries[], format: (value: number) => string): string {
  const said = series.map(({ label, points }) => {
    const values = points.flatMap(([, value]) => (value === null ? [] : [value]));
    const last = values.at(-1);
    if (last === undefined) return `${label}: no values`;
    const least = values.reduce((a, b) => Math.min(a, b));
    const most = values.reduce((a, b) => Math.max(a, b));
    return `${label}: from ${format(least)} to ${format(most)}, last ${format(last)}`;
  });
  return said.join("; ");
}

/** Labels of an axis. One that reads as the label before it is left out, since it would mark another value. */
export function axisLabels(ticks: readonly number[], format: (value: number) => string): string[] {
  const labels = ticks.map((tick) => format(tick));
  return labels.map((label, index) => (label === labels[index - 1] ? "" : label));
}
