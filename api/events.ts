import { Problem, Time } from "./documents.ts";
import {
  anyObject,
  constant,
  count,
  either,
  flag,
  list,
  nullable,
  object,
  ref,
  text,
  words,
  type Static,
} from "./schema.ts";

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

/** A URI reference of RFC 3986. A colon in its first segment follows a scheme. */
const uriReference = {
  pattern: "^(?:[A-Za-z][A-Za-z0-9+.-]*:|(?![^/?#]*:))(?:[A-Za-z0-9_.~:/?#[\\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+$",
};
const jsonMediaType = "^(?:application|text)/(?:[A-Za-z0-9_.!#$&^-]+\\+)?json(?:; ?charset=utf-8)?$";
const base64 = { contentEncoding: "base64", contentMediaType: "application/json" };
/** Months with their days, without the one of leap years. */
const days =
  "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])";
const datedSchema = text("With the version at its end", { pattern: `/\\d{4}-(?:${days})(?:\\.json)?$` });
const cloudEvent = object(
  {
    specversion: constant("1.0", "Version of CloudEvents"),
    id: text("`event_id` of the event", eventTexts.event_id),
    source: text("`producer` of the event", { maxLength: eventTexts.producer.maxLength, ...uriReference }),
    type: text("`type` of the event", { ...eventTexts.type, not: { pattern: `^${ownDomain}\\.` } }),
    time: text("`ts` of the event, which is in UTC with milliseconds", {
      format: "date-time",
      pattern: "^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(?:\\.\\d+)?(?:[Zz]|[+-]\\d{2}:\\d{2})$",
    }),
  },
  {
    version: text("`version` of the event; not needed if the path of `dataschema` ends with it", { format: "date" }),
    tenant: nullable(text(undefined, eventTexts.tenant), "`tenant` of the event, by default the only one of the token"),
    datacontenttype: nullable(text(undefined, { pattern: jsonMediaType }), "Media type of JSON in UTF-8"),
    dataschema: nullable(text(undefined, uriReference), "Schema of the data, kept under its name"),
    subject: nullable(text(undefined, { minLength: 1 }), "Kept under its name"),
    data: nullable(anyObject(), "`data` of the event"),
    data_base64: nullable(text(undefined, base64), "`data` of the event as JSON in base64"),
  },
);

/** A CloudEvent, which is stored as an {@link EventEnvelope}. Extensions are kept under their names. */
export const CloudEvent: typeof cloudEvent = {
  ...cloudEvent,
  propertyNames: { pattern: "^(?:[a-z0-9]+|data_base64)$" },
  additionalProperties: {
    anyOf: [
      { type: ["string", "boolean", "null"] },
      { type: "integer", minimum: -2_147_483_648, maximum: 2_147_483_647 },
    ],
  },
  anyOf: [{ required: ["version"] }, { required: ["dataschema"], properties: { dataschema: datedSchema } }],
  not: { anyOf: ["attempt", "producer", "ts"].map((name) => ({ required: [name] })) },
};

export const CloudEventBatch = list(ref(CloudEvent), "CloudEvents", { minItems: 1, maxItems: batchEventsMax });

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

/** Error codes of events that their declared type rejects. */
export const contractErrors = ["invalid_data", "version_retired", "undeclared_type"] as const;

export const RejectedEvents = object({
  count: count("Events that only the edit would reject"),
  accepted: count("Events that only the edit would accept"),
  types: list(
    object({
      type: text("Type of the events"),
      version: text("Version of the events"),
      code: words(contractErrors, "Error code that their producers would get"),
      count: count("Number of these events"),
      ids: list(text(), "Ids of some of them"),
    }),
    "At most 100 types and versions of the events that would be rejected, most events first",
  ),
});

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

export const EventPageMeta = object(
  { cursor: nullable(text(), "Cursor of the next page; null at the end, unless the request waited") },
  {
    newest: text("With order=desc: cursor for following new events with order=asc"),
    complete: flag("With order=desc: false if the index does not reach back to from"),
  },
);
