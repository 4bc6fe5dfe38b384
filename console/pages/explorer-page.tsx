import type { CatalogAnswer, CatalogEntry } from "../../api/catalog.ts";
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useRead } from "../api/use-read.ts";
import { CopyButton } from "../components/copy-button.tsx";
import { Empty } from "../components/empty.tsx";
import { Page } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { explorerQuery, type ExplorerQuery, refreshIntervals, timesOf } from "../explorer/explorer-query.ts";
import { CatalogTable } from "../explorer/catalog-table.tsx";
import { MetricHead } from "../explorer/metric-head.tsx";
import { QueryForm } from "../explorer/query-form.tsx";
import { QueryView } from "../explorer/query-view.tsx";
import { Link, useQueryState } from "../router/router.tsx";
import { changedQuery } from "../router/place.ts";
import { TimeRangePicker } from "../components/time-range.tsx";
import { moveWindow, narrowWindow, widenWindow, windowChange, windowOf } from "../explorer/time-window.ts";

const secondMs = 1_000;

/** `/explorer`: one metric of the catalog as a chart, with its cost. Its state is the query of the API. */
export function ExplorerPage(): JSX.Element {
  const { get } = useQueryState();
  const catalog = useRead<CatalogAnswer>("/v1/metrics/catalog");
  const metric = get("metric");
  return (
    <Page title="Explorer" actions={metric === "" ? undefined : <Actions />}>
      <Reading read={catalog} what="the catalog" lines={14}>
        {({ data }) => {
          if (metric === "") return <CatalogTable entries={data} />;
          const entry = data.find(({ metric_id: id }) => id === metric);
          return entry === undefined ? <UnknownMetric metric={metric} /> : <Metric entry={entry} entries={data} />;
        }}
      </Reading>
    </Page>
  );
}

function Actions(): JSX.Element {
  const { query } = useQueryState();
  const link = useMemo(() => location.href, [query]);
  return (
    <>
      <CopyButton text={link} what="the link" title="Copy link" />
      <Link to="/explorer">All metrics</Link>
    </>
  );
}

interface MetricProps {
  readonly entry: CatalogEntry;
  readonly entries: readonly CatalogEntry[];
}

function Metric({ entry, entries }: MetricProps): JSX.Element {
  const { query } = useQueryState();
  // Hidden series are no part of the query.
  const shownQuery = changedQuery(query, { hide: null });
  const request = useMemo(() => explorerQuery(new URLSearchParams(shownQuery)), [shownQuery]);
  const [turn, setTurn] = useState(0);
  // A range ends at the second at which it is requested.
  const nowMs = useMemo(() => Math.floor(Date.now() / secondMs) * secondMs, [shownQuery, turn]);
  const again = (): void => setTurn((before) => before + 1);
  // A refresh leaves values alone that are typed but not applied.
  const form = useMemo(() => <QueryForm {...{ entry, entries, request, nowMs }} />, [entry, entries, request]);
  return (
    <>
      <MetricHead entry={entry} />
      {form}
      <TimeControls request={request} nowMs={nowMs} onRefresh={again} />
      <QueryView entry={entry} request={request} nowMs={nowMs} onAgain={again} />
    </>
  );
}

function UnknownMetric({ metric }: { readonly metric: string }): JSX.Element {
  return (
    <Empty
      title={`No metric ${metric}`}
      why="It is in no catalog, past its sunset, or not among the metrics of your token."
      next={<Link to="/explorer">All metrics</Link>}
    />
  );
}

interface TimeControlsProps {
  readonly request: ExplorerQuery;
  readonly nowMs: number;
  readonly onRefresh: () => void;
}

/** The time range of a chart, steps to its neighbours, and how often it is read again. */
function TimeControls({ request, nowMs, onRefresh }: TimeControlsProps): JSX.Element {
  const state = useQueryState();
  const shown = windowOf(timesOf(request, nowMs));
  const isLive = request.range !== "";
  const steps = [
    ["Earlier", () => shown && moveWindow(shown, -1, nowMs)],
    ["Later", () => shown && moveWindow(shown, 1, nowMs)],
    ["Zoom in", () => shown && narrowWindow(shown)],
    ["Zoom out", () => shown && widenWindow(shown, nowMs)],
  ] as const;
  return (
    <div class="time-controls">
      <TimeRangePicker standard="1h" />
      <div class="actions">
        {steps.map(([label, next]) => (
          <button
            key={label}
            type="button"
            class="small"
            disabled={shown === undefined || (label === "Later" && isLive)}
            onClick={() => {
              const changed = next();
              if (changed !== undefined) state.set(windowChange(changed));
            }}
          >
            {label}
          </button>
        ))}
      </div>
      <div class="actions">
        <button type="button" class="small" onClick={onRefresh}>
          Refresh
        </button>
        <label class="inline-field">
          <span>Auto-refresh</span>
          <select
            class="small"
            value={request.refresh}
            disabled={!isLive}
            onChange={(event) => state.set({ refresh: event.currentTarget.value }, true)}
          >
            <option value="">Off</option>
            {refreshIntervals.map(({ name, label }) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </div>
    </div>
  );
}
