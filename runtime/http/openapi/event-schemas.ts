import { signingSchemes } from "../../../crds/signing-key.ts";
import { settlementTable } from "../../webhooks/settlement/settlement-table.ts";
import { deliveryStates } from "../../webhooks/history/delivery-histories.ts";
import { answerClasses } from "../../webhooks/history/partner-stats.ts";
import { partnerStates } from "../../webhooks/history/partner-list.ts";
import { canonicalReasons } from "../../webhooks/history/signature-history.ts";
import { waitKinds } from "../../webhooks/history/delivery-wait.ts";
import { breakerNames } from "../../webhooks/live/live-state.ts";
import { requestForms } from "../../webhooks/replay/request-forms.ts";
import { ownDomain } from "../../webhooks/events/reserved-types.ts";
import { count, flag, list, object, ref, text, words, type JsonSchema, type SchemaSet } from "./json-schema.ts";

const nullable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: "null" }] });

const settlementKinds = Object.keys(settlementTable);
const duration: JsonSchema = { type: "number", minimum: 0 };
const met = { matched: count, in_progress: count, too_old: count, missing: count };

const progress = {
  replay_id: text(),
  status: words(["queued", "running", "completed", "cancelled", "failed"]),
  created_at: ref("Time"),
  ...met,
  published: count,
  delivered: count,
  failed: count,
  detail: nullable(text({ description: "Why it failed or does not go on now" })),
};

const partnerSummary = {
  partner: text(),
  state: words(partnerStates),
  reason: nullable(text()),
  missing: nullable(text()),
  rejected: nullable(object({ reason: text(), message: nullable(text()) })),
  subscriptions: list(object({ name: text(), types: list(text()), tenants: list(text()) })),
  keys: list(object({ id: text(), not_after: nullable(ref("Time")) })),
};

/** Requests and responses of the webhook API. Source: seed "Webhook Event Delivery" §2 and §4.2. */
export const eventSchemas: SchemaSet = {
  EventEnvelope: {
    ...object(
      {
        event_id: text({ pattern: "^[\\x21-\\x7e]{1,128}$" }),
        type: text({
          maxLength: 128,
          pattern: "^[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]+)+$",
          not: { pattern: `^${ownDomain}\\.` },
        }),
        version: text({ format: "date" }),
        ts: ref("Time"),
      },
      {
        producer: text({ maxLength: 128, pattern: "^[\\x21-\\x7e]([\\x20-\\x7e]*[\\x21-\\x7e])?$" }),
        tenant: text({ pattern: "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$" }),
        data: { type: "object" },
      },
    ),
    // The sender numbers attempts.
    not: { required: ["attempt"] },
  },
  EventOrBatch: { anyOf: [ref("EventEnvelope"), list(ref("EventEnvelope"), { minItems: 1, maxItems: 500 })] },
  EventAnswer: { anyOf: [ref("EventAccepted"), ref("BatchAnswer")] },
  BatchAnswer: object({
    results: list({ anyOf: [ref("EventVerdict"), object({ status: count, error: ref("Problem") })] }),
  }),
  EventVerdict: object({ status: count, event_id: text(), tenant: text(), duplicate: flag }),
  EventAccepted: object({ event_id: text(), tenant: text(), duplicate: flag }),
  EventHistory: object({
    event: { type: "object" },
    accepted_at: ref("Time"),
    routed_at: nullable(ref("Time")),
    routed_by: nullable(ref("RoutedBy")),
    deliveries: list(ref("DeliveryHistory")),
  }),
  RoutedBy: object(
    {
      configuration: text({
        description: "First digits of the configuration's hash, as /configz and the log line configuration report it",
        pattern: "^[0-9a-f]+$",
      }),
    },
    { generation: { ...count, description: "metadata.generation of the partner in that configuration" } },
  ),
  DeliveryWait: object({
    kind: { ...words(waitKinds), description: "Why the delivery waits; turn: for a place, or it is in work" },
    reason: nullable(text({ description: "What is missing, or the code of the last failure" })),
    since: { ...nullable(ref("Time")), description: "For paused and held, when the configuration first had it" },
    until: { ...nullable(ref("Time")), description: "Time until which it lasts at least" },
  }),
  DeliveryHistory: object({
    partner: text(),
    state: words(deliveryStates),
    generation: { ...count, description: "0 for the event itself; each replay is one more" },
    reason: nullable(text()),
    next_attempt_at: nullable(ref("Time")),
    handled: nullable(words(["manual"])),
    waiting: nullable(ref("DeliveryWait")),
    routed_by: nullable(ref("RoutedBy")),
    attempts: list(ref("AttemptHistory")),
  }),
  AttemptHistory: object(
    {
      attempt: { type: "integer", minimum: 1 },
      at: text({ format: "date-time" }),
      status: { type: ["integer", "null"] },
      duration_ms: { type: "number", minimum: 0 },
      phases_ms: object({
        dns: nullable(duration),
        connect: nullable(duration),
        tls: nullable(duration),
        first_byte: nullable(duration),
      }),
      error: nullable(
        object({
          reason: text(),
          detail: text({ description: "A sentence; with the scope admin:debug the failure in full" }),
        }),
      ),
      response: nullable(
        object({ headers: { type: "object", additionalProperties: text() }, body: text(), body_truncated: flag }),
      ),
      replay_id: nullable(text()),
      settlement: object({ kind: words(settlementKinds) }, { at: ref("Time") }),
      signed: nullable(ref("AttemptSignature")),
    },
    {
      pod: text({ description: "Who made the attempt; with the scope admin:debug" }),
      warnings: list(
        text({
          description:
            "A fault that did not decide the outcome, such as a folded header or a request that was sent again",
        }),
      ),
    },
  ),
  AttemptSignature: object({
    scheme: words(signingSchemes),
    key_ids: list(text()),
    canonical: nullable(
      text({
        description:
          "The text under the signature of the newest key, with ?*** for the query of the endpoint's URL. Tokens " +
          "that are not narrowed to the partner, without the scope admin:debug, see /*** for its path and " +
          "hidden.invalid for its host. Null when it is longer than 16 KiB",
      }),
    ),
    canonical_reason: {
      ...nullable(words(canonicalReasons)),
      description: "Why canonical is not the text that was signed; null when it is",
    },
    headers: { type: "object", additionalProperties: text() },
  }),
  EventIdUse: object({
    event_id: text(),
    events: list(object({ tenant: text(), type: text(), accepted_at: ref("Time") })),
    refused: list(object({ tenant: text(), held_by: text(), at: ref("Time") })),
  }),
  EventPage: object({ data: list(ref("EventSummary")), meta: ref("EventPageMeta") }),
  EventPageMeta: object(
    { cursor: nullable(text({ description: "For the next page; null at the end, unless the request waited" })) },
    {
      newest: text({ description: "With the order desc: the cursor to follow new events with, in the order asc" }),
      complete: {
        type: "boolean",
        description: "With the order desc: false when the index does not reach back to from",
      },
    },
  ),
  CursorMeta: object({ cursor: nullable(text({ description: "For the next page; null at the end" })) }),
  EventSummary: object({
    event_id: text(),
    type: text(),
    tenant: text(),
    accepted_at: ref("Time"),
    routed_at: nullable(ref("Time")),
    deliveries: list(
      object({
        partner: text(),
        state: words(deliveryStates),
        reason: nullable(text()),
        status: { type: ["integer", "null"] },
        attempts: count,
        waiting: { ...nullable(ref("DeliveryWait")), description: "Why it waits; it may be a second old" },
      }),
    ),
  }),
  ReplayRequest: {
    ...requestForms.replay,
    // Ids alone, or a window that has a beginning.
    oneOf: [
      {
        required: ["event_ids"],
        not: { anyOf: ["from", "to", "after_id", "before_id"].map((name) => ({ required: [name] })) },
      },
      { anyOf: [{ required: ["from"] }, { required: ["after_id"] }], not: { required: ["event_ids"] } },
    ],
  },
  RedriveRequest: requestForms.redrive,
  Replay: object(progress),
  ReplayPage: object({ data: list(ref("ReplaySummary")), meta: ref("CursorMeta") }),
  ReplaySummary: object({
    ...progress,
    kind: words(["replay", "redrive"]),
    requested_by: nullable(text({ description: "Client of the token; null for a replay of an earlier version" })),
    filter: object({ partners: list(text()), types: list(text()), only_failed: flag }),
    window: nullable(object({ from: nullable(ref("Time")), to: ref("Time") })),
    event_ids: nullable({ ...count, description: "How many ids were asked for; null without ids" }),
  }),
  DryRun: object({ dry_run: flag, ...met, complete: flag }),
  DeadLetterPage: object({
    data: list(ref("DeadLetter")),
    meta: object(
      { cursor: nullable(text({ description: "For the next page; null at the end" })) },
      { complete: { ...flag, description: "False when older ones are left out; given without partner, or with desc" } },
    ),
  }),
  DeadLetterCounts: object({
    data: list(object({ partner: text(), reason: text(), count, oldest_at: ref("Time"), newest_at: ref("Time") })),
    meta: object({ complete: { ...flag, description: "False when there are more than were counted" } }),
  }),
  DeadLetter: object({
    event_id: text(),
    tenant: text(),
    type: text(),
    partner: text(),
    state: words(["rejected", "dead"]),
    reason: text(),
    attempts: count,
    ended_at: ref("Time"),
    replay_id: nullable(text()),
  }),
  PartnerPage: object({ data: list(ref("PartnerSummary")), meta: ref("CursorMeta") }),
  PartnerSummary: object(partnerSummary),
  PartnerDetail: object({
    ...partnerSummary,
    signing: object({ scheme: text() }),
    retry: object({ schedule_seconds: list(count), max_age_seconds: count, jitter_percent: count }),
    delivery: object({
      max_in_flight: count,
      rate_per_second: nullable({ type: "number", minimum: 0 }),
      max_backlog: nullable(count),
    }),
    live: ref("PartnerLive"),
  }),
  PartnerLive: object({
    known: { ...flag, description: "False when the owning pod did not answer: the figures are the last known ones" },
    hidden: {
      ...flag,
      description: "True when the partner also gets events of tenants outside the token: no figure is shown",
    },
    as_of: nullable(ref("Time")),
    age_seconds: nullable({ type: "number", minimum: 0 }),
    breaker: nullable(words(breakerNames)),
    breaker_until: nullable(ref("Time")),
    backlog: nullable(count),
    in_flight: nullable(count),
    oldest_due_at: nullable(ref("Time")),
  }),
  PartnerStats: object({
    data: list(ref("PartnerStatsPoint")),
    meta: object({
      partner: text(),
      from: ref("Time"),
      to: ref("Time"),
      step_seconds: count,
      complete: { type: "boolean", description: "False when attempts of the window may be missing" },
    }),
  }),
  PartnerStatsPoint: object({
    at: ref("Time"),
    delivered: count,
    rejected: count,
    dead: count,
    retried: count,
    answers: object(Object.fromEntries(answerClasses.map((name) => [name, count]))),
    p50_ms: nullable(duration),
    p95_ms: nullable(duration),
  }),
  PublicKeySet: object({
    keys: list(
      object(
        {
          kty: words(["OKP", "EC"]),
          crv: text(),
          x: text(),
          kid: text(),
          alg: words(["EdDSA", "ES256", "ES384"]),
          use: words(["sig"]),
        },
        { y: text() },
      ),
    ),
  }),
  PingRequest: requestForms.ping,
  Ping: object({ event_id: text(), tenant: text(), partner: text() }),
  AckRequest: requestForms.ack,
  Ack: object({
    event_id: text(),
    partner: text(),
    state: words(["delivered"]),
    handled: words(["manual"]),
    recipient: nullable(object({ status: { type: ["integer", "null"] }, error: nullable(text()) })),
  }),
};
