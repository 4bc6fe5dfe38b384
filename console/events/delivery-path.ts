import { changedQuery, pathTo } from "../router/place.ts";

/** The page of an event with the delivery to this partner open. */
export function deliveryPath(eventId: string, partner: string): string {
  return pathTo("events", eventId) + changedQuery(new URLSearchParams(), { open: partner });
}
