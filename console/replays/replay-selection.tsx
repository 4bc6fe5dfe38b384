import type { ReplaySummary } from "../../api/replays.ts";
import type { JSX } from "preact";
import { formatNumber } from "../components/format.ts";
import { useFormatTime } from "../components/preferences.tsx";

const kindWords: Readonly<Record<ReplaySummary["kind"], string>> = {
  replay: "deliveries",
  redrive: "dead letters",
  acknowledge: "acknowledgement of dead letters",
};

/** What a replay sends again, with times in the zone that the person chose. */
export function ReplaySelection({ replay }: { readonly replay: ReplaySummary }): JSX.Element {
  const formatTime = useFormatTime();
  return <>{replaySelection(replay, formatTime)}</>;
}

/** What a replay sends again, in words. */
export function replaySelection(
  { filter, window, event_ids: ids, kind }: ReplaySummary,
  formatTime: (at: string) => string,
): string {
  const parts = [
    kindWords[kind],
    ...(ids === null ? [] : [ids === 1 ? "of 1 event" : `of ${formatNumber(ids)} events`]),
    ...(window === null ? [] : [windowWords(window, formatTime)]),
    ...(filter.partners.length === 0 ? [] : [`to ${filter.partners.join(", ")}`]),
    ...(filter.types.length === 0 ? [] : [`of type ${filter.types.join(", ")}`]),
    ...(filter.only_failed && kind === "replay" ? ["only failed ones"] : []),
  ];
  return parts.join(" ");
}

function windowWords({ from, to }: NonNullable<ReplaySummary["window"]>, formatTime: (at: string) => string): string {
  return from === null ? `until ${formatTime(to)}` : `from ${formatTime(from)} to ${formatTime(to)}`;
}
