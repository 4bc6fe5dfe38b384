import { Refusal } from "../../errors/refusal.ts";
import { historyOperation } from "../openapi/event-operations.ts";
import type { Route } from "../route.ts";

/** What the route needs of the webhook engine. */
export interface EventLookup {
  /** The event with its attempts, in the shape of the answer; undefined when no such event is visible to the tenants. */
  event(eventId: string, tenants: readonly string[]): Promise<object | undefined>;
}

/** `GET /webhooks/events/:id`: the original package and its attempts. Source: seed "Webhook Event Delivery" §4.2. */
export function webhookRoutes(lookup: EventLookup): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/webhooks/events/:id",
      scopes: ["webhooks:read"],
      operation: historyOperation,
      answer: async ({ path, caller }) => {
        const body = await lookup.event(path["id"] ?? "", caller.tenants);
        // An event of another tenant is not told apart from none.
        if (body === undefined) throw new Refusal("event_not_found", "No such event is visible to this caller.");
        return { status: 200, body };
      },
    },
  ];
}
