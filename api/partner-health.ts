import { Time } from "./documents.ts";
import { eventTypeStates } from "./events.ts";
import {
  constantTrue,
  count,
  flag,
  integer,
  integerOrNull,
  list,
  nullable,
  number,
  object,
  ref,
  text,
  words,
  type Static,
} from "./schema.ts";

const milliseconds = number(undefined, { minimum: 0 });

/** How deliveries to a partner are now. If several apply, the last one is reported. */
export const partnerHealthKinds = [
  "healthy",
  "failing",
  "circuit_open",
  "rate_limited",
  "paused",
  "disabled",
  "held",
  "rejected",
] as const;
export type PartnerHealthKind = (typeof partnerHealthKinds)[number];

export const PartnerHealth = object({
  kind: words(
    partnerHealthKinds,
    "`failing`: at least half of 3 or more attempts in the last 15 minutes failed; with fewer attempts, 3 or more " +
      "failed since the last success, within 24 hours. `held`: also without a valid signing key",
  ),
  reason: nullable(text(), "Why, in a few words; null if healthy or if the configuration pauses the partner"),
  since: nullable(
    ref(Time),
    "Since when. If failing: the minute of the first failure after the last 5 minutes in which most attempts " +
      "succeeded, also if the newest attempts succeeded again. Null if healthy, rejected or unknown",
  ),
  until: nullable(ref(Time), "Earliest time at which it ends; null if unknown"),
});
export type PartnerHealth = Static<typeof PartnerHealth>;

export const PartnerRecent = object({
  attempts: count("Attempts of the last 24 hours"),
  success_rate: nullable(
    number(undefined, { minimum: 0, maximum: 1 }),
    "Share of these attempts that succeeded; null without attempts",
  ),
  p95_ms: nullable(milliseconds, "95th percentile of their durations in milliseconds, within 5 %; null without any"),
  last_success_at: nullable(
    ref(Time),
    "Start of the last successful attempt; null if none is known, which covers at least the last 48 hours",
  ),
  complete: flag("False if figures of the last 24 hours may be missing"),
});
export type PartnerRecent = Static<typeof PartnerRecent>;

const cause = {
  at: ref(Time, "Start of the attempt"),
  status: integerOrNull("HTTP status of the response; null without a response"),
  reason: text("Code of the failure, as by which events are listed"),
};

/** A failed attempt as lists have it. */
export const FailureCause = object(cause);
export type FailureCause = Static<typeof FailureCause>;

export const PartnerFailure = object({
  event_id: text("Id of the event"),
  attempt: integer("Number of the attempt, from 1", { minimum: 1 }),
  ...cause,
  detail: nullable(text(), "Why there is no response, as in the history of the event; null with a response"),
  response_body: nullable(text(), "Start of the recorded body of the response; null without a response"),
});
export type PartnerFailure = Static<typeof PartnerFailure>;

/**
 * Why a partner did not get an event.
 * - `type`, `tenant`, `producer`, `matcher`: what its nearest subscription requires and the event does not meet.
 * - `withdrawn`: a subscription matches, but its permission was withdrawn. `withdrawn_other`: so were all, and none
 *   matches.
 * - `matches_now`: a subscription matches now, and did not when the event was routed.
 * - `no_record`: a subscription matches, but no delivery is recorded.
 * - `would_be_routed`: a dry run found a subscription that matches.
 * - `duplicate`: so it did, but the same event is stored already, and sending it again routes nothing.
 * - `not_applied`: its definition is rejected. `about_partner`: the event is about it. `ping`: it is for another one.
 */
const absenceReasons = [
  "type",
  "tenant",
  "producer",
  "matcher",
  "withdrawn",
  "withdrawn_other",
  "matches_now",
  "no_record",
  "would_be_routed",
  "duplicate",
  "not_applied",
  "about_partner",
  "ping",
] as const;

export const PartnerExplanation = object({
  partner: text("Partner, as `namespace/name`"),
  routed: flag("True if a delivery was created; a dry run creates none"),
  reason: text(
    "Why the partner got no delivery: " +
      `${absenceReasons.join(", ")}. With a delivery: why it waits, why it ended, or its state`,
  ),
  state: nullable(
    text(),
    "State of the delivery; for not_applied, the reason of the rejection; for would_be_routed, what keeps deliveries " +
      "to the partner waiting now",
  ),
  subscription: nullable(text(), "Subscription that matches or is nearest to a match; null if none is named"),
  matcher: nullable(
    object({
      operator: text("Operator of the matcher"),
      pointer: text("JSON pointer that it compares"),
      found: text("Kind of the value in the event, missing, or hidden if the token may not see the value"),
      value: nullable(text(), "Value in the event, at most 200 characters; null for objects, arrays and no value"),
    }),
    "Matcher that the event does not meet; null for other reasons",
  ),
});
export type PartnerExplanation = Static<typeof PartnerExplanation>;

/** What event catalogs declare of the version of an event now. */
export const EventDeclaration = object({
  state: words(
    [...eventTypeStates, "Undeclared"],
    "`Deprecated`: new events are accepted until `sunset_at`. `Retired`: no longer. `Undeclared`: no event catalog " +
      "declares the type with this version",
  ),
  sunset_at: nullable(ref(Time), "Time from which new events of the version are rejected; null if it has no end"),
});
export type EventDeclaration = Static<typeof EventDeclaration>;

export const EventExplanation = object({
  declaration: ref(EventDeclaration, "State of the event's type and version now"),
  evaluated: words(
    ["at_routing", "now"],
    "Whether the configuration that routed the event was evaluated, or the present one, because the other is unknown " +
      "or no longer applied",
  ),
  configuration: nullable(text(), "Hash of the configuration that was evaluated; null if it is unknown"),
  routed_by: nullable(
    text(),
    "First digits of the hash of the configuration that routed the event; null if it is unknown or not one only",
  ),
  partners: list(ref(PartnerExplanation), "Partners visible to the token, by name"),
  cursor: nullable(text(), "Cursor of the next page; null at the end"),
});
export type EventExplanation = Static<typeof EventExplanation>;

export const EventDryRun = object({
  dry_run: constantTrue("The event is valid, and was not stored"),
  event_id: text("Id of the event"),
  tenant: text("Tenant of the event"),
  type: text("Type of the event"),
  duplicate: flag(
    "True if the same event is stored already: sending it again returns 202 with `duplicate`, and routes nothing",
  ),
  declaration: ref(EventDeclaration, "State of the event's type and version now"),
  explanation: nullable(
    ref(EventExplanation),
    "Which partners would get the event, and why the others would not; null unless the token may read events",
  ),
});
export type EventDryRun = Static<typeof EventDryRun>;

/** Fields with a class of an event type that a partner newly gets or no longer gets by an edit. */
export const changedPayload = object({
  partner: text("Partner, as `namespace/name`"),
  type: text("Event type"),
  visible: list(text(), "JSON Pointers of sensitive fields that the partner newly gets"),
  hidden: list(text(), "JSON Pointers of sensitive fields that the partner no longer gets"),
});
