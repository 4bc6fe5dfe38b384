import { flag, nullable, object, text, type Static } from "./schema.ts";

/** `GET /console/config.json`. The OpenAPI document omits it: it is for the console alone. */
export const ConsoleConfig = object({
  issuer: nullable(text()),
  client_id: nullable(text()),
  scopes: nullable(text()),
  is_local: flag("True for a standalone server, whose token is in the URL fragment"),
  version: text(),
});
export type ConsoleConfig = Static<typeof ConsoleConfig>;
