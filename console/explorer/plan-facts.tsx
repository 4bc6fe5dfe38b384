import type { ExpectedCache, PlanAnswer } from "../../api/quotas.ts";
import type { JSX } from "preact";
import { Bar } from "../components/bar.tsx";
import { Facts } from "../components/data-table.tsx";
import { formatCount, formatNumber, formatSeconds } from "../components/format.ts";
import { Link } from "../router/router.tsx";
import { costOf } from "./cost-of.ts";
import { useMetricUsage } from "./metric-usage.ts";

const cacheWords: Readonly<Record<ExpectedCache, string>> = {
  hit: "Cache: all points are in memory",
  partial: "Cache: some points are in memory",
  miss: "Stores",
};

interface CostProps {
  readonly metric: string;
  readonly plan: PlanAnswer;
  /** True if the plan lacks a tenant. */
  readonly isWithoutTenant: boolean;
  /** Headers of the response, once the query ran. */
  readonly headers: Headers | undefined;
}

/** What a query costs, and what is left for it. */
export function CostFacts({ metric, plan, isWithoutTenant, headers }: CostProps): JSX.Element {
  const { cost, budget, class: name } = plan;
  const { remaining, limit, reset_seconds: resetSeconds } = budget;
  const label = `${formatNumber(remaining)} of ${formatNumber(limit)} units left`;
  const actual = costOf(headers);
  return (
    <>
      <p>{costText(cost, isWithoutTenant)}</p>
      {actual === undefined ? null : <p>Actual cost: {formatCount(actual, "unit")}</p>}
      <div>
        <Bar
          share={limit === 0 ? null : remaining / limit}
          label={label}
          tone={(cost ?? 0) > remaining ? "bad" : remaining < limit / 4 ? "warn" : "good"}
        />
        <p class="quiet">
          {name === null ? "" : `Class ${name}: `}
          {label}
          {remaining >= limit ? "" : `; all are available again in ${formatSeconds(resetSeconds)}`}
        </p>
      </div>
      <Usage metric={metric} />
    </>
  );
}

/** The estimate of a query, or why it has none. */
export function costText(cost: number | null, isWithoutTenant: boolean): string {
  if (cost !== null) return `Estimated cost: ${formatCount(cost, "unit")} (points computed by the stores)`;
  return isWithoutTenant ? "Choose a tenant to see the cost." : "No estimate: the query is rejected.";
}

/** What all queries of the metric cost in a day. */
function Usage({ metric }: Pick<CostProps, "metric">): JSX.Element | null {
  const usage = useMetricUsage();
  if (usage === "none") return null;
  if (usage === "reading") return <p>…</p>;
  const { cost = 0, requests = 0 } = usage.byMetric.get(metric) ?? {};
  const whose = usage.isOwn ? "your client" : "all clients";
  return (
    <p>
      Last 24 hours, {whose}: {formatCount(cost, "unit")} for {formatCount(requests, "request")}.{" "}
      <Link to="/explorer?sort=cost">Most expensive metrics</Link>
    </p>
  );
}

/** How a query is read. */
export function PlanFacts({ plan }: { readonly plan: PlanAnswer }): JSX.Element {
  return (
    <Facts
      facts={[
        ["Query class", plan.class ?? undefined],
        ["Step", plan.step_seconds === null ? undefined : formatSeconds(plan.step_seconds)],
        ["Downsample", plan.downsample ?? undefined],
        ["Points per series", plan.points === null ? undefined : formatNumber(plan.points)],
        ["Series per page", plan.series_max === null ? undefined : `at most ${formatNumber(plan.series_max)}`],
        ["Stores", plan.regions.length === 0 ? undefined : storesText(plan)],
        ["Source", sourceText(plan)],
      ]}
    />
  );
}

function storesText({ regions }: PlanAnswer): string {
  return regions.map(({ region, stores }) => `${region} ${stores}`).join(" · ");
}

function sourceText({ cache }: PlanAnswer): string | undefined {
  const expected = cache?.expected ?? null;
  if (expected !== null) return cacheWords[expected];
  return cache === null ? undefined : "Stores: the class has no cache";
}
