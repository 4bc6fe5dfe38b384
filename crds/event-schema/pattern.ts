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
  const compiled = (): Re2Program => (program ??= compileRe2(source));
  return {
    source,
    get stepsPerCharacter() {
      return compiled().programSize() * stepsPerInstruction;
    },
    test: (text) => compiled().test(text),
  };
}

/** Number of instructions of a pattern that is not simple; undefined for one that is no RE2 expression. */
export function programSizeOf(source: string): number | undefined {
  return re2ProgramOf(source)?.programSize();
}
