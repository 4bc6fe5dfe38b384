import { formatCalendar } from "../../runtime/metrics/request/time.ts";
import type { BurnRate, Slo, SloAnswer } from "../../api/objectives.ts";
import type { ApiConnection } from "../api/connection.ts";
import type { Column } from "../api/output.ts";
import { sendForJson } from "../api/request.ts";
import type { Flag, Given } from "../command-line/flags.ts";
import type { Tone } from "../command-line/terminal.ts";
import { type QueryParameters, tenantFlag } from "./query-flags.ts";
import { shortNumber } from "./series.ts";

/** Flags that become parameters of `GET /v1/metrics/slo`. */
export const sloFlags = [
  { name: "domain", value: "DOMAIN", help: "Only objectives in this domain." },
  tenantFlag,
  { name: "region", value: "REGION", help: "Only this region." },
  { name: "environment", value: "ENVIRONMENT", help: "Only this environment." },
] as const satisfies readonly Flag[];

export async function readSlos(connection: ApiConnection, query: QueryParameters): Promise<readonly Slo[]> {
  const { data } = await sendForJson<SloAnswer>(connection, { path: "/v1/metrics/slo", query });
  return data;
}

const tones: Readonly<Record<Slo["status"], Tone>> = {
  ok: "good",
  recovering: "waiting",
  increasing: "waiting",
  critical: "bad",
  insufficient_data: "waiting",
  late: "waiting",
  failed: "waiting",
};

export const sloColumns: readonly Column<Slo>[] = [
  { title: "NAME", cell: ({ name }) => name },
  { title: "TENANT", cell: ({ tenant }) => tenant },
  { title: "REGIONS", cell: regionsOf },
  { title: "DOMAIN", cell: ({ domain }) => domain, isWide: true },
  { title: "METRIC", cell: ({ metric }) => metric, isWide: true },
  { title: "STATUS", cell: ({ status }) => status, tone: ({ status }) => tones[status] },
  { title: "OBJECTIVE", cell: ({ objective }) => percent(objective) },
  { title: "ACTUAL", cell: (slo) => bothFigures(percent(slo.sli), slo.uncorrected && percent(slo.uncorrected.sli)) },
  {
    title: "BUDGET LEFT",
    cell: (slo) => bothFigures(percent(budgetLeft(slo)), slo.uncorrected && percent(budgetLeft(slo.uncorrected))),
  },
  { title: "BURN", cell: ({ tiers }) => burnText(tiers[0]?.long) },
  { title: "SPENT IN", cell: ({ exhaustion_seconds: seconds }) => timeText(seconds) },
  {
    title: "CORRECTIONS",
    cell: ({ corrections = [] }) =>
      corrections.map(({ reason, active }) => reason + (active ? " (now)" : "")).join(", "),
    isWide: true,
  },
  {
    title: "DAYS",
    cell: ({ window_days: days, calendar }) =>
      calendar === undefined ? days : `${days}, ${formatCalendar(calendar.period, calendar.time_zone)}`,
    isWide: true,
  },
  { title: "EVENTS", cell: ({ events }) => shortNumber(events && Math.round(events.total)), isWide: true },
];

/** `eu,latam (late)`: regions that are not complete, with their state */
export function regionsOf({ regions }: Pick<Slo, "regions">): string {
  return regions.map(({ region, state }) => (state === "ok" ? region : `${region} (${state})`)).join(",");
}

/** `99.5 % (97 % without corrections)`: the second figure only for an objective with corrections */
function bothFigures(corrected: string | undefined, all: string | undefined): string | undefined {
  return all === undefined ? corrected : `${corrected ?? "none"} (${all} without corrections)`;
}

/** Share of the error budget that is left, negative when overspent. */
export function budgetLeft({ error_budget: { total, remaining } }: Pick<Slo, "error_budget">): number | undefined {
  return remaining === undefined || total === 0 ? undefined : remaining / total;
}

/** `14.2 over 1h` */
export function burnText(burn: BurnRate | undefined): string | undefined {
  return burn?.rate === undefined ? undefined : `${shortNumber(Number(burn.rate.toPrecision(3)))} over ${burn.window}`;
}

const timeUnits = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
] as const;

/** `3d4h`: the two largest units, rounded down */
function timeText(seconds: number | undefined): string | undefined {
  if (seconds === undefined) return undefined;
  const first = timeUnits.findIndex(([, size]) => seconds >= size);
  if (first < 0) return "0s";
  let rest = seconds;
  const parts = timeUnits.slice(first, first + 2).map(([unit, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count === 0 ? "" : `${count}${unit}`;
  });
  return parts.join("");
}

export function percent(share: number | undefined): string | undefined {
  return share === undefined ? undefined : `${Number((share * 100).toPrecision(6))} %`;
}

export function sloParameters(given: Given, name: string | undefined): QueryParameters {
  const named = sloFlags.map((flag) => [flag.name, given.optional(flag.name)] as const);
  return { slo: name, ...Object.fromEntries(named) };
}
