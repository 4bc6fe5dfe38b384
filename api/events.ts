import { Problem, Time } from "./documents.ts";
import { anyObject, count, either, flag, list, nullable, object, ref, text, type Static } from "./schema.ts";

/** First part of the types of operational events, which producers must not use. */
export const ownDomain = "heliograph";

const envelope = object(
  {
    event_id: text("Unique id of the event in the installation; repeats are duplicates", {
      pattern: "^[\\x21-\\x7e]{1,128}$",
    }),
    type: text("Dotted type, which subscriptions match", {
      maxLength: 128,
      pattern: "^[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]+)+$",
      not: { pattern: `^${ownDomain}\\.` },
    }),
    version: text("Version of the payload, as a date", { format: "date" }),
    ts: ref(Time, "Time of the event"),
  },
  {
    producer: text("System that sends the event", {
      maxLength: 128,
      pattern: "^[\\x21-\\x7e]([\\x20-\\x7e]*[\\x21-\\x7e])?$",
    }),
    tenant: text("Tenant of the event", { pattern: "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$" }),
    data: anyObject("Payload, which partners receive unchanged"),
  },
);

/** The sender numbers attempts, so an event has none. */
export const EventEnvelope: typeof envelope = { ...envelope, not: { required: ["attempt"] } };

export const EventOrBatch = either([
  ref(EventEnvelope),
  list(ref(EventEnvelope), undefined, { minItems: 1, maxItems: 500 }),
]);

export const EventVerdict = object({
  status: count("HTTP status of the event alone"),
  event_id: text("Id of the event"),
  tenant: text("Tenant of the event"),
  duplicate: flag("True if the event was accepted earlier"),
});

export const BatchAnswer = object({
  results: list(
    either([
      ref(EventVerdict),
      object({
        status: count("HTTP status of the event alone"),
        error: ref(Problem, "Why the event was not accepted"),
      }),
    ]),
    "One for each event, in their order",
  ),
});

export const EventAccepted = object({
  event_id: text("Id of the event"),
  tenant: text("Tenant of the event"),
  duplicate: flag("True if the event was accepted earlier"),
});

export const EventAnswer = either([ref(EventAccepted), ref(BatchAnswer)]);

export const EventIdUse = object({
  event_id: text("Id that was looked up"),
  events: list(
    object({
      tenant: text("Tenant of the event"),
      type: text("Type of the event"),
      accepted_at: ref(Time, "Time at which the event was stored"),
    }),
    "Stored events with this id",
  ),
  refused: list(
    object({
      tenant: text("Tenant that sent the event"),
      held_by: text("Tenant that uses the id"),
      at: ref(Time, "Time of the rejection"),
    }),
    "Recent events that were rejected because another tenant uses the id",
  ),
});
export type EventIdUse = Static<typeof EventIdUse>;

export const CursorMeta = object({ cursor: nullable(text(), "For the next page; null at the end") });
