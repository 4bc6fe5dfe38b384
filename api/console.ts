import { count, flag, nullable, object, text, type Static } from "./schema.ts";

/** `GET /console/config.json`. The OpenAPI document omits it: it is for the console alone. */
export const ConsoleConfig = object({
  issuer: nullable(text()),
  client_id: nullable(text()),
  scopes: nullable(text()),
  is_local: flag("True for a standalone server, whose token is in the URL fragment"),
  open_command: nullable(text("The command that opens the console of this program; null unless `is_local`")),
  version: text(),
});
export type ConsoleConfig = Static<typeof ConsoleConfig>;

/** `POST /console/token`, which the OpenAPI document omits too. */
export const BoundToken = object({
  token: text("The token of the request, bound to the key of its thumbprint"),
  expires_in: count("Seconds until it ends"),
});
export type BoundToken = Static<typeof BoundToken>;
