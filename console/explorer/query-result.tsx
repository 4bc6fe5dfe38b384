import type { CatalogEntry } from "../../api/catalog.ts";
import type { QueryAnswer } from "../../api/queries.ts";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Chart } from "../charts/chart.tsx";
import { Facts } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { formatNumber, formatTime } from "../components/format.ts";
import { Link, useQueryState } from "../router/router.tsx";
import { formatOfUnit, pointCountOf, shownSeries } from "./shown-series.ts";

interface QueryResultProps {
  readonly entry: CatalogEntry;
  readonly answer: QueryAnswer;
  readonly headers: Headers | undefined;
}

const chartPx = 320;

/** The answer of a query: a chart with its table, and what the answer cost. */
export function QueryResult({ entry, answer, headers }: QueryResultProps): JSX.Element {
  const series = useMemo(() => shownSeries(answer), [answer]);
  const format = useMemo(() => formatOfUnit(entry.unit), [entry.unit]);
  const { meta } = answer;
  const title = `${entry.metric_id}, ${meta.agg}, in ${entry.unit}`;
  return (
    <>
      {series.length === 0 ? (
        <Empty
          title="No series"
          why={`The stores hold nothing that fits between ${formatTime(meta.from)} and ${formatTime(meta.to)}.`}
          next="Take a filter away, or choose another range."
        />
      ) : (
        <Chart title={title} series={series} format={format} heightPx={chartPx} isFitted />
      )}
      <SeriesPages meta={meta} />
      <Facts
        facts={[
          ["Points", `${formatNumber(pointCountOf(answer))} of ${formatNumber(answer.data.length)} series`],
          ["Infinite points left out", meta.infinite_points?.toString()],
          ["Step", meta.step],
          ["From", formatTime(meta.from)],
          ["To", formatTime(meta.to)],
          ["Cost", costText(headers)],
          ["Newest sample", ageText(headers?.get("x-data-freshness"))],
          ["Source", headers?.get("x-query-cache") ?? undefined],
          ["Durations", headers?.get("server-timing") ?? undefined],
        ]}
      />
    </>
  );
}

function costText(headers: Headers | undefined): string | undefined {
  const [cost, estimate] = [headers?.get("x-query-cost") ?? null, headers?.get("x-query-cost-estimate") ?? null];
  if (cost === null && estimate === null) return undefined;
  const known = [cost === null ? null : `${formatNumber(Number(cost))} units`];
  if (estimate !== null) known.push(`${formatNumber(Number(estimate))} expected`);
  return known.filter((text) => text !== null).join(", ");
}

function ageText(age: string | null | undefined): string | undefined {
  return age === null || age === undefined ? undefined : `${age} old`;
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
