import * as fc from "fast-check";

/** A JSON Schema of the permitted keywords. */
export type PlainSchema = Readonly<Record<string, unknown>>;

const names = ["a", "b", "c", "d"] as const;
const texts = ["x", "y", "zz", ""];

const scalarSchema: fc.Arbitrary<PlainSchema> = fc.oneof(
  fc.constantFrom<PlainSchema>(
    {},
    { type: "string" },
    { type: ["string", "null"] },
    { type: "integer" },
    { type: "number" },
    { type: "boolean" },
    { type: "string", minLength: 1 },
    { type: "string", maxLength: 1 },
    { type: "string", pattern: "^[xy]+$" },
    { type: "string", pattern: "^(x|zz)$", maxLength: 3 },
    { type: "integer", minimum: 0, maximum: 3 },
    { type: "number", exclusiveMinimum: 0 },
    { type: "integer", multipleOf: 2 },
    { const: "x" },
    { enum: ["x", 1, null] },
    { type: "string", enum: ["x", "y"], "x-open-enum": true },
  ),
);

const { schema } = fc.letrec<{ schema: PlainSchema; object: PlainSchema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalarSchema,
    fc.record({ type: fc.constant("array"), items: tie("schema") }),
    fc.record({
      type: fc.constant("array"),
      items: fc.constantFrom({ type: "string" }, { type: "integer" }),
      uniqueItems: fc.boolean(),
      maxItems: fc.constantFrom(1, 3),
    }),
    tie("object"),
    fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
    fc.record({ oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
    fc.record({ type: fc.constant("object"), additionalProperties: tie("schema"), maxProperties: fc.constant(2) }),
  ),
  object: fc
    .record({
      properties: fc.dictionary(fc.constantFrom(...names), tie("schema"), { maxKeys: 3 }),
      isRequired: fc.func(fc.boolean()),
      isClosed: fc.boolean(),
    })
    .map(({ properties, isRequired, isClosed }) => ({
      type: "object",
      properties,
      required: Object.keys(properties).filter(isRequired),
      ...(isClosed ? { additionalProperties: false } : {}),
    })),
}));

/** A schema whose data is an object. */
export const objectSchema: fc.Arbitrary<PlainSchema> = fc
  .record({
    properties: fc.dictionary(fc.constantFrom(...names), schema, { maxKeys: 4 }),
    isRequired: fc.func(fc.boolean()),
    isClosed: fc.boolean(),
  })
  .map(({ properties, isRequired, isClosed }) => ({
    type: "object",
    properties,
    required: Object.keys(properties).filter(isRequired),
    ...(isClosed ? { additionalProperties: false } : {}),
  }));

const scalar = fc.oneof(
  fc.constantFrom(...texts),
  fc.constantFrom(-1, 0, 1, 2, 3, 4, 0.5),
  fc.boolean(),
  fc.constant(null),
);

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), tie("value"), { maxKeys: 3 }),
  ),
}));

/** Data, mostly of the names and values that the schemas have. */
export const anyValue: fc.Arbitrary<Readonly<Record<string, unknown>>> = fc.dictionary(
  fc.constantFrom(...names),
  value,
  { maxKeys: 4 },
);
