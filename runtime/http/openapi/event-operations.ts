import { orders, waitSecondsMax } from "../../../api/events.ts";
import { textLengthMax } from "../../../api/queries.ts";
import { writtenTime } from "../../../api/documents.ts";
import { deliveryStates } from "../../../api/histories.ts";
import { words } from "../../../api/schema.ts";
import type { JsonSchema } from "../../../api/schemas.ts";
import { cursor, limit, paging, type Operation, type OperationParameter } from "./operation.ts";

const text = (name: string, description: string, example?: string, more: JsonSchema = {}): OperationParameter => {
  const parameter = {
    name,
    in: "query",
    description,
    schema: { type: "string", minLength: 1, maxLength: textLengthMax, ...more },
  } as const;
  return example === undefined ? parameter : { ...parameter, example };
};
const eventId = { name: "id", in: "path", description: "Event id", schema: { type: "string", minLength: 1 } } as const;
const replayId = {
  name: "id",
  in: "path",
  description: "Replay id",
  schema: { type: "string", minLength: 1 },
} as const;

/** `POST /events` */
export const ingestOperation: Operation = {
  id: "acceptEvent",
  tag: "webhooks",
  summary: "Store an event, or a list of events, and deliver each to every partner that subscribes to it",
  bodySchema: "EventOrBatch",
  answers: {
    "202": { description: "The event is stored, or every event of the list", schema: "EventAnswer" },
    "207": { description: "Some events of the list are refused", schema: "BatchAnswer" },
  },
};

/** `GET /webhooks/events/:id` */
export const historyOperation: Operation = {
  id: "readEvent",
  tag: "webhooks",
  summary: "The original event and every attempt to deliver it",
  parameters: [eventId],
  answers: { "200": { description: "The event", schema: "EventHistory" } },
};

/** `GET /webhooks/event-ids/:id` */
export const eventIdOperation: Operation = {
  id: "readEventIdUse",
  tag: "webhooks",
  summary: "Tenants that have an event id, and tenants that were refused it",
  parameters: [eventId],
  answers: { "200": { description: "The tenants", schema: "EventIdUse" } },
};

/** `GET /webhooks/events` */
export const listOperation: Operation = {
  id: "listEvents",
  tag: "webhooks",
  summary: "Events of the caller's tenants with the states of their deliveries, by time",
  parameters: [
    text(
      "from",
      "Accepted at or after this time in the past. Default: a day before the end",
      "2026-01-31T00:00:00.000Z",
      writtenTime,
    ),
    text("to", "Accepted before this time", undefined, writtenTime),
    text("after_id", "Start after this event"),
    text("before_id", "End before this event"),
    text("type", "Event type, or a pattern of them", "payout.*"),
    text("partner", "Only events with a delivery to this partner", "default/acme"),
    {
      name: "state",
      in: "query",
      description: "Only events with a delivery in this state",
      schema: words(deliveryStates),
    },
    text("status", "Only events with a delivery whose last answer had this status, a class of it, or none", "5xx", {
      pattern: "^(?:[1-5][0-9][0-9]|[1-5]xx|none)$",
    }),
    text("reason", "Only events with a delivery of this reason", "status_404", { pattern: "^[a-z0-9_]{1,64}$" }),
    {
      name: "order",
      in: "query",
      description: "By time of acceptance; `desc` is the newest first. A cursor belongs to its order",
      schema: { ...words(orders), default: "asc" },
    },
    {
      name: "wait",
      in: "query",
      description: "Seconds to wait for the first event after the cursor; with the order `asc`",
      schema: { type: "integer", minimum: 0, maximum: waitSecondsMax, default: 0 },
    },
    ...paging,
  ],
  answers: { "200": { description: "Events", schema: "EventPage" } },
};

/** `POST /webhooks/replay` */
export const replayOperation: Operation = {
  id: "startReplay",
  tag: "webhooks",
  summary: "Deliver events again, by their ids or by a window of time",
  bodySchema: "ReplayRequest",
  bodyExample: {
    from: "2026-01-31T00:00:00.000Z",
    to: "2026-01-31T12:00:00.000Z",
    partners: ["default/acme"],
    only_failed: true,
  },
  answers: {
    "200": { description: "Counts of a dry run", schema: "DryRun" },
    "202": { description: "The replay is accepted", schema: "Replay" },
  },
};

/** `GET /webhooks/replay` */
export const listReplaysOperation: Operation = {
  id: "listReplays",
  tag: "webhooks",
  summary: "Replays and redrives that the caller may see, with who asked for what, newest first",
  parameters: [cursor("^[0-9]{1,15}-[A-Za-z0-9_-]{1,64}$"), limit],
  answers: { "200": { description: "Replays", schema: "ReplayPage" } },
};

/** `GET /webhooks/replay/:id` */
export const readReplayOperation: Operation = {
  id: "readReplay",
  tag: "webhooks",
  summary: "Progress of a replay",
  parameters: [replayId],
  answers: { "200": { description: "The replay", schema: "Replay" } },
};

/** `DELETE /webhooks/replay/:id` */
export const cancelReplayOperation: Operation = {
  id: "cancelReplay",
  tag: "webhooks",
  summary: "Cancel a replay: it publishes nothing more",
  parameters: [replayId],
  answers: { "200": { description: "The cancelled replay", schema: "Replay" } },
};

/** `GET /webhooks/dead-letters` */
export const deadLettersOperation: Operation = {
  id: "listDeadLetters",
  tag: "webhooks",
  summary: "Deliveries that ended without success, to a partner or to all that the caller may see",
  parameters: [
    text("partner", "Only those of this partner", "default/acme"),
    {
      name: "order",
      in: "query",
      description: "desc: the newest first",
      schema: { ...words(orders), default: "asc" },
    },
    text("reason", "Only dead letters with this reason", "status_404", { pattern: "^[a-z0-9_]{1,64}$" }),
    ...paging,
  ],
  answers: { "200": { description: "Dead letters", schema: "DeadLetterPage" } },
};

/** `GET /webhooks/dead-letters/counts` */
export const deadLetterCountsOperation: Operation = {
  id: "countDeadLetters",
  tag: "webhooks",
  summary: "Counts of dead letters by partner and reason, the largest first",
  parameters: [text("partner", "Only those of this partner", "default/acme")],
  answers: { "200": { description: "Counts", schema: "DeadLetterCounts" } },
};

/** `POST /webhooks/dead-letters/redrive` */
export const redriveOperation: Operation = {
  id: "redriveDeadLetters",
  tag: "webhooks",
  summary: "Deliver the dead letters of a partner again",
  bodySchema: "RedriveRequest",
  bodyExample: { partner: "default/acme", reason: "status_404", rate_per_second: 50 },
  answers: {
    "200": { description: "Counts of a dry run", schema: "DryRun" },
    "202": { description: "The redrive is accepted; it is a replay", schema: "Replay" },
  },
};

/** `POST /webhooks/ack` */
export const ackOperation: Operation = {
  id: "acknowledgeDeadLetter",
  tag: "webhooks",
  summary: "Acknowledge an event that was handled by hand",
  bodySchema: "AckRequest",
  bodyExample: { event_id: "evt-1", partner: "default/acme", note: "booked by hand" },
  answers: { "200": { description: "The dead letter is closed", schema: "Ack" } },
};
