import type { Slo, SloHistoryAnswer, StatusAnswer } from "../../api/objectives.ts";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useRead } from "../api/use-read.ts";
import { Chart } from "../charts/chart.tsx";
import { metricPath } from "../explorer/catalog-table.tsx";
import { Badge } from "../components/badge.tsx";
import { DataTable, Facts } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { formatNumber, formatSeconds } from "../components/format.ts";
import { Timestamp } from "../components/timestamp.tsx";
import { Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { changedQuery } from "../router/place.ts";
import { Link, useQueryState } from "../router/router.tsx";
import { formatSli } from "./format-sli.ts";
import { BudgetBar, ObjectiveStatus, Sli } from "./objective-table.tsx";
import { burnDown, narrowing } from "./objective-view.ts";

/** One objective: where it stands, how its budget went, and the tiers of its alerts. */
export function ObjectiveDetail({ objective }: { readonly objective: Slo }): JSX.Element {
  const { events, error_budget: budget, tenant } = objective;
  return (
    <>
      <Facts
        facts={[
          ["Status", <ObjectiveStatus key="status" status={objective.status} />],
          ["Budget left", <BudgetBar key="budget" objective={objective} />],
          ["SLI", <Sli key="sli" objective={objective} />],
          ["Objective", `${formatSli(objective.objective)} in ${objective.window_days} d`],
          ["Bad events permitted", formatSli(budget.total)],
          ["Bad events seen", formatSli(budget.spent)],
          [
            "Events",
            events === undefined
              ? "none"
              : `${formatNumber(Math.round(events.good))} of ${formatNumber(Math.round(events.total))} good`,
          ],
          ["Judged from", `${formatNumber(objective.minimum_events)} events on`],
          [
            "Metric",
            <Link key="metric" to={metricPath(objective.metric)}>
              {objective.metric}
            </Link>,
          ],
          ["Domain", objective.domain],
          ["Tenant", tenant],
          ["Counted at", <Timestamp key="at" at={objective.at} />],
          ["Regions", <Regions key="regions" objective={objective} />],
          ["Status page", <StatusLink key="link" objective={objective} />],
        ]}
      />
      <BurnDown objective={objective} />
      <Tiers objective={objective} />
    </>
  );
}

function Regions({ objective: { regions } }: { readonly objective: Slo }): JSX.Element {
  return (
    <span class="actions">
      {regions.map(({ region, state }) => (
        <span key={region}>
          {region} <Badge state={state} />
        </span>
      ))}
    </span>
  );
}

/** The page without a token, where it shows this objective. */
function StatusLink({ objective: { name, domain, tenant } }: { readonly objective: Slo }): JSX.Element {
  const { data, isReading } = useRead<StatusAnswer>(`/v1/status/${encodeURIComponent(tenant)}`);
  const isPublic = data?.data.some((one) => one.name === name && one.domain === domain) ?? false;
  if (!isPublic) return <span class="quiet">{isReading ? "…" : "not public"}</span>;
  return <a href={`/status/${encodeURIComponent(tenant)}`}>/status/{tenant}</a>;
}

function BurnDown({ objective }: { readonly objective: Slo }): JSX.Element {
  const { query } = useQueryState();
  const { name, domain, tenant } = objective;
  const text = changedQuery(new URLSearchParams(), { slo: name, ...narrowing(query), domain, tenant });
  const history = useRead<SloHistoryAnswer>(`/v1/metrics/slo/history${text}`);
  return (
    <Section
      title="Burn-down"
      lead="The share of the budget that was left at each time, each over its own whole window. Gaps had no events."
    >
      <Reading read={history} what="the history" lines={11}>
        {(data) => <BurnDownChart answer={data} />}
      </Reading>
    </Section>
  );
}

function BurnDownChart({ answer }: { readonly answer: SloHistoryAnswer }): JSX.Element {
  const series = useMemo(() => burnDown(answer), [answer]);
  if (answer.data.every(({ remaining }) => remaining === null))
    return <Empty title="No events" why={`Nothing was counted in the last ${answer.meta.window_days} days.`} />;
  return (
    <>
      <Chart title="Error budget that was left" series={series} format={formatSli} />
      <p class="quiet">One point every {formatSeconds(answer.meta.step_seconds)}.</p>
    </>
  );
}

function Tiers({ objective: { tiers } }: { readonly objective: Slo }): JSX.Element {
  return (
    <Section
      title="Tiers"
      lead="A tier burns while both windows are above its factor. A rate of 1 uses the budget up in just the window."
    >
      <DataTable
        caption="Tiers of burn rates"
        rows={tiers}
        rowKey={({ long, short }) => `${long.window} ${short.window}`}
        columns={[
          { header: "Windows", cell: ({ long, short }) => `${long.window} and ${short.window}` },
          { header: "Severity", cell: ({ severity }) => severity },
          { header: "Factor", cell: ({ factor }) => formatNumber(factor), isNumber: true },
          { header: "Long rate", cell: ({ long }) => formatNumber(long.rate), isNumber: true },
          { header: "Short rate", cell: ({ short }) => formatNumber(short.rate), isNumber: true },
          { header: "State", cell: (tier) => <TierState tier={tier} /> },
        ]}
      />
    </Section>
  );
}

function TierState({ tier: { factor, long, short } }: { readonly tier: Slo["tiers"][number] }): JSX.Element {
  if (long.rate === undefined || short.rate === undefined) return <Badge state="unknown" label="no events" />;
  const isBurning = long.rate > factor && short.rate > factor;
  return isBurning ? <Badge state="burns" tone="bad" /> : <Badge state="quiet" tone="good" label="within" />;
}
