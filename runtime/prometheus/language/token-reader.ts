import { Fault, readNumberLiteral, readStringLiteral, shorten } from "./literals.ts";

/** A part of a text that has a meaning. */
export interface Token {
  readonly kind: "number" | "name" | "string" | "symbol" | "end";
  /** Of a name or a symbol as written, of a string its value. @default empty */
  readonly text: string;
  /** Of a number its value, of a duration its seconds. @default NaN */
  readonly value: number;
  readonly start: number;
  readonly end: number;
}

const blank = /[ \t\r\n]*/uy;
/** Blanks and comments, which end with their line. */
const blanks = /(?:[ \t\r\n]|#[^\r\n]*)*/uy;
const name = /[a-zA-Z_:][a-zA-Z0-9_:]*/uy;
const symbol = /==|!=|<=|>=|=~|!~|[-+*/%^@<>=(){}[\],]/uy;

/** Reads a text token by token, one ahead. */
export class TokenReader {
  readonly text: string;
  #next: Token;

  /** @throws Fault if the first token is invalid */
  constructor(text: string) {
    this.text = text;
    this.#next = readToken(text, 0, false);
  }

  /** The token that `take` returns. */
  get next(): Token {
    return this.#next;
  }

  /** Skips a token. @throws Fault if the next one is invalid */
  take(): Token {
    const taken = this.#next;
    this.#next = readToken(this.text, taken.end, this.isAt("["));
    return taken;
  }

  /** Whether the text ends here. */
  isAtEnd(): boolean {
    return this.#next.kind === "end";
  }

  /** Whether the next token is a symbol. */
  isAt(text: string): boolean {
    return this.#next.kind === "symbol" && this.#next.text === text;
  }

  /** Whether the next token is a keyword, in capitals or not. */
  isAtKeyword(keyword: string): boolean {
    return this.#next.kind === "name" && this.#next.text.toLowerCase() === keyword;
  }

  /** Skips a symbol where it is next. */
  accept(text: string): boolean {
    const isAt = this.isAt(text);
    if (isAt) this.take();
    return isAt;
  }

  /** Skips a symbol. @throws Fault if another token is next */
  expect(text: string): Token {
    if (!this.isAt(text)) throw this.unexpected(`"${text}"`);
    return this.take();
  }

  /** The rejection of the next token. */
  unexpected(wanted: string): Fault {
    const { kind, start, end } = this.#next;
    const found =
      kind === "end" ? "unexpected end of expression" : `unexpected ${shorten(this.text.slice(start, end))}`;
    return new Fault(`${found}, expected ${wanted}`, start);
  }
}

/** Reads the token at or behind an offset. A window begins without a comment, as in Prometheus. */
function readToken(text: string, from: number, isWindow: boolean): Token {
  const start = match(isWindow ? blank : blanks, text, from);
  if (start === text.length) return { kind: "end", text: "", value: Number.NaN, start, end: start };
  const first = text.charAt(start);
  if (first === '"' || first === "'" || first === "`") {
    const { value, end } = readStringLiteral(text, start);
    return { kind: "string", text: value, value: Number.NaN, start, end };
  }
  if (isDigit(first) || (first === "." && isDigit(text.charAt(start + 1)))) {
    const { value, end } = readNumberLiteral(text, start);
    return { kind: "number", text: "", value, start, end };
  }
  return readWord(text, start);
}

function isDigit(character: string): boolean {
  return character >= "0" && character <= "9";
}

function readWord(text: string, start: number): Token {
  const nameEnd = match(name, text, start);
  const end = nameEnd > start ? nameEnd : match(symbol, text, start);
  if (end === start) {
    const found = String.fromCodePoint(text.codePointAt(start) ?? 0);
    throw new Fault(`unexpected character ${JSON.stringify(found)}`, start);
  }
  const kind = nameEnd > start ? "name" : "symbol";
  return { kind, text: text.slice(start, end), value: Number.NaN, start, end };
}

/** The offset after what a sticky expression matches at an offset. */
function match(expression: RegExp, text: string, at: number): number {
  expression.lastIndex = at;
  return expression.test(text) ? expression.lastIndex : at;
}
