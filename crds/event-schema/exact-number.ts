/** A JSON number with all its digits: `0.DIGITS × 10^EXPONENT`, negative or not. */
export interface ExactNumber {
  readonly isNegative: boolean;
  /** Without zeros at either end; empty for zero. */
  readonly digits: string;
  readonly exponent: number;
}

const form = /^(?<sign>-?)(?<whole>\d+)(?:\.(?<part>\d+))?(?:[eE](?<power>[+-]?\d+))?$/u;

/** Parses a JSON number. @throws SyntaxError for any other text */
export function exactNumber(text: string): ExactNumber {
  const { sign, whole = "", part = "", power = "0" } = form.exec(text)?.groups ?? {};
  if (whole === "") throw new SyntaxError(`${text} is not a JSON number`);
  const all = `${whole}${part}`;
  const first = all.search(/[1-9]/u);
  if (first === -1) return { isNegative: false, digits: "", exponent: 0 };
  return { isNegative: sign === "-", digits: trimmed(all, first), exponent: Number(power) + whole.length - first };
}

/** A loop, because an expression for zeros at the end takes quadratic time. */
function trimmed(digits: string, first: number): string {
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  return digits.slice(first, end);
}

/** Negative if `a` is less than `b`, positive if it is greater, and 0 if they are equal. */
export function compareNumbers(a: ExactNumber, b: ExactNumber): number {
  const [one, other] = [signOf(a), signOf(b)];
  if (one !== other) return one - other;
  return a.isNegative ? compareSizes(b, a) : compareSizes(a, b);
}

function signOf({ isNegative, digits }: ExactNumber): -1 | 0 | 1 {
  if (digits === "") return 0;
  return isNegative ? -1 : 1;
}

function compareSizes(a: ExactNumber, b: ExactNumber): number {
  if (a.exponent !== b.exponent) return a.exponent < b.exponent ? -1 : 1;
  if (a.digits === b.digits) return 0;
  return a.digits < b.digits ? -1 : 1;
}
