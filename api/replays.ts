import { Time, writtenTime } from "./documents.ts";
import { CursorMeta, eventTexts } from "./events.ts";
import { FailureCause } from "./partner-health.ts";
import {
  closedObject,
  count,
  described,
  flag,
  integer,
  integerOrNull,
  list,
  nullable,
  object,
  ref,
  text,
  words,
  type Static,
} from "./schema.ts";

export const eventIdsMax = 1_000;
export const ratePerSecondMax = 10_000;
/** Most entries of one filter. */
export const filterMax = 64;
export const noteCharactersMax = 1_024;

export const ManualAcknowledgement = object({
  at: ref(Time, "Time of the acknowledgement"),
  by: nullable(text(), "Client of the token; null for tokens that are limited to partners, and if unknown"),
  note: nullable(text(), "Note of the acknowledgement; null without one"),
});
export type ManualAcknowledgement = Static<typeof ManualAcknowledgement>;

export const tenantName = { pattern: "^[A-Za-z0-9_-]{1,64}$" };
export const partnerName = { pattern: "^[a-z0-9][a-z0-9.-]{0,252}[/][a-z0-9][a-z0-9.-]{0,252}$" };
export const eventIds = (description: string) =>
  list(text(undefined, eventTexts.event_id), description, { minItems: 1, maxItems: eventIdsMax });
export const types = list(
  text(undefined, { pattern: "^[A-Za-z0-9_*-]+(?:[.][A-Za-z0-9_*-]+)*$" }),
  "Patterns of event types. Default: all",
  { maxItems: filterMax },
);
export const rate = integer(
  "Deliveries published per second at most. Defaults to 100. New events of a partner go first",
  {
    minimum: 1,
    maximum: ratePerSecondMax,
  },
);

/** What counts of dead letters can be grouped by. */
export const deadLetterGroups = ["reason", "type", "partner", "tenant"] as const;

/** Members that bound the window of a replay. */
export const windowBounds = ["from", "to", "after_id", "before_id"] as const;

/** A replay by its members alone. */
export const replayForm = closedObject(
  {},
  {
    event_ids: eventIds("Events to replay; cannot be combined with a window"),
    from: text("Start of the window by time of acceptance", writtenTime),
    to: text("End of the window. Default: now", writtenTime),
    after_id: text("Starts the window after this event", eventTexts.event_id),
    before_id: text("Ends the window before this event", eventTexts.event_id),
    partners: list(
      text(undefined, partnerName),
      "Partners to deliver to, as `namespace/name`. Default: all that match",
      { maxItems: filterMax },
    ),
    types,
    only_failed: flag("True to replay failed deliveries only"),
    force: flag("True to include events that the partner may no longer deduplicate"),
    dry_run: flag("True to count the deliveries without replaying them"),
    rate_per_second: rate,
  },
);

/** Ids alone, or a window that has a beginning. */
export const ReplayRequest: typeof replayForm = {
  ...replayForm,
  oneOf: [
    {
      required: ["event_ids"],
      not: { anyOf: windowBounds.map((name) => ({ required: [name] })) },
    },
    { anyOf: [{ required: ["from"] }, { required: ["after_id"] }], not: { required: ["event_ids"] } },
  ],
};
export type ReplayRequest = Static<typeof ReplayRequest>;
export type Replay = Static<typeof Replay>;

const counted = {
  matched: count("Deliveries that the request selects; grows during the replay"),
  in_progress: count("Of these, skipped because they are still in progress"),
  too_old: count("Of these, skipped because the partner may no longer deduplicate the event id; `force` includes them"),
  missing: count("Requested event ids that are not stored"),
};

const progress = {
  replay_id: text("Id of the replay"),
  status: words(["queued", "running", "completed", "cancelled", "failed"], "Progress of the replay"),
  created_at: ref(Time, "Time of the request"),
  ...counted,
  published: count("Redelivered events"),
  delivered: count("Of these, those that a partner acknowledged"),
  failed: count("Of these, those that were rejected or became dead letters"),
  detail: nullable(text(), "Why it failed or is waiting"),
};

const jobProgress = {
  expected: count("Matches counted before the start; absent if they were not counted"),
  acknowledged: count("Acknowledged dead letters; present in acknowledgements only"),
};

export const Replay = object(progress, jobProgress);

const summary = {
  ...progress,
  kind: words(["replay", "redrive", "acknowledge"], "`redrive` and `acknowledge`: of dead letters"),
  requested_by: nullable(text(), "Client of the token; null for a replay of an earlier version"),
  filter: described(
    object({
      partners: list(text(), "Partners, as `namespace/name`"),
      types: list(text(), "Patterns of event types"),
      only_failed: flag("True to replay failed deliveries only"),
    }),
    "Filters of the replay; an empty list does not filter",
  ),
  window: nullable(
    object({ from: nullable(ref(Time), "Start; null if the window starts with an event id"), to: ref(Time, "End") }),
    "Window of the events; null for a replay by ids",
  ),
  event_ids: nullable(count(), "Number of requested ids; null without ids"),
};

export const ReplaySummary = object(summary, {
  ...jobProgress,
  reason: text("Reason of the selected dead letters; absent for all reasons"),
  note: text("Note of an acknowledgement; absent without one"),
  selected_partners: list(
    text(),
    "Partners of the deliveries selected so far, at most 64; absent if the filter names them or none is known",
  ),
});
export type ReplaySummary = Static<typeof ReplaySummary>;

export const ReplayPage = object({
  data: list(ref(ReplaySummary), "Items of the page"),
  meta: ref(CursorMeta, "About the page"),
});

export const DryRun = object(
  {
    dry_run: flag("True: nothing was replayed"),
    ...counted,
    complete: flag("True if the count is exact; false if there are more deliveries than were counted"),
  },
  { limit: count("Maximum number of dead letters per request; a larger selection is rejected") },
);
export type DryRun = Static<typeof DryRun>;

export const DeadLetter = object(
  {
    event_id: text("Id of the event"),
    tenant: text("Tenant of the event"),
    type: text("Type of the event"),
    partner: text("Partner, as `namespace/name`"),
    state: words(["rejected", "dead"], "`rejected` by the partner, or `dead`"),
    reason: text("Why the delivery ended"),
    attempts: count("Number of attempts, without an end for which nothing was sent"),
    ended_at: ref(Time, "End of the delivery"),
    replay_id: nullable(text(), "Replay that the delivery belongs to; null if none"),
  },
  {
    dead_letter_id: text("Id of the dead letter"),
    detail: text("Why nothing was sent, as in the history of the event; absent if the last attempt ended the delivery"),
    last_failure: nullable(
      ref(FailureCause),
      "The last failed attempt of the delivery, or else of the partner for the tenants of the token; null if none is " +
        "known. Present if the delivery ended without a request because of failures",
    ),
  },
);
export type DeadLetter = Static<typeof DeadLetter>;

export const DeadLetterPage = object({
  data: list(ref(DeadLetter), "Items of the page"),
  meta: described(
    object(
      { cursor: nullable(text(), "Cursor of the next page; null at the end") },
      { complete: flag("False if older ones are omitted; absent only in a partner's list, oldest first") },
    ),
    "About the page",
  ),
});

export const DeadLetterCounts = object({
  data: list(
    object(
      {
        partner: text("Partner, as `namespace/name`; `*` if the counts are grouped by another member"),
        reason: text("Why the deliveries ended; `*` if the counts are grouped by another member"),
        count: count("Number of dead letters"),
        oldest_at: ref(Time, "End of the oldest delivery"),
        newest_at: ref(Time, "End of the newest delivery"),
      },
      {
        type: text("Type of the events; present if grouped by type"),
        tenant: text("Tenant of the events; present if grouped by tenant"),
        partners: count("Number of partners; present with group_by"),
        last_failure: nullable(
          ref(FailureCause),
          "The last failed attempt of the partner; null if none is known. Present without group_by for reasons that " +
            "have no request",
        ),
      },
    ),
    "Dead letters by partner and reason, or as group_by says",
  ),
  meta: described(object({ complete: flag("False if there are more than were counted") }), "About the counts"),
});
export type DeadLetterCount = DeadLetterCounts["data"][number];
export type DeadLetterCounts = Static<typeof DeadLetterCounts>;

export const AckRequest = closedObject(
  {
    event_id: text("Id of the event", eventTexts.event_id),
    partner: text("Partner, as `namespace/name`", partnerName),
  },
  {
    note: text("Reason, for the record", { maxLength: noteCharactersMax }),
    tenant: text("Tenant of the event", tenantName),
  },
);

export const Ack = object({
  event_id: text("Id of the event"),
  partner: text("Partner, as `namespace/name`"),
  state: words(["delivered"], "State of the delivery"),
  handled: words(["manual"], "It was marked as handled"),
  recipient: nullable(
    object({
      status: integerOrNull("HTTP status; null without a response"),
      error: nullable(text(), "Why there is no response; null if there is one"),
    }),
    "What the partner's status endpoint returned; null if it was not requested",
  ),
});
export type Ack = Static<typeof Ack>;
