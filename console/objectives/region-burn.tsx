import type { Slo, SloAnswer } from "../../api/objectives.ts";
import type { JSX } from "preact";
import { useRead } from "../api/use-read.ts";
import { formatNumber, formatShare } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { changedQuery } from "../router/place.ts";
import { Link } from "../router/router.tsx";
import { BudgetBar, ObjectiveStatus, Sli } from "./objective-table.tsx";
import { objectivePath } from "./objective-view.ts";

/** More regions than this are not compared. */
const regionsMax = 8;

/** The same objective in each of its regions, so that the one that burns is visible. */
export function RegionBurn({ objective }: { readonly objective: Slo }): JSX.Element | null {
  const regions = objective.regions.map(({ region }) => region).slice(0, regionsMax);
  if (regions.length < 2) return null;
  return (
    <Section title="By region">
      <div class="table-wrap card-rows labelled" role="region" aria-label="The objective by region" tabIndex={0}>
        <table>
          <caption class="hidden">The objective by region</caption>
          <thead>
            <tr>
              <th scope="col">Region</th>
              <th scope="col">State</th>
              <th scope="col">Budget left</th>
              <th scope="col" class="number">
                Current
              </th>
              <th scope="col" class="number">
                Bad events
              </th>
            </tr>
          </thead>
          <tbody>
            {regions.map((region) => (
              <RegionRow key={region} {...{ objective, region }} />
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

interface RegionRowProps {
  readonly objective: Slo;
  readonly region: string;
}

function RegionRow({ objective, region }: RegionRowProps): JSX.Element {
  const { name: slo, domain, tenant } = objective;
  const query = changedQuery(new URLSearchParams(), { slo, domain, tenant, region });
  const { data, problem } = useRead<SloAnswer>(`/v1/metrics/slo${query}`);
  const found = data?.data[0];
  const link = objectivePath({ ...objective, regions: [{ region, state: "ok" }] }, new URLSearchParams());
  return (
    <tr>
      <th scope="row">
        <Link to={link}>{region}</Link>
      </th>
      {found === undefined ? (
        <td colSpan={4} class="quiet in-card" data-label="">
          {problem === undefined ? "…" : `${problem.title}: ${problem.detail}`}
        </td>
      ) : (
        <>
          <td class="in-card" data-label="State">
            <ObjectiveStatus status={found.status} />
          </td>
          <td>
            <BudgetBar objective={found} />
          </td>
          <td class="number in-card" data-label="Current">
            <Sli objective={found} />
          </td>
          <td class="number in-card" data-label="Bad events">
            {badText(found, objective)}
          </td>
        </>
      )}
    </tr>
  );
}

/** Bad events of a region, and their share of those of all regions. */
function badText({ events }: Slo, { events: all }: Slo): string {
  if (events === undefined) return "–";
  const bad = Math.round(events.total - events.good);
  const allBad = all === undefined ? 0 : all.total - all.good;
  return allBad <= 0 ? formatNumber(bad) : `${formatNumber(bad)} (${formatShare(Math.min(1, bad / allBad))})`;
}
