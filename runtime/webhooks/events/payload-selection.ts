import type { EventTypeConfig, PayloadConfig } from "../../../crds/config.ts";
import { eachMember, isContainer, pointerTree, valueEnd, type JsonPointers } from "../../json/json-pointers.ts";

/** Selections of a payload, applied one after the other: what is sent is within all of them. */
export type PayloadSelection = readonly Omit<PayloadConfig, "excludeClasses">[];

/** The fields with a class of an event type. */
export type SensitiveFields = (type: string) => EventTypeConfig["sensitive"];

export const noSensitiveFields: SensitiveFields = () => [];

/** The selections for events of a type, with the pointers of classes in place of their names. */
export function withClasses(
  payload: readonly PayloadConfig[],
  sensitive: EventTypeConfig["sensitive"],
): PayloadSelection {
  return payload.flatMap(({ excludeClasses = [], ...part }) => {
    const fields = sensitive.filter((field) => excludeClasses.includes(field.class));
    const exclude = fields.map(({ pointer }) => `/data${pointer}`);
    return [...(Object.keys(part).length > 0 ? [part] : []), ...(exclude.length > 0 ? [{ exclude }] : [])];
  });
}

/** The fields of the envelope, which are always sent. Source: seed "Webhook Event Delivery" §2.1. */
const envelopePointers = ["event_id", "type", "version", "ts", "producer", "tenant"].map((name) => `/${name}`);
const decoder = new TextDecoder();

/**
 * The bytes of an event that a selection leaves; the same bytes if it cuts nothing. All names and values that are left
 * are as written; only the space between the members of an object or list that was cut is removed. The excluded
 * elements of a list become `null`, so that pointers keep their meaning and a repetition changes nothing.
 */
export function selectPayload(body: Uint8Array, selection: PayloadSelection): Uint8Array {
  if (selection.length === 0) return body;
  const text = decoder.decode(body);
  const selected = selection.reduce(cutBy, text);
  return selected === text ? body : Buffer.from(selected);
}

/** Drops repetitions. */
export function differentSelections(selection: PayloadSelection): PayloadSelection {
  return [...new Map(selection.map((one) => [JSON.stringify(one), one])).values()];
}

function cutBy(text: string, { include, exclude = [] }: PayloadSelection[number]): string {
  const tree = pointerTree(include === undefined ? exclude : [...include, ...envelopePointers]);
  const start = Math.max(0, text.indexOf("{"));
  const { kept = "{}", end } = cut({ text, isIncluding: include !== undefined }, start, tree);
  return text.slice(0, start) + kept + text.slice(end);
}

interface Cutting {
  readonly text: string;
  /** True if only named values are kept. */
  readonly isIncluding: boolean;
}

interface Cut {
  /** What is left of the value; undefined for nothing. */
  readonly kept?: string;
  /** The position after the value. */
  readonly end: number;
}

/** @param node the pointers that lead to the value or into it */
function cut(cutting: Cutting, start: number, node: JsonPointers | undefined): Cut {
  const { text, isIncluding } = cutting;
  // A pointer that ends here decides about all that is inside.
  const isEnd = node === undefined || node.pointer !== undefined || !isContainer(text, start);
  if (!isEnd) return cutMembers(cutting, start, node);
  const end = valueEnd(text, start);
  const isKept = (node?.pointer !== undefined) === isIncluding;
  return isKept ? { kept: text.slice(start, end), end } : { end };
}

/** The depth of the pointers bounds the recursion. */
function cutMembers(cutting: Cutting, start: number, { children }: JsonPointers): Cut {
  const { text } = cutting;
  const isList = text.charAt(start) === "[";
  const everyItem = isList ? children.get("*") : undefined;
  const parts: string[] = [];
  let isWhole = true;
  const end = eachMember(text, start, ({ name, start: memberStart, valueStart }) => {
    const { kept, end: valueStop } = cut(cutting, valueStart, bothTrees(children.get(name), everyItem));
    isWhole &&= kept === text.slice(valueStart, valueStop);
    if (kept !== undefined) parts.push(text.slice(memberStart, valueStart) + kept);
    else if (isList) parts.push("null");
    return valueStop;
  });
  if (isWhole) return { kept: text.slice(start, end), end };
  return { kept: isList ? `[${parts.join(",")}]` : `{${parts.join(",")}}`, end };
}

/** The pointers of two trees, that of an item of a list and that of every item. */
export function bothTrees(one: JsonPointers | undefined, other: JsonPointers | undefined): JsonPointers | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const children = new Map(one.children);
  for (const [name, child] of other.children) children.set(name, bothTrees(children.get(name), child) ?? child);
  const pointer = one.pointer ?? other.pointer;
  return pointer === undefined ? { children } : { pointer, children };
}
