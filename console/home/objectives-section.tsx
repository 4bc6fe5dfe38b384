import type { Slo } from "../../api/objectives.ts";
import type { JSX } from "preact";
import { formatCount } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { changedQuery } from "../router/place.ts";
import { Link } from "../router/router.tsx";
import type { Home } from "./use-home.ts";

/** Objectives of the token's tenant; a link if it has several. */
export function ObjectivesSection({ home: { tenant, objectives } }: { readonly home: Home }): JSX.Element {
  const list = `/slos${changedQuery(new URLSearchParams(), { tenant: tenant ?? "" })}`;
  return (
    <Section title="Objectives" actions={<Link to={list}>All objectives</Link>}>
      {tenant === undefined ? (
        <p class="lead">Choose a tenant on the page SLOs to see its objectives.</p>
      ) : (
        <Reading read={objectives} what="the objectives" lines={1}>
          {({ data }) => <p>{summaryOf(data)}</p>}
        </Reading>
      )}
    </Section>
  );
}

function summaryOf(objectives: readonly Slo[]): string {
  if (objectives.length === 0) return "No metric that your token may read has an objective.";
  const burning = objectives.filter(({ status }) => status === "critical" || status === "increasing").length;
  const all = formatCount(objectives.length, "objective");
  return burning === 0 ? `${all}, none burning its error budget too fast.` : `${burning} of ${all} burning.`;
}
