import type { ReplaySummary } from "../../api/replays.ts";
import { formatNumber, formatTime } from "../components/format.ts";

/** What a replay was asked to do, in words. */
export function askedFor({ filter, window, event_ids: ids, kind }: ReplaySummary): string {
  const parts = [
    kind === "redrive" ? "dead letters" : "deliveries",
    ...(ids === null ? [] : [ids === 1 ? "of 1 event" : `of ${formatNumber(ids)} events`]),
    ...(window === null ? [] : [windowWords(window)]),
    ...(filter.partners.length === 0 ? [] : [`to ${filter.partners.join(", ")}`]),
    ...(filter.types.length === 0 ? [] : [`of type ${filter.types.join(", ")}`]),
    ...(filter.only_failed && kind === "replay" ? ["only failed ones"] : []),
  ];
  return parts.join(" ");
}

function windowWords({ from, to }: NonNullable<ReplaySummary["window"]>): string {
  return from === null ? `until ${shortTime(to)}` : `${shortTime(from)} to ${shortTime(to)}`;
}

/** The heading of the column says that times are UTC. */
function shortTime(at: string): string {
  return formatTime(at).replace(/ UTC$/u, "");
}
