// Figures over time, drawn and as a table. What they mean is the page's business.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { DataTable } from "../components/data-table.tsx";
import { formatNumber } from "../components/format.ts";
import { useFormatTime, usePreferences } from "../components/preferences.tsx";
import { alignSeries, describeSeries, type ChartColumns, type ChartSeries } from "./chart-data.ts";
import type { Drawing } from "./draw-chart.ts";

interface ChartProps {
  /** What the chart shows: `Answers by class`. */
  readonly title: string;
  readonly series: readonly ChartSeries[];
  /** @default a number with two decimals */
  readonly format?: (value: number) => string;
  /** @default 220 */
  readonly heightPx?: number;
  /** True: the axis spans the values only, so that small changes are seen. @default it begins at zero */
  readonly isFitted?: boolean;
}

const heightPxDefault = 220;

/** A chart over time with its legend, and the same figures as a table. */
export function Chart({
  title,
  series,
  format = formatNumber,
  heightPx = heightPxDefault,
  isFitted = false,
}: ChartProps): JSX.Element {
  const columns = useMemo(() => alignSeries(series), [series]);
  const [point, setPoint] = useState<number | null>(null);
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <Canvas
        title={title}
        series={series}
        columns={columns}
        format={format}
        heightPx={heightPx}
        isFitted={isFitted}
        onPoint={setPoint}
      />
      <Legend series={series} columns={columns} format={format} point={point} />
      <details>
        <summary>The same as a table</summary>
        <ChartTable title={title} series={series} columns={columns} format={format} />
      </details>
    </figure>
  );
}

interface PartProps {
  readonly series: readonly ChartSeries[];
  readonly columns: ChartColumns;
  readonly format: (value: number) => string;
}

interface CanvasProps extends PartProps {
  readonly title: string;
  readonly heightPx: number;
  readonly isFitted: boolean;
  readonly onPoint: (index: number | null) => void;
}

function Canvas({ title, series, columns, format, heightPx, isFitted, onPoint }: CanvasProps): JSX.Element {
  const target = useRef<HTMLDivElement>(null);
  const { shown, zone } = usePreferences();
  useEffect(() => {
    const element = target.current;
    if (element === null) return undefined;
    let drawing: Drawing | undefined;
    let isHere = true;
    const size = new ResizeObserver(() => drawing?.resize(element.clientWidth));
    void import("./draw-chart.ts").then(({ drawChart }) => {
      if (!isHere) return;
      drawing = drawChart({ target: element, series, columns, heightPx, isFitted, format, zone, onPoint });
      size.observe(element);
    });
    return () => {
      isHere = false;
      size.disconnect();
      drawing?.remove();
    };
  }, [series, columns, format, heightPx, isFitted, onPoint, shown, zone]);
  const label = `${title}. ${describeSeries(series, format)}`;
  const height = heightPx === heightPxDefault ? "canvas" : "canvas tall";
  return <div ref={target} class={height} role="img" aria-label={label} />;
}

function Legend({ series, columns, format, point }: PartProps & { readonly point: number | null }): JSX.Element {
  const formatTime = useFormatTime();
  const at = point === null ? undefined : columns.timesMs[point];
  return (
    <div class="legend">
      <ul class="plain">
        {series.map(({ label }, index) => {
          const value = point === null ? undefined : columns.values[index]?.[point];
          return (
            <li key={label}>
              <span class={`swatch series-${(index % 8) + 1}`} /> {label}
              {value === undefined || value === null ? "" : ` ${format(value)}`}
            </li>
          );
        })}
      </ul>
      <span class="quiet">{at === undefined ? "" : formatTime(new Date(at).toISOString())}</span>
    </div>
  );
}

const rowsMax = 500;

function ChartTable({ title, series, columns, format }: PartProps & { readonly title: string }): JSX.Element {
  const formatTime = useFormatTime();
  const rows = columns.timesMs.map((atMs, index) => ({ atMs, index })).slice(-rowsMax);
  const shown = series.map(({ label }, column) => ({
    header: label,
    isNumber: true,
    cell: ({ index }: { readonly index: number }) => {
      const value = columns.values[column]?.[index] ?? null;
      return value === null ? "–" : format(value);
    },
  }));
  const time = {
    header: "Time",
    cell: ({ atMs }: { readonly atMs: number }) => formatTime(new Date(atMs).toISOString()),
  };
  return <DataTable caption={title} columns={[time, ...shown]} rows={rows} rowKey={({ atMs }) => String(atMs)} />;
}
