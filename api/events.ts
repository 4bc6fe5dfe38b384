import { Problem, Time } from "./documents.ts";
import { anyObject, count, either, flag, list, nullable, object, ref, text, words, type Static } from "./schema.ts";

/** First segment of the types of operational events, which the program creates. Producers must not use it. */
export const ownDomain = "heliograph";

/** Most events of a batch. */
export const batchEventsMax = 500;

/** Keywords of the texts of an event. Ids and producers are sent in headers, types and tenants in subjects. */
export const eventTexts = {
  event_id: { pattern: "^[\\x21-\\x7e]{1,128}$" },
  type: { maxLength: 128, pattern: "^[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]+)+$" },
  producer: { maxLength: 128, pattern: "^[\\x21-\\x7e]([\\x20-\\x7e]*[\\x21-\\x7e])?$" },
  tenant: { pattern: "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$" },
};

const envelope = object(
  {
    event_id: text("Unique id of the event in the installation; repeats are duplicates", eventTexts.event_id),
    type: text("Dotted type, which subscriptions match", {
      ...eventTexts.type,
      not: { pattern: `^${ownDomain}\\.` },
    }),
    version: text("Version of the payload, as a date", { format: "date" }),
    ts: ref(Time, "Time of the event"),
  },
  {
    producer: text("System that sent the event", eventTexts.producer),
    tenant: text("Tenant of the event", eventTexts.tenant),
    data: anyObject("Payload, which partners receive unchanged"),
  },
);

/** The sender numbers attempts, so an event has none. */
export const EventEnvelope: typeof envelope = { ...envelope, not: { required: ["attempt"] } };
export type EventEnvelope = Static<typeof EventEnvelope>;

export const EventOrBatch = either([
  ref(EventEnvelope),
  list(ref(EventEnvelope), undefined, { minItems: 1, maxItems: batchEventsMax }),
]);

const accepted = {
  event_id: text("Id of the event"),
  tenant: text("Tenant of the event"),
  duplicate: flag("True if the event was accepted earlier"),
};

export const EventAccepted = object(accepted);
export type EventAccepted = Static<typeof EventAccepted>;

export const EventVerdict = object({ status: count("HTTP status of the event alone"), ...accepted });

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

export const EventAnswer = either([ref(EventAccepted), ref(BatchAnswer)]);

export const EventIdUse = object({
  event_id: text("Requested id"),
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

/** Orders of a list by time. */
export const orders = ["asc", "desc"] as const;
/** Most items of a page, and their number if a request does not name one. */
export const pageItemsMax = 200;
export const pageItemsDefault = 50;
/** Longest wait for the first new item of a list, in seconds. */
export const waitSecondsMax = 25;

export const CursorMeta = object({ cursor: nullable(text(), "Cursor of the next page; null at the end") });

/** `Retired`: the version is past its sunset. Its stored events can still be replayed. */
export const eventTypeStates = ["Active", "Deprecated", "Retired"] as const;
export type EventTypeState = (typeof eventTypeStates)[number];

const state = words(eventTypeStates, "`Deprecated`: events are accepted until `sunset_at`. `Retired`: no longer");

const version = {
  version: text("Value of the envelope's `version`"),
  state,
};
const ends = {
  deprecated_at: ref(Time, "Time since which the version is deprecated"),
  sunset_at: ref(Time, "Time from which new events of the version are rejected; absent if it has no end"),
};

const type = {
  type: text("Value of the envelope's `type`"),
  description: text("What happened when an event of this type is sent"),
  state: words(eventTypeStates, "State of the version that lasts longest"),
  owner: text("Team that owns the type"),
};
const declaration = {
  contact: text("Where the owner is reached"),
  catalog: text("Event catalog that declares the type, as `namespace/name`; absent for tokens that are limited"),
};

export const EventTypeSummary = object(
  { ...type, versions: list(object(version, ends), "Versions of the payload, newest first") },
  declaration,
);
export type EventTypeSummary = Static<typeof EventTypeSummary>;

export const EventTypePage = object({
  data: list(ref(EventTypeSummary), "Types of the page, by name"),
  meta: ref(CursorMeta, "About the page"),
});

export const EventTypeVersion = object(
  {
    ...version,
    schema: anyObject("JSON Schema 2020-12 of `data`, as the token may see it"),
    examples: list(anyObject(), "Values of `data`, as the token may see them"),
  },
  ends,
);
export type EventTypeVersion = Static<typeof EventTypeVersion>;

export const EventTypeDetail = object(
  { ...type, versions: list(ref(EventTypeVersion), "Versions of the payload, newest first") },
  {
    ...declaration,
    sensitive: list(
      object({
        pointer: text("JSON pointer into `data`; the segment `*` is every item of a list"),
        class: text("Class of the field"),
      }),
      "Fields that not every partner may see; absent for tokens that are limited to partners",
    ),
  },
);
export type EventTypeDetail = Static<typeof EventTypeDetail>;
