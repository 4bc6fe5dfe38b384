import { durationPattern, writtenTime } from "../../../api/documents.ts";
import { paging, pathParameter, textParameter, type Operation } from "./operation.ts";

/** The segments of a path that name a partner. */
const partnerPath = [
  pathParameter("namespace", "Namespace of the partner"),
  pathParameter("name", "Name of the partner"),
];

/** `GET /webhooks/partners` */
export const partnersOperation: Operation = {
  id: "listPartners",
  summary: "Partners that the caller may see, with their subscriptions to the caller's tenants, by name",
  parameters: paging,
  answers: { "200": { description: "Partners", schema: "PartnerPage" } },
};

/** `GET /webhooks/partners/:namespace/:name` */
export const partnerOperation: Operation = {
  id: "readPartner",
  summary: "A partner with its settings, and with its live state from the pod that delivers to it",
  parameters: partnerPath,
  answers: { "200": { description: "The partner", schema: "PartnerDetail" } },
};

/** `GET /webhooks/partners/:namespace/:name/stats` */
export const partnerStatsOperation: Operation = {
  id: "readPartnerStats",
  summary: "Attempts for a partner by step, without pings: how they ended, their answers and their durations",
  parameters: [
    ...partnerPath,
    textParameter(
      "from",
      "Begun at or after this time; rounded down to a step. Default: a day before the end",
      writtenTime,
    ),
    textParameter("to", "Begun before this time. Default: now", writtenTime),
    textParameter(
      "step",
      "Length of a step; the window has at most 300. Default: from 1m on, as short as fits",
      { pattern: `^(?:${durationPattern})$` },
      { example: "5m" },
    ),
  ],
  answers: { "200": { description: "The figures", schema: "PartnerStats" } },
};

/** `POST /webhooks/partners/:namespace/:name/ping` */
export const pingOperation: Operation = {
  id: "pingPartner",
  summary: "Deliver a test event of the type heliograph.ping to one partner, whatever it subscribes to",
  parameters: partnerPath,
  bodySchema: "PingRequest",
  bodyExample: { tenant: "acme" },
  isBodyOptional: true,
  answers: { "202": { description: "The ping is stored; the history of its event says how it ends", schema: "Ping" } },
};

/** `GET /webhooks/partners/:namespace/:name/jwks.json` */
export const keysOperation: Operation = {
  id: "readPublicKeys",
  summary: "The public keys that sign deliveries to a partner, without a token",
  parameters: partnerPath,
  answers: { "200": { description: "The keys; `kid` is the thumbprint in `keyid`", schema: "PublicKeySet" } },
};
