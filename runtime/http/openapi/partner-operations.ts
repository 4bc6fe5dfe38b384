import { deliveryGroups, deliveryStepNames } from "../../../api/delivery-stats.ts";
import { durationPattern, writtenTime } from "../../../api/documents.ts";
import { eventTypeStates } from "../../../api/events.ts";
import { text, words } from "../../../api/schema.ts";
import { paging, parameter, pathParameter, textParameter, type Operation } from "./operation.ts";

/** The segments of a path that name a partner. */
const partnerPath = [
  pathParameter("namespace", "Namespace of the partner"),
  pathParameter("name", "Name of the partner"),
];

/** `GET /webhooks/partners` */
export const partnersOperation: Operation = {
  id: "listPartners",
  summary:
    "Partners visible to the caller, by name, with their health, figures and subscriptions to the caller's tenants",
  parameters: [
    textParameter(
      "search",
      "Only partners whose `namespace/name` contains this text in any case; parts of it are separated by spaces",
      {},
      { example: "acme" },
    ),
    ...paging,
  ],
  responses: { "200": { description: "Partners", schema: "PartnerPage" } },
};

/** `GET /webhooks/partners/:namespace/:name` */
export const partnerOperation: Operation = {
  id: "readPartner",
  summary: "A partner with its settings and its live state from the pod that delivers to it",
  parameters: partnerPath,
  responses: { "200": { description: "The partner", schema: "PartnerDetail" } },
};

/** `GET /webhooks/partners/:namespace/:name/stats` */
export const partnerStatsOperation: Operation = {
  id: "readPartnerStats",
  summary: "Attempts for a partner by step, without pings: outcomes, responses and durations",
  parameters: [
    ...partnerPath,
    textParameter(
      "from",
      "Started at or after this time, rounded down to a step. Default: one day before the end",
      writtenTime,
    ),
    textParameter("to", "Started before this time. Default: now", writtenTime),
    textParameter(
      "step",
      "Length of a step; the window has at most 300. Default: the shortest that fits, at least 1m",
      { pattern: `^(?:${durationPattern})$` },
      { example: "5m" },
    ),
  ],
  responses: { "200": { description: "The figures", schema: "PartnerStats" } },
};

/** `GET /webhooks/stats` */
export const deliveryStatsOperation: Operation = {
  id: "readDeliveryStats",
  summary: "Deliveries of the last 48 hours by time, without pings, within the tenants and partners of the token",
  parameters: [
    textParameter(
      "from",
      "Started at or after this time, at most 48 hours ago; rounded down to a step. Default: a day before the end",
      writtenTime,
    ),
    textParameter("to", "Started before this time; rounded up to a minute. Default: now", writtenTime),
    parameter(
      "step",
      "Length of an interval. Default: the shortest with at most 300 intervals",
      words(deliveryStepNames),
    ),
    parameter("group_by", "One row for each partner or tenant. Default: rows count all", words(deliveryGroups)),
    textParameter("partner", "Only deliveries to this partner, as `namespace/name`"),
    textParameter("tenant", "Only events of this tenant"),
  ],
  responses: { "200": { description: "The figures; at most 3,000 rows", schema: "DeliveryStats" } },
};

/** `POST /webhooks/partners/:namespace/:name/ping` */
export const pingOperation: Operation = {
  id: "pingPartner",
  summary: "Deliver a test event of type heliograph.ping to a partner, regardless of its subscriptions",
  parameters: partnerPath,
  bodySchema: "PingRequest",
  bodyExample: { tenant: "acme" },
  isBodyOptional: true,
  responses: {
    "202": { description: "The ping is stored; see the history of its event for the result", schema: "Ping" },
  },
};

/** `GET /webhooks/partners/:namespace/:name/jwks.json` */
export const keysOperation: Operation = {
  id: "readPublicKeys",
  summary: "The public keys that sign deliveries to a partner, without a token",
  parameters: partnerPath,
  responses: { "200": { description: "The keys; `kid` is the thumbprint in `keyid`", schema: "PublicKeySet" } },
};

const tagHeaders = {
  ETag: { description: "Changes exactly when the body does", schema: text(undefined, { minLength: 1 }) },
};

/** `GET /webhooks/types` */
export const eventTypesOperation: Operation = {
  id: "listEventTypes",
  summary: "Declared event types that the token may see, by name; tokens for some partners see what these may get",
  parameters: [
    textParameter("prefix", "Only types that start with this text", {}, { example: "payout." }),
    parameter("state", "Only types in this state", words(eventTypeStates)),
    textParameter(
      "search",
      "Only types whose name, description or owner contains this text in any case; parts of it are separated by spaces",
    ),
    ...paging,
  ],
  responses: { "200": { description: "Event types", schema: "EventTypePage", headers: tagHeaders } },
};

/** `GET /webhooks/types/:type` */
export const eventTypeOperation: Operation = {
  id: "readEventType",
  summary: "An event type with the schema and examples of its versions, without fields that the token may not see",
  parameters: [pathParameter("type", "Name of the type", "payout.processed")],
  responses: { "200": { description: "The event type", schema: "EventTypeDetail", headers: tagHeaders } },
};

/** `GET /webhooks/asyncapi` */
export const asyncApiOperation: Operation = {
  id: "readAsyncApi",
  summary: "An AsyncAPI 3.0 document of the events that the token may see: channels, messages, headers and signatures",
  parameters: [textParameter("prefix", "Only types that start with this text", {}, { example: "payout." })],
  responses: { "200": { description: "AsyncAPI 3.0", schema: "AsyncApiDocument", headers: tagHeaders } },
};
