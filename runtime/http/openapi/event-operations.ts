import { orders, waitSecondsMax } from "../../../api/events.ts";
import { writtenTime } from "../../../api/documents.ts";
import { deadLetterGroups } from "../../../api/replays.ts";
import { listedStates } from "../../../api/histories.ts";
import { words } from "../../../api/schema.ts";
import { cursor, limit, paging, parameter, pathParameter, textParameter, type Operation } from "./operation.ts";

const eventId = pathParameter("id", "Event id");
const replayId = pathParameter("id", "Replay id");
const reasonKeywords = { pattern: "^[a-z0-9_]{1,64}$" };
const deadLetterFilters = [
  textParameter("partner", "Only dead letters of this partner", {}, { example: "default/acme" }),
  textParameter("reason", "Only dead letters with this reason", reasonKeywords, { example: "status_404" }),
  textParameter("type", "Only dead letters of events of this type or type pattern", {}, { example: "payout.*" }),
  textParameter("tenant", "Only dead letters of events of this tenant"),
  textParameter("from", "Only deliveries that ended at or after this time", writtenTime, {
    example: "2026-01-31T00:00:00.000Z",
  }),
  textParameter("to", "Only deliveries that ended before this time", writtenTime),
];
/** The last partner of the page before. */
const partnerCursor = String.raw`^[a-z0-9.\-]{1,253}/[a-z0-9.\-]{1,253}$`;
const orderWords = { ...words(orders), default: "asc" };

/** `POST /events` */
export const ingestOperation: Operation = {
  id: "acceptEvent",
  summary: "Store an event, or a list of events, and deliver each to every partner that subscribes to it",
  parameters: [
    parameter("dry_run", "true: check one event, store nothing, and explain which partners would get it", {
      ...words(["true", "false"]),
      default: "false",
    }),
    textParameter("partner", "With dry_run: only this partner", {}, { example: "default/acme" }),
    cursor(partnerCursor),
    limit,
  ],
  bodySchema: "EventOrBatch",
  otherBodies: {
    "application/cloudevents+json": "CloudEvent",
    "application/cloudevents-batch+json": "CloudEventBatch",
  },
  responses: {
    "200": { description: "With dry_run: the event is valid, and was not stored", schema: "EventDryRun" },
    "202": { description: "The event is stored, or every event of the list", schema: "EventAnswer" },
    "207": { description: "Some events of the list are rejected", schema: "BatchAnswer" },
  },
};

/** `GET /webhooks/events/:id` */
export const historyOperation: Operation = {
  id: "readEvent",
  summary: "The original event and every attempt to deliver it",
  parameters: [
    eventId,
    parameter("explain", "true: also explain for each partner why it got the event or did not", {
      ...words(["true", "false"]),
      default: "false",
    }),
    textParameter("partner", "With explain: only this partner", {}, { example: "default/acme" }),
    cursor(partnerCursor),
    limit,
  ],
  responses: { "200": { description: "The event", schema: "EventHistory" } },
};

/** `GET /webhooks/event-ids/:id` */
export const eventIdOperation: Operation = {
  id: "readEventIdUse",
  summary: "Tenants that use an event id, and tenants whose events with it were rejected",
  parameters: [eventId],
  responses: { "200": { description: "The tenants", schema: "EventIdUse" } },
};

/** `GET /webhooks/events` */
export const listOperation: Operation = {
  id: "listEvents",
  summary: "Events of the caller's tenants with the states of their deliveries, by time",
  parameters: [
    textParameter("from", "Accepted at or after this time in the past. Default: one day before the end", writtenTime, {
      example: "2026-01-31T00:00:00.000Z",
    }),
    textParameter("to", "Accepted before this time", writtenTime),
    textParameter("after_id", "Start after this event"),
    textParameter("before_id", "End before this event"),
    textParameter("type", "Event type or type pattern", {}, { example: "payout.*" }),
    textParameter("partner", "Only events with a delivery to this partner", {}, { example: "default/acme" }),
    parameter("state", "Only events with a delivery in this state; failed: rejected or dead", words(listedStates)),
    textParameter(
      "status",
      "Only events with a delivery whose last response had this status or status class, or none",
      { pattern: "^(?:[1-5][0-9][0-9]|[1-5]xx|none)$" },
      { example: "5xx" },
    ),
    textParameter("reason", "Only events with a delivery that has this reason", reasonKeywords, {
      example: "status_404",
    }),
    parameter(
      "order",
      "Order by time of acceptance; `desc` is newest first. A cursor is only valid with its order",
      orderWords,
    ),
    parameter("wait", "Seconds to wait for the first event after the cursor; with the order `asc`", {
      type: "integer",
      minimum: 0,
      maximum: waitSecondsMax,
      default: 0,
    }),
    ...paging,
  ],
  responses: { "200": { description: "Events", schema: "EventPage" } },
};

/** `POST /webhooks/replay` */
export const replayOperation: Operation = {
  id: "startReplay",
  summary: "Redeliver events by id or by time range",
  bodySchema: "ReplayRequest",
  bodyExample: {
    from: "2026-01-31T00:00:00.000Z",
    to: "2026-01-31T12:00:00.000Z",
    partners: ["default/acme"],
    only_failed: true,
  },
  responses: {
    "200": { description: "Counts of a dry run", schema: "DryRun" },
    "202": { description: "The replay is accepted", schema: "Replay" },
  },
};

/** `GET /webhooks/replay` */
export const listReplaysOperation: Operation = {
  id: "listReplays",
  summary: "Replays and redrives visible to the caller, with their requesters and filters, newest first",
  parameters: [
    textParameter("partner", "Only replays that may send to this partner", {}, { example: "default/acme" }),
    cursor("^[0-9]{1,15}-[A-Za-z0-9_-]{1,64}$"),
    limit,
  ],
  responses: { "200": { description: "Replays", schema: "ReplayPage" } },
};

/** `GET /webhooks/replay/:id` */
export const readReplayOperation: Operation = {
  id: "readReplay",
  summary: "A replay, a redrive or an acknowledgement: who requested it, its filters and its progress",
  parameters: [replayId],
  responses: { "200": { description: "The replay", schema: "ReplaySummary" } },
};

/** `DELETE /webhooks/replay/:id` */
export const cancelReplayOperation: Operation = {
  id: "cancelReplay",
  summary: "Cancel a replay, a redrive or an acknowledgement: the rest is not processed",
  parameters: [replayId],
  responses: { "200": { description: "The cancelled replay", schema: "Replay" } },
};

/** `GET /webhooks/dead-letters` */
export const deadLettersOperation: Operation = {
  id: "listDeadLetters",
  summary: "Failed deliveries, to one partner or to all partners visible to the caller",
  parameters: [...deadLetterFilters, parameter("order", "desc: newest first", orderWords), ...paging],
  responses: { "200": { description: "Dead letters", schema: "DeadLetterPage" } },
};

/** `GET /webhooks/dead-letters/counts` */
export const deadLetterCountsOperation: Operation = {
  id: "countDeadLetters",
  summary: "Counts of dead letters by partner and reason or by one of their members, largest first",
  parameters: [
    ...deadLetterFilters,
    parameter("group_by", "Member to group by. Default: partner and reason", words(deadLetterGroups)),
  ],
  responses: { "200": { description: "Counts", schema: "DeadLetterCounts" } },
};

/** `POST /webhooks/dead-letters/redrive` */
export const redriveOperation: Operation = {
  id: "redriveDeadLetters",
  summary: "Redeliver the dead letters that match all filters",
  bodySchema: "RedriveRequest",
  bodyExample: { partner: "default/acme", reason: "status_404", from: "2026-01-31T10:00:00.000Z", rate_per_second: 50 },
  responses: {
    "200": { description: "Counts of a dry run", schema: "DryRun" },
    "202": { description: "The redrive is accepted; it is a replay", schema: "Replay" },
  },
};

/** `POST /webhooks/dead-letters/ack` */
export const acknowledgeOperation: Operation = {
  id: "acknowledgeDeadLetters",
  summary: "Acknowledge the dead letters that match all filters and were handled manually",
  bodySchema: "AcknowledgeRequest",
  bodyExample: { partner: "default/acme", reason: "status_404", note: "booked by hand" },
  responses: {
    "200": { description: "Counts of a dry run", schema: "DryRun" },
    "202": { description: "The acknowledgement is accepted; its progress is that of a replay", schema: "Replay" },
  },
};

/** `POST /webhooks/ack` */
export const ackOperation: Operation = {
  id: "acknowledgeDeadLetter",
  summary: "Acknowledge an event that was handled manually",
  bodySchema: "AckRequest",
  bodyExample: { event_id: "evt-1", partner: "default/acme", note: "booked by hand" },
  responses: { "200": { description: "The dead letter is closed", schema: "Ack" } },
};
