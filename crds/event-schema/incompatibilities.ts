import { below, hasBranches, type PointerProblem, type Scalar, type SchemaNode } from "./schema-node.ts";

const problemsMax = 20;
const advice = "raise `version`";

/**
 * Compares two schemas of one version. They are compatible when two things hold for all data:
 *
 * - Data that is valid under the former schema and has only its declared fields is valid under the new one.
 * - Data that is valid under the new schema is valid for recipients of the former one, which ignore fields that it does
 *   not declare, and values that an open enumeration does not list.
 *
 * So only optional properties and values of open enumerations may be added, and a closed object may be opened.
 *
 * @returns the first differences at fault, none for compatible schemas. Pointers are into the new schema.
 */
export function incompatibilities(before: SchemaNode, after: SchemaNode): readonly PointerProblem[] {
  const comparison = new Comparison();
  comparison.compare(before, after, "");
  return comparison.problems.slice(0, problemsMax);
}

class Comparison {
  readonly problems: PointerProblem[] = [];
  /** Shared definitions are compared once for each place that leads to the same pair. */
  readonly #compared = new Map<SchemaNode, Set<SchemaNode>>();

  compare(before: SchemaNode, after: SchemaNode, pointer: string): void {
    if (this.#isKnown(before, after) || this.problems.length >= problemsMax) return;
    if (hasBranches(before) || hasBranches(after)) {
      if (!new Equality().areEqual(before, after))
        this.#fault(pointer, "a schema with allOf, anyOf or oneOf cannot change within a version");
      return;
    }
    for (const keyword of changedKeywords(before, after)) this.#fault(below(pointer, keyword), `${keyword} changed`);
    this.#values(before, after, pointer);
    this.#items(before, after, pointer);
    this.#object(before, after, pointer);
  }

  #isKnown(before: SchemaNode, after: SchemaNode): boolean {
    const partners = this.#compared.get(before) ?? new Set();
    if (partners.has(after)) return true;
    this.#compared.set(before, partners.add(after));
    return false;
  }

  #values(before: SchemaNode, after: SchemaNode, pointer: string): void {
    const at = below(pointer, "enum");
    if (before.values === undefined && after.values === undefined) return;
    if (before.values === undefined || after.values === undefined) {
      this.#fault(at, "an enumeration was added or removed");
      return;
    }
    const removed = [...before.values].find((value) => !has(after, value));
    if (removed !== undefined) this.#fault(at, `the value ${JSON.stringify(removed)} was removed${keptNote(before)}`);
    const added = [...after.values].find((value) => !has(before, value));
    if (added !== undefined && !before.isOpenEnum)
      this.#fault(at, `the value ${JSON.stringify(added)} was added to an enumeration without x-open-enum`);
    if (after.isOpenEnum && !before.isOpenEnum)
      this.#fault(below(pointer, "x-open-enum"), "an enumeration cannot become open within a version");
  }

  #items(before: SchemaNode, after: SchemaNode, pointer: string): void {
    const at = below(pointer, "items");
    if (before.items !== undefined && after.items !== undefined) this.compare(before.items, after.items, at);
    else if (before.items !== after.items) this.#fault(at, "items was added or removed");
  }

  #object(before: SchemaNode, after: SchemaNode, pointer: string): void {
    const at = below(pointer, "properties");
    for (const name of [...before.required].filter((one) => !after.required.includes(one)))
      this.#fault(below(pointer, "required"), `${name} is no longer required`);
    for (const name of [...after.required].filter((one) => !before.required.includes(one)))
      this.#fault(below(pointer, "required"), `${name} became required`);
    for (const [name, schema] of before.properties ?? []) {
      const next = after.properties?.get(name);
      if (next === undefined) this.#fault(below(at, name), "the property was removed");
      else this.compare(schema, next, below(at, name));
    }
    const added = [...(after.properties?.keys() ?? [])].filter((name) => before.properties?.has(name) !== true);
    this.#additional(before.additional, after.additional, pointer, added);
  }

  /** Values of a map are declared for every name, so that a new name would have two schemas. */
  #additional(
    before: SchemaNode["additional"],
    after: SchemaNode["additional"],
    pointer: string,
    added: readonly string[],
  ): void {
    const at = below(pointer, "additionalProperties");
    if (typeof before === "object" && typeof after === "object") {
      this.compare(before, after, at);
      for (const name of added)
        this.#fault(below(below(pointer, "properties"), name), "additionalProperties already has a schema for it");
    } else if (typeof before === "object" || typeof after === "object")
      this.#fault(at, "the schema of additionalProperties was added or removed");
    else if (before && !after) this.#fault(at, "undeclared properties are no longer permitted");
  }

  #fault(pointer: string, detail: string): void {
    this.problems.push({ pointer, detail: `${detail}; ${advice}` });
  }
}

/** Compares schemas that must not change, except for their annotations. */
class Equality {
  readonly #equal = new Map<SchemaNode, Set<SchemaNode>>();

  areEqual(one: SchemaNode, other: SchemaNode): boolean {
    const known = this.#equal.get(one) ?? new Set();
    if (known.has(other)) return true;
    // Nodes form no ring, so that a pair in work never meets itself.
    this.#equal.set(one, known.add(other));
    return this.#haveEqualKeywords(one, other) && this.#haveEqualParts(one, other);
  }

  #haveEqualKeywords(one: SchemaNode, other: SchemaNode): boolean {
    return (
      changedKeywords(one, other).length === 0 &&
      one.isOpenEnum === other.isOpenEnum &&
      sameSet(one.values, other.values) &&
      sameSet(new Set(one.required), new Set(other.required))
    );
  }

  #haveEqualParts(one: SchemaNode, other: SchemaNode): boolean {
    const members = (node: SchemaNode): ReadonlySet<string> | undefined =>
      node.properties && new Set(node.properties.keys());
    return (
      this.#areAlike(one.items, other.items) &&
      this.#areAlike(one.additional, other.additional) &&
      sameSet(members(one), members(other)) &&
      [...(one.properties ?? [])].every(([name, node]) => this.#areAlike(node, other.properties?.get(name))) &&
      (["allOf", "anyOf", "oneOf"] as const).every((keyword) => this.#areListed(one[keyword], other[keyword]))
    );
  }

  #areAlike(one: SchemaNode | boolean | undefined, other: SchemaNode | boolean | undefined): boolean {
    return typeof one === "object" && typeof other === "object" ? this.areEqual(one, other) : one === other;
  }

  #areListed(one: readonly SchemaNode[] | undefined, other: readonly SchemaNode[] | undefined): boolean {
    return (
      one?.length === other?.length && (one ?? []).every((node, index) => this.#areAlike(node, (other ?? [])[index]))
    );
  }
}

/** The keywords with one value that differ. */
function changedKeywords(before: SchemaNode, after: SchemaNode): readonly string[] {
  const [former, next] = [before, after].map(
    ({ types, pattern, format, bounds }): Readonly<Record<string, unknown>> => ({
      type: types,
      pattern: pattern?.source,
      format,
      ...bounds,
    }),
  );
  const keywords = [...new Set([...Object.keys(former ?? {}), ...Object.keys(next ?? {})])];
  return keywords.filter((keyword) => former?.[keyword] !== next?.[keyword]);
}

/** People expect an open enumeration to shrink as it grows. */
function keptNote({ isOpenEnum }: SchemaNode): string {
  return isOpenEnum ? "; a version keeps each value that it had, with x-open-enum too: restore it" : "";
}

function has({ values }: SchemaNode, value: Scalar): boolean {
  return values?.has(value) === true;
}

function sameSet<T>(one: ReadonlySet<T> | undefined, other: ReadonlySet<T> | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.size === other.size && [...one].every((value) => other.has(value));
}
