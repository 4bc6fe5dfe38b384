import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { incompatibilities } from "../../../crds/event-schema/incompatibilities.ts";
import { parseSchema } from "../../../crds/event-schema/parse-schema.ts";
import { hasBranches, type SchemaNode } from "../../../crds/event-schema/schema-node.ts";
import { validateData } from "../../../crds/event-schema/validate-data.ts";
import { anyValue, objectSchema, type PlainSchema } from "./arbitraries.ts";

const rootOf = (schema: PlainSchema): SchemaNode => {
  const { root, problems } = parseSchema(schema);
  if (root === undefined) throw new Error(JSON.stringify({ schema, problems }));
  return root;
};
const found = (before: PlainSchema, after: PlainSchema): readonly string[] =>
  incompatibilities(rootOf(before), rootOf(after)).map(({ pointer, detail }) => `${pointer}: ${detail}`);

const base: PlainSchema = {
  type: "object",
  required: ["id", "money"],
  $defs: { money: { type: "object", required: ["minor"], properties: { minor: { type: "integer", minimum: 0 } } } },
  properties: {
    id: { type: "string", minLength: 1, maxLength: 64, pattern: "^po_[a-z0-9]+$" },
    status: { type: "string", enum: ["processed", "failed"], "x-open-enum": true },
    kind: { type: "string", enum: ["out", "in"] },
    money: { $ref: "#/$defs/money" },
    lines: { type: "array", maxItems: 9, items: { type: "object", properties: { net: { type: "number" } } } },
    tags: { type: "object", additionalProperties: { type: "string" }, maxProperties: 3 },
    closed: { type: "object", additionalProperties: false, properties: { a: { type: "boolean" } } },
    either: { anyOf: [{ type: "string" }, { type: "object", properties: { b: { const: 1 } } }] },
    at: { type: ["string", "null"], format: "date-time" },
  },
};

/** The base with values at paths of keywords; undefined removes one. */
function edited(changes: Readonly<Record<string, unknown>>): PlainSchema {
  const copy = structuredClone(base) as Record<string, unknown>;
  for (const [path, value] of Object.entries(changes)) {
    const segments = path.split("/");
    const last = segments.pop() ?? "";
    const at = segments.reduce<Record<string, unknown>>((node, name) => node[name] as Record<string, unknown>, copy);
    if (value === undefined) delete at[last];
    else at[last] = value;
  }
  return copy;
}

const p = "properties";
const compatible: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { title: "A payout" },
  { description: "Sent to the bank" },
  { $comment: "reviewed" },
  { $schema: "https://json-schema.org/draft/2020-12/schema" },
  { examples: [{ id: "po_1" }] },
  { "$defs/unused": { type: "null" } },
  { "$defs/money/description": "Minor units" },
  { [`${p}/memo`]: { type: "string" } },
  { [`${p}/memo`]: {} },
  { [`${p}/memo`]: { type: ["string", "null"], maxLength: 9 } },
  { [`${p}/memo`]: { type: "object", required: ["x"], properties: { x: { type: "string" } } } },
  { [`${p}/memo`]: { $ref: "#/$defs/money" } },
  { [`${p}/memo`]: { anyOf: [{ type: "string" }, { type: "integer" }] } },
  { [`${p}/memo`]: { type: "string", enum: ["a"], "x-open-enum": true } },
  { [`${p}/memo`]: { type: "array", items: { type: "integer" }, uniqueItems: true } },
  { [`${p}/memo`]: { type: "string" }, [`${p}/memo2`]: { type: "string" } },
  { [`$defs/money/${p}/currency`]: { type: "string" } },
  { [`${p}/lines/items/${p}/tax`]: { type: "number" } },
  { [`${p}/lines/items/${p}/deep`]: { type: "object", properties: { x: { type: "array", items: {} } } } },
  { [`${p}/closed/${p}/b`]: { type: "string" } },
  { [`${p}/closed/additionalProperties`]: undefined },
  { [`${p}/closed/additionalProperties`]: true },
  { [`${p}/status/enum`]: ["processed", "failed", "returned"] },
  { [`${p}/status/enum`]: ["failed", "processed"] },
  { [`${p}/status/enum`]: ["x", "failed", "y", "processed"] },
  { [`${p}/status/x-open-enum`]: false },
  { [`${p}/status/x-open-enum`]: undefined },
  { [`${p}/kind/enum`]: ["in", "out"] },
  { [`${p}/kind/x-open-enum`]: false },
  { [`${p}/id/description`]: "Starts with po_" },
  { [`${p}/id/deprecated`]: true },
  { [`${p}/id/default`]: "po_0" },
  { [`${p}/id/readOnly`]: true },
  { [`${p}/at/type`]: ["null", "string"] },
  { required: ["money", "id"] },
  { [`${p}/money`]: { type: "object", required: ["minor"], properties: { minor: { type: "integer", minimum: 0 } } } },
  { [`${p}/lines/minItems`]: 0 },
  { [`${p}/lines/uniqueItems`]: undefined, [`${p}/lines/title`]: "Lines" },
  { [`${p}/either/title`]: "Either" },
  { additionalProperties: true },
  { [`${p}/tags/additionalProperties/description`]: "A tag" },
];

describe("incompatibilities", () => {
  test.each(compatible.map((changes) => [JSON.stringify(changes).slice(0, 90), changes] as const))(
    "accept %s",
    (_says, changes) => {
      expect(found(base, edited(changes))).toEqual([]);
    },
  );

  test("has forty edits that are accepted", () => {
    expect(compatible.length).toBeGreaterThanOrEqual(40);
  });

  test.each<readonly [says: string, changes: Readonly<Record<string, unknown>>, problem: string]>([
    ["a removed property", { [`${p}/status`]: undefined }, "/properties/status: the property was removed"],
    ["another type", { [`${p}/at/type`]: "string" }, "/properties/at/type: type changed"],
    [
      "a wider type",
      { [`$defs/money/${p}/minor/type`]: "number" },
      "/properties/money/properties/minor/type: type changed",
    ],
    ["a further required name", { required: ["id", "money", "kind"] }, "/required: kind became required"],
    ["a name that is no longer required", { required: ["id"] }, "/required: money is no longer required"],
    ["a new required property", { [`${p}/x`]: {}, required: ["id", "money", "x"] }, "/required: x became required"],
    ["a tighter bound", { [`${p}/id/maxLength`]: 32 }, "/properties/id/maxLength: maxLength changed"],
    ["a wider bound", { [`${p}/lines/maxItems`]: 99 }, "/properties/lines/maxItems: maxItems changed"],
    ["a bound that is gone", { [`${p}/id/minLength`]: undefined }, "/properties/id/minLength: minLength changed"],
    ["another pattern", { [`${p}/id/pattern`]: "^po_[a-z]+$" }, "/properties/id/pattern: pattern changed"],
    ["another format", { [`${p}/at/format`]: "date" }, "/properties/at/format: format changed"],
    [
      "a value of a closed list",
      { [`${p}/kind/enum`]: ["out", "in", "x"] },
      '/properties/kind/enum: the value "x" was added to an enumeration without x-open-enum',
    ],
    [
      "a removed value",
      { [`${p}/status/enum`]: ["failed"] },
      '/properties/status/enum: the value "processed" was removed; a version keeps each value that it had, with ' +
        "x-open-enum too: restore it",
    ],
    [
      "a removed value of a closed list",
      { [`${p}/kind/enum`]: ["out"] },
      '/properties/kind/enum: the value "in" was removed',
    ],
    [
      "a list that opens",
      { [`${p}/kind/x-open-enum`]: true },
      "/properties/kind/x-open-enum: an enumeration cannot become open within a version",
    ],
    ["a list that begins", { [`${p}/id/enum`]: ["po_1"] }, "/properties/id/enum: an enumeration was added or removed"],
    [
      "an object that closes",
      { additionalProperties: false },
      "/additionalProperties: undeclared properties are no longer permitted",
    ],
    [
      "a property of a map",
      { [`${p}/tags/${p}`]: { a: { type: "string" } } },
      "/properties/tags/properties/a: additionalProperties already has a schema for it",
    ],
    [
      "a map that begins",
      { [`${p}/closed/additionalProperties`]: { type: "string" } },
      "/properties/closed/additionalProperties: the schema of additionalProperties was added or removed",
    ],
    [
      "a property in a branch",
      { [`${p}/either/anyOf`]: [{ type: "string" }, { type: "object", properties: { b: { const: 1 }, c: {} } }] },
      "/properties/either: a schema with allOf, anyOf or oneOf cannot change within a version",
    ],
    [
      "items that begin",
      { [`${p}/x`]: undefined, [`${p}/lines/items`]: undefined },
      "/properties/lines/items: items was added or removed",
    ],
  ])("reject %s", (_says, changes, problem) => {
    expect(found(base, edited(changes))).toContain(`${problem}; raise \`version\``);
  });
});

/** The fields that a recipient of a schema reads: those that it declares. Branches and maps declare every name. */
function pruned(node: SchemaNode, value: unknown): unknown {
  if (hasBranches(node) || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const { items } = node;
    return items === undefined ? value : value.map((item) => pruned(items, item));
  }
  const { properties, additional } = node;
  const members = Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
    const schema = properties?.get(name) ?? (typeof additional === "object" ? additional : undefined);
    return schema === undefined ? [] : [[name, pruned(schema, member)]];
  });
  return Object.fromEntries(members);
}

/** A schema with one random edit, often a compatible one. */
const edit = fc.record({
  add: fc.option(fc.tuple(fc.constantFrom("a", "b", "c", "d", "e"), objectSchema)),
  drop: fc.option(fc.constantFrom("a", "b", "c", "d"), { freq: 6 }),
  open: fc.boolean(),
  grow: fc.boolean(),
});

function applied(
  schema: PlainSchema,
  { add, drop, open, grow }: typeof edit extends fc.Arbitrary<infer T> ? T : never,
): PlainSchema {
  const properties = { ...(schema["properties"] as Readonly<Record<string, PlainSchema>>) };
  if (add !== null && !Object.hasOwn(properties, add[0])) properties[add[0]] = add[1];
  if (drop !== null) delete properties[drop];
  const { additionalProperties, ...rest } = schema;
  const required = (schema["required"] as readonly string[]).filter((name) => Object.hasOwn(properties, name));
  if (grow) {
    for (const [name, one] of Object.entries(properties))
      if (one["x-open-enum"] === true) properties[name] = { ...one, enum: ["x", "y", "zz"] };
  }
  return {
    ...rest,
    properties,
    required,
    ...(open || additionalProperties === undefined ? {} : { additionalProperties }),
  };
}

const runs = process.env["HELIOGRAPH_SOAK"] === undefined ? 400 : 40_000;

test("an accepted pair has no counter-example, neither an old event nor a new one", () => {
  let pairs = 0;
  let events = 0;
  fc.assert(
    fc.property(
      objectSchema,
      fc.oneof(
        { weight: 4, arbitrary: edit.map((one) => (schema: PlainSchema) => applied(schema, one)) },
        { weight: 1, arbitrary: objectSchema.map((other) => () => other) },
      ),
      fc.array(anyValue, { minLength: 8, maxLength: 8 }),
      (schema, change, values) => {
        const after = change(schema);
        const [former, next] = [rootOf(schema), rootOf(after)];
        if (incompatibilities(former, next).length > 0) return;
        pairs += 1;
        for (const value of values) {
          const declared = pruned(former, value);
          const isOld = validateData(former, declared).length === 0;
          events += isOld ? 1 : 0;
          const old = isOld ? validateData(next, declared) : [];
          const isNew = validateData(next, value).length === 0;
          const seen = isNew ? validateData(former, declared, true) : [];
          expect({ schema, after, value, old, seen }).toMatchObject({ old: [], seen: [] });
        }
      },
    ),
    { numRuns: runs },
  );
  expect(pairs).toBeGreaterThan(runs / 10);
  expect(events).toBeGreaterThan(runs / 10);
});
