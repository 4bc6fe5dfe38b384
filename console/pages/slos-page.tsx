import type { Slo } from "../../api/objectives.ts";
import type { JSX } from "preact";
import { ChooseTenant } from "../components/choose-tenant.tsx";
import { Page } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { ObjectiveTable } from "../objectives/objective-table.tsx";
import { tenantsMax, useObjectives } from "../objectives/use-objectives.ts";
import { useQueryState } from "../router/router.tsx";
import { choicesOf } from "../api/choices.ts";
import { useSession } from "../api/session-context.ts";
import { type FilterField, FilterForm } from "../components/filter-form.tsx";
import { statesByRank } from "../objectives/objective-view.ts";

/** `/slos`: all objectives that the token may read, the worst first. */
export function SlosPage(): JSX.Element {
  const { query } = useQueryState();
  const { read, tenants, choices } = useObjectives();
  const hidden = (choices?.length ?? 0) - (tenants?.length ?? 0);
  return (
    <Page title="SLOs">
      <ObjectiveFilters objectives={read.data ?? []} />
      {tenants === undefined ? (
        <ChooseTenant
          tenants={[]}
          parameter="tenant"
          why="Objectives are counted for one tenant, and the configuration names none for your token."
        />
      ) : (
        <>
          {query.get("tenant") !== null || hidden <= 0 ? null : (
            <p class="notice warn">
              Objectives of the first {tenantsMax} tenants. Choose a tenant to see those of the other {hidden}.
            </p>
          )}
          <Reading read={read} what="the objectives" lines={8}>
            {(objectives) => <ObjectiveTable objectives={narrowed(objectives, query)} />}
          </Reading>
        </>
      )}
    </Page>
  );
}

interface FiltersProps {
  /** Objectives before they are narrowed by domain and state. */
  readonly objectives: readonly Slo[];
}

/** Filters of objectives. They offer what the token and the objectives have. */
function ObjectiveFilters({ objectives }: FiltersProps): JSX.Element {
  const { me } = useSession();
  const { get } = useQueryState();
  const domains = [...new Set(objectives.map(({ domain }) => domain))];
  const select = (name: string, label: string, options: readonly string[]): FilterField => {
    const value = get(name);
    const all = value === "" || options.includes(value) ? options : [...options, value];
    return { name, label, kind: "select", options: all.map((one) => ({ value: one, label: wordOf(name, one) })) };
  };
  const place = (label: "tenant" | "region" | "environment", title: string): readonly FilterField[] => {
    const choices = choicesOf(me, label);
    if (choices !== undefined) return [select(label, title, choices)];
    // An installation without names for environments needs no field; a tenant is always needed.
    return label === "environment" && get(label) === "" ? [] : [{ name: label, label: title }];
  };
  return (
    <FilterForm
      fields={[
        ...place("tenant", "Tenant"),
        ...place("region", "Region"),
        ...place("environment", "Environment"),
        select("domain", "Domain", domains.toSorted()),
        select("status", "State", statesByRank),
      ]}
    />
  );
}

function wordOf(name: string, value: string): string {
  return name === "status" ? value.replaceAll("_", " ") : value;
}

/** The objectives with the domain and the state of an address. */
export function narrowed(objectives: readonly Slo[], query: URLSearchParams): readonly Slo[] {
  const [domain, status] = [query.get("domain") ?? "", query.get("status") ?? ""];
  return objectives.filter(
    (one) => (domain === "" || one.domain === domain) && (status === "" || one.status === status),
  );
}
