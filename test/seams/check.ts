import type { ClassifiedField } from "./contracts.ts";
import type { History } from "./histories.ts";
import { wants, type PartnerTimeline, type Expectation, type RoutedPartners } from "./model.ts";
import type { Recipient } from "./recipients.ts";
import type { SentEvent } from "./traffic.ts";

/** One event, one recipient, and the expectation of the recipient's partners. */
export interface Pair {
  readonly event: SentEvent;
  readonly slot: number;
  /** The strongest expectation of the slot's partner objects. */
  readonly expectation: Expectation;
  /** Whether the slot may have had a partner object. */
  readonly mayExist: boolean;
  /** Labels of the partner objects that must, or may, have a delivery. */
  readonly must: readonly string[];
  readonly may: readonly string[];
  readonly routedFromMs: number;
  readonly routedToMs: number;
}

/** What became of a pair. `wrong` says in a sentence why it breaks the promise. */
export interface Fate {
  readonly outcome: string;
  readonly wrong?: string;
}

/** An event and the time in which it was routed. */
export interface RoutedEvent {
  readonly event: SentEvent;
  readonly fromMs: number;
  readonly toMs: number;
}

/** What the product reports about the routing of an event. */
export interface ReportedRouting {
  /** Of each configuration that routed the event; undefined for one that is not known. */
  readonly partners: readonly (RoutedPartners | undefined)[];
  /** The classified fields of the event's type in each of these configurations. */
  readonly fields: readonly (readonly ClassifiedField[] | undefined)[];
  /** Labels of the partners with a delivery. */
  readonly delivered: ReadonlySet<string>;
  /** A pod may have died while it routed the event: another routing began anew, and the first left no trace. */
  readonly mayRepeat: boolean;
}

/**
 * The expectation of the partners of one slot for one event. What a change leaves open is decided by the configuration
 * that routed the event.
 *
 * @param reported @default the product reports nothing, and what is open stays open
 */
export function pairOf(
  { event, fromMs, toMs }: RoutedEvent,
  slot: number,
  timelines: readonly PartnerTimeline[],
  reported?: ReportedRouting,
): Pair {
  const expectations = timelines.map((timeline) => {
    const promised = timeline.expectation(event, fromMs, toMs);
    const isOpen = promised === "either" && reported !== undefined;
    return { label: timeline.label, expectation: isOpen ? decided(timeline, event, reported) : promised };
  });
  const mayExist = timelines.some((timeline) => timeline.mayExist(fromMs, toMs));
  const labelled = (wanted: Expectation): readonly string[] =>
    expectations.filter(({ expectation }) => expectation === wanted).map(({ label }) => label);
  const [must, may] = [labelled("must"), labelled("either")];
  const expectation = must.length > 0 ? "must" : may.length > 0 ? "either" : "must_not";
  return { event, slot, expectation, mayExist, must, may, routedFromMs: fromMs, routedToMs: toMs };
}

/** The expectation by the configurations that routed the event. */
function decided(
  { uid, label }: PartnerTimeline,
  event: SentEvent,
  { partners, delivered, mayRepeat }: ReportedRouting,
): Expectation {
  if (mayRepeat && !delivered.has(label)) return "either";
  const routed = partners.map((known) => {
    const seen = known?.get(uid);
    return known === undefined ? undefined : seen !== undefined && wants(seen.subscription, event);
  });
  if (routed.length === 0 || routed.includes(undefined)) return "either";
  if (routed.every(Boolean)) return "must";
  return routed.some(Boolean) ? "either" : "must_not";
}

/** Whether only the history shows the end of the pair. */
export function needsHistory({ event, expectation }: Pair, { effects }: Pick<Recipient, "effects">): boolean {
  return expectation !== "must_not" && !effects.has(event.id);
}

/** What became of a pair, after everything was mended and nothing waits any more. */
export function fateOfPair(
  pair: Pair,
  recipient: Pick<Recipient, "effects" | "refused">,
  history: History | undefined,
): Fate {
  const { event, expectation } = pair;
  const effects = recipient.effects.get(event.id) ?? 0;
  if (effects > 1) return { outcome: "repeated", wrong: `it had its effect ${effects} times` };
  if (expectation === "must_not") {
    const wasSent = effects > 0 || recipient.refused.has(event.id);
    return wasSent
      ? { outcome: "unwanted", wrong: "it was sent to a partner that did not want it or was not permitted to" }
      : { outcome: "not wanted" };
  }
  return effects === 1 ? { outcome: "delivered" } : fateByHistory(pair, history);
}

function fateByHistory({ expectation, must, may }: Pair, history: History | undefined): Fate {
  if (history === undefined) return { outcome: "forgotten", wrong: "it got 202 and has no history" };
  const fates = (expectation === "must" ? must : may).map((label) => fateAt(label, expectation, history));
  return fates.find(({ wrong }) => wrong !== undefined) ?? fates[0] ?? { outcome: "not wanted" };
}

/** What the history says about one partner that the recipient never took the event from. */
function fateAt(label: string, expectation: Expectation, { deliveries }: History): Fate {
  const entry = deliveries.find(({ partner }) => partner === label);
  if (entry === undefined) {
    return expectation === "must"
      ? { outcome: "forgotten", wrong: `its history knows no delivery to ${label}` }
      : { outcome: "not routed during a change" };
  }
  const { state, reason, next_attempt_at: next } = entry;
  const text = reason === null ? state : `${state}/${reason}`;
  if (["dead", "rejected"].includes(state))
    return reason === null ? { outcome: text, wrong: `it ended at ${label} without a reason` } : { outcome: text };
  if (state === "not_routed")
    return expectation === "must" ? { outcome: text, wrong: `it was not routed to ${label}` } : { outcome: text };
  const wrong =
    state === "delivered"
      ? `the history says that ${label} has it, and the recipient does not`
      : `it still waits for ${label}, next attempt ${String(next)}`;
  return { outcome: text, wrong };
}

/** Keys that signed although no partner of the slot names them any more. `slackMs` is for attempts under way. */
export function lateSignatures(
  timelines: readonly PartnerTimeline[],
  signedMs: ReadonlyMap<string, number>,
  slackMs: number,
): readonly string[] {
  return [...signedMs].flatMap(([key, lastMs]) => {
    const ended = timelines.map((timeline) => timeline.keyEndedMs(key));
    const endedMs = ended.includes(undefined) ? undefined : Math.max(...ended.map((ms) => ms ?? 0));
    return endedMs !== undefined && lastMs > endedMs + slackMs
      ? [`key ${key} signed ${lastMs - endedMs} ms after its end`]
      : [];
  });
}

/** Numbers by name, sorted by name. */
export function countBy<T>(items: readonly T[], nameOf: (item: T) => string): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(nameOf(item), (counts.get(nameOf(item)) ?? 0) + 1);
  return Object.fromEntries([...counts].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
