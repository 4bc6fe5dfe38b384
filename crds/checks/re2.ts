import { posixNames, unicodeNames } from "./re2-names.ts";

/** Why an expression is none. Thrown and caught in this file alone. */
class Re2Fault extends Error {}

/**
 * A group that is still open. `size`: the most often that anything in it is repeated; `last`: the same of what came
 * last.
 */
interface Group {
  size: number;
  /** Undefined where there is nothing that a repetition could repeat. */
  last: number | undefined;
}

/** RE2 repeats nothing more often, nested repetitions multiplied. */
const repeatsMax = 1_000;

const openGroup = /\((?!\?)|\(\?P?<[A-Za-z0-9_]+>|\(\?[imsU]*(?:-[imsU]+)?:/uy;
const setFlags = /\(\?[imsU]*(?:-[imsU]+)?\)/uy;
const quoted = /\\Q(?<text>[^]*?)\\E/uy;
const repetition = /(?:[*+?]|\{(?<least>0|[1-9]\d*)(?<open>,(?<most>0|[1-9]\d*)?)?\})\??/uy;
const assertion = /\\[AbBz]/uy;
const characters = /\\[dDsSwW]/uy;
const unicodeClass = /\\[pP](?:\{\^?(?<name>[^}]*)\}|(?<letter>[^{]))/uy;
const posixClass = /\[:\^?(?<name>[^]*?):\]/uy;
const letterCodes: Readonly<Record<string, number>> = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 };

/** Escapes of one character with their code points. */
const escapes: readonly (readonly [pattern: RegExp, codeOf: (text: string) => number])[] = [
  [/\\x([0-9A-Fa-f]{2})/uy, (hex) => Number.parseInt(hex, 16)],
  [/\\x\{(0*(?:10[0-9A-Fa-f]{4}|[0-9A-Fa-f]{1,5}))\}/uy, (hex) => Number.parseInt(hex, 16)],
  [/\\(0[0-7]{0,2}|[1-7][0-7]{1,2})/uy, (octal) => Number.parseInt(octal, 8)],
  [/\\([afnrtv])/uy, (letter) => letterCodes[letter] ?? 0],
  [/\\([\0-/:-@[-`{-\x7f])/uy, (sign) => sign.codePointAt(0) ?? 0],
];

/**
 * True for the expression of a matcher that every store accepts. Prometheus parses it as Go's `regexp/syntax` with
 * Perl's flags, by itself and anchored; an open `\Q` would undo the anchor. This check is stricter in two spellings
 * that only some versions support: names of Unicode classes of several words, and names in other than their own upper
 * and lower case.
 */
export function isRe2(expression: string): boolean {
  try {
    new Re2Reader(expression).read();
    return true;
  } catch (error) {
    if (error instanceof Re2Fault) return false;
    throw error;
  }
}

class Re2Reader {
  readonly #text: string;
  readonly #groups: Group[] = [{ size: 1, last: undefined }];
  #at = 0;
  #wasRepetition = false;

  constructor(text: string) {
    this.#text = text;
  }

  read(): void {
    while (this.#at < this.#text.length) {
      const isRepetition = this.#readRepetition();
      if (!isRepetition) this.#readOther();
      this.#wasRepetition = isRepetition;
    }
    if (this.#groups.length !== 1) throw new Re2Fault("a group is not closed");
  }

  /** A repetition of what came last; one right after another is none. `{` that begins none is a character. */
  #readRepetition(): boolean {
    const found = this.#take(repetition);
    if (found === undefined) return false;
    const group = this.#group();
    if (this.#wasRepetition || group.last === undefined) throw new Re2Fault("a repetition repeats nothing");
    const { least, open, most } = found.groups ?? {};
    if (least !== undefined)
      group.last = repeated(group.last, Number(least), open === undefined ? Number(least) : numberOf(most));
    if (group.last > repeatsMax) throw new Re2Fault("a repetition repeats too often");
    group.size = Math.max(group.size, group.last);
    return true;
  }

  #readOther(): void {
    const quote = this.#take(quoted);
    if (quote !== undefined) {
      if (quote.groups?.["text"] !== "") this.#put(1);
    } else if (this.#take(openGroup) !== undefined) this.#groups.push({ size: 1, last: undefined });
    else if (this.#take(setFlags) === undefined) this.#readSign();
  }

  #readSign(): void {
    switch (this.#text.charAt(this.#at)) {
      case "(":
        throw new Re2Fault("a group begins with something unknown");
      case ")":
        return this.#closeGroup();
      case "|":
        this.#at += 1;
        this.#group().last = undefined;
        return;
      case "[":
        return this.#readClass();
      case "\\":
        if (this.#take(assertion) === undefined && !this.#readSet()) this.#readEscape();
        return this.#put(1);
      default:
        this.#readCharacter();
        return this.#put(1);
    }
  }

  #closeGroup(): void {
    this.#at += 1;
    const closed = this.#groups.pop();
    if (closed === undefined || this.#groups.length === 0) throw new Re2Fault("a group is closed that is not open");
    this.#put(closed.size);
  }

  /** `[…]`; the first character may be `]`. */
  #readClass(): void {
    this.#at += this.#text[this.#at + 1] === "^" ? 2 : 1;
    for (let isFirst = true; isFirst || this.#text[this.#at] !== "]"; isFirst = false) {
      if (!this.#readPosixClass() && !this.#readSet()) this.#readRange();
    }
    this.#at += 1;
    this.#put(1);
  }

  #readRange(): void {
    const low = this.#readClassCharacter();
    const next = this.#text[this.#at + 1];
    if (this.#text[this.#at] !== "-" || next === undefined || next === "]") return;
    this.#at += 1;
    if (this.#readClassCharacter() < low) throw new Re2Fault("a range ends before it begins");
  }

  #readClassCharacter(): number {
    if (this.#at >= this.#text.length) throw new Re2Fault("a class is not closed");
    return this.#text[this.#at] === "\\" ? this.#readEscape() : this.#readCharacter();
  }

  #readPosixClass(): boolean {
    const found = this.#take(posixClass);
    if (found === undefined) return false;
    if (!posixNames.has(found.groups?.["name"] ?? "")) throw new Re2Fault("there is no such class");
    return true;
  }

  /** `\d`, `\pL` and similar classes. */
  #readSet(): boolean {
    if (this.#take(characters) !== undefined) return true;
    const found = this.#take(unicodeClass);
    if (found === undefined) return false;
    const { name, letter } = found.groups ?? {};
    if (!unicodeNames.has(name ?? letter ?? "")) throw new Re2Fault("there is no such Unicode class");
    return true;
  }

  /** The code point of an escape. */
  #readEscape(): number {
    for (const [pattern, codeOf] of escapes) {
      const text = this.#take(pattern)?.[1];
      if (text !== undefined) return codeOf(text);
    }
    throw new Re2Fault("there is no such escape");
  }

  #readCharacter(): number {
    const code = this.#text.codePointAt(this.#at) ?? 0;
    this.#at += String.fromCodePoint(code).length;
    return code;
  }

  /** Something that can be repeated. */
  #put(size: number): void {
    const group = this.#group();
    group.last = size;
    group.size = Math.max(group.size, size);
  }

  #group(): Group {
    const group = this.#groups.at(-1);
    if (group === undefined) throw new Re2Fault("a group is closed that is not open");
    return group;
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) return undefined;
    this.#at = pattern.lastIndex;
    return found;
  }
}

/** Size of a part with its repetitions. `most` undefined: without an upper bound. */
function repeated(size: number, least: number, most: number | undefined): number {
  if (least > repeatsMax || (most !== undefined && (most > repeatsMax || most < least)))
    throw new Re2Fault("the bounds are none");
  // A part that occurs zero times counts once.
  return most === 0 ? 1 : size * Math.max(1, most ?? least);
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}
