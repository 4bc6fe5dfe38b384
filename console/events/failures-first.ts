// Which deliveries of an event come first, and how they are counted.
import type { DeliveryHistory, DeliveryState, DeliverySummary } from "../../api/histories.ts";
import { formatMissing } from "../components/format.ts";

/** What a person looks for first: failures, then what waits, then what is done. */
const ranks: Readonly<Record<DeliveryState, number>> = {
  dead: 0,
  rejected: 1,
  held: 2,
  in_delivery: 3,
  not_routed: 4,
  delivered: 5,
};

interface Stated {
  readonly partner: string;
  readonly state: DeliveryState;
  /** Undefined from servers of earlier versions. */
  readonly waiting?: DeliverySummary["waiting"] | undefined;
}

/** States of a partner that are shown for a delivery that it keeps waiting. */
const waitStates: Readonly<Record<string, string>> = {
  disabled: "disabled",
  circuit_open: "circuit_open",
  held: "held",
  keyless: "held",
  rate_limited: "rate_limited",
  paused: "paused",
};

/** The state of a delivery as people see it: that of its partner while this keeps it waiting. */
export function shownState({ state, waiting = null }: Pick<Stated, "state" | "waiting">): string {
  return (state === "in_delivery" && waiting !== null ? waitStates[waiting.kind] : undefined) ?? state;
}

/** Deliveries, failures first, then by partner. @param partner that comes first in any state */
export function failuresFirst<Delivery extends Stated>(
  deliveries: readonly Delivery[],
  partner = "",
): readonly Delivery[] {
  const rank = (delivery: Stated): number => (delivery.partner === partner ? -1 : ranks[delivery.state]);
  return deliveries.toSorted((a, b) => rank(a) - rank(b) || a.partner.localeCompare(b.partner));
}

/** Numbers of deliveries by the state that is shown, failures first. */
export function countStates(deliveries: readonly Stated[]): readonly (readonly [state: string, count: number])[] {
  const counts = Map.groupBy(failuresFirst(deliveries), shownState);
  return [...counts].map(([state, some]) => [state, some.length] as const);
}

/** Whether a delivery ended without success. */
export function isFailed({ state }: Pick<Stated, "state">): boolean {
  return state === "dead" || state === "rejected";
}

/** What the last result of a delivery is told from. */
type LastResult = Pick<DeliverySummary, "state" | "reason" | "status" | "attempts"> & Pick<Stated, "waiting">;

/** The result of the newest attempt and what the delivery waits for: `HTTP 503, 4 attempts`. */
export function resultText({ state, reason, status, attempts, waiting }: LastResult): string {
  const wait = waitWhy(waiting);
  const isShown = reason === null || reason === `status_${status}` || (state === "held" && wait !== undefined);
  return [
    ...(status === null ? [] : [`HTTP ${status}`]),
    ...(isShown ? [] : [reason.replaceAll("_", " ")]),
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
    ...(wait === undefined ? [] : [wait]),
  ].join(", ");
}

const sentences: Readonly<Record<string, string>> = {
  held: "The partner is held",
  paused: "The partner is paused",
  disabled: "The endpoint responded 410, which disabled the partner",
  keyless: "No signing key of the partner is valid now",
  circuit_open: "The circuit breaker of the partner is open",
  rate_limited: "A Retry-After of the partner pauses its deliveries",
};

/**
 * What keeps the partner of a delivery waiting; undefined when only the delivery itself waits.
 * @param waiting undefined from servers of earlier versions
 */
export function waitWhy(waiting: DeliveryHistory["waiting"] | undefined): string | undefined {
  if (waiting === undefined || waiting === null || !Object.hasOwn(sentences, waiting.kind)) return undefined;
  const showsReason = waiting.kind === "held" || waiting.kind === "circuit_open";
  const reason = showsReason && waiting.reason !== null ? `: ${formatMissing(waiting.reason)}` : "";
  return `${sentences[waiting.kind]}${reason}`;
}
