import { paging, type Operation, type OperationParameter } from "./operation.ts";

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

/** `GET /webhooks/partners/:namespace/:name/jwks.json` */
export const keysOperation: Operation = {
  id: "readPublicKeys",
  tag: "webhooks",
  summary: "The public keys that sign deliveries to a partner, without a token",
  parameters: partnerPath,
  answers: { "200": { description: "The keys; `kid` is the thumbprint in `keyid`", schema: "PublicKeySet" } },
};
