import { flag, list, object, ref, text, words, type JsonSchema, type SchemaSet } from "./json-schema.ts";

const nullable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: "null" }] });

/** What is sent to and answered by the sender of webhooks. Source: seed "Webhook Event Delivery" §2 and §4.2. */
export const eventSchemas: SchemaSet = {
  EventEnvelope: object(
    {
      event_id: text({ pattern: "^[\\x21-\\x7e]{1,128}$" }),
      type: text({ maxLength: 128, pattern: "^[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]+)+$" }),
      version: text({ format: "date" }),
      ts: ref("Time"),
    },
    {
      attempt: { type: "integer", minimum: 1 },
      producer: text({ maxLength: 128 }),
      tenant: text({ pattern: "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$" }),
      data: { type: "object" },
    },
  ),
  EventAccepted: object({ event_id: text(), tenant: text(), duplicate: flag }),
  EventHistory: object({ event: { type: "object" }, deliveries: list(ref("DeliveryHistory")) }),
  DeliveryHistory: object({
    partner: text(),
    state: words(["in_delivery", "delivered", "rejected", "dead"]),
    reason: nullable(text()),
    next_attempt_at: nullable(ref("Time")),
    attempts: list(ref("AttemptHistory")),
  }),
  AttemptHistory: object({
    attempt: { type: "integer", minimum: 1 },
    at: text({ format: "date-time" }),
    status: { type: ["integer", "null"] },
    duration_ms: { type: "number", minimum: 0 },
    error: nullable(object({ reason: text(), detail: text() })),
    response: nullable(object({ headers: { type: "object", additionalProperties: text() }, body: text(), body_truncated: flag })),
  }),
};
