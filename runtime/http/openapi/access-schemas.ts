import { described, flag, list, object, ref, text, type JsonSchema, type SchemaSet } from "./json-schema.ts";

const names = (description: string): JsonSchema => ({ ...list(text()), description });
const orNull = (schema: JsonSchema, description: string): JsonSchema => ({
  anyOf: [schema, { type: "null" }],
  description,
});

/** What a token may do. */
export const accessSchemas: SchemaSet = {
  Me: described(
    object({
      client: text({ description: "Client key: requests and quotas are counted for it" }),
      tenants: names("Names of tenants; `*` is every one"),
      partners: orNull(list(text()), "Webhook partners as `namespace/name`; null is every one"),
      regions: names("Names of regions; `*` is every one"),
      environments: names("Names of environments; `*` is every one"),
      metrics: names("Ids of metrics; `*` is every one"),
      roles: names("Roles, each by its name"),
      scopes: names("Scopes of the token and those that the settings grant its subject"),
      expires_at: orNull(ref("Time"), "End of the token; null when it lies beyond the year 9999"),
      is_console_admin: { ...flag, description: "True with the scope `console:admin`, which grants nothing by itself" },
      version: text({ description: "Version of the program" }),
    }),
    "What the token of this request may do",
  ),
};
