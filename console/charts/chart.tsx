// Figures over time, drawn and as a table. What they mean is the page's business.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { DataTable } from "../components/data-table.tsx";
import { formatNumber } from "../components/format.ts";
import { useFormatTime, usePreferences } from "../components/preferences.tsx";
import { alignSeries, describeSeries, swatchOf, type ChartColumns, type ChartSeries } from "./chart-data.ts";
import type { Drawing, TimeSpan } from "./draw-chart.ts";
import { LegendTable } from "./legend-table.tsx";

interface ChartProps {
  /** What the chart shows: `Responses by class`. */
  readonly title: string;
  readonly series: readonly ChartSeries[];
  /** @default a number with two decimals */
  readonly format?: (value: number) => string;
  /** @default 220 */
  readonly heightPx?: number;
  /** True: the axis spans the values only, so that small changes are seen. @default it begins at zero */
  readonly isFitted?: boolean;
  /** Name of the value axis. @default none: the format of the values has the unit */
  readonly unit?: string | undefined;
  /** The time that the axis covers, also where no series has values. @default the times of the series */
  readonly span?: TimeSpan | undefined;
  /** Receives the time over which a person drags. @default dragging does nothing */
  readonly onZoom?: ((span: TimeSpan) => void) | undefined;
  /** `table`: with figures of each series, which can be hidden. @default "line" */
  readonly legend?: "line" | "table";
  /** Labels of the hidden series of a table. @default the chart keeps them itself */
  readonly hidden?: ReadonlySet<string> | undefined;
  readonly onHidden?: ((hidden: ReadonlySet<string>) => void) | undefined;
  /** Follows the title, such as a badge. */
  readonly mark?: ComponentChildren;
}

const heightPxDefault = 220;
const nothingHidden: ReadonlySet<string> = new Set();

/** A chart over time with its legend, and the same figures as a table. */
export function Chart(props: ChartProps): JSX.Element {
  const { title, series, format = formatNumber, heightPx = heightPxDefault, isFitted = false, mark } = props;
  const { unit, span, onZoom, legend = "line" } = props;
  const columns = useMemo(() => alignSeries(series), [series]);
  const [point, setPoint] = useState<number | null>(null);
  const [ownHidden, setOwnHidden] = useState(nothingHidden);
  const { hidden = ownHidden, onHidden = setOwnHidden } = props;
  const [isOpen, setOpen] = useState(false);
  const parts = { series, columns, format, hidden };
  // The pointer changes the legend with each move; the table has thousands of cells and stays as it is.
  const table = useMemo(() => <ChartTable {...{ series, columns, format, title }} />, [series, columns, format, title]);
  return (
    <figure class="chart">
      <figcaption>
        {title} {mark}
      </figcaption>
      <Canvas {...parts} {...{ title, heightPx, isFitted, unit, span, onZoom }} onPoint={setPoint} />
      {legend === "table" ? (
        <LegendTable {...parts} point={point} onHidden={onHidden} />
      ) : (
        <Legend {...parts} point={point} />
      )}
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Data table</summary>
        {isOpen ? table : null}
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
  readonly unit: string | undefined;
  readonly span: TimeSpan | undefined;
  readonly onZoom: ((span: TimeSpan) => void) | undefined;
  readonly hidden: ReadonlySet<string>;
  readonly onPoint: (index: number | null) => void;
}

function Canvas({ title, hidden, onZoom, ...drawn }: CanvasProps): JSX.Element {
  const { series, columns, format, heightPx, isFitted, unit, span, onPoint } = drawn;
  const target = useRef<HTMLDivElement>(null);
  const zoom = useRef(onZoom);
  zoom.current = onZoom;
  const canZoom = onZoom !== undefined;
  const { shown, zone } = usePreferences();
  useEffect(() => {
    const element = target.current;
    if (element === null) return undefined;
    let drawing: Drawing | undefined;
    let isHere = true;
    const size = new ResizeObserver(() => drawing?.resize(element.clientWidth));
    void import("./draw-chart.ts").then(({ drawChart }) => {
      if (!isHere) return;
      const onSelect = canZoom ? (selected: TimeSpan) => zoom.current?.(selected) : undefined;
      drawing = drawChart({ ...drawn, target: element, hidden, zone, onSelect });
      size.observe(element);
    });
    return () => {
      isHere = false;
      size.disconnect();
      drawing?.remove();
    };
  }, [
    series,
    columns,
    format,
    heightPx,
    isFitted,
    unit,
    span?.fromMs,
    span?.toMs,
    hidden,
    canZoom,
    onPoint,
    shown,
    zone,
  ]);
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
        {series.map((one, index) => {
          const { label } = one;
          const value = point === null ? undefined : columns.values[index]?.[point];
          return (
            <li key={label}>
              <span class={swatchOf(one, index)} /> {label}
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

interface TableRow {
  readonly atMs: number;
  readonly index: number;
}

function ChartTable({ title, series, columns, format }: PartProps & { readonly title: string }): JSX.Element {
  const formatTime = useFormatTime();
  const rows = columns.timesMs.map((atMs, index) => ({ atMs, index })).slice(-rowsMax);
  const shown = series.flatMap(({ label, changes }, column) => {
    const values = {
      header: label,
      isNumber: true,
      cell: ({ index }: TableRow) => {
        const value = columns.values[column]?.[index] ?? null;
        return value === null ? "–" : format(value);
      },
    };
    if (changes === undefined) return [values];
    const cell = ({ atMs }: TableRow): string => changes.get(atMs) ?? "–";
    return [values, { header: `${label}, change`, isNumber: true, cell }];
  });
  const time = {
    header: "Time",
    cell: ({ atMs }: TableRow) => formatTime(new Date(atMs).toISOString()),
  };
  const omitted = columns.timesMs.length - rows.length;
  return (
    <>
      {omitted === 0 ? null : (
        <p class="hint">
          The last {rowsMax} of {columns.timesMs.length} points.
        </p>
      )}
      <DataTable caption={title} columns={[time, ...shown]} rows={rows} rowKey={({ atMs }) => String(atMs)} />
    </>
  );
}
