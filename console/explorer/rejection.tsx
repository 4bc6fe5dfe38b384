import type { PlanAnswer } from "../../api/quotas.ts";
import type { JSX } from "preact";
import { choicesOf } from "../api/choices.ts";
import { useSession } from "../api/session-context.ts";
import { formatNumber, formatSeconds } from "../components/format.ts";
import { Link, useQueryState } from "../router/router.tsx";
import { CheaperButton } from "./cheaper-button.tsx";

type PlanError = NonNullable<PlanAnswer["refusal"]>;

/** Why a query is rejected before it runs, which limit stops it, and what to change. */
export function Rejection({ plan, refusal }: { readonly plan: PlanAnswer; readonly refusal: PlanError }): JSX.Element {
  const { title, detail, code, errors, suggestion, retry_after_seconds: waitSeconds } = refusal;
  const more = errors.filter((error) => error.detail !== detail);
  const isCostly = code === "cost_exceeded";
  return (
    <div class="notice bad" role="alert">
      <p class="notice-title">Query rejected: {title}</p>
      <p>{detail}</p>
      {more.length === 0 ? null : (
        <ul>
          {more.map((error) => (
            <li key={error.field}>
              <code>{error.field}</code>: {error.detail}
            </li>
          ))}
        </ul>
      )}
      {isCostly ? <p>{limitText(plan)}</p> : null}
      <div class="actions">
        {code === "region_forbidden" ? <RegionLinks /> : null}
        {suggestion === null ? null : <CheaperButton suggestion={suggestion} />}
        {waitSeconds === null ? null : <span>Allowed in {formatSeconds(waitSeconds)}.</span>}
        {isCostly || code === "rate_exceeded" ? <Link to="/quotas">Quotas</Link> : null}
        <code class="quiet">{code}</code>
      </div>
    </div>
  );
}

/** Regions to choose from, for a metric that may not be combined across them. */
function RegionLinks(): JSX.Element {
  const { me } = useSession();
  const { to } = useQueryState();
  return (
    <>
      {(choicesOf(me, "region") ?? []).map((region) => (
        <Link key={region} to={to({ "filter[region]": region })}>
          Region {region}
        </Link>
      ))}
    </>
  );
}

/** The cost of a query next to what the class permits. */
function limitText({ cost, class: name, budget }: PlanAnswer): string {
  const { remaining, limit } = budget;
  const estimate = cost === null ? "" : `Estimated cost: ${formatNumber(cost)} units. `;
  const left = `Class ${name ?? "of the query"} has ${formatNumber(remaining)} of ${formatNumber(limit)} units left.`;
  return `${estimate}${left} A shorter time range, a coarser step or fewer groups cost less.`;
}
