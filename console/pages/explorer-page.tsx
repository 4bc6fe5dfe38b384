import type { CatalogAnswer } from "../../api/catalog.ts";
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useRead } from "../api/use-read.ts";
import { askedQuery } from "../explorer/asked-query.ts";
import { CatalogTable } from "../explorer/catalog-table.tsx";
import { MetricHead } from "../explorer/metric-head.tsx";
import { QueryForm } from "../explorer/query-form.tsx";
import { QueryOutcome } from "../explorer/query-outcome.tsx";
import { Empty } from "../components/empty.tsx";
import { Page } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { Link, useQueryState } from "../router/router.tsx";

const secondMs = 1_000;

/** `/explorer`: one metric of the catalog, asked with its price known. Its state is the query of the API. */
export function ExplorerPage(): JSX.Element {
  const { query } = useQueryState();
  const asked = useMemo(() => askedQuery(query), [query]);
  const catalog = useRead<CatalogAnswer>("/v1/metrics/catalog");
  const [turn, setTurn] = useState(0);
  // A range ends at the second at which it is asked for.
  const nowMs = useMemo(() => Math.floor(Date.now() / secondMs) * secondMs, [query, turn]);
  const hasMetric = asked.metric !== "";
  return (
    <Page
      title="Explorer"
      lead="Governed queries of the metrics that your token may read. The plan and its price come first."
      actions={hasMetric ? <Link to="/explorer">All metrics</Link> : undefined}
    >
      <Reading read={catalog} what="the catalog" lines={14}>
        {({ data }) => {
          if (!hasMetric) return <CatalogTable entries={data} />;
          const entry = data.find(({ metric_id: id }) => id === asked.metric);
          if (entry === undefined) return <UnknownMetric metric={asked.metric} />;
          return (
            <>
              <MetricHead entry={entry} />
              <QueryForm entry={entry} entries={data} asked={asked} nowMs={nowMs} />
              <QueryOutcome entry={entry} asked={asked} nowMs={nowMs} onAgain={() => setTurn((before) => before + 1)} />
            </>
          );
        }}
      </Reading>
    </Page>
  );
}

function UnknownMetric({ metric }: { readonly metric: string }): JSX.Element {
  return (
    <Empty
      title={`No metric ${metric}`}
      why="It is in no catalog, past its sunset, or not among the metrics of your token."
      next={<Link to="/explorer">Choose one of the catalog</Link>}
    />
  );
}
