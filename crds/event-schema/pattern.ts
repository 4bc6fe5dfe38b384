import { compileRe2, re2ProgramOf, type Re2Program } from "../re2.ts";

/** A regular expression whose matching takes time linear in the text. */
export interface Pattern {
  readonly source: string;
  /** Cost of one character, in steps of a validation. */
  readonly stepsPerCharacter: number;
  readonly test: (text: string) => boolean;
}

/** One character, an escaped one or a class of plain characters, and how often it repeats. */
const simpleAtom = String.raw`(?:[A-Za-z0-9_:/@#%&=,;<>!~ '"-]|\\[.\\/+*?^$(){}|[\]]|\[[A-Za-z0-9_.:/@+ -]+\])`;
const fixedAtom = String.raw`${simpleAtom}(?:\{\d{1,3}\})?`;
/** Its repetition is the only one that the engine may have to shorten. */
const openAtom = String.raw`${simpleAtom}(?:[+*?]|\{\d{1,3},\d{0,3}\})`;
/**
 * An anchored sequence of atoms, of which one may repeat without a fixed number. The engine of JavaScript matches it in
 * linear time, and every engine reads it alike.
 */
const simple = new RegExp(`^\\^(?:${fixedAtom})*(?:${openAtom}(?:${simpleAtom})*)?\\$$`, "u");

/** Work of an engine on one instruction and one character, as a share of a validation's step. */
const stepsPerInstruction = 1 / 64;
const stepsPerAtom = 1 / 64;

/** The engine repeats an atom in its program, so a long pattern takes long to compile. */
const simpleCharactersMax = 256;

/** True for a pattern that needs no engine of its own. */
export function isSimplePattern(source: string): boolean {
  if (source.length > simpleCharactersMax || !simple.test(source)) return false;
  try {
    return new RegExp(source, "u").test("") || true;
  } catch {
    return false;
  }
}

/** Programs that are kept by their sources, so that a pattern in several versions and places is compiled once. */
const programsKept = 64;
const programs = new Map<string, Re2Program>();

/** The program of a pattern that is not simple; undefined for one that is no RE2 expression. */
function programOf(source: string): Re2Program | undefined {
  const known = programs.get(source);
  if (known !== undefined) return known;
  const [oldest] = programs.keys();
  if (programs.size >= programsKept && oldest !== undefined) programs.delete(oldest);
  const program = re2ProgramOf(source);
  if (program !== undefined) programs.set(source, program);
  return program;
}

/** Creates a pattern. It is compiled with its first text, because a compilation takes up to a millisecond. */
export function patternOf(source: string): Pattern {
  if (isSimplePattern(source)) {
    let form: RegExp | undefined;
    return {
      source,
      stepsPerCharacter: source.length * stepsPerAtom,
      test: (text) => (form ??= new RegExp(source, "u")).test(text),
    };
  }
  let program: Re2Program | undefined;
  const compiled = (): Re2Program => (program ??= programOf(source) ?? compileRe2(source));
  return {
    source,
    get stepsPerCharacter() {
      return compiled().programSize() * stepsPerInstruction;
    },
    test: (text) => compiled().test(text),
  };
}

/** Compiles a pattern that is not simple, so that its first text does not wait for it. */
export function compileAhead(source: string): void {
  programOf(source);
}

/** Instructions of a pattern that is not simple, and characters of a text that it matches. */
const programSizeMax = 512;
const matchedLengthMax = 1_024;

/** What is wrong with a pattern that is not simple, next to this `maxLength` (infinity for none). */
export function programFaults(source: string, maxLength: number): readonly string[] {
  const size = programOf(source)?.programSize();
  if (size === undefined)
    return ["the pattern must be an RE2 expression, which has no look-around and no back-references"];
  return [
    ...(size > programSizeMax ? ["the pattern is too large; repeat less"] : []),
    ...(maxLength <= matchedLengthMax
      ? []
      : [`this pattern needs a maxLength of at most ${matchedLengthMax} next to it`]),
  ];
}

/** Sources of patterns anywhere in a schema that need a program, each once. A property may have the name, too. */
export function programsIn(schema: unknown, found: Set<string> = new Set()): ReadonlySet<string> {
  if (typeof schema !== "object" || schema === null) return found;
  for (const [name, value] of Object.entries(schema)) {
    if (name !== "pattern" || typeof value !== "string") programsIn(value, found);
    else if (!isSimplePattern(value)) found.add(value);
  }
  return found;
}
