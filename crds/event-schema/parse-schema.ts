import {
  annotations,
  boundRules,
  branches,
  isKnown,
  isPlain,
  isScalar,
  isTexts,
  isTypeName,
  isWhole,
  type Plain,
  rootKeywords,
} from "./keywords.ts";
import {
  below,
  type Bounds,
  emptyNode,
  isOfScalars,
  noBounds,
  type PointerProblem,
  type Scalar,
  type SchemaNode,
  typeBits,
} from "./schema-node.ts";
import { isSimplePattern, patternOf, programFaults } from "./pattern.ts";

/** Bytes of a schema as compact JSON. */
export const schemaBytesMax = 32 * 1024;
/** Levels, a `$ref` counted as its target. */
const schemaDepthMax = 16;
/** The compilation of so many patterns takes some milliseconds, once. */
const programsMax = 16;
const tooManyPrograms = `a schema has at most ${programsMax} patterns with groups or several open repetitions`;
const problemsMax = 20;

const draft = "https://json-schema.org/draft/2020-12/schema";

/** A parsed schema, or its faults; never both. `programs` are its patterns that are not simple. */
export type ParsedSchema = { readonly programs?: ReadonlySet<string> } & (
  | { readonly root: SchemaNode; readonly problems: readonly [] }
  | { readonly root?: undefined; readonly problems: readonly PointerProblem[] }
);

/** Parses a schema and checks that it has the permitted keywords only, in their permitted forms. */
export function parseSchema(schema: Plain): ParsedSchema {
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > schemaBytesMax)
    return { problems: [{ pointer: "", detail: `a schema has at most ${schemaBytesMax} bytes, not ${bytes}` }] };
  const parser = new Parser(schema);
  const root = parser.root();
  const [problems, { programs }] = [parser.problems.slice(0, problemsMax), parser];
  return problems.length === 0 ? { root, problems: [], programs } : { problems, programs };
}

class Parser {
  readonly problems: PointerProblem[] = [];
  /** Patterns that are not simple. */
  readonly programs = new Set<string>();
  readonly #document: Plain;
  readonly #definitions = new Map<string, SchemaNode>();
  readonly #open = new Set<string>();

  constructor(document: Plain) {
    this.#document = document;
  }

  root(): SchemaNode {
    const { $schema, $defs = {} } = this.#document;
    if ($schema !== undefined && $schema !== draft) this.#fault("/$schema", `$schema must be ${draft}`);
    if (!isPlain($defs)) this.#fault("/$defs", "$defs must be an object");
    else for (const name of Object.keys($defs)) this.#definition(name, 0, `/$defs`);
    const root = this.#node(this.#document, "", 0);
    if (root.types !== typeBits.object) this.#fault("", "the type of data must be object");
    return root;
  }

  #node(schema: unknown, pointer: string, depth: number): SchemaNode {
    if (!isPlain(schema)) return this.#empty(pointer, "a schema must be an object");
    if (depth > schemaDepthMax) return this.#empty(pointer, `schemas nest at most ${schemaDepthMax} levels deep`);
    for (const keyword of Object.keys(schema).filter((one) => !isKnown(one, pointer)))
      this.#fault(below(pointer, keyword), `the keyword ${keyword} is not supported here`);
    if (Object.hasOwn(schema, "$ref")) return this.#reference(schema, pointer, depth);
    const node: SchemaNode = {
      ...emptyNode(pointer),
      types: this.#types(schema, pointer),
      ...this.#values(schema, pointer),
      bounds: this.#bounds(schema, pointer),
      pattern: this.#pattern(schema, pointer),
      format: this.#text(schema, "format", pointer),
      items:
        schema["items"] === undefined ? undefined : this.#node(schema["items"], below(pointer, "items"), depth + 1),
      ...this.#object(schema, pointer, depth),
      ...this.#branches(schema, pointer, depth),
    };
    this.#checkNode(node);
    return node;
  }

  #reference(schema: Plain, pointer: string, depth: number): SchemaNode {
    const { $ref } = schema;
    const isOther = (keyword: string): boolean =>
      keyword !== "$ref" && !annotations.has(keyword) && (pointer !== "" || !rootKeywords.has(keyword));
    const others = Object.keys(schema).filter(isOther);
    if (others.length > 0) this.#fault(pointer, `$ref allows no other keyword next to it: ${others.join(", ")}`);
    const name =
      typeof $ref === "string" ? /^#\/\$defs\/(?<name>[A-Za-z0-9._-]{1,64})$/u.exec($ref)?.groups?.["name"] : undefined;
    const at = below(pointer, "$ref");
    if (name === undefined) return this.#empty(at, "$ref must be #/$defs/NAME; other documents are never read");
    return this.#definition(name, depth, at);
  }

  #definition(name: string, depth: number, at: string): SchemaNode {
    const definitions = this.#document["$defs"];
    if (!isPlain(definitions) || !Object.hasOwn(definitions, name)) return this.#empty(at, `$defs has no ${name}`);
    if (this.#open.has(name)) return this.#empty(at, `the definition ${name} refers to itself; data must be finite`);
    const known = this.#definitions.get(name);
    if (known !== undefined) return known;
    this.#open.add(name);
    const node = this.#node(definitions[name], below("/$defs", name), depth);
    this.#open.delete(name);
    this.#definitions.set(name, node);
    return node;
  }

  #types(schema: Plain, pointer: string): number | undefined {
    const { type } = schema;
    if (type === undefined) return undefined;
    const names: readonly unknown[] = Array.isArray(type) ? type : [type];
    const bits = names.map((name) => (isTypeName(name) ? typeBits[name] : undefined));
    const isValid = bits.length > 0 && bits.every((bit) => bit !== undefined) && new Set(bits).size === bits.length;
    if (!isValid) this.#fault(below(pointer, "type"), `type must be of ${Object.keys(typeBits).join(", ")}`);
    const all = bits.reduce<number>((sum, bit) => sum | (bit ?? 0), 0);
    return (all & typeBits.number) === 0 ? all : all & ~typeBits.integer;
  }

  #values(schema: Plain, pointer: string): Pick<SchemaNode, "values" | "isOpenEnum"> {
    const { enum: list, "x-open-enum": open } = schema;
    const isConstant = Object.hasOwn(schema, "const");
    if (open !== undefined && (typeof open !== "boolean" || list === undefined))
      this.#fault(below(pointer, "x-open-enum"), "x-open-enum is true or false, next to enum");
    if (list === undefined) {
      const only = isConstant ? this.#scalars([schema["const"]], below(pointer, "const")) : undefined;
      return { values: only, isOpenEnum: false };
    }
    if (isConstant) this.#fault(pointer, "const and enum exclude each other");
    return { values: this.#scalars(list, below(pointer, "enum")), isOpenEnum: open === true };
  }

  #scalars(list: unknown, pointer: string): ReadonlySet<Scalar> {
    const all: readonly unknown[] = Array.isArray(list) ? list : [];
    const values = all.filter(isScalar);
    if (values.length === 0 || values.length < all.length)
      this.#fault(pointer, "values must be texts, numbers that keep their digits, booleans or null");
    return new Set(values);
  }

  #bounds(schema: Plain, pointer: string): Bounds {
    const bounds: Record<string, unknown> = {};
    for (const { keyword, isValid, mustBe, none } of boundRules) {
      const value = schema[keyword];
      if (value === undefined) continue;
      if (!isValid(value)) this.#fault(below(pointer, keyword), `${keyword} must be ${mustBe}`);
      else if (value !== none) bounds[keyword] = value;
    }
    return Object.keys(bounds).length === 0 ? noBounds : bounds;
  }

  #pattern(schema: Plain, pointer: string): SchemaNode["pattern"] {
    const source = this.#text(schema, "pattern", pointer);
    if (source === undefined) return undefined;
    const at = below(pointer, "pattern");
    if (isSimplePattern(source)) return patternOf(source);
    this.programs.add(source);
    const length = isWhole(schema["maxLength"], 0) ? Number(schema["maxLength"]) : Number.POSITIVE_INFINITY;
    const faults = this.programs.size > programsMax ? [tooManyPrograms] : programFaults(source, length);
    for (const detail of faults) this.#fault(at, detail);
    return faults.length === 0 ? patternOf(source) : undefined;
  }

  #text(schema: Plain, keyword: string, pointer: string): string | undefined {
    const value = schema[keyword];
    if (value === undefined || typeof value === "string") return value;
    this.#fault(below(pointer, keyword), `${keyword} must be a text`);
    return undefined;
  }

  #object(schema: Plain, pointer: string, depth: number): Pick<SchemaNode, "properties" | "required" | "additional"> {
    const { properties, required = [], additionalProperties: others = true } = schema;
    const at = below(pointer, "properties");
    if (properties !== undefined && !isPlain(properties)) this.#fault(at, "properties must be an object");
    if (!isTexts(required)) this.#fault(below(pointer, "required"), "required must be a list of different names");
    const named = Object.entries(isPlain(properties) ? properties : {});
    return {
      properties:
        properties === undefined
          ? undefined
          : new Map(named.map(([name, one]) => [name, this.#node(one, below(at, name), depth + 1)])),
      required: isTexts(required) ? required : [],
      additional:
        typeof others === "boolean" ? others : this.#node(others, below(pointer, "additionalProperties"), depth + 1),
    };
  }

  #branches(schema: Plain, pointer: string, depth: number): Pick<SchemaNode, "allOf" | "anyOf" | "oneOf"> {
    const [allOf, anyOf, oneOf] = branches.map((keyword) => {
      const list = schema[keyword];
      if (list === undefined) return undefined;
      const at = below(pointer, keyword);
      if (!Array.isArray(list) || list.length === 0) this.#fault(at, `${keyword} must be a list of schemas`);
      const schemas: readonly unknown[] = Array.isArray(list) ? list : [];
      return schemas.map((one, index) => this.#node(one, below(at, index), depth + 1));
    });
    return { allOf, anyOf, oneOf };
  }

  /** Rules about several keywords. */
  #checkNode(node: SchemaNode): void {
    const { pointer, items, properties, required, additional, bounds } = node;
    const { uniqueItems, minProperties, maxProperties } = bounds;
    if (uniqueItems === true && !isOfScalars(items))
      this.#fault(
        below(pointer, "uniqueItems"),
        "uniqueItems needs items whose type is string, integer, number or boolean",
      );
    if ((minProperties ?? maxProperties) !== undefined && typeof additional === "boolean")
      this.#fault(pointer, "minProperties and maxProperties need a schema in additionalProperties");
    const undeclared = required.find((name) => properties?.has(name) !== true);
    // Branches may require what the schema around them declares.
    if (undeclared !== undefined && !pointer.split("/").some((segment) => branches.includes(segment as "allOf")))
      this.#fault(below(pointer, "required"), `required names ${undeclared}, which properties does not declare`);
  }

  #empty(pointer: string, detail: string): SchemaNode {
    this.#fault(pointer, detail);
    return emptyNode(pointer);
  }

  #fault(pointer: string, detail: string): void {
    this.problems.push({ pointer, detail });
  }
}
