import type { DeliverySummary, EventSummary } from "../../api/histories.ts";
import { formatWord } from "../components/format.ts";

/** The newest event that was not delivered to a partner, and whose side the cause is on. */
export interface LatestFailure {
  readonly eventId: string;
  /** Such as `HTTP 503` or `connect timeout`. */
  readonly cause: string;
  /** Who can fix it, as a sentence. */
  readonly side: string;
  /** Filter of the list of events that selects deliveries with the same failure. */
  readonly filter: Readonly<Record<string, string>>;
}

/** Statuses by which the failed attempts are read, each separately: many newer events may have no attempt yet. */
export const failedStatuses = ["none", "4xx", "5xx"] as const;

/** Reasons that are about this installation or the definition of the partner, not about the endpoint. */
const ownReasons: ReadonlySet<string> = new Set(["guard", "internal", "aborted", "backlog_full"]);

/** Undefined if no attempt of these events failed. @param events the newest first */
export function latestFailure(events: readonly EventSummary[], partner: string): LatestFailure | undefined {
  for (const { event_id: eventId, deliveries } of events) {
    const delivery = deliveries.find((one) => one.partner === partner);
    if (delivery === undefined || !isTelling(delivery)) continue;
    const { status, reason, waiting } = delivery;
    if (status !== null)
      return { eventId, cause: `HTTP ${status}`, side: sideOf(status), filter: { status: String(status) } };
    const why = reason ?? (waiting?.kind === "retry" ? waiting.reason : null);
    const filter = why === null ? { status: "none" } : { reason: why };
    return { eventId, cause: why === null ? "no response" : formatWord(why), side: sideOf(why), filter };
  }
  return undefined;
}

/** A delivery that expired while it waited does not tell what it waited for. */
function isTelling({ state, attempts, reason }: DeliverySummary): boolean {
  return state !== "delivered" && attempts > 0 && reason !== "held_expired";
}

/** Events of several lists, each once, the newest first. */
export function newestFirst(lists: readonly (readonly EventSummary[])[]): readonly EventSummary[] {
  const events = new Map(lists.flat().map((event) => [event.event_id, event]));
  return [...events.values()].toSorted((a, b) => (a.accepted_at < b.accepted_at ? 1 : -1));
}

function sideOf(cause: number | string | null): string {
  if (typeof cause === "number")
    return cause === 401 || cause === 403
      ? "The endpoint responded and rejected the request: compare its keys with those below."
      : "The endpoint responded with an error: the cause is at the partner.";
  if (cause !== null && ownReasons.has(cause))
    return "Nothing was sent: the cause is in this installation or in the definition of the partner.";
  if (cause === "tls" || cause === "client_certificate")
    return "No request was sent: compare the certificates of the endpoint with those of the definition.";
  return "The endpoint did not respond: the cause is at the partner or on the network to it.";
}
