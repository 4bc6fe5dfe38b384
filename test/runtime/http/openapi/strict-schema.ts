import { Ajv2020 } from "ajv/dist/2020.js";
import { OpenApiDocument } from "../../../../api/documents.ts";
import { bundled, type JsonSchema } from "../../../../api/schemas.ts";

const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false });

/** What in a value is not as a schema says; members that the schema does not name are faults too. */
export function faultsIn(value: unknown, name: string): readonly string[] {
  const validate = ajv.compile(closed(bundled(name)));
  validate(value);
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

/** The same schema whose objects have no other members. The OpenAPI document has more than its schema names. */
export function closed(schema: JsonSchema): JsonSchema {
  const own = Object.entries(schema).map(([keyword, value]) => [keyword, inside(value)] as const);
  const isOpen =
    schema["type"] === "object" &&
    "properties" in schema &&
    schema["description"] !== OpenApiDocument["description"] &&
    !("additionalProperties" in schema);
  return { ...Object.fromEntries(own), ...(isOpen ? { additionalProperties: false } : {}) };
}

function inside(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inside);
  return typeof value === "object" && value !== null ? closed(value as JsonSchema) : value;
}
