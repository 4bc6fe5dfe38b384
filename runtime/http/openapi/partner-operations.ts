import { textLengthMax } from "../../../api/queries.ts";
import { durationPattern, writtenTime } from "../../../api/documents.ts";
import { paging, type Operation, type OperationParameter } from "./operation.ts";

const time = (name: string, description: string): OperationParameter => {
  return {
    name,
    in: "query",
    description,
    schema: { type: "string", minLength: 1, maxLength: textLengthMax, ...writtenTime },
  };
};

/** The segments of a path that name a partner. */
export const partnerPath: readonly OperationParameter[] = [
  {
    name: "namespace",
    in: "path",
    description: "Namespace of the partner",
    schema: { type: "string", minLength: 1 },
  },
  { name: "name", in: "path", description: "Name of the partner", schema: { type: "string", minLength: 1 } },
];

/** `GET /webhooks/partners` */
export const partnersOperation: Operation = {
  id: "listPartners",
  tag: "webhooks",
  summary: "Partners that the caller may see, with their subscriptions to the caller's tenants, by name",
  parameters: paging,
  answers: { "200": { description: "Partners", schema: "PartnerPage" } },
};

/** `GET /webhooks/partners/:namespace/:name` */
export const partnerOperation: Operation = {
  id: "readPartner",
  tag: "webhooks",
  summary: "A partner with its settings, and with its live state from the pod that delivers to it",
  parameters: partnerPath,
  answers: { "200": { description: "The partner", schema: "PartnerDetail" } },
};

/** `GET /webhooks/partners/:namespace/:name/stats` */
export const partnerStatsOperation: Operation = {
  id: "readPartnerStats",
  tag: "webhooks",
  summary: "Attempts for a partner by step, without pings: how they ended, their answers and their durations",
  parameters: [
    ...partnerPath,
    time("from", "Begun at or after this time; rounded down to a step. Default: a day before the end"),
    time("to", "Begun before this time. Default: now"),
    {
      name: "step",
      in: "query",
      description: "Length of a step; the window has at most 300. Default: from 1m on, as short as fits",
      schema: { type: "string", minLength: 1, maxLength: textLengthMax, pattern: `^(?:${durationPattern})$` },
      example: "5m",
    },
  ],
  answers: { "200": { description: "The figures", schema: "PartnerStats" } },
};

/** `POST /webhooks/partners/:namespace/:name/ping` */
export const pingOperation: Operation = {
  id: "pingPartner",
  tag: "webhooks",
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
  tag: "webhooks",
  summary: "The public keys that sign deliveries to a partner, without a token",
  parameters: partnerPath,
  answers: { "200": { description: "The keys; `kid` is the thumbprint in `keyid`", schema: "PublicKeySet" } },
};
