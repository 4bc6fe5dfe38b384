import type { PartnerDetail } from "../../api/partners.ts";
import type { DeadLetterCount } from "../../api/replays.ts";
import { formatNumber, formatWord } from "../components/format.ts";

/** A moment in the life of a partner that the runtime knows. */
export interface TimelineItem {
  readonly at: string;
  /** State that gives the tone. */
  readonly state: string;
  readonly text: string;
}

/** What the runtime knows of a partner, the latest first. Conditions of the resource are with kubectl. */
export function timelineOf(
  { keys, live, state, reason }: PartnerDetail,
  counts: readonly DeadLetterCount[],
): readonly TimelineItem[] {
  const items: TimelineItem[] = keys.flatMap(({ id, not_after: at }) =>
    at === null ? [] : [{ at, state: "key", text: `Key ${id} expires` }],
  );
  const add = (at: string | null, of: string, text: string): void => {
    if (at !== null) items.push({ at, state: of, text });
  };
  add(live.breaker_until, live.breaker ?? "open", "The circuit breaker lets an attempt through");
  add(live.as_of, state, `State: ${formatWord(state)}${reason === null ? "" : `: ${formatWord(reason)}`}`);
  add(live.oldest_due_at, "late", "The oldest waiting delivery was due");
  for (const count of counts) {
    const why = formatWord(count.reason);
    add(count.newest_at, "dead", `Newest dead letter of ${formatNumber(count.count)}: ${why}`);
    if (count.count > 1) add(count.oldest_at, "dead", `Oldest dead letter: ${why}`);
  }
  return items.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
}
