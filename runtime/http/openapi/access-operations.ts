import type { Operation } from "./operation.ts";

/** `GET /v1/me` */
export const meOperation: Operation = {
  id: "readMe",
  tag: "access",
  summary: "What the token of this request may do; every valid token may ask, whatever its scopes",
  answers: { "200": { description: "Client, rights and end of the token", schema: "Me" } },
};
