import type { Slo, SloHistoryAnswer } from "../../api/objectives.ts";
import type { ChartSeries } from "../charts/chart-data.ts";
import type { Tone } from "../components/badge.tsx";
import { changedQuery, pathTo } from "../router/place.ts";

/** Parameters that narrow objectives, in the address and in the API. */
export const objectiveParameters = ["domain", "region", "tenant", "environment"] as const;

/** The share of its error budget that an objective still has: 1 is all, below 0 is overspent. Undefined: unknown. */
export function budgetLeft({ error_budget: { total, remaining } }: Pick<Slo, "error_budget">): number | undefined {
  return remaining === undefined || total <= 0 ? undefined : remaining / total;
}

/** How a budget is drawn. */
export function budgetTone(left: number | undefined): Tone {
  if (left === undefined) return "quiet";
  if (left <= 0) return "bad";
  return left < 0.25 ? "warn" : "good";
}

/** The budget that was left over time, as shares of the whole budget. A null of the API stays a gap. */
export function burnDown({ data, meta }: SloHistoryAnswer): readonly ChartSeries[] {
  const total = 1 - meta.objective;
  const points = data.map(
    ({ at, remaining }) => [Date.parse(at), remaining === null || total <= 0 ? null : remaining / total] as const,
  );
  return [{ label: "Budget left", kind: "area", points }];
}

/** The parameters of an address that narrow objectives, for the API. */
export function narrowing(query: URLSearchParams): Readonly<Record<string, string>> {
  return Object.fromEntries(objectiveParameters.map((name) => [name, query.get(name) ?? ""]));
}

/** The page of one objective, as its list shows it. */
export function objectivePath({ name, domain, tenant, regions }: Slo, query: URLSearchParams): string {
  // Some objectives have a view for each region.
  const [only, ...others] = regions.map(({ region }) => region);
  const place = only === undefined || others.length > 0 ? {} : { region: only };
  return pathTo("slos", name) + changedQuery(new URLSearchParams(), { ...narrowing(query), ...place, domain, tenant });
}
