const beyondAscii = /[^\0-\x7f]/u;
/** Characters without width, direction marks and soft breaks, which are invisible between digits. */
const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
const otherDigit = /(?![0-9])\p{Nd}/gu;
const isDigit = /^\p{Nd}$/u;
const digitsOfOneScript = 10;

/** Converts every decimal digit to 0 to 9 and removes invisible characters. */
export function plainDigits(text: string): string {
  if (!beyondAscii.test(text)) return text;
  const values = new Map<string, string>();
  return text.replace(invisible, "").replace(otherDigit, (digit) => {
    const value = values.get(digit) ?? String(valueOf(digit));
    values.set(digit, value);
    return value;
  });
}

/** Decimal digits are encoded in groups of ten, from zero to nine. Source: The Unicode Standard §4.6. */
function valueOf(digit: string): number {
  const code = digit.codePointAt(0) ?? 0;
  let first = code;
  while (isDigit.test(String.fromCodePoint(first - 1))) {
    first -= 1;
  }
  return (code - first) % digitsOfOneScript;
}
