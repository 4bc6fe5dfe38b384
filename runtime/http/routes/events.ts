import { ingestOperation } from "../openapi/event-operations.ts";
import type { Route } from "../route.ts";

/** What the route needs of the webhook engine. */
export interface EventIntake {
  /**
   * Stores one event and resolves when it is durable.
   * @throws Refusal for an envelope or tenant that is not accepted, and when events cannot be stored
   */
  ingest(
    bytes: Uint8Array,
    caller: { readonly tenants: readonly string[] },
  ): Promise<{ readonly eventId: string; readonly tenant: string; readonly duplicate: boolean }>;
}

/** Largest event, in bytes. */
export const eventBytesMax = 256 * 1024;

/** `POST /events`: 202 only after the event is stored. Source: seed "Webhook Event Delivery" §1 and §2.1. */
export function eventRoutes(intake: EventIntake): readonly Route[] {
  return [
    {
      method: "POST",
      path: "/events",
      scopes: ["events:write"],
      operation: ingestOperation,
      bodyBytesMax: eventBytesMax,
      answer: async ({ body, caller }) => {
        const { eventId, tenant, duplicate } = await intake.ingest(body, { tenants: caller.tenants });
        return { status: 202, body: { event_id: eventId, tenant, duplicate } };
      },
    },
  ];
}
