import { compareNumbers, exactNumber, type ExactNumber } from "./exact-number.ts";

/** Significant digits that every double keeps. */
const safeDigitsMax = 15;

/** A number of a JSON text that a double would round, such as an identifier of 64 bits. */
export class LongNumber {
  readonly #exact: ExactNumber;

  /** @param text as in JSON. @throws SyntaxError for any other text */
  constructor(text: string) {
    this.#exact = exactNumber(text);
  }

  get isInteger(): boolean {
    return this.#exact.digits.length <= this.#exact.exponent;
  }

  /** The same text for equal numbers. */
  get key(): string {
    const { isNegative, digits, exponent } = this.#exact;
    return `${isNegative ? "-" : ""}0.${digits}e${exponent}`;
  }

  /** Negative if it is less than a double, positive if it is greater. It never equals one. */
  compare(other: number): number {
    return compareNumbers(this.#exact, exactNumber(String(other)));
  }

  isMultipleOf(divisor: number): boolean {
    const { digits, exponent } = this.#exact;
    return this.isInteger && BigInt(digits.padEnd(exponent, "0")) % BigInt(divisor) === 0n;
  }
}

/** True for a JSON number that `JSON.parse` rounds: its double is written with other digits. */
export function isLongNumber(text: string): boolean {
  if (text.length <= safeDigitsMax) return false;
  const rounded = Number(text);
  return Number.isFinite(rounded) && compareNumbers(exactNumber(text), exactNumber(String(rounded))) !== 0;
}

/** Parses a JSON text that has long numbers. It takes several times as long as `JSON.parse`. */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown, context?: { readonly source?: string }) => {
    const { source = "" } = context ?? {};
    return typeof value === "number" && isLongNumber(source) ? new LongNumber(source) : value;
  });
}
