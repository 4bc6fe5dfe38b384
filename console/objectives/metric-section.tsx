import type { CatalogAnswer } from "../../api/catalog.ts";
import type { QueryAnswer } from "../../api/queries.ts";
import type { Slo } from "../../api/objectives.ts";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useRead } from "../api/use-read.ts";
import { Chart } from "../charts/chart.tsx";
import { Empty } from "../components/empty.tsx";
import { Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { explorerQuery, queryText } from "../explorer/explorer-query.ts";
import { axisUnit, formatOfUnit, shownSeries } from "../explorer/shown-series.ts";
import { windowOf } from "../explorer/time-window.ts";
import { Link } from "../router/router.tsx";
import { explorerPath, isBurning, windowText } from "./objective-view.ts";

/** A day, unless a tier burns over a longer window. */
const windowUsual = "24h";
const chartPx = 180;

/** The metric of an objective over the window that burns, by region, with the way to the Explorer. */
export function MetricSection({ objective }: { readonly objective: Slo }): JSX.Element {
  const { metric, at } = objective;
  const window = objective.tiers.findLast(isBurning)?.long.window ?? windowUsual;
  const path = explorerPath(objective, window);
  const query = useMemo(() => {
    const request = explorerQuery(new URLSearchParams(path.slice(path.indexOf("?"))));
    return queryText(request, Date.parse(at));
  }, [path, at]);
  const read = useRead<QueryAnswer>(`/v1/metrics/query${query}`);
  const catalog = useRead<CatalogAnswer>("/v1/metrics/catalog");
  const unit = catalog.data?.data.find(({ metric_id: id }) => id === metric)?.unit ?? "";
  return (
    <Section title={`Metric ${metric}, last ${windowText(window)}`} actions={<Link to={path}>Open in Explorer</Link>}>
      <Reading read={read} what="the metric" lines={8}>
        {(data) => <MetricChart response={data} unit={unit} />}
      </Reading>
    </Section>
  );
}

function MetricChart({ response, unit }: { readonly response: QueryAnswer; readonly unit: string }): JSX.Element {
  const series = useMemo(() => shownSeries(response, unit), [response, unit]);
  const format = useMemo(() => formatOfUnit(unit), [unit]);
  const { meta } = response;
  if (series.length === 0) return <Empty title="No series" why="No store has samples of the metric in this window." />;
  const title = `${response.data[0]?.metric ?? ""}, ${meta.agg}`;
  return (
    <Chart
      {...{ title, series, format }}
      heightPx={chartPx}
      isFitted
      legend="table"
      unit={unit === "" ? undefined : axisUnit(unit)}
      span={windowOf(meta)}
    />
  );
}
