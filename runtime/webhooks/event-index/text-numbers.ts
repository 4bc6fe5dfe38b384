/** The number of a text that is not known, because there are too many. A search takes it for every text. */
export const anyText = 0;

/** Numbers for the texts of one column, from 1. */
export interface TextNumbers {
  /** The number of a text, a new one if need be; {@link anyText} beyond the bound. */
  add(text: string): number;
  /** The number of a text; undefined when no row has it. */
  find(text: string): number | undefined;
  /** The text of a number; undefined for {@link anyText}. */
  text(number: number): string | undefined;
  /** Whether every text has a number. */
  readonly isWhole: boolean;
  /** Creates a test of numbers that calls `isWanted` once for each text. {@link anyText} passes. */
  matcher(isWanted: (text: string) => boolean): (number: number) => boolean;
}

/** So that a number takes two bytes. */
const textsMax = 65_535;

/** @param max bound on the texts; 65,535 at most, which is the default */
export function createTextNumbers(max: number = textsMax): TextNumbers {
  const numbers = new Map<string, number>();
  const texts: string[] = [];
  let isWhole = true;
  return {
    add: (text) => {
      const known = numbers.get(text);
      if (known !== undefined) return known;
      if (texts.length >= max) {
        isWhole = false;
        return anyText;
      }
      texts.push(text);
      numbers.set(text, texts.length);
      return texts.length;
    },
    find: (text) => numbers.get(text),
    text: (number) => texts[number - 1],
    get isWhole() {
      return isWhole;
    },
    matcher: (isWanted) => {
      const results = new Uint8Array(texts.length + 1);
      return (number) => {
        const known = results[number] ?? 0;
        if (known !== 0) return known === 1;
        const text = texts[number - 1];
        const result = text === undefined || isWanted(text);
        results[number] = result ? 1 : 2;
        return result;
      };
    },
  };
}
