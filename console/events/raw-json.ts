const starts: readonly string[] = ["{", "["];
const ends: readonly string[] = ["}", "]"];

/**
 * The text of the first member of an object, character for character: parsing would change digits, escapes and order.
 * Undefined when the text does not begin with that member.
 */
export function rawMember(text: string, name: string): string | undefined {
  const head = `{${JSON.stringify(name)}:`;
  if (!text.startsWith(head)) return undefined;
  const end = valueEnd(text, head.length);
  return end === undefined ? undefined : text.slice(head.length, end);
}

/** Where the object or list that begins here ends. */
function valueEnd(text: string, start: number): number | undefined {
  let depth = 0;
  for (const { at, token } of tokensOf(text, start)) {
    if (starts.includes(token)) depth += 1;
    if (!ends.includes(token)) continue;
    depth -= 1;
    if (depth <= 0) return at + 1;
  }
  return undefined;
}

interface Token {
  readonly at: number;
  readonly token: string;
}

/** Strings, and single characters outside of them. */
function* tokensOf(text: string, start: number): Iterable<Token> {
  const form = /"(?:[^"\\]|\\.)*"|[^"]/gsu;
  form.lastIndex = start;
  for (let found = form.exec(text); found !== null; found = form.exec(text)) yield { at: found.index, token: found[0] };
}

const indent = "  ";
const blank = /^\s$/u;

/** JSON with lines and indents for readers; every value stays as it is written. */
export function indentJson(text: string): string {
  const parts: string[] = [];
  let depth = 0;
  let opened = false;
  const line = (): string => `\n${indent.repeat(depth)}`;
  for (const { token } of tokensOf(text, 0)) {
    if (blank.test(token)) continue;
    const isEnd = ends.includes(token);
    if (isEnd) depth -= 1;
    if (opened !== isEnd) parts.push(line());
    opened = starts.includes(token);
    if (opened) depth += 1;
    parts.push(token === ":" ? ": " : token);
    if (token === ",") parts.push(line());
  }
  return parts.join("");
}
