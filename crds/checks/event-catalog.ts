import { nodesBelow, type PointerProblem, type SchemaNode } from "../event-schema/schema-node.ts";
import { parseSchema } from "../event-schema/parse-schema.ts";
import { validateData } from "../event-schema/validate-data.ts";
import type { FieldProblem } from "../problem.ts";
import type { EventCatalogSpec, EventCatalogType, EventCatalogTypeVersion } from "../types/event-catalog.ts";
import { type PlacedRule, rule, rulesAt } from "./cel-rule.ts";

const versionsMax = 200;

/** The compilation of so many patterns takes a third of a second at most. */
const programsMax = 256;
const tooManyPrograms =
  `a catalog has at most ${programsMax} different patterns with groups or several open repetitions; anchor them and ` +
  "repeat once, or divide the catalog";

/** The CEL rules of EventCatalog. */
export const eventCatalogRules: readonly PlacedRule[] = [
  ...rulesAt<readonly EventCatalogType[]>("spec.types", [
    rule(
      "a catalog has at most 200 versions of all types",
      (types) => types.reduce((sum, { versions }) => sum + versions.length, 0) <= versionsMax,
    ),
  ]),
  ...rulesAt<EventCatalogType>("spec.types[]", [
    rule(
      "types that begin with heliograph. are reserved for operational events",
      ({ type }) => !type.startsWith("heliograph."),
      ".type",
    ),
  ]),
  ...rulesAt<EventCatalogTypeVersion>("spec.types[].versions[]", [
    rule(
      "deprecatedAt and sunsetAt are allowed for deprecated versions only",
      ({ state, deprecatedAt, sunsetAt }) => state === "Deprecated" || (deprecatedAt ?? sunsetAt) === undefined,
      ".state",
    ),
    rule(
      "a deprecated version requires deprecatedAt",
      ({ state, deprecatedAt }) => state !== "Deprecated" || deprecatedAt !== undefined,
      ".deprecatedAt",
    ),
    rule(
      "sunsetAt must be later than deprecatedAt",
      ({ deprecatedAt, sunsetAt }) =>
        deprecatedAt === undefined || sunsetAt === undefined || Date.parse(sunsetAt) > Date.parse(deprecatedAt),
      ".sunsetAt",
    ),
  ]),
];

/**
 * Problems that no CEL rule can find: keywords of schemas, examples that their schema rejects, and pointers of
 * sensitive fields that no version declares. The operator and the offline checks report them; the API server does not.
 */
export function eventSchemaProblems({ types }: EventCatalogSpec): readonly FieldProblem[] {
  const programs = new Set<string>();
  return types.flatMap((one, index) => {
    const at = `spec.types[${index}]`;
    if (programs.size > programsMax) return [];
    const parsed = one.versions.map(({ schema }) => parseSchema(schema));
    for (const schema of parsed) for (const program of schema.programs ?? []) programs.add(program);
    if (programs.size > programsMax) return [invalid(at, tooManyPrograms)];
    const problems = one.versions.flatMap((version, place) =>
      versionProblems(version, parsed[place], `${at}.versions[${place}]`),
    );
    const roots = parsed.flatMap(({ root }) => root ?? []);
    return [...problems, ...(roots.length < parsed.length ? [] : sensitiveProblems(one, roots, at))];
  });
}

function versionProblems(
  { schema, examples }: EventCatalogTypeVersion,
  parsed: ReturnType<typeof parseSchema> | undefined,
  at: string,
): readonly FieldProblem[] {
  if (parsed?.root === undefined) return (parsed?.problems ?? []).map((problem) => placed(`${at}.schema`, problem));
  const { root } = parsed;
  contradictions.set(schema, contradictionsBelow(root));
  return examples.flatMap((example, index) =>
    validateData(root, example).map((problem) => placed(`${at}.examples[${index}]`, problem)),
  );
}

function sensitiveProblems(
  { sensitive }: EventCatalogType,
  roots: readonly SchemaNode[],
  at: string,
): readonly FieldProblem[] {
  loose.set(sensitive, loosePointers(sensitive, roots));
  return sensitive.flatMap(({ pointer }, index) => {
    if (leads(pointer, roots, true)) return [];
    return [
      invalid(
        `${at}.sensitive[${index}].pointer`,
        `no version of the type declares ${pointer}; pointers begin below data`,
      ),
    ];
  });
}

/** @param isWide true to follow `additionalProperties` too, which accept a name with a typing error */
function leads(pointer: string, roots: readonly SchemaNode[], isWide: boolean): boolean {
  const segments = pointer.slice(1).split("/");
  const below = (nodes: ReadonlySet<SchemaNode>, segment: string) => placesBelow(nodes, segment, isWide);
  return segments.reduce<ReadonlySet<SchemaNode>>(below, new Set(roots)).size > 0;
}

/** The schemas that a segment leads to, from branches too. Each is visited once, however many refer to it. */
function placesBelow(nodes: ReadonlySet<SchemaNode>, segment: string, isWide: boolean): ReadonlySet<SchemaNode> {
  const name = segment.replaceAll("~1", "/").replaceAll("~0", "~");
  const visited = new Set(nodes);
  const found = new Set<SchemaNode>();
  // A set also iterates over what is added on the way.
  for (const { properties, items, additional, allOf, anyOf, oneOf } of visited) {
    for (const branch of [allOf, anyOf, oneOf].flatMap((branches = []) => branches)) visited.add(branch);
    const members = [properties?.get(name), segment === "*" ? items : undefined, isWide ? additional : undefined];
    for (const member of members) if (typeof member === "object") found.add(member);
  }
  return found;
}

/** A problem at a pointer below a field. */
export function placed(field: string, { pointer, detail }: PointerProblem): FieldProblem {
  return invalid(field, pointer === "" ? detail : `${pointer}: ${detail}`);
}

function invalid(field: string, message: string): FieldProblem {
  return { field, reason: "Invalid", message };
}

const [warningsMax, shownMax] = [20, 64];

/** Warnings for schemas that are valid but accept nothing at some place, which is probably a mistake. */
export function contradictionWarnings({ types }: EventCatalogSpec): readonly string[] {
  const all = types.flatMap(({ type, versions }) =>
    versions.flatMap(({ version, schema }) => {
      const found = contradictions.get(schema) ?? contradictionsBelow(parseSchema(schema).root);
      return found.map(({ pointer, detail }) => `schema of version ${version} of ${type}: ${pointer}: ${detail}`);
    }),
  );
  return all.slice(0, warningsMax);
}

/**
 * Warnings for pointers of sensitive fields that only `additionalProperties` reaches: probably a typing error, after
 * which the field itself is not sensitive.
 */
export function looseWarnings({ types }: EventCatalogSpec): readonly string[] {
  const all = types.flatMap(({ type, sensitive, versions }) => {
    const found = loose.get(sensitive) ?? looseIn(sensitive, versions);
    return found.map(
      (pointer) => `sensitive field ${pointer} of ${type}: only additionalProperties allows it; check its spelling`,
    );
  });
  return all.slice(0, warningsMax);
}

type Sensitive = EventCatalogType["sensitive"];

function looseIn(sensitive: Sensitive, versions: readonly EventCatalogTypeVersion[]): readonly string[] {
  const roots = versions.flatMap(({ schema }) => parseSchema(schema).root ?? []);
  return roots.length === versions.length ? loosePointers(sensitive, roots) : [];
}

function loosePointers(sensitive: Sensitive, roots: readonly SchemaNode[]): readonly string[] {
  return sensitive.map(({ pointer }) => pointer).filter((pointer) => !leads(pointer, roots, false));
}

/** Those of lists that were checked, so that schemas are parsed once. */
const loose = new WeakMap<object, readonly string[]>();

/** Those of schemas whose problems were looked for, so that they are parsed once. */
const contradictions = new WeakMap<object, readonly PointerProblem[]>();

/** @param root undefined for an invalid schema, which has none */
function contradictionsBelow(root: SchemaNode | undefined): readonly PointerProblem[] {
  return [...(root === undefined ? [] : nodesBelow(root))].flatMap(contradictionsOf).slice(0, warningsMax);
}

function contradictionsOf(node: SchemaNode): readonly PointerProblem[] {
  const { pointer, bounds, values = new Set() } = node;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = bounds;
  const pairs = [
    ["minLength", "maxLength", Number(bounds.minLength) > Number(bounds.maxLength)],
    ["minItems", "maxItems", Number(bounds.minItems) > Number(bounds.maxItems)],
    ["minProperties", "maxProperties", Number(bounds.minProperties) > Number(bounds.maxProperties)],
    ["minimum", "maximum", Number(minimum) > Number(maximum)],
    ["exclusiveMinimum", "maximum", Number(exclusiveMinimum) >= Number(maximum)],
    ["minimum", "exclusiveMaximum", Number(minimum) >= Number(exclusiveMaximum)],
    ["exclusiveMinimum", "exclusiveMaximum", Number(exclusiveMinimum) >= Number(exclusiveMaximum)],
  ] as const;
  const empty = pairs.filter(([, , isEmpty]) => isEmpty);
  const rejected = [...values].filter((value) => validateData(node, value).length > 0);
  const words = rejected.length === values.size ? "no value is valid" : "this value is never valid";
  return [
    ...empty.map(([min, max]) => ({ pointer, detail: `no value is between ${min} and ${max}` })),
    ...rejected.slice(0, 1).map((value) => ({
      pointer,
      detail: `other keywords reject ${shown(value)} of the enumeration or constant: ${words}`,
    })),
  ];
}

function shown(value: unknown): string {
  return JSON.stringify(value).slice(0, shownMax);
}
