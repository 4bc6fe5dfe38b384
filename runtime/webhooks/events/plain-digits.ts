const beyondAscii = /[^\0-\x7f]/u;
/** Characters without width, and the marks of direction and soft breaks: nobody sees them between digits. */
const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
const otherDigit = /(?![0-9])\p{Nd}/gu;
const isDigit = /^\p{Nd}$/u;
const digitsOfOneScript = 10;

/** The text with every decimal digit as 0 to 9 and without characters that nobody sees. */
export function plainDigits(text: string): string {
  return beyondAscii.test(text)
    ? text.replace(invisible, "").replace(otherDigit, (digit) => String(valueOf(digit)))
    : text;
}

/** Decimal digits stand together in order, by tens, from a zero on. Source: The Unicode Standard §4.6. */
function valueOf(digit: string): number {
  const code = digit.codePointAt(0) ?? 0;
  let first = code;
  while (isDigit.test(String.fromCodePoint(first - 1))) {
    first -= 1;
  }
  return (code - first) % digitsOfOneScript;
}
