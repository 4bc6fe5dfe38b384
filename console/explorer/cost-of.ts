import { formatSeconds } from "../components/format.ts";
import { secondsOf } from "./explorer-query.ts";

/** Cost units of a response; undefined if its headers have none. */
export function costOf(headers: Headers | undefined): number | undefined {
  const cost = headers?.get("x-query-cost") ?? null;
  return cost === null ? undefined : Number(cost);
}

/** A range that ended longer ago than this has no newest sample of interest. */
const endAgeMsMax = 120_000;

/** The age of the newest sample of a range that ends now: `27 min 21 s`; undefined for another range. */
export function freshnessOf(headers: Headers | undefined, endMs: number, nowMs: number): string | undefined {
  const seconds = secondsOf(headers?.get("x-data-freshness") ?? "");
  return seconds === undefined || nowMs - endMs > endAgeMsMax ? undefined : formatSeconds(seconds);
}
