import { isPlain } from "../../../crds/event-schema/keywords.ts";
import { below } from "../../../crds/event-schema/schema-node.ts";
import { pointerTree, type JsonPointers } from "../../json/json-pointers.ts";
import { bothTrees, selectPayload, type PayloadSelection } from "./payload-selection.ts";

/** A JSON Schema of `data`, of the keywords of event catalogs. */
export type DataSchema = Readonly<Record<string, unknown>>;

/** One part of a selection at a value that it neither keeps nor cuts entirely. */
interface Part {
  readonly isIncluding: boolean;
  readonly node: JsonPointers;
}

/** What a selection leaves of a value: parts that all apply. Empty: the complete value. */
type View = readonly Part[];

/** The views of a value, of which each event has one. None cuts all of it. */
type Views = readonly View[];
type Branches = readonly DataSchema[];

/** Longest name of a definition, without what tells apart two parts of it. */
const definitionNameMax = 48;
const examplesMax = 10;
/** They describe, count or compare what is cut, or are written again. */
const dropped: ReadonlySet<string> = new Set([
  "$comment",
  "default",
  "examples",
  "minProperties",
  "maxProperties",
  "uniqueItems",
  "allOf",
  "anyOf",
  "oneOf",
]);
const nothing: DataSchema = { type: "object", additionalProperties: false, properties: {} };

/**
 * The schema of the data that remains after one of several selections. Fields that all of them cut are not in it, nor
 * definitions that only these use. Fields that some of them cut are optional.
 *
 * @param selections one for each part that the reader may get of an event; an empty one is the whole event
 */
export function visibleSchema(schema: DataSchema, selections: readonly PayloadSelection[]): DataSchema {
  const data = stepInto(selections.map(viewOf), "data");
  if (data.length === 0) return nothing;
  return isWhole(data) ? schema : new Cutter(schema).root(schema, data);
}

/** The examples as the selections leave them, without repetitions. */
export function visibleExamples(
  examples: readonly DataSchema[],
  selections: readonly PayloadSelection[],
): readonly DataSchema[] {
  const texts = selections.flatMap((selection) =>
    examples.flatMap((data) => {
      const bytes = selectPayload(Buffer.from(JSON.stringify({ data })), selection);
      const { data: left } = JSON.parse(Buffer.from(bytes).toString()) as { readonly data?: DataSchema };
      return left === undefined ? [] : [JSON.stringify(left)];
    }),
  );
  return [...new Set(texts)].slice(0, examplesMax).map((text) => JSON.parse(text) as DataSchema);
}

function viewOf(selection: PayloadSelection): View {
  return selection.map(({ include, exclude = [] }) => ({
    isIncluding: include !== undefined,
    node: pointerTree(include ?? exclude),
  }));
}

/** The view of a member; undefined if it is cut. */
function memberView(view: View, childOf: (node: JsonPointers) => JsonPointers | undefined): View | undefined {
  const parts: Part[] = [];
  for (const { isIncluding, node } of view) {
    const child = childOf(node);
    const isNamed = child?.pointer !== undefined;
    // A pointer that ends here decides about all that is inside.
    if (child !== undefined && !isNamed) parts.push({ isIncluding, node: child });
    else if (isNamed !== isIncluding) return undefined;
  }
  return parts;
}

function stepInto(views: Views, name: string): Views {
  return views.flatMap((view) => {
    const left = memberView(view, (node) => node.children.get(name));
    return left === undefined ? [] : [left];
  });
}

/** What is left of the items of a list, and whether some become null. */
function stepIntoItems(views: Views): { readonly items: Views; readonly hasNulls: boolean } {
  const all = views.flatMap((view) => {
    const names = [...new Set(["*", ...view.flatMap(({ node }) => [...node.children.keys()])])];
    return names.map((name) => memberView(view, ({ children }) => bothTrees(children.get(name), children.get("*"))));
  });
  const items = all.filter((view) => view !== undefined);
  return { items, hasNulls: items.length < all.length };
}

/** What is left of the members that no property declares. */
function stepIntoOthers(views: Views, declared: ReadonlySet<string>): Views {
  return views.flatMap((view) => {
    const named = [...new Set(view.flatMap(({ node }) => [...node.children.keys()]))].filter(
      (name) => !declared.has(name),
    );
    const left = [undefined, ...named].map((name) =>
      memberView(view, (node) => (name === undefined ? undefined : node.children.get(name))),
    );
    return left.filter((one) => one !== undefined);
  });
}

const isWhole = (views: Views): boolean => views.every((view) => view.length === 0);

/** Cuts one document. A definition is cut once for each place of the data that it describes. */
class Cutter {
  readonly #definitions: DataSchema;
  /** Names of cut definitions, by their name and the JSON pointer of the data. */
  readonly #cutNames = new Map<string, string>();
  readonly #kept = new Map<string, unknown>();

  constructor({ $defs }: DataSchema) {
    this.#definitions = isPlain($defs) ? $defs : {};
  }

  root(schema: DataSchema, views: Views): DataSchema {
    const { $defs: _all, ...document } = schema;
    const left = this.#cut(document, views, "");
    return this.#kept.size === 0 ? left : { ...left, $defs: Object.fromEntries(this.#kept) };
  }

  #cut(schema: unknown, views: Views, at: string): DataSchema {
    if (!isPlain(schema)) return {};
    if (isWhole(views)) return this.#whole(schema) as DataSchema;
    const { $ref } = schema;
    const kept = Object.entries(schema).filter(([keyword]) => !dropped.has(keyword));
    const left = Object.fromEntries(kept);
    if (typeof $ref === "string") return { ...left, $ref: this.#cutReference($ref, views, at) };
    return {
      ...left,
      ...this.#cutBranches(schema, views, at),
      ...this.#cutItems(schema, views, at),
      ...this.#cutMembers(schema, views, at),
    };
  }

  /** What tells the branches of oneOf apart may be cut, so that several of them match. */
  #cutBranches({ allOf, anyOf = [], oneOf = [] }: DataSchema, views: Views, at: string): DataSchema {
    const cut = (list: unknown): readonly DataSchema[] =>
      Array.isArray(list) ? list.map((one) => this.#cut(one, views, at)) : [];
    const [all, any, one] = [allOf, anyOf, oneOf].map(cut) as [Branches, Branches, Branches];
    const [first, second] = [any, one].filter(({ length }) => length > 0);
    const both = [...all, ...(second === undefined ? [] : [{ anyOf: second }])];
    return {
      ...(both.length === 0 ? {} : { allOf: both }),
      ...(first === undefined ? {} : { anyOf: first }),
    };
  }

  #cutItems({ items }: DataSchema, views: Views, at: string): DataSchema {
    if (items === undefined) return {};
    const { items: left, hasNulls } = stepIntoItems(views);
    if (left.length === 0) return { items: { type: "null" } };
    const cut = this.#cut(items, left, `${at}/*`);
    const mayBeCut = hasNulls || !left.every((view) => this.#keepsValue(items, view));
    return { items: mayBeCut ? { anyOf: [cut, { type: "null" }] } : cut };
  }

  #cutMembers(schema: DataSchema, views: Views, at: string): Record<string, unknown> {
    const { properties, required, additionalProperties: others } = schema;
    const declared = isPlain(properties) ? properties : {};
    const left = Object.entries(declared).flatMap(([name, one]) => {
      const inside = stepInto(views, name);
      return inside.length === 0 ? [] : [[name, this.#cut(one, inside, below(at, name))] as const];
    });
    const more = isPlain(others) ? stepIntoOthers(views, new Set(Object.keys(declared))) : [];
    return {
      ...(properties === undefined ? {} : { properties: Object.fromEntries(left) }),
      ...(Array.isArray(required)
        ? { required: (required as readonly string[]).filter((name) => this.#isKept(declared[name], views, name)) }
        : {}),
      ...(isPlain(others) ? { additionalProperties: more.length === 0 || this.#cut(others, more, `${at}/ `) } : {}),
    };
  }

  /** Whether every selection keeps a required member. */
  #isKept(schema: unknown, views: Views, name: string): boolean {
    return views.every((view) => {
      const [inside] = stepInto([view], name);
      return inside !== undefined && this.#keepsValue(schema, inside);
    });
  }

  /** False if a scalar is cut, because only members of the value are included. */
  #keepsValue(schema: unknown, view: View): boolean {
    return !view.some(({ isIncluding }) => isIncluding) || this.#isContainer(schema);
  }

  #isContainer(schema: unknown): boolean {
    if (!isPlain(schema)) return false;
    const { $ref, type } = schema;
    if (typeof $ref === "string") return this.#isContainer(this.#definitions[nameIn($ref)]);
    const types: readonly unknown[] = Array.isArray(type) ? type : [type];
    return types.every((one) => one === "object" || one === "array");
  }

  #cutReference($ref: string, views: Views, at: string): string {
    const name = nameIn($ref);
    const key = `${name} ${at}`;
    const known = this.#cutNames.get(key);
    if (known !== undefined) return `#/$defs/${known}`;
    const own = this.#freeName(name);
    this.#cutNames.set(key, own);
    this.#kept.set(own, this.#cut(this.#definitions[name], views, at));
    return `#/$defs/${own}`;
  }

  #freeName(name: string): string {
    let count = this.#cutNames.size + 1;
    const next = (): string => `${name.slice(0, definitionNameMax)}.part${count}`;
    while (Object.hasOwn(this.#definitions, next()) || this.#kept.has(next())) count += 1;
    return next();
  }

  /** Keeps a value with the definitions that it refers to. */
  #whole(value: unknown): unknown {
    if (Array.isArray(value)) value.forEach((one) => this.#whole(one));
    else if (isPlain(value)) {
      const { $ref } = value;
      if (typeof $ref === "string") this.#keep(nameIn($ref));
      Object.values(value).forEach((one) => this.#whole(one));
    }
    return value;
  }

  #keep(name: string): void {
    if (this.#kept.has(name)) return;
    const definition = this.#definitions[name];
    this.#kept.set(name, definition);
    this.#whole(definition);
  }
}

function nameIn($ref: string): string {
  return $ref.slice("#/$defs/".length);
}
