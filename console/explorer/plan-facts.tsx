import type { ExpectedCache, PlanAnswer } from "../../api/quotas.ts";
import type { JSX } from "preact";
import { Bar } from "../components/bar.tsx";
import { Facts } from "../components/data-table.tsx";
import { formatNumber, formatSeconds } from "../components/format.ts";
import { CheaperButton } from "./cheaper-button.tsx";

const cacheWords: Readonly<Record<ExpectedCache, string>> = {
  hit: "This pod has all points in memory",
  partial: "This pod has some points in memory",
  miss: "The stores are read",
};

/** What a query would do and cost, and why it would be refused. */
export function PlanFacts({ plan }: { readonly plan: PlanAnswer }): JSX.Element {
  return (
    <>
      {plan.refusal === null ? null : <RejectionNotice refusal={plan.refusal} />}
      <Price plan={plan} />
      <Facts
        facts={[
          ["Query class", plan.class ?? undefined],
          ["Step", plan.step_seconds === null ? undefined : formatSeconds(plan.step_seconds)],
          ["Downsample", plan.downsample ?? undefined],
          ["Points of each series", plan.points === null ? undefined : formatNumber(plan.points)],
          ["Series of a page", plan.series_max === null ? undefined : `at most ${formatNumber(plan.series_max)}`],
          ["Stores", plan.regions.length === 0 ? undefined : storesText(plan)],
          ["Expected source", sourceText(plan)],
        ]}
      />
    </>
  );
}

function storesText({ regions }: PlanAnswer): string {
  return regions.map(({ region, stores }) => `${region} ${stores}`).join(" · ");
}

function sourceText({ cache }: PlanAnswer): string | undefined {
  const expected = cache?.expected ?? null;
  if (expected !== null) return cacheWords[expected];
  return cache === null ? undefined : "The stores are read: its class has no cache";
}

function RejectionNotice({ refusal }: { readonly refusal: NonNullable<PlanAnswer["refusal"]> }): JSX.Element {
  const { title, detail, code, status, suggestion, retry_after_seconds: waitSeconds } = refusal;
  return (
    <div class="notice bad" role="alert">
      <p class="notice-title">This query would be refused: {title}</p>
      <p>{detail}</p>
      <p class="quiet">
        <code>{code}</code>, status {status}
        {waitSeconds === undefined || waitSeconds === null ? "" : `; allowed in ${formatSeconds(waitSeconds)}`}
      </p>
      {suggestion === null ? null : (
        <p>
          <CheaperButton suggestion={suggestion} />
        </p>
      )}
    </div>
  );
}

function Price({ plan: { cost, budget } }: { readonly plan: PlanAnswer }): JSX.Element | null {
  if (cost === null) return null;
  const units = `${formatNumber(cost)} cost ${cost === 1 ? "unit" : "units"}`;
  if (budget === null) return <p>It costs about {units}: the points that the stores compute.</p>;
  const { remaining, limit, reset_seconds: resetSeconds } = budget;
  const label = `${formatNumber(remaining)} of ${formatNumber(limit)} cost units are left`;
  return (
    <div class="price">
      <p>
        It costs about <strong>{units}</strong>: the points that the stores compute. {label}
        {remaining >= limit ? "." : `; all are back in ${formatSeconds(resetSeconds)}.`}
      </p>
      <Bar
        share={limit === 0 ? null : remaining / limit}
        label={label}
        tone={cost > remaining ? "bad" : remaining < limit / 4 ? "warn" : "good"}
      />
    </div>
  );
}
