import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type ChartColumns, type ChartSeries, swatchOf } from "./chart-data.ts";

interface LegendTableProps {
  readonly series: readonly ChartSeries[];
  readonly columns: ChartColumns;
  readonly format: (value: number) => string;
  /** Index of the time under the pointer. */
  readonly point: number | null;
  /** Labels of hidden series. */
  readonly hidden: ReadonlySet<string>;
  readonly onHidden: (hidden: ReadonlySet<string>) => void;
}

/** The legend of a chart with figures of each series. Each series can be hidden. */
export function LegendTable({ series, columns, format, point, hidden, onHidden }: LegendTableProps): JSX.Element {
  const stats = useMemo(() => series.map(statsOf), [series]);
  const all = series.map(({ label }) => label);
  const isCompared = series.some(({ changes }) => changes !== undefined);
  const headers = ["Min", "Max", "Mean", "Last", ...(isCompared ? ["Change"] : []), "At pointer"];
  // Next to the name of a series, a narrow screen has room for two figures.
  const classOf = (header: string): string =>
    ["Last", isCompared ? "Change" : "Max"].includes(header) ? "number" : "number wide-only";
  const text = (value: number | null | undefined): string =>
    value === null || value === undefined ? "–" : format(value);
  return (
    <div class="table-wrap legend-table" role="region" aria-label="Series" tabIndex={0}>
      <table>
        <caption class="hidden">Series</caption>
        <thead>
          <tr>
            <th scope="col">Series</th>
            {headers.map((header) => (
              <th key={header} scope="col" class={classOf(header)}>
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {series.map((one, index) => {
            const { label } = one;
            const { min, max, mean, last } = stats[index] ?? {};
            const pointed = point === null ? undefined : columns.values[index]?.[point];
            const figures: Readonly<Record<string, string>> = {
              Min: text(min),
              Max: text(max),
              Mean: text(mean),
              Last: text(last),
              Change: lastChangeOf(one) ?? "–",
              "At pointer": text(pointed),
            };
            return (
              <tr key={label} class={hidden.has(label) ? "hidden-series" : ""}>
                <th scope="row">
                  <button
                    type="button"
                    class="series-button"
                    aria-pressed={!hidden.has(label)}
                    title="Shift-click shows only this series"
                    onClick={({ shiftKey }) => onHidden(toggleSeries(hidden, { label, all, only: shiftKey }))}
                  >
                    <span class={swatchOf(one, index)} /> {label}
                  </button>
                </th>
                {headers.map((header) => (
                  <td key={header} class={classOf(header)}>
                    {figures[header]}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** The change of the last value since the earlier window; undefined if either value is missing. */
export function lastChangeOf({ points, changes }: Pick<ChartSeries, "points" | "changes">): string | undefined {
  const last = points.findLast(([, value]) => value !== null);
  return last === undefined ? undefined : changes?.get(last[0]);
}

/** Figures of a series over the time that a chart shows. */
interface SeriesStats {
  readonly min: number;
  readonly max: number;
  /** Mean of the points; gaps do not count. */
  readonly mean: number;
  readonly last: number;
}

/** Minimum, maximum, mean and last value of a series; undefined without values. */
export function statsOf({ points }: Pick<ChartSeries, "points">): SeriesStats | undefined {
  let [min, max, sum, count] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0];
  let last: number | undefined;
  for (const [, value] of points) {
    if (value === null) continue;
    min = Math.min(min, value);
    max = Math.max(max, value);
    sum += value;
    count += 1;
    last = value;
  }
  return last === undefined ? undefined : { min, max, mean: sum / count, last };
}

/**
 * The hidden series after a click on one in the legend. With `only`, that series alone is shown; the same again shows
 * all.
 */
export function toggleSeries(
  hidden: ReadonlySet<string>,
  { label, all, only }: { readonly label: string; readonly all: readonly string[]; readonly only: boolean },
): ReadonlySet<string> {
  const others = all.filter((one) => one !== label);
  if (only) {
    const isAlone = !hidden.has(label) && others.every((one) => hidden.has(one));
    return new Set(isAlone ? [] : others);
  }
  const next = new Set(hidden);
  if (!next.delete(label)) next.add(label);
  return next;
}
