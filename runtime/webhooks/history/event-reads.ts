import { Refusal } from "../../errors/refusal.ts";
import { readEventIdUse, type EventIdUse } from "./event-id-use.ts";
import { listEvents, type EventPage, type EventQuery } from "./event-list.ts";
import type { HistoryView } from "./history-view.ts";
import { readHistory, type EventHistory, type HistoryDeps } from "./history.ts";

/**
 * The reads of stored events for callers. Each throws a Refusal `events_unavailable` when JetStream does not answer.
 */
export interface EventReads {
  /**
   * An event with its deliveries. Undefined when none of these tenants (`*`: any) has it, or the view shows none of its
   * deliveries.
   */
  event(eventId: string, tenants: readonly string[], view?: HistoryView): Promise<EventHistory | undefined>;
  /** Events of some tenants, oldest first. @throws Refusal `event_not_found` */
  events(query: EventQuery): Promise<EventPage>;
  /** The tenants, among these, that have an event id or were refused it; undefined for none. */
  eventIdUse(eventId: string, tenants: readonly string[]): Promise<EventIdUse | undefined>;
}

export function createEventReads(deps: HistoryDeps): EventReads {
  return {
    event: (eventId, tenants, view) => answered(() => readHistory(deps, eventId, tenants, view)),
    events: async (query) => {
      const page = await answered(() => listEvents(deps, query));
      if (page === undefined) {
        throw new Refusal("event_not_found", "No event of the id that bounds the list is visible to this caller.");
      }
      return page;
    },
    eventIdUse: (eventId, tenants) => answered(() => readEventIdUse(deps, eventId, tenants)),
  };
}

/** Reads fail only because JetStream does not answer. @throws Refusal `events_unavailable` */
async function answered<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    throw new Refusal("events_unavailable", "The event store does not answer", { cause, retryAfterSeconds: 1 });
  }
}
