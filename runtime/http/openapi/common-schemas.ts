import { described, list, object, ref, text, type JsonSchema, type SchemaSet } from "./json-schema.ts";

/** A time as callers may write it in a query. */
export const askedTime: JsonSchema = text({
  format: "date-time",
  pattern: String.raw`^(?:19[7-9]\d|[2-9]\d{3})-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$`,
});

const dateTime = String.raw`^(?:19[7-9]\d|[2-9]\d{3})-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?`;

/** A time of a query for metrics, absolute or relative. */
export const queryTime: JsonSchema = text({
  minLength: 1,
  maxLength: 64,
  description:
    "ISO 8601 such as `2026-01-31T12:00:00Z`, or with an offset such as `+02:00`; Unix seconds; `now`, or a distance " +
    "to it such as `now-3h`",
  examples: ["2026-01-31T12:00:00Z", "now-3h", "1769860800"],
  anyOf: [
    { pattern: `${dateTime}(?:[Zz]|[+\\- ]\\d{2}:?\\d{2})$` },
    { pattern: String.raw`^\d{1,12}(?:\.\d{1,9})?$` },
    { pattern: String.raw`^now(?:[+\- ][1-9]\d{0,8}[smhd])?$` },
  ],
});

/** Schemas that both interfaces use. */
export const commonSchemas: SchemaSet = {
  Time: text({
    format: "date-time",
    pattern: String.raw`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$`,
    description: "ISO 8601, UTC, with milliseconds",
  }),
  Duration: text({
    pattern: "^[1-9][0-9]{0,8}[smhd]$",
    description: "A whole number of seconds, minutes, hours or days, such as `10s` or `5m`",
  }),
  CorrelationId: text({
    minLength: 1,
    maxLength: 128,
    description:
      "In an error: names this request, as the header X-Correlation-Id does. In the body of a metrics read: a " +
      "digest of the content, the same for as long as the content is",
  }),
  Problem: described(
    object(
      {
        type: text({ format: "uri" }),
        title: text(),
        status: { type: "integer", minimum: 400, maximum: 599 },
        detail: text(),
        // Not an enumeration: a later version may add codes.
        code: text({ pattern: "^[a-z][a-z0-9_]*$" }),
        errors: list(object({ field: text(), code: text(), detail: text() })),
        correlation_id: ref("CorrelationId"),
      },
      { suggestion: described(object({}, { step: ref("Duration"), downsample: text() }), "What to ask instead") },
    ),
    "RFC 9457; `code` is a row of the error table",
  ),
  SchemaCatalog: object({
    schemas: list(
      object({
        name: text(),
        version: ref("InterfaceVersion"),
        href: text({ description: "Path below the same origin" }),
      }),
    ),
  }),
  JsonSchemaDocument: { type: "object", description: "A JSON Schema of draft 2020-12" },
  OpenApiDocument: described(
    object({ openapi: text(), info: { type: "object" }, paths: { type: "object" } }),
    "OpenAPI 3.1",
  ),
  InterfaceVersion: text({ format: "date", description: "Day of the last change to what is served" }),
  Changelog: object({
    versions: list(
      object({
        version: ref("InterfaceVersion"),
        changes: list(
          object({
            kind: text({ enum: ["added", "changed", "deprecated", "removed"] }),
            surface: text({ enum: ["access", "metrics", "webhooks", "preview", "schemas"] }),
            what: text(),
          }),
        ),
      }),
      { minItems: 1 },
    ),
  }),
  AnyObject: { type: "object" },
};
