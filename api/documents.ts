import {
  anyObject,
  described,
  flag,
  integer,
  list,
  nullable,
  object,
  ref,
  text,
  words,
  type Static,
} from "./schema.ts";

export const timeKeywords = { format: "date-time", pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$" };
export const Time = text("ISO 8601, UTC, with milliseconds", timeKeywords);
export type Time = Static<typeof Time>;

/** Keywords of a time as callers may write it. */
export const writtenTime = {
  format: "date-time",
  pattern: String.raw`^(?:19[7-9]\d|[2-9]\d{3})-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$`,
};

/** Units of durations, the largest first. */
export const durationUnits = ["w", "d", "h", "m", "s"] as const;
export type DurationUnit = (typeof durationUnits)[number];

/** A duration in a pattern: the largest unit first, each at most once. */
export const durationPattern = durationUnits
  .map((unit, index) =>
    [`[1-9][0-9]{0,8}${unit}`, ...durationUnits.slice(index + 1).map((finer) => `(?:[1-9][0-9]{0,8}${finer})?`)].join(
      "",
    ),
  )
  .join("|");

export const Duration = text("Whole weeks, days, hours, minutes and seconds, such as `10s`, `5m`, `1h30m` or `1w`", {
  pattern: `^(?:${durationPattern})$`,
});

export const CorrelationId = text(
  "In errors: the id of this request, as in the header X-Correlation-Id. In metrics responses: a digest of the " +
    "content, which is stable while the content does not change",
  { minLength: 1, maxLength: 128 },
);

export const faults = list(
  object({
    field: text("Parameter or path of the member"),
    code: text("Error code"),
    detail: text("What is wrong with the value"),
  }),
  "Errors of single parameters or members",
);

export const Problem = described(
  object(
    {
      type: text("Address of the error's description", { format: "uri" }),
      title: text("Short title of the error"),
      status: integer("HTTP status", { minimum: 400, maximum: 599 }),
      detail: text("What failed and how to fix it"),
      code: text("Error code, a row of the error table", { pattern: "^[a-z][a-z0-9_]*$" }),
      errors: faults,
      correlation_id: ref(CorrelationId, "Id of the request"),
    },
    {
      suggestion: described(
        object({}, { step: ref(Duration, "Step that costs less"), downsample: text("Downsample that costs less") }),
        "Cheaper request",
      ),
    },
  ),
  "RFC 9457; `code` is a row of the error table",
);
export type Problem = Static<typeof Problem>;

export const InterfaceVersion = text("Day of the last change to what is served", { format: "date" });

export const SchemaCatalog = object({
  schemas: list(
    object({
      name: text("Name of the schema"),
      version: ref(InterfaceVersion, "Its version"),
      href: text("Path below the same origin"),
    }),
    "Schemas, by name",
  ),
});

export const JsonSchemaDocument = anyObject("A JSON Schema of draft 2020-12");

export const AsyncApiDocument = described(
  object({
    asyncapi: text("Version of the AsyncAPI specification"),
    info: anyObject("Title and version of the document"),
    defaultContentType: text("Media type of messages that name none"),
    channels: anyObject("One for each event type"),
    operations: anyObject("What is sent"),
    components: anyObject("Messages, schemas and signature schemes"),
  }),
  "AsyncAPI 3.0",
);

export const OpenApiDocument = described(
  object({
    openapi: text("Version of the OpenAPI specification"),
    info: anyObject("Title and version of the interface"),
    paths: anyObject("Operations by path and method"),
  }),
  "OpenAPI 3.1",
);

export const Changelog = object({
  versions: list(
    object({
      version: ref(InterfaceVersion, "Day of the changes"),
      changes: list(
        object({
          kind: words(["added", "changed", "deprecated", "removed"], "Kind of the change"),
          surface: words(["access", "metrics", "webhooks", "preview", "schemas"], "Part of the interface"),
          what: text("What changed"),
        }),
        "Changes of that day",
      ),
    }),
    "Versions, the newest first",
    { minItems: 1 },
  ),
});

export const AnyObject = anyObject();

export const Me = described(
  object(
    {
      client: text("Client key: requests and quotas are counted for it"),
      tenants: list(text(), "Tenants; `*` is all tenants"),
      partners: nullable(list(text()), "Webhook partners as `namespace/name`; null is all partners"),
      regions: list(text(), "Regions; `*` is all regions"),
      environments: list(text(), "Environments; `*` is all environments"),
      metrics: list(text(), "Metric ids; `*` is all metrics"),
      roles: list(text(), "Roles, each by its name"),
      scopes: list(text(), "Scopes of the token, including those granted to its subject in the settings"),
      expires_at: nullable(ref(Time), "Expiry of the token; null if it is after the year 9999"),
      is_console_admin: flag("True with the scope `console:admin`, which grants no other permissions"),
      version: text("Version of the program"),
    },
    {
      choices: described(
        object({
          tenants: list(text(), "Tenants to choose from"),
          regions: list(text(), "Regions to choose from"),
          environments: list(text(), "Environments to choose from"),
        }),
        "Names for filters, at most 200 of each: those of the token, and for `*` those that the configuration names " +
          "and that the scopes of the token may see. A name that is missing here may exist in a store. Earlier " +
          "versions lack the member",
      ),
    },
  ),
  "Permissions of the token",
);
export type Me = Static<typeof Me>;
