import { Time } from "./documents.ts";
import { EventPageMeta } from "./events.ts";
import { ManualAcknowledgement } from "./replays.ts";
import { EventExplanation } from "./partner-health.ts";
import {
  anyObject,
  count,
  described,
  flag,
  integer,
  integerOrNull,
  list,
  nullable,
  number,
  object,
  record,
  ref,
  text,
  words,
  type Static,
} from "./schema.ts";

/**
 * The state of a delivery. `held`: waits until its partner may be sent to. `rejected` and `dead`: stored as a dead
 * letter; only `dead` counts as exhausted. `not_routed`: not created, because the permission to get the event was
 * withdrawn.
 */
export const deliveryStates = ["in_delivery", "held", "delivered", "rejected", "dead", "not_routed"] as const;
export type DeliveryStates = typeof deliveryStates;
export type DeliveryState = DeliveryStates[number];
/** States by which events are listed. `failed`: `rejected` or `dead`. */
export const listedStates = [...deliveryStates, "failed"] as const;
export type ListedState = (typeof listedStates)[number];
export const signingSchemes = ["HmacV1", "StandardWebhooks", "HttpMessageSignatures"] as const;
/** Why a delivery waits. `retry`: for its next attempt. `turn`: for a place, or it is in work. */
export const waitKinds = [
  "held",
  "paused",
  "disabled",
  "keyless",
  "circuit_open",
  "rate_limited",
  "retry",
  "turn",
] as const;
/**
 * - `url_hidden`: the path, and the host if it is signed, are replaced. They are for tokens of the partner and for
 *   `admin:debug`.
 * - `too_long`: it has more than 16 KiB.
 * - `older_attempt`: it belongs to an attempt before the newest 64.
 * - `unknown_scheme`: a later version made the attempt.
 * - `part_hidden`: it covers parts of the event that the configuration no longer sends to the partner.
 */
export const canonicalReasons = ["url_hidden", "too_long", "older_attempt", "unknown_scheme", "part_hidden"] as const;

const milliseconds = number(undefined, { minimum: 0 });

export const RoutedBy = object(
  {
    configuration: text("First digits of the configuration hash, as in /configz and the log line configuration", {
      pattern: "^[0-9a-f]+$",
    }),
  },
  { generation: count("`metadata.generation` of the partner in that configuration") },
);
export type RoutedBy = Static<typeof RoutedBy>;

export const DeliveryWait = object(
  {
    kind: words(waitKinds, "Why the delivery waits; turn: for its turn, or it is in progress"),
    reason: nullable(text(), "What is missing, or the code of the last failure"),
    since: nullable(ref(Time), "For paused and held, the time since which the configuration contains it"),
    until: nullable(ref(Time), "Earliest time at which it ends"),
  },
  { since_at_latest: flag("Present if it started before since, because an earlier version did not record the time") },
);
export type DeliveryWait = Static<typeof DeliveryWait>;

export const AttemptSignature = object({
  scheme: words(signingSchemes, "Signing scheme"),
  key_ids: list(text(), "Ids of the keys that signed"),
  canonical: nullable(
    text(),
    "The signed text for the newest key, with ?*** for the query of the endpoint's URL. Tokens that are not " +
      "limited to the partner and lack the scope admin:debug see /*** for the path and hidden.invalid for the " +
      "host. Null if it is longer than 16 KiB",
  ),
  canonical_reason: nullable(
    words(canonicalReasons),
    "Why canonical differs from the signed text; null if it does not",
  ),
  headers: record(text(), { description: "Signature headers" }),
});
export type AttemptSignature = Static<typeof AttemptSignature>;

/**
 * - `secret`: it authorizes the request or may be a credential. It is not stored.
 * - `partner_only`: tokens of the partner and tokens with `admin:debug` see it.
 * - `truncated`: only its first 256 characters are stored.
 */
export const headerValueReasons = ["secret", "partner_only", "truncated"] as const;

export const AttemptRequest = object(
  {
    method: words(["POST"], "HTTP method"),
    url: nullable(
      text(),
      "URL with ?*** for its query. Null for tokens that are not limited to the partner and lack the scope admin:debug",
    ),
    headers: list(
      object({
        name: text("Name of the header"),
        value: nullable(text(), "Value of the header; null if it is not stored or not visible to you"),
        value_reason: nullable(
          words(headerValueReasons),
          "Why value is null or not the complete value; null if it is the complete value",
        ),
      }),
      "Headers that were sent, except Host, Connection and Content-Length",
    ),
  },
  {
    payload: list(
      object(
        {},
        { include: list(text(), "Values that were sent"), exclude: list(text(), "Values that were not sent") },
      ),
      "JSON pointers by which the body was selected; absent if it was the event, and for tokens limited to partners",
    ),
    body_sha256: text("SHA-256 of the body as signed; absent before the newest 64 attempts, and if a part is hidden"),
    body: text("The body as signed if it is not the event with `attempt` as its last member; up to 512 KiB in all"),
  },
);
export type AttemptRequest = Static<typeof AttemptRequest>;

/** Reasons of the records with which a delivery ends without a request. They are no attempts. */
export const unsentReasons: ReadonlySet<string> = new Set(["backlog_full", "held_expired", "partner_removed"]);

export const AttemptHistory = object(
  {
    attempt: integer("Number of the attempt, from 1", { minimum: 1 }),
    at: text("Start of the attempt", { format: "date-time" }),
    status: integerOrNull("HTTP status of the response; null without a response"),
    duration_ms: number("Duration in milliseconds", { minimum: 0 }),
    phases_ms: described(
      object({
        dns: nullable(milliseconds, "Name resolution"),
        connect: nullable(milliseconds, "TCP connection"),
        tls: nullable(milliseconds, "TLS handshake"),
        first_byte: nullable(milliseconds, "From the request to the first byte of the response"),
      }),
      "Durations of the phases in milliseconds; null for phases that did not take place",
    ),
    error: nullable(
      object({
        reason: text("Code of the failure"),
        detail: text("Description; with the scope admin:debug, the full failure"),
      }),
      "Why the attempt failed without a complete response; null otherwise",
    ),
    response: nullable(
      object({
        headers: record(text(), { description: "Recorded headers" }),
        body: text("Start of the body"),
        body_truncated: flag("True if the body was longer"),
      }),
      "Response of the endpoint; null if there was none",
    ),
    replay_id: nullable(text(), "Replay that the attempt belongs to; null if none"),
    settlement: described(
      object(
        {
          kind: words(
            ["delivered", "retry", "rejected", "dead", "disabled"],
            "Outcome of the delivery after the attempt",
          ),
        },
        { at: ref(Time, "Time of the next attempt of a retry") },
      ),
      "Result of the attempt",
    ),
    signed: nullable(ref(AttemptSignature), "Signature of the request; null if it is not recorded"),
  },
  {
    pod: text("Pod that made the attempt; requires the scope admin:debug"),
    request: ref(AttemptRequest, "The request; absent if nothing was sent, or if an earlier version made the attempt"),
    warnings: list(text(), "A problem that did not affect the outcome, such as a folded header or a repeated request"),
  },
);
export type AttemptHistory = Static<typeof AttemptHistory>;
export type PhasesMs = AttemptHistory["phases_ms"];
export type RecordedResponse = NonNullable<AttemptHistory["response"]>;
export type AttemptSettlement = AttemptHistory["settlement"];

export const DeliveryHistory = object(
  {
    partner: text("Partner, as `namespace/name`"),
    state: words(deliveryStates, "State of the delivery"),
    generation: count("0 for the original delivery; incremented by each replay"),
    reason: nullable(text(), "Why the delivery ended or is held; null otherwise"),
    next_attempt_at: nullable(ref(Time), "Time of the next attempt; null without one"),
    handled: nullable(words(["manual"]), "`manual` if the delivery was marked as handled; null otherwise"),
    waiting: nullable(ref(DeliveryWait), "Why the delivery waits; null if it does not"),
    routed_by: nullable(ref(RoutedBy), "Configuration that routed the event to the partner; null if that is unknown"),
    attempts: list(ref(AttemptHistory), "Attempts in order, and an end without a request"),
  },
  { acknowledged: ref(ManualAcknowledgement, "Who marked the delivery as handled; absent if it was not marked") },
);
export type DeliveryHistory = Static<typeof DeliveryHistory>;

export const EventHistory = object(
  {
    event: anyObject("The event as it was accepted"),
    accepted_at: ref(Time, "Time at which the event was stored"),
    routed_at: nullable(ref(Time), "Time of routing to no partner, or not to each one; null otherwise"),
    routed_by: nullable(ref(RoutedBy), "Configuration that routed the event to no partner; null if one did"),
    deliveries: list(ref(DeliveryHistory), "One for each partner and replay"),
  },
  { explanation: ref(EventExplanation, "With explain=true: why each partner got the event or did not") },
);
export type EventHistory = Static<typeof EventHistory>;

export type EventPage = Static<typeof EventPage>;

export const EventSummary = object({
  event_id: text("Id of the event"),
  type: text("Type of the event"),
  tenant: text("Tenant of the event"),
  accepted_at: ref(Time, "Time at which the event was stored"),
  routed_at: nullable(ref(Time), "Time of routing to no partner, or not to each one; null otherwise"),
  deliveries: list(
    object({
      partner: text("Partner, as `namespace/name`"),
      state: words(deliveryStates, "State of the newest delivery to the partner"),
      reason: nullable(text(), "Why the delivery ended or is held; null otherwise"),
      status: integerOrNull("HTTP status of the last attempt; null without a response"),
      attempts: count("Number of attempts, without an end for which nothing was sent"),
      waiting: nullable(ref(DeliveryWait), "Why it waits; up to one second old"),
    }),
    "Newest delivery to each partner",
  ),
});
export type DeliverySummary = EventSummary["deliveries"][number];
export type EventSummary = Static<typeof EventSummary>;

export const EventPage = object({
  data: list(ref(EventSummary), "Items of the page"),
  meta: ref(EventPageMeta, "About the page"),
});
