import type { EventMatcherConfig } from "../../../crds/config.ts";
import { compareNumbers, exactNumber, type ExactNumber } from "../../../crds/event-schema/exact-number.ts";
import { numberOf, pointerTree, valuesAt, type JsonValue, type JsonPointers } from "../../json/json-pointers.ts";

/** Reads a value of an event by its JSON pointer; undefined if it is missing. */
export type EventValues = (pointer: string) => JsonValue | undefined;

/** Decides about the content of an event. */
export type Condition = (values: EventValues) => boolean;

type Test = (value: JsonValue | undefined) => boolean;

/** Created once, because its creation costs more than the decoding of an event. */
const decoder = new TextDecoder();

/**
 * Reads the values of an event. The event is parsed at the first read, once for all pointers of the tree.
 *
 * @param tree all pointers that are read
 */
export function createEventValues(body: Uint8Array, tree: JsonPointers): EventValues {
  let values: ReadonlyMap<string, JsonValue> | undefined;
  return (pointer) => {
    values ??= valuesAt(decoder.decode(body), tree);
    return values.get(pointer);
  };
}

/** All pointers of matchers as a tree. */
export function treeOf(matchers: readonly EventMatcherConfig[]): JsonPointers {
  return pointerTree(matchers.map(({ pointer }) => pointer));
}

/** Compiles matchers, all of which must match. */
export function compileMatchers(matchers: readonly EventMatcherConfig[]): Condition {
  const tests = matchers.map((matcher) => ({ pointer: matcher.pointer, test: testOf(matcher) }));
  return (values) => tests.every(({ pointer, test }) => test(values(pointer)));
}

/** The values that a matcher compares with. */
type Compared = Required<Pick<EventMatcherConfig, "type" | "value" | "values">>;

const operators: Readonly<Record<EventMatcherConfig["op"], (compared: Compared) => Test>> = {
  Equal: ({ type, value }) => isOneOf(type, [value]),
  NotEqual: ({ type, value }) => not(isOneOf(type, [value])),
  In: ({ type, values }) => isOneOf(type, values),
  NotIn: ({ type, values }) => not(isOneOf(type, values)),
  Exists: () => (found) => found !== undefined,
  NotExists: () => (found) => found === undefined,
  GreaterThan: ({ value }) => comparison(value, (order) => order > 0),
  LessThan: ({ value }) => comparison(value, (order) => order < 0),
  Prefix:
    ({ value }) =>
    (found) =>
      found?.kind === "String" && found.text.startsWith(value),
};

function testOf({ op, type = "String", value = "", values = [] }: EventMatcherConfig): Test {
  return operators[op]({ type, value, values });
}

function not(test: Test): Test {
  return (found) => !test(found);
}

function isOneOf(type: NonNullable<EventMatcherConfig["type"]>, texts: readonly string[]): Test {
  if (type === "Number") return isOneNumber(texts.map(exactNumber));
  const expected = new Set(texts);
  return (found) => found?.kind === type && expected.has(found.text);
}

function isOneNumber(numbers: readonly ExactNumber[]): Test {
  return (found) => {
    const given = numberOf(found);
    return given !== undefined && numbers.some((number) => compareNumbers(given, number) === 0);
  };
}

function comparison(value: string, isWanted: (order: number) => boolean): Test {
  const bound = exactNumber(value);
  return (found) => {
    const given = numberOf(found);
    return given !== undefined && isWanted(compareNumbers(given, bound));
  };
}
