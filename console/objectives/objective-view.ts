import type { Slo, SloHistoryAnswer, SloStatesByRank } from "../../api/objectives.ts";
import type { ChartSeries } from "../charts/chart-data.ts";
import type { Tone } from "../components/badge.tsx";
import { changedQuery, pathTo } from "../router/place.ts";
import { formatNumber, formatSeconds } from "../components/format.ts";
import { secondsOf } from "../explorer/explorer-query.ts";

/** Parameters that narrow objectives, in the address and in the API. */
export const objectiveParameters = ["domain", "region", "tenant", "environment"] as const;

const dayMs = 86_400_000;

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

/** Where the API has the budget of an objective over time. */
export function historyPath(objective: Slo, query: URLSearchParams): string {
  const { name: slo, domain, tenant, regions } = objective;
  const [only, ...others] = regions.map(({ region }) => region);
  const place = only === undefined || others.length > 0 ? {} : { region: only };
  const text = changedQuery(new URLSearchParams(), { slo, ...narrowing(query), ...place, domain, tenant });
  return `/v1/metrics/slo/history${text}`;
}

/** States of objectives, the worst first. */
export const statesByRank: SloStatesByRank = [
  "critical",
  "increasing",
  "recovering",
  "failed",
  "late",
  "insufficient_data",
  "ok",
];

/** Objectives, the worst first: by their status, then by the budget that is left. */
export function worstFirst(objectives: readonly Slo[]): readonly Slo[] {
  const left = (slo: Slo): number => budgetLeft(slo) ?? Number.POSITIVE_INFINITY;
  return objectives.toSorted(
    (a, b) => statesByRank.indexOf(a.status) - statesByRank.indexOf(b.status) || compare(left(a), left(b)),
  );
}

function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

type Tier = Slo["tiers"][number];

/** True while both windows of a tier burn above its factor. */
export function isBurning({ factor, long, short }: Tier): boolean {
  return (long.rate ?? 0) > factor && (short.rate ?? 0) > factor;
}

/** The time range within which something began. */
export interface Onset {
  readonly from: string;
  readonly to: string;
}

/**
 * When the budget began to burn: the first of the latest points between which it fell, each time by more than a burn
 * rate of 1 spends, and the point after it. Undefined if it did not fall so between the last two points. Errors within
 * the objective let a budget fall slowly all the time, so smaller falls do not count.
 */
export function burnOnset({
  data,
  meta: { objective, window_days: days },
}: Pick<SloHistoryAnswer, "data" | "meta">): Onset | undefined {
  const known = data.flatMap(({ at, remaining }) =>
    remaining === null ? [] : [{ at, ms: Date.parse(at), remaining }],
  );
  const perMs = (1 - objective) / (days * dayMs);
  const burns = known.map((point, index) => {
    const before = known[index - 1];
    return before !== undefined && before.remaining - point.remaining > perMs * (point.ms - before.ms);
  });
  const first = burns.lastIndexOf(false);
  const [from, to] = [known[first], known[first + 1]];
  return from === undefined || to === undefined ? undefined : { from: from.at, to: to.at };
}

/** The Explorer with the metric of an objective over a duration such as `3d`, by region if it has several. */
export function explorerPath({ metric, tenant, regions }: Slo, window: string): string {
  const [only, ...others] = regions.map(({ region }) => region);
  return `/explorer${changedQuery(new URLSearchParams(), {
    metric,
    "filter[tenant]": tenant,
    ...(others.length > 0 ? { group_by: "region" } : { "filter[region]": only ?? "" }),
    range: window,
  })}`;
}

const shares = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 3 });

/** A share of events as percent with up to three decimals, since objectives differ in them; a dash for none. */
export function formatSli(share: number | null | undefined): string {
  return share === null || share === undefined || Number.isNaN(share) ? "–" : shares.format(share);
}

/** The window of an objective: `30 d`, or `calendar month (Europe/Berlin)`. */
export function objectiveWindow({ window_days: days, calendar }: Pick<Slo, "window_days" | "calendar">): string {
  return calendar === undefined ? `${days} d` : `calendar ${calendar.period.toLowerCase()} (${calendar.time_zone})`;
}

/** What a point of a history counts. */
export function pointsText({ meta: { calendar, window_days: days } }: Pick<SloHistoryAnswer, "meta">): string {
  return calendar === undefined
    ? `each over the ${days} days before it`
    : `each since its ${objectiveWindow({ window_days: days, calendar })} began`;
}

/** A window of the API, such as `1008m`, as `16 h 48 min`. */
export function windowText(window: string): string {
  const seconds = secondsOf(window);
  return seconds === undefined ? window : formatSeconds(seconds);
}

/** Bad events next to those that the budget permits: with fewer than one, a single bad event spends it. */
export function badEventsText({
  events,
  over,
  error_budget: { total },
}: Pick<Slo, "events" | "over" | "error_budget">): string {
  if (events === undefined) return "none";
  const permitted = (events.total + (over?.slices_to_come ?? 0)) * total;
  const shown = permitted < 10 ? Number(permitted.toFixed(1)) : Math.round(permitted);
  return `${formatNumber(Math.round(events.total - events.good))} of ${formatNumber(shown)} permitted`;
}
