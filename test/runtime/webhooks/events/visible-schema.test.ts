import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseSchema } from "../../../../crds/event-schema/parse-schema.ts";
import { validateData } from "../../../../crds/event-schema/validate-data.ts";
import type { PayloadSelection } from "../../../../runtime/webhooks/events/payload-selection.ts";
import { type DataSchema, visibleExamples, visibleSchema } from "../../../../runtime/webhooks/events/visible-schema.ts";
import { runsOf } from "../../../support/soak.ts";

const text = { type: "string" };
const objectOf = (properties: DataSchema, more: DataSchema = {}): DataSchema => ({
  type: "object",
  properties,
  ...more,
});
const without = (...exclude: readonly string[]): PayloadSelection => [{ exclude }];
const only = (...include: readonly string[]): PayloadSelection => [{ include }];

test.each<[what: string, schema: DataSchema, selections: readonly PayloadSelection[], expected: DataSchema]>([
  ["all of it", objectOf({ a: text }, { required: ["a"] }), [[]], objectOf({ a: text }, { required: ["a"] })],
  [
    "no excluded property, not among the required ones either",
    objectOf({ a: text, b: text }, { required: ["a", "b"], additionalProperties: false }),
    [without("/data/a")],
    objectOf({ b: text }, { required: ["b"], additionalProperties: false }),
  ],
  ["included properties only", objectOf({ a: text, b: text }), [only("/data/a")], objectOf({ a: text })],
  [
    "what one of two selections leaves, as optional",
    objectOf({ a: text, b: text, c: text }, { required: ["a", "b", "c"] }),
    [without("/data/a", "/data/c"), without("/data/b", "/data/c")],
    objectOf({ a: text, b: text }, { required: [] }),
  ],
  [
    "an optional property if one subscription sends the complete event",
    objectOf({ a: text, b: text }, { required: ["a", "b"] }),
    [without("/data/a"), []],
    objectOf({ a: text, b: text }, { required: ["b"] }),
  ],
  [
    "items without the member of every item",
    objectOf({ l: { type: "array", items: objectOf({ x: text, y: text }) } }),
    [without("/data/l/*/x")],
    objectOf({ l: { type: "array", items: objectOf({ y: text }) } }),
  ],
  [
    "null for excluded items",
    objectOf({ l: { type: "array", items: text, uniqueItems: true } }),
    [without("/data/l/0")],
    objectOf({ l: { type: "array", items: { anyOf: [text, { type: "null" }] } } }),
  ],
  [
    "null for items of which only members are included",
    objectOf({ l: { type: "array", items: text } }),
    [only("/data/l/*/x")],
    objectOf({ l: { type: "array", items: { anyOf: [text, { type: "null" }] } } }),
  ],
  [
    "a definition of which a place lacks a field, and the complete one elsewhere",
    objectOf(
      { from: { $ref: "#/$defs/party" }, to: { $ref: "#/$defs/party" } },
      { $defs: { party: objectOf({ iban: text, name: text }), unused: text } },
    ),
    [without("/data/from/iban")],
    objectOf(
      { from: { $ref: "#/$defs/party.part1" }, to: { $ref: "#/$defs/party" } },
      { $defs: { "party.part1": objectOf({ name: text }), party: objectOf({ iban: text, name: text }) } },
    ),
  ],
  [
    "no definition that only excluded fields use",
    objectOf({ a: { $ref: "#/$defs/iban" }, b: text }, { $defs: { iban: text } }),
    [without("/data/a")],
    objectOf({ b: text }),
  ],
  [
    "no default, example or comment around what is cut",
    objectOf({ a: objectOf({ x: text, y: text }, { default: { x: "s" }, examples: [{ x: "s" }], $comment: "x" }) }),
    [without("/data/a/x")],
    objectOf({ a: objectOf({ y: text }) }),
  ],
  [
    "branches that still differ as far as they can",
    objectOf({ k: text }, { oneOf: [objectOf({ a: { const: 1 }, b: text }), objectOf({ a: { const: 2 } })] }),
    [without("/data/a")],
    objectOf({ k: text }, { anyOf: [objectOf({ b: text }), objectOf({})] }),
  ],
  [
    "the members of a map without the named one",
    objectOf({ m: { type: "object", additionalProperties: text, maxProperties: 3 } }),
    [without("/data/m/secret")],
    objectOf({ m: { type: "object", additionalProperties: text } }),
  ],
  [
    "nothing without data",
    objectOf({ a: text }, { required: ["a"] }),
    [only("/tenant")],
    { type: "object", additionalProperties: false, properties: {} },
  ],
])("a reader sees %s", (_what, schema, selections, expected) => {
  expect(visibleSchema(schema, selections)).toEqual(expected);
});

test("examples have no excluded values, and none twice", () => {
  const examples = [
    { a: 1, b: 2 },
    { a: 3, b: 2 },
  ];
  expect(visibleExamples(examples, [without("/data/a")])).toEqual([{ b: 2 }]);
  expect(visibleExamples(examples, [without("/data")])).toEqual([]);
});

/** Names are few, so that pointers often meet what schemas declare. */
const name = fc.constantFrom("a", "b", "c");
const scalarSchema = fc.constantFrom<DataSchema>(text, { type: "integer" }, { type: ["string", "null"] });
const { schema: anySchema } = fc.letrec<{ schema: DataSchema; object: DataSchema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    scalarSchema,
    tie("object"),
    fc.record({ type: fc.constant("array"), items: tie("schema") }),
    fc.record({ $ref: fc.constantFrom("#/$defs/party", "#/$defs/list") }),
  ),
  object: fc.record(
    {
      type: fc.constant("object"),
      properties: fc.dictionary(name, tie("schema"), { maxKeys: 3 }),
      additionalProperties: fc.oneof(fc.boolean(), scalarSchema),
    },
    { requiredKeys: ["type", "properties"] },
  ),
}));
const document = fc.dictionary(name, anySchema, { minKeys: 1, maxKeys: 3 }).map((properties) =>
  objectOf(properties, {
    required: Object.keys(properties),
    $defs: { party: objectOf({ a: text, b: objectOf({ c: text }) }), list: { type: "array", items: text } },
  }),
);
const pointer = fc
  .array(fc.constantFrom("a", "b", "c", "*", "0"), { minLength: 1, maxLength: 4 })
  .map((segments) => `/data/${segments.join("/")}`);
const pointers = fc.uniqueArray(pointer, { minLength: 1, maxLength: 3 });
const selection: fc.Arbitrary<PayloadSelection> = fc.array(
  fc.oneof(
    pointers.map((include) => ({ include })),
    pointers.map((exclude) => ({ exclude })),
  ),
  { maxLength: 2 },
);

/** A value that a schema permits, with each optional property. */
function valueOf(schema: DataSchema, { $defs }: DataSchema): unknown {
  const { properties, items } = schema as Readonly<Record<string, DataSchema | undefined>>;
  const { type, $ref } = schema as Readonly<Record<string, string | undefined>>;
  if ($ref !== undefined) {
    const definitions = $defs as Readonly<Record<string, DataSchema>>;
    return valueOf(definitions[$ref.slice("#/$defs/".length)] ?? {}, { $defs });
  }
  if (items !== undefined) return [1, 2].map(() => valueOf(items, { $defs }));
  if (properties === undefined) return type === "integer" ? 1 : "x";
  const members = Object.entries(properties) as readonly (readonly [string, DataSchema])[];
  return Object.fromEntries(members.map(([key, one]) => [key, valueOf(one, { $defs })]));
}

test("what any selection leaves of valid data is valid under the visible schema", () => {
  fc.assert(
    fc.property(document, fc.array(selection, { minLength: 1, maxLength: 3 }), (schema, selections) => {
      const data = valueOf(schema, schema) as DataSchema;
      const whole = parseSchema(schema);
      fc.pre(whole.root !== undefined && validateData(whole.root, data).length === 0);
      const { root, problems } = parseSchema(visibleSchema(schema, selections));
      expect(problems).toEqual([]);
      for (const left of visibleExamples([data], selections))
        expect(root === undefined ? ["no root"] : validateData(root, left)).toEqual([]);
    }),
    { numRuns: runsOf(300) },
  );
});
