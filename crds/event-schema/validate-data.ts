import { numberRules } from "./keywords.ts";
import { LongNumber } from "./long-number.ts";
import type { Pattern } from "./pattern.ts";
import {
  below,
  type Bounds,
  hasBranches,
  noBounds,
  type PointerProblem,
  type Scalar,
  type SchemaNode,
  isOfType,
  typeWords,
} from "./schema-node.ts";

/** Steps of one validation. They bound its time to some milliseconds; data that needs more is invalid. */
export const stepsMax = 40_000;
/** Work on a name that an object declares or requires, and on a character that is counted, in steps. */
const [stepsPerName, stepsPerCharacter] = [1 / 8, 1 / 16];
/** A character has one or two code units. */
const unitsPerCharacterMax = 2;

const problemsMax = 20;
const valuesShownMax = 8;

/** The first problems, none for valid data, and the steps of the validation. */
export interface DataValidation {
  readonly problems: readonly PointerProblem[];
  readonly steps: number;
}

/**
 * Validates data against a parsed schema.
 * @param data numbers that doubles round are of type {@link LongNumber}
 * @param isReader true for a recipient of the schema: an open enumeration permits any value
 * @returns the first problems, none for valid data
 */
export function validateData(root: SchemaNode, data: unknown, isReader = false): readonly PointerProblem[] {
  return measuredValidation(root, data, isReader).problems;
}

/** Like {@link validateData}, with its steps. */
export function measuredValidation(root: SchemaNode, data: unknown, isReader = false): DataValidation {
  const problems: PointerProblem[] = [];
  const run = new Run(isReader, problems);
  if (run.run(root, data)) return { problems: [], steps: run.steps };
  const detail = `the data needs more than ${stepsMax} steps to validate; send a smaller event`;
  return { problems: run.isExhausted ? [{ pointer: "", detail }] : problems, steps: run.steps };
}

/** One validation. Without a list of problems it ends at the first one. */
class Run {
  readonly #isReader: boolean;
  readonly #path: (string | number)[] = [];
  #problems: PointerProblem[] | undefined;
  #steps = 0;
  #faults = 0;

  constructor(isReader: boolean, problems: PointerProblem[] | undefined) {
    this.#isReader = isReader;
    this.#problems = problems;
  }

  get steps(): number {
    return this.#steps;
  }

  get isExhausted(): boolean {
    return this.#steps > stepsMax;
  }

  /** Returns true for valid data. */
  run(node: SchemaNode, value: unknown): boolean {
    this.#visit(node, value);
    return this.#faults === 0 && !this.isExhausted;
  }

  get #hasEnded(): boolean {
    const faultsMax = this.#problems === undefined ? 1 : problemsMax;
    return this.#faults >= faultsMax || this.isExhausted;
  }

  #visit(node: SchemaNode, value: unknown): void {
    this.#steps += 1;
    if (this.isExhausted) return;
    const { types, values } = node;
    if (types !== undefined && !isOfType(value, types)) {
      this.#fault(() => `must be ${typeWords(types)}`);
      return;
    }
    if (values !== undefined && !values.has(value as Scalar) && !(node.isOpenEnum && this.#isReader))
      this.#fault(() => `must be ${shown(values)}`);
    this.#content(node, value);
    if (hasBranches(node) && !this.#hasEnded) this.#branches(node, value);
  }

  #content(node: SchemaNode, value: unknown): void {
    if (typeof value === "string") this.#text(node, value);
    else if (typeof value === "number") {
      if (node.bounds !== noBounds) this.#number(node.bounds, value);
    } else if (Array.isArray(value)) this.#list(node, value);
    else if (value instanceof LongNumber) this.#number(node.bounds, value);
    else if (typeof value === "object" && value !== null) this.#object(node, value as Plain);
  }

  #text({ bounds: { minLength = 0, maxLength = Number.POSITIVE_INFINITY }, pattern }: SchemaNode, text: string): void {
    if (isCounted(text, maxLength) || isCounted(text, minLength - 1)) this.#steps += text.length * stepsPerCharacter;
    if (this.isExhausted) return;
    if (isLonger(text, maxLength)) {
      this.#fault(() => `must have at most ${maxLength} characters`);
      return;
    }
    if (!isLonger(text, minLength - 1)) this.#fault(() => `must have at least ${minLength} characters`);
    if (pattern !== undefined) this.#pattern(pattern, text);
  }

  #pattern({ source, stepsPerCharacter: steps, test }: Pattern, text: string): void {
    this.#steps += text.length * steps;
    if (!this.isExhausted && !test(text)) this.#fault(() => `must match ${source}`);
  }

  #number(bounds: Bounds, value: number | LongNumber): void {
    for (const { keyword, holds, holdsExactly, words } of numberRules) {
      const bound = bounds[keyword] as number | undefined;
      if (bound === undefined) continue;
      const isMet = typeof value === "number" ? holds(value, bound) : holdsExactly(value, bound);
      if (!isMet) this.#fault(() => `must be ${words} ${bound}`);
    }
  }

  #list({ bounds, items }: SchemaNode, list: readonly unknown[]): void {
    this.#count(list.length, bounds.minItems, bounds.maxItems, "items");
    const faults = this.#faults;
    if (items !== undefined) this.#items(items, list);
    if (bounds.uniqueItems !== true || this.#faults > faults) return;
    this.#steps += list.length;
    if (new Set(list.map(identityOf)).size < list.length) this.#fault(() => "must have no item twice");
  }

  #items(items: SchemaNode, list: readonly unknown[]): void {
    for (const [index, item] of list.entries()) {
      if (this.#hasEnded) return;
      this.#member(items, item, index);
    }
  }

  #object(node: SchemaNode, object: Plain): void {
    this.#names(node, object);
    for (const [name, schema] of node.properties ?? []) {
      if (this.#hasEnded) return;
      if (Object.hasOwn(object, name)) this.#member(schema, object[name], name);
    }
    if (node.additional !== true) this.#others(node, node.additional, object);
  }

  #names({ required, properties }: SchemaNode, object: Plain): void {
    this.#steps += (required.length + (properties?.size ?? 0)) * stepsPerName;
    for (const name of required) {
      if (this.#hasEnded) return;
      if (!Object.hasOwn(object, name)) this.#fault(() => "is required", name);
    }
  }

  #others({ properties, bounds }: SchemaNode, additional: SchemaNode | false, object: Plain): void {
    const names = Object.keys(object);
    this.#steps += names.length;
    this.#count(names.length, bounds.minProperties, bounds.maxProperties, "members");
    for (const name of names) {
      if (this.#hasEnded) return;
      if (properties?.has(name) === true) continue;
      if (additional === false) this.#fault(() => "is not declared", name);
      else this.#member(additional, object[name], name);
    }
  }

  #count(count: number, min: number | undefined, max: number | undefined, what: string): void {
    if (min !== undefined && count < min) this.#fault(() => `must have at least ${min} ${what}`);
    if (max !== undefined && count > max) this.#fault(() => `must have at most ${max} ${what}`);
  }

  #member(schema: SchemaNode, value: unknown, segment: string | number): void {
    this.#path.push(segment);
    this.#visit(schema, value);
    this.#path.pop();
  }

  #branches({ allOf = [], anyOf, oneOf }: SchemaNode, value: unknown): void {
    for (const branch of allOf) if (!this.#hasEnded) this.#visit(branch, value);
    if (anyOf !== undefined && this.#matches(anyOf, value, 1) === 0)
      this.#fault(() => "must match one of the schemas of anyOf");
    if (oneOf !== undefined && this.#matches(oneOf, value, 2) !== 1)
      this.#fault(() => "must match exactly one of the schemas of oneOf");
  }

  /** Counts the schemas that accept a value, up to a number. */
  #matches(schemas: readonly SchemaNode[], value: unknown, enough: number): number {
    const [problems, faults] = [this.#problems, this.#faults];
    this.#problems = undefined;
    let matches = 0;
    for (const schema of schemas) {
      this.#faults = 0;
      if (this.run(schema, value)) matches += 1;
      if (matches === enough || this.isExhausted) break;
    }
    this.#problems = problems;
    this.#faults = faults;
    return matches;
  }

  #fault(detail: () => string, segment?: string): void {
    this.#faults += 1;
    if (this.#problems === undefined || this.#problems.length >= problemsMax) return;
    const path = segment === undefined ? this.#path : [...this.#path, segment];
    this.#problems.push({ pointer: path.reduce<string>(below, ""), detail: detail() });
  }
}

type Plain = Readonly<Record<string, unknown>>;

/** Equal items of a list have the same identity. A text never has that of a number. */
function identityOf(item: unknown): unknown {
  return item instanceof LongNumber ? `\u0000${item.key}` : item;
}

/** True if {@link isLonger} looks at each character. */
function isCounted({ length: units }: string, length: number): boolean {
  return units > length && units <= length * unitsPerCharacterMax;
}

/** True for a text of more characters, which JSON Schema counts as code points. */
function isLonger(text: string, length: number): boolean {
  if (text.length <= length) return false;
  if (text.length > length * unitsPerCharacterMax) return true;
  let rest = length;
  for (const _character of text) {
    rest -= 1;
    if (rest < 0) return true;
  }
  return false;
}

function shown(values: ReadonlySet<Scalar>): string {
  const [...list] = values;
  const first = list.slice(0, valuesShownMax).map((value) => JSON.stringify(value));
  const more = list.length > valuesShownMax ? `, and ${list.length - valuesShownMax} more` : "";
  return list.length === 1 ? first.join("") : `one of ${first.join(", ")}${more}`;
}
