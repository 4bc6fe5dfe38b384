// Objectives with their budgets: the list, and the parts of one of them. Queries of metrics are elsewhere.
import type { Slo } from "../../api/objectives.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { Bar } from "../components/bar.tsx";
import { DataTable, type Column } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { formatNumber, formatSeconds, formatShare, formatWord } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { Link, useQueryState } from "../router/router.tsx";
import {
  budgetLeft,
  budgetTone,
  formatSli,
  objectivePath,
  objectiveWindow,
  windowText,
  worstFirst,
} from "./objective-view.ts";

const toneOfStatus = { critical: "bad", insufficient_data: "quiet" } as const;

/** The status of an objective. */
export function ObjectiveStatus({ status }: Pick<Slo, "status">): JSX.Element {
  const tone = status === "critical" || status === "insufficient_data" ? { tone: toneOfStatus[status] } : {};
  return <Badge state={status} {...tone} />;
}

/** The share of good events, and the regions that it leaves out. */
export function Sli({ objective: { sli, regions, uncorrected } }: { readonly objective: Slo }): JSX.Element {
  // Without any value there is none that leaves something out.
  const missing = sli === undefined || sli === null ? [] : regions.filter(({ state }) => state !== "ok");
  return (
    <>
      {formatSli(sli)}
      {uncorrected === undefined ? null : <Uncorrected text={formatSli(uncorrected.sli)} />}
      {missing.length === 0 ? null : <span class="quiet"> without {missing.map(regionText).join(", ")}</span>}
    </>
  );
}

function regionText({ region, state }: Slo["regions"][number]): string {
  return state === "ok" ? region : `${region} (${formatWord(state)})`;
}

/** The budget of an objective as a bar with its share. */
export function BudgetBar({ objective }: { readonly objective: Slo }): JSX.Element {
  const left = budgetLeft(objective);
  const text = leftText(left);
  return (
    <div class="bar-cell">
      <Bar share={left ?? null} label={`Budget left of ${objective.name}: ${text}`} tone={budgetTone(left)} />
      <span class="number">{text}</span>
      {objective.uncorrected === undefined ? null : <Uncorrected text={leftText(budgetLeft(objective.uncorrected))} />}
    </div>
  );
}

function leftText(left: number | undefined): string {
  return left === undefined ? "unknown" : formatShare(left);
}

/** The figure without corrections, next to the corrected one. */
function Uncorrected({ text }: { readonly text: string }): JSX.Element {
  return <span class="quiet"> {text} without corrections</span>;
}

/** What does not count, for an objective that leaves out a part of its window. */
export function Corrections({
  corrections,
}: {
  readonly corrections: NonNullable<Slo["corrections"]>;
}): JSX.Element | null {
  if (corrections.length === 0) return null;
  return (
    <Section title="Corrections">
      <DataTable
        caption="Events that do not count"
        rows={corrections}
        rowKey={({ reason, from }) => `${reason} ${from}`}
        columns={[
          { header: "Reason", cell: ({ reason }) => reason },
          { header: "State", cell: ({ active }) => <Badge state={active ? "active" : "ended"} tone="quiet" /> },
          { header: "Not counted", cell: ({ seconds }) => formatSeconds(seconds), isNumber: true },
          { header: "From", cell: ({ from }) => <Timestamp at={from} /> },
          { header: "To", cell: ({ to }) => <Timestamp at={to} /> },
        ]}
      />
      <p class="hint">No alert fires while a correction is active.</p>
    </Section>
  );
}

/** Objectives, the worst first. */
export function ObjectiveTable({ objectives }: { readonly objectives: readonly Slo[] }): JSX.Element {
  const { query } = useQueryState();
  const hasTenants = new Set(objectives.map(({ tenant }) => tenant)).size > 1;
  const columns: readonly Column<Slo>[] = [
    {
      header: "Objective",
      cell: (one) => <Link to={objectivePath(one, query)}>{one.title ?? one.name}</Link>,
    },
    { header: "State", cell: ObjectiveStatus, isInCard: true },
    { header: "Budget left", cell: (one) => <BudgetBar objective={one} />, isInCard: true },
    { header: "Current", cell: (one) => <Sli objective={one} />, isNumber: true },
    { header: "Target", cell: ({ objective }) => formatSli(objective), isNumber: true },
    { header: "Burn rate", cell: ({ burn }) => <BurnRates burn={burn} />, isNumber: true },
    ...(hasTenants ? [{ header: "Tenant", cell: ({ tenant }: Slo) => tenant, isInCard: true }] : []),
    { header: "Domain", cell: ({ domain }) => domain },
    {
      header: "Regions",
      cell: ({ regions }) => <span class="one-line">{regions.map(regionText).join(", ")}</span>,
    },
    { header: "Window", cell: objectiveWindow, isNumber: true },
  ];
  return (
    <DataTable
      caption="Objectives"
      isCards
      look="objective-rows"
      columns={columns}
      rows={worstFirst(objectives)}
      rowKey={({ tenant, domain, name, regions }) => {
        return [tenant, domain, name, ...regions.map(({ region }) => region)].join(" ");
      }}
      empty={
        <Empty
          title="No objectives"
          why="No metric that your token may read has an objective that matches the filters."
          next="Remove a filter, or add slos to a MetricCatalog."
        />
      }
    />
  );
}

/** The rates of the fastest and the slowest windows. */
function BurnRates({ burn: { fast, slow } }: Pick<Slo, "burn">): JSX.Element {
  return (
    <span class="one-line" title="1 spends the budget exactly in the window of the objective">
      {fast === undefined ? "–" : `${formatNumber(fast.rate)} (${windowText(fast.window)})`}
      {slow === undefined ? "" : `, ${formatNumber(slow.rate)} (${windowText(slow.window)})`}
    </span>
  );
}
