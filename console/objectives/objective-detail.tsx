import type { Slo, SloHistoryAnswer, StatusAnswer } from "../../api/objectives.ts";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type ReadState, useRead } from "../api/use-read.ts";
import { Chart } from "../charts/chart.tsx";
import { Badge } from "../components/badge.tsx";
import { DataTable, Facts } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { formatNumber, formatSeconds, formatShare } from "../components/format.ts";
import { Timestamp } from "../components/timestamp.tsx";
import { Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { Link, useQueryState } from "../router/router.tsx";
import { MetricSection } from "./metric-section.tsx";
import { BudgetBar, Corrections, ObjectiveStatus, Sli } from "./objective-table.tsx";
import {
  badEventsText,
  budgetLeft,
  burnDown,
  burnOnset,
  explorerPath,
  formatSli,
  historyPath,
  isBurning,
  objectiveWindow,
  pointsText,
  windowText,
} from "./objective-view.ts";
import { RegionBurn } from "./region-burn.tsx";

/** One objective: why its budget burns, how it went, and the windows of its alerts. */
export function ObjectiveDetail({ objective }: { readonly objective: Slo }): JSX.Element {
  const { events, error_budget: budget, tenant } = objective;
  const history = useHistory(objective);
  return (
    <>
      <Reasons objective={objective} history={history.data} />
      <Facts
        facts={[
          ["Name", <code key="name">{objective.name}</code>],
          ["State", <ObjectiveStatus key="status" status={objective.status} />],
          ["Budget left", <BudgetBar key="budget" objective={objective} />],
          ["Current", <Sli key="sli" objective={objective} />],
          [
            "Target",
            `${formatSli(objective.objective)} ${objective.calendar ? "per" : "in"} ${objectiveWindow(objective)}`,
          ],
          ...periodFacts(objective),
          ["Bad events", badEventsText(objective)],
          [
            "Events",
            events === undefined
              ? "none"
              : `${formatNumber(Math.round(events.good))} of ${formatNumber(Math.round(events.total))} good`,
          ],
          ["Error budget", `${formatSli(budget.total)} of events`],
          ["Spent in", spentIn(objective)],
          ["Minimum events", formatNumber(objective.minimum_events)],
          [
            "Metric",
            <Link key="metric" to={explorerPath(objective, "24h")}>
              {objective.metric}
            </Link>,
          ],
          ["Domain", objective.domain],
          ["Tenant", tenant],
          ["Regions", <Regions key="regions" objective={objective} />],
          ["Counted at", <Timestamp key="at" at={objective.at} />],
          ["Status page", <StatusLink key="link" objective={objective} />],
        ]}
      />
      <Corrections corrections={objective.corrections ?? []} />
      <Tiers objective={objective} />
      <RegionBurn objective={objective} />
      <MetricSection objective={objective} />
      <BurnDown history={history} />
    </>
  );
}

/** The start and the end of a calendar window. */
function periodFacts({ calendar }: Slo): readonly (readonly [string, JSX.Element])[] {
  if (calendar === undefined) return [];
  return [
    ["Period from", <Timestamp key="from" at={calendar.from} />],
    ["Period to", <Timestamp key="to" at={calendar.to} />],
  ];
}

interface ReasonsProps {
  readonly objective: Slo;
  readonly history: SloHistoryAnswer | undefined;
}

/** Why the budget burns, and since when. */
function Reasons({ objective, history }: ReasonsProps): JSX.Element {
  const reasons = burnReasons(objective);
  const onset = history === undefined ? undefined : burnOnset(history);
  const tone = objective.status === "critical" ? "bad" : objective.status === "ok" ? "good" : "warn";
  return (
    <div class={`notice ${tone}`}>
      <p class="notice-title">{reasons[0] ?? "The error budget is not burning too fast."}</p>
      {reasons.slice(1).map((reason) => (
        <p key={reason}>{reason}</p>
      ))}
      {onset === undefined || reasons.length === 0 ? null : (
        <p>
          The budget began to burn between <Timestamp at={onset.from} shows="both" /> and{" "}
          <Timestamp at={onset.to} shows="both" />.
        </p>
      )}
    </div>
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

function useHistory(objective: Slo): ReadState<SloHistoryAnswer> {
  const { query } = useQueryState();
  return useRead<SloHistoryAnswer>(historyPath(objective, query));
}

function BurnDown({ history }: { readonly history: ReadState<SloHistoryAnswer> }): JSX.Element {
  return (
    <Section title="Error budget over time">
      <Reading read={history} what="the history" lines={11}>
        {(data) => <BurnDownChart response={data} />}
      </Reading>
    </Section>
  );
}

function BurnDownChart({ response }: { readonly response: SloHistoryAnswer }): JSX.Element {
  const series = useMemo(() => burnDown(response), [response]);
  if (response.data.every(({ remaining }) => remaining === null))
    return <Empty title="No events" why={`Nothing was counted in the last ${response.meta.window_days} days.`} />;
  return (
    <>
      <Chart title="Budget left" series={series} format={formatSli} />
      <p class="quiet">
        One point every {formatSeconds(response.meta.step_seconds)}, {pointsText(response)}. Gaps are times without
        events.
      </p>
    </>
  );
}

function Tiers({ objective: { tiers } }: { readonly objective: Slo }): JSX.Element {
  return (
    <Section title="Burn rates">
      <DataTable
        caption="Burn rates by window"
        isCards
        look="labelled"
        rows={tiers}
        rowKey={({ long, short }) => `${long.window} ${short.window}`}
        columns={[
          {
            header: "Windows",
            cell: ({ long, short }) => `${windowText(long.window)} and ${windowText(short.window)}`,
          },
          { header: "State", cell: (tier) => <TierState tier={tier} />, isInCard: true },
          { header: "Long window", cell: ({ long }) => formatNumber(long.rate), isNumber: true, isInCard: true },
          { header: "Short window", cell: ({ short }) => formatNumber(short.rate), isNumber: true },
          { header: "Alert above", cell: ({ factor }) => formatNumber(factor), isNumber: true, isInCard: true },
          { header: "Severity", cell: ({ severity }) => severity },
        ]}
      />
      <p class="hint">
        An alert fires while both windows are above its threshold. A rate of 1 spends the budget exactly in the window
        of the objective.
      </p>
    </Section>
  );
}

function TierState({ tier }: { readonly tier: Slo["tiers"][number] }): JSX.Element {
  if (tier.long.rate === undefined || tier.short.rate === undefined) return <Badge state="unknown" label="no events" />;
  return isBurning(tier) ? <Badge state="burning" tone="bad" /> : <Badge state="ok" />;
}

/** Why an objective has its state, most important first. Empty if nothing is wrong. */
export function burnReasons(objective: Slo): readonly string[] {
  return [...budgetReasons(objective), ...tierReasons(objective), ...stateReasons(objective)];
}

function budgetReasons(objective: Slo): readonly string[] {
  const { error_budget: budget, window_days: days, calendar } = objective;
  const window = calendar === undefined ? `${days} d` : `this ${calendar.period.toLowerCase()}`;
  const left = budgetLeft(objective);
  if (left === undefined || left > 0) return [];
  const used = `${formatSli(budget.spent)} of the events in ${window} were bad, and ${formatSli(budget.total)} may be`;
  return [`The error budget is spent: ${used} (${formatShare(1 - left)} of the budget).`];
}

/** The fastest tier that burns says most: the others follow from it. */
function tierReasons(objective: Slo): readonly string[] {
  const active = objective.corrections?.find((one) => one.active);
  if (active !== undefined) return [`No alert fires, because events do not count now: ${active.reason}.`];
  const tier = objective.tiers.find(isBurning);
  if (tier === undefined) return [];
  const { long, short, factor } = tier;
  const [slow, fast] = [`the last ${windowText(long.window)}`, `the last ${windowText(short.window)}`];
  const ofSlow = `${formatNumber(long.rate)} times the sustainable rate in ${slow}`;
  const rates = `${ofSlow}, and ${formatNumber(short.rate)} times in ${fast}`;
  const seconds = objective.exhaustion_seconds ?? 0;
  const over = windowText(objective.burn.fast?.window ?? "");
  const end = seconds > 0 ? ` At the rate of the last ${over} the budget is spent in ${formatSeconds(seconds)}.` : "";
  return [`The budget burns at ${rates} (alert above ${formatNumber(factor)}).${end}`];
}

function stateReasons({ status, minimum_events: least, events, regions, over }: Slo): readonly string[] {
  const missing = regions.filter(({ state }) => state !== "ok").map(({ region, state }) => `${region} (${state})`);
  const without = missing.length === 0 ? "" : ` Incomplete: ${missing.join(", ")}.`;
  const total = formatNumber(Math.round(events?.total ?? 0));
  const what = over === undefined ? "events" : "time slices";
  const counted = `${total} ${what} were counted, and a state needs ${formatNumber(least)}.`;
  if (status === "insufficient_data") return [`${counted}${without}`];
  if (status === "late") return [`${counted} Stores did not respond in time.${without}`];
  if (status === "failed") return [`${counted} Stores failed.${without}`];
  if (status === "recovering") return [`No alert fires, but a long window is still above its threshold.${without}`];
  return without === "" ? [] : [without.trim()];
}

/** When the budget is spent at the current burn. */
export function spentIn({ exhaustion_seconds: seconds, burn, window_days: days, calendar }: Slo): string {
  if (seconds === 0) return "spent";
  const over = windowText(burn.fast?.window ?? "");
  if (seconds !== undefined) return `${formatSeconds(seconds)} at the rate of the last ${over}`;
  const end = calendar === undefined ? `within ${days} d` : `before the ${calendar.period.toLowerCase()} ends,`;
  return burn.fast?.rate === undefined ? "unknown" : `not ${end} at the rate of the last ${over}`;
}
