/** The names and indexes from the root to a value. */
export type JsonPath = readonly (string | number)[];

/** Builds the path of the visited value. Most visitors need few paths. It is valid during the call only. */
export type PathOf = () => JsonPath;

/** Visits the parts of a JSON text in their order. Unlike `JSON.parse`, it sees repeated members and every digit. */
export interface JsonVisitor {
  /** Visits a member of an object; `isRepeated` when an earlier member of the object has the same name. */
  readonly member?: (name: string, pathOf: PathOf, isRepeated: boolean) => void;
  /** Visits a string in its decoded form. */
  readonly string?: (text: string, pathOf: PathOf) => void;
  /** Visits a number with its digits as written. */
  readonly number?: (text: string, pathOf: PathOf) => void;
}

/** An open object or array. */
interface Frame {
  /** The names of the members so far; absent in an array. */
  readonly names?: Set<string>;
  /** The name or index of the next value. */
  segment: string | number;
  expectsName: boolean;
}

interface Walk {
  readonly text: string;
  readonly visitor: JsonVisitor;
  readonly frames: Frame[];
  readonly pathOf: PathOf;
}

const numberForm = /-?\d[\d.eE+-]*/uy;
const numberStart: ReadonlySet<string | undefined> = new Set("-0123456789");

/**
 * Walks a text that `JSON.parse` accepts. It keeps its own stack, so that no depth exhausts the call stack. It stops
 * and returns false at a value inside more than `depthMax` objects and arrays.
 */
export function walkJson(text: string, depthMax: number, visitor: JsonVisitor): boolean {
  const frames: Frame[] = [];
  const walk: Walk = { text, visitor, frames, pathOf: () => frames.map(({ segment }) => segment) };
  let position = 0;
  while (position < text.length && walk.frames.length <= depthMax) position = step(walk, position);
  return walk.frames.length <= depthMax;
}

/** Visits the part that starts at `position` and returns the position after it. Separators and words are skipped. */
function step(walk: Walk, position: number): number {
  const character = walk.text[position];
  if (character === '"') return takeString(walk, position);
  if (character === "{") walk.frames.push({ names: new Set(), segment: "", expectsName: true });
  else if (character === "[") walk.frames.push({ segment: 0, expectsName: false });
  else if (character === "}" || character === "]") walk.frames.pop();
  else if (character === ",") nextItem(walk.frames.at(-1));
  else if (numberStart.has(character)) return takeNumber(walk, position);
  return position + 1;
}

function nextItem(frame: Frame | undefined): void {
  if (frame?.names !== undefined) frame.expectsName = true;
  else if (typeof frame?.segment === "number") frame.segment += 1;
}

function takeString(walk: Walk, start: number): number {
  const end = stringEnd(walk.text, start);
  const literal = walk.text.slice(start, end);
  const text = literal.includes("\\") ? String(JSON.parse(literal)) : literal.slice(1, -1);
  const frame = walk.frames.at(-1);
  if (frame?.names !== undefined && frame.expectsName) takeName(walk, frame, frame.names, text);
  else walk.visitor.string?.(text, walk.pathOf);
  return end;
}

function takeName(walk: Walk, frame: Frame, names: Set<string>, name: string): void {
  const isRepeated = names.has(name);
  names.add(name);
  frame.segment = name;
  frame.expectsName = false;
  walk.visitor.member?.(name, walk.pathOf, isRepeated);
}

function takeNumber(walk: Walk, start: number): number {
  numberForm.lastIndex = start;
  const text = numberForm.exec(walk.text)?.[0];
  if (text === undefined) return start + 1;
  walk.visitor.number?.(text, walk.pathOf);
  return start + text.length;
}

function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(text: string, position: number): boolean {
  let first = position;
  while (text[first - 1] === "\\") first -= 1;
  return (position - first) % 2 === 1;
}
