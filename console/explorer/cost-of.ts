import { formatSeconds } from "../components/format.ts";
import { secondsOf, type ExplorerQuery } from "./explorer-query.ts";

/** Cost units of a response; undefined if its headers have none. */
export function costOf(headers: Headers | undefined): number | undefined {
  const cost = headers?.get("x-query-cost") ?? null;
  return cost === null ? undefined : Number(cost);
}

/** A range that ended longer ago than this has no newest sample of interest. */
const endAgeMsMax = 120_000;

/** True for a range up to now, which the server may end with the step before. */
export function endsNow({ range }: Pick<ExplorerQuery, "range">, endMs: number, nowMs: number): boolean {
  return range !== "" || nowMs - endMs <= endAgeMsMax;
}

/** The age of the newest sample: `27 min 21 s`; undefined if the response does not have it. */
export function freshnessOf(headers: Headers | undefined): string | undefined {
  const seconds = secondsOf(headers?.get("x-data-freshness") ?? "");
  return seconds === undefined ? undefined : formatSeconds(seconds);
}
