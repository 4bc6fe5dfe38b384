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

/** What began at `since` of a health. */
const starts: Readonly<Record<string, string>> = {
  failing: "Attempts began to fail",
  circuit_open: "The circuit breaker opened",
  rate_limited: "A Retry-After of the endpoint began",
  paused: "The configuration paused the partner",
  disabled: "The endpoint responded 410",
  held: "The hold began",
};

/** What the runtime knows of a partner, the latest first. Conditions of the resource are with kubectl. */
export function timelineOf(
  { keys, live, health }: PartnerDetail,
  counts: readonly DeadLetterCount[],
): readonly TimelineItem[] {
  const items: TimelineItem[] = keys.flatMap(({ id, not_after: at }) =>
    at === null ? [] : [{ at, state: "key", text: `Key ${id} expires` }],
  );
  const add = (at: string | null, of: string, text: string): void => {
    if (at !== null) items.push({ at, state: of, text });
  };
  if (health !== undefined && Object.hasOwn(starts, health.kind))
    add(health.since, health.kind, starts[health.kind] ?? "");
  if (live.backlog !== 0)
    add(live.breaker_until, live.breaker ?? "open", "The circuit breaker lets a waiting delivery through");
  add(live.oldest_due_at, "late", "The oldest waiting delivery was due");
  for (const count of counts) {
    const why = formatWord(count.reason);
    add(count.newest_at, "dead", `Newest dead letter of ${formatNumber(count.count)}: ${why}`);
    if (count.count > 1) add(count.oldest_at, "dead", `Oldest dead letter: ${why}`);
  }
  return items.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
}
