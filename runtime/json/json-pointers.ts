import { exactNumber, type ExactNumber } from "../../crds/event-schema/exact-number.ts";

/** A value of a JSON text. */
export interface JsonValue {
  readonly kind: "String" | "Number" | "Boolean" | "Null" | "Object" | "Array";
  /** A string in its decoded form, and any other value as it is written. Empty for an object or array. */
  readonly text: string;
  /** The number, once it was needed. */
  number?: ExactNumber;
}

/** JSON pointers by their segments. The values of several pointers are found in one pass. */
export interface JsonPointers {
  /** The pointer that ends here. */
  pointer?: string;
  readonly children: Map<string, JsonPointers>;
}

/** The part of an object or array: from its name, if any, to the end of its value. */
export interface JsonMember {
  /** The decoded name, or the index as a text. */
  readonly name: string;
  readonly start: number;
  readonly valueStart: number;
}

const [quote, comma, backslash, openList, closeList, openObject, closeObject] = [
  0x22, 0x2c, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d,
] as const;
const [space, colon] = [0x20, 0x3a];
const words = { t: "Boolean", f: "Boolean", n: "Null" } as const;

/** A number with all digits, parsed once; undefined for any other value. */
export function numberOf(value: JsonValue | undefined): ExactNumber | undefined {
  if (value?.kind !== "Number") return undefined;
  value.number ??= exactNumber(value.text);
  return value.number;
}

/** The decoded segments of a pointer. Source: RFC 6901. */
export function segmentsOf(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}

export function pointerTree(pointers: Iterable<string>): JsonPointers {
  const root: JsonPointers = { children: new Map() };
  for (const pointer of pointers) {
    let node = root;
    for (const segment of segmentsOf(pointer)) {
      const next = node.children.get(segment) ?? { children: new Map() };
      node.children.set(segment, next);
      node = next;
    }
    node.pointer = pointer;
  }
  return root;
}

/**
 * Reads the values of pointers from a text that `JSON.parse` accepts, by pointer. Numbers keep all digits. Values that
 * no pointer names are skipped without decoding. The last of repeated members counts, as in `JSON.parse`.
 */
export function valuesAt(text: string, tree: JsonPointers): ReadonlyMap<string, JsonValue> {
  const found = new Map<string, JsonValue>();
  read(text, skipSpace(text, 0), tree, found);
  return found;
}

/** Returns the position after the value. The depth of the tree bounds the recursion. */
function read(text: string, start: number, node: JsonPointers, found: Map<string, JsonValue>): number {
  if (node.pointer !== undefined) found.set(node.pointer, valueAt(text, start));
  if (node.children.size === 0 || !isContainer(text, start)) return valueEnd(text, start);
  return eachMember(text, start, ({ name, valueStart }) => {
    const child = node.children.get(name);
    return child === undefined ? valueEnd(text, valueStart) : read(text, valueStart, child, forget(found, child));
  });
}

/** Drops the values of an earlier member of the same name. */
function forget(found: Map<string, JsonValue>, { pointer, children }: JsonPointers): Map<string, JsonValue> {
  if (pointer !== undefined) found.delete(pointer);
  for (const child of children.values()) forget(found, child);
  return found;
}

/**
 * Visits the members of an object or array at `start`. Returns the position after it.
 *
 * @param visit returns the position after the value of the member
 */
export function eachMember(text: string, start: number, visit: (member: JsonMember) => number): number {
  const isList = text.charCodeAt(start) === openList;
  let position = skipSpace(text, start + 1);
  for (let index = 0; !isClose(text.charCodeAt(position)); index += 1) {
    const nameEnd = isList ? position : stringEnd(text, position);
    const name = isList ? String(index) : stringOf(text, position, nameEnd);
    const valueStart = isList ? position : skipSpace(text, skipSpace(text, nameEnd) + 1);
    position = skipSpace(text, visit({ name, start: position, valueStart }));
    if (text.charCodeAt(position) === comma) position = skipSpace(text, position + 1);
  }
  return position + 1;
}

/** Whether the value at a position is an object or array. */
export function isContainer(text: string, position: number): boolean {
  const code = text.charCodeAt(position);
  return code === openObject || code === openList;
}

function isClose(code: number): boolean {
  // A text that ends early would never close.
  return code === closeObject || code === closeList || Number.isNaN(code);
}

function valueAt(text: string, start: number): JsonValue {
  const first = text.charAt(start);
  if (first === '"') return { kind: "String", text: stringOf(text, start, stringEnd(text, start)) };
  if (first === "{") return { kind: "Object", text: "" };
  if (first === "[") return { kind: "Array", text: "" };
  const written = text.slice(start, valueEnd(text, start));
  return { kind: words[first as keyof typeof words] ?? "Number", text: written };
}

/** The position after a value. */
export function valueEnd(text: string, start: number): number {
  if (isContainer(text, start)) return containerEnd(text, start);
  if (text.charCodeAt(start) === quote) return stringEnd(text, start);
  let end = start;
  for (let code = text.charCodeAt(end); !isDelimiter(code); code = text.charCodeAt(end)) end += 1;
  return end;
}

function isDelimiter(code: number): boolean {
  return code <= space || code === comma || code === colon || isClose(code);
}

function containerEnd(text: string, start: number): number {
  let depth = 0;
  let position = start;
  while (position < text.length) {
    const code = text.charCodeAt(position);
    if (code === quote) {
      position = stringEnd(text, position);
      continue;
    }
    position += 1;
    if (code === openObject || code === openList) depth += 1;
    else if (code === closeObject || code === closeList) {
      depth -= 1;
      if (depth === 0) break;
    }
  }
  return position;
}

/** The position after a string. */
function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end + 1;
}

function isEscaped(text: string, position: number): boolean {
  let first = position;
  while (text.charCodeAt(first - 1) === backslash) first -= 1;
  return (position - first) % 2 === 1;
}

function stringOf(text: string, start: number, end: number): string {
  const inside = text.slice(start + 1, end - 1);
  return inside.includes("\\") ? String(JSON.parse(text.slice(start, end))) : inside;
}

function skipSpace(text: string, start: number): number {
  let position = start;
  while (text.charCodeAt(position) <= space) position += 1;
  return position;
}
