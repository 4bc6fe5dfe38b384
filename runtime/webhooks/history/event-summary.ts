import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import { eventHash } from "../ids.ts";
import type { StoredEvent } from "../records/event-record.ts";
import type { DeliveryWait } from "./delivery-wait.ts";
import type { DeliveryState, Waiting } from "./delivery-histories.ts";
import { standingsOf, waitingPartners, type HistoryDeps } from "./history.ts";
import type { PartnerAccess } from "./partner-access.ts";

/** One event with the states of its deliveries. */
export interface EventSummary {
  readonly event_id: string;
  readonly type: string;
  readonly tenant: string;
  /** ISO 8601 UTC. */
  readonly accepted_at: string;
  /** As in the history of the event. */
  readonly routed_at: string | null;
  readonly deliveries: readonly DeliverySummary[];
}

interface DeliverySummary {
  readonly partner: string;
  readonly state: DeliveryState;
  readonly reason: string | null;
  /** HTTP status of the last attempt; null without an attempt or without a response. */
  readonly status: number | null;
  readonly attempts: number;
  /** Why it waits; null when it does not. It may be a second old. */
  readonly waiting: DeliveryWait | null;
}

/** Everything that is stored about the deliveries of an event. */
export interface EventReading {
  readonly event: StoredEvent;
  readonly waiting: Waiting;
  readonly stored: readonly StoredMessage[];
}

/** Reads what is stored about an event. Attempts are read last, as in its history. */
export async function readDeliveries(deps: HistoryDeps, event: StoredEvent): Promise<EventReading> {
  const waiting = await waitingPartners(deps, event, deps.findCachedBlock);
  return { event, waiting, stored: await deps.attempts.list(event.tenant, eventHash(event.eventId)) };
}

/** The summary of an event for a caller. */
export function summaryOf(
  deps: Pick<HistoryDeps, "now">,
  { event, waiting, stored }: EventReading,
  access: PartnerAccess,
): EventSummary {
  const { routed_at: routedAt, deliveries } = standingsOf(stored, waiting, deps.now(), access);
  return {
    event_id: event.eventId,
    type: event.type,
    tenant: event.tenant,
    accepted_at: new Date(event.acceptedAtMs).toISOString(),
    routed_at: routedAt,
    deliveries: deliveries.map(({ partner, state, reason, attempts, waiting: wait }) => {
      const status = attempts.at(-1)?.status ?? null;
      return { partner, state, reason, status, attempts: attempts.length, waiting: wait };
    }),
  };
}
