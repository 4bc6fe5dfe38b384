import type { Slo } from "../../api/objectives.ts";
import type { JSX } from "preact";
import { formatCount, formatNumber } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { Link } from "../router/router.tsx";
import type { Home } from "./use-home.ts";

/** Objectives of the token's tenants. */
export function ObjectivesSection({ home: { objectives } }: { readonly home: Home }): JSX.Element {
  const { read, tenants, choices } = objectives;
  const hidden = (choices?.length ?? 0) - (tenants?.length ?? 0);
  return (
    <Section title="Objectives" actions={<Link to="/slos">All objectives</Link>}>
      {tenants === undefined ? (
        <p class="lead">Objectives are counted by tenant. Open SLOs and enter one.</p>
      ) : (
        <Reading read={read} what="the objectives" lines={1}>
          {(found) => (
            <p>
              {summaryOf(found)}
              {hidden <= 0 ? "" : ` Those of ${formatCount(hidden, "more tenant")} are not counted here.`}
            </p>
          )}
        </Reading>
      )}
    </Section>
  );
}

function summaryOf(objectives: readonly Slo[]): string {
  if (objectives.length === 0) return "No objectives on the metrics that your token may read.";
  const burning = objectives.filter(({ status }) => status === "critical" || status === "increasing").length;
  const all = formatCount(objectives.length, "objective");
  return burning === 0
    ? `${all}. No error budget burns too fast.`
    : `${formatNumber(burning)} of ${all} ${burning === 1 ? "burns its" : "burn their"} error budget too fast.`;
}
