import type { Slo } from "../../api/objectives.ts";
import type { JSX } from "preact";
import { choicesOf } from "../api/choices.ts";
import { useSession } from "../api/session-context.ts";
import { FilterForm, type FilterField } from "../components/filter-form.tsx";
import { useQueryState } from "../router/router.tsx";
import { statesByRank } from "./objective-view.ts";

interface FiltersProps {
  /** Objectives before they are narrowed by domain and state. */
  readonly objectives: readonly Slo[];
}

/** Filters of objectives. They offer what the token and the objectives have. */
export function ObjectiveFilters({ objectives }: FiltersProps): JSX.Element {
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
