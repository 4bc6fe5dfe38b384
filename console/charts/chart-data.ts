/** A line, an area or bars over time. */
export interface ChartSeries {
  readonly label: string;
  /** Times in Unix milliseconds, ascending; null is a gap. */
  readonly points: readonly (readonly [atMs: number, value: number | null])[];
  /** @default "line" */
  readonly kind?: "line" | "area" | "bars";
}

/** Columns that share their times, as a chart draws and a table lists them. */
export interface ChartColumns {
  readonly timesMs: readonly number[];
  /** One column for each series, as long as the times. */
  readonly values: readonly (readonly (number | null)[])[];
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
