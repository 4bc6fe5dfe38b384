import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { kinds, specSchemas } from "../../../crds/types/schemas.ts";

// A start compiles the validators without this check.
test.each(kinds)("the schema of %s is a JSON Schema", (kind) => {
  expect(new Ajv().validateSchema(specSchemas[kind])).toBe(true);
});
