import type { CatalogEntry } from "../../api/catalog.ts";
import type { QueryAnswer } from "../../api/queries.ts";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Chart } from "../charts/chart.tsx";
import { Badge } from "../components/badge.tsx";
import { Empty } from "../components/empty.tsx";
import { formatCount, formatNumber, formatSeconds } from "../components/format.ts";
import { useFormatTime } from "../components/preferences.tsx";
import { Link, useQueryState } from "../router/router.tsx";
import { durationText, secondsOf, type ExplorerQuery } from "./explorer-query.ts";
import { costOf, endsNow, freshnessOf } from "./cost-of.ts";
import { axisUnit, formatOfUnit, pointCountOf, shownSeries } from "./shown-series.ts";
import { windowChange, windowOf } from "./time-window.ts";

interface QueryResultProps {
  readonly entry: CatalogEntry;
  readonly request: ExplorerQuery;
  readonly response: QueryAnswer;
  readonly headers: Headers | undefined;
  /** When the response arrived, Unix milliseconds. */
  readonly atMs: number;
}

const chartPx = 320;

/** The series of a query: a chart with its legend and its table, and how complete and fresh it is. */
export function QueryResult({ entry, request, response, headers, atMs }: QueryResultProps): JSX.Element {
  const state = useQueryState();
  const formatTime = useFormatTime();
  const series = useMemo(() => shownSeries(response, entry.unit), [response, entry.unit]);
  const format = useMemo(() => formatOfUnit(entry.unit), [entry.unit]);
  const hidden = useMemo(() => new Set(state.query.getAll("hide")), [state.query]);
  const { meta } = response;
  if (series.length === 0) {
    const filters = Object.keys(request.filters).length === 0 ? "" : " with these filters";
    return (
      <Empty
        title="No series"
        why={`No store has samples${filters} from ${formatTime(meta.from)} to ${formatTime(meta.to)}.`}
        next={(meta.hints ?? []).join(" ") || "Remove a filter, or choose another time range."}
      />
    );
  }
  return (
    <>
      <Chart
        title={`${entry.metric_id}, ${meta.agg}`}
        series={series}
        format={format}
        heightPx={chartPx}
        isFitted
        legend="table"
        hidden={hidden}
        onHidden={(labels) => state.set({ hide: [...labels] }, true)}
        unit={axisUnit(entry.unit)}
        span={windowOf(meta)}
        onZoom={(span) => state.set(windowChange(span))}
        mark={<Incomplete meta={meta} />}
      />
      <SeriesPages meta={meta} />
      <p class="quiet">{figuresText({ request, response, headers, atMs })}</p>
      {(meta.top?.metrics ?? []).map(({ metric, omitted, reason }) =>
        reason === undefined || omitted === 0 ? null : (
          <p key={metric} class="hint">
            {formatCount(omitted, "series", "series")} not among the top: {reason}
          </p>
        ),
      )}
      {meta.hints === undefined ? null : <p class="hint">{meta.hints.join(" ")}</p>}
    </>
  );
}

/** Marks a chart that lacks data of regions, which may be too low for them. */
function Incomplete({ meta: { regions, compare } }: { readonly meta: QueryAnswer["meta"] }): JSX.Element {
  const earlier = compare === undefined ? "" : `, ${durationText(compare.shift)} earlier`;
  const windows = [
    { name: "Incomplete", read: regions },
    { name: `Incomplete${earlier}`, read: compare?.regions ?? [] },
  ];
  return (
    <>
      {windows.map(({ name, read }, index) => {
        const missing = read.filter(({ state }) => state !== "ok").map(({ region }) => region);
        return missing.length === 0 ? null : (
          <Badge key={index} state="partial" label={`${name}: ${missing.join(", ")}`} />
        );
      })}
    </>
  );
}

function figuresText({ request, response, headers, atMs }: Omit<QueryResultProps, "entry">): string {
  const { meta, data } = response;
  const cost = costOf(headers);
  const freshness = endsNow(request, Date.parse(meta.to), atMs) ? freshnessOf(headers) : undefined;
  const parts = [
    `${formatCount(pointCountOf(response), "point")} of ${formatCount(data.length, "series", "series")}`,
    `step ${stepText(meta.step)}`,
    freshness === undefined ? "" : `newest sample ${freshness} old`,
    cost === undefined ? "" : `cost ${formatCount(cost, "unit")}`,
    meta.infinite_points === undefined ? "" : `${formatCount(meta.infinite_points, "infinite point")} omitted`,
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

function stepText(step: string): string {
  const seconds = secondsOf(step);
  return seconds === undefined ? step : formatSeconds(seconds);
}

function SeriesPages({ meta }: { readonly meta: QueryAnswer["meta"] }): JSX.Element | null {
  const { to } = useQueryState();
  const { page, limit, total_series: total, has_more: hasMore } = meta;
  if (page === 1 && !hasMore) return null;
  const first = (page - 1) * limit + 1;
  return (
    <nav class="pager" aria-label="Pages of series">
      {page > 1 ? <Link to={to({ page: page === 2 ? null : String(page - 1) })}>Previous</Link> : null}
      <span>
        Series {formatNumber(first)} to {formatNumber(Math.min(first + limit - 1, total))} of {formatNumber(total)}
      </span>
      {hasMore ? <Link to={to({ page: String(page + 1) })}>Next</Link> : null}
    </nav>
  );
}
