import type { Operation } from "./operation.ts";

/** `POST /events` */
export const ingestOperation: Operation = {
  id: "acceptEvent",
  tag: "webhooks",
  summary: "Store an event and deliver it to every partner that subscribes to it",
  bodySchema: "EventEnvelope",
  answers: { "202": { description: "The event is stored", schema: "EventAccepted" } },
};

/** `GET /webhooks/events/:id` */
export const historyOperation: Operation = {
  id: "readEvent",
  tag: "webhooks",
  summary: "The original package of an event and every attempt to deliver it",
  parameters: [{ name: "id", in: "path", description: "Event id", schema: { type: "string", minLength: 1 } }],
  answers: { "200": { description: "The event", schema: "EventHistory" } },
};
