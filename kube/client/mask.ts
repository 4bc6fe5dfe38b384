interface MaskRule {
  readonly pattern: RegExp;
  readonly by: string;
}

const masked = "***";

/** A value after its name, also in JSON inside a text. A status is no secret, as in "no Secret: 404". */
const namedSecret = new RegExp(
  String.raw`\b([\w-]{0,40}(?:password|passwd|secret|token|api[_-]?key))([\\"']{0,8}[=:] ?[\\"']{0,8})` +
    String.raw`(?![45]\d\d(?![^\s"',;&)]))[^\s\\"',;&]+`,
  "giu",
);

/**
 * Patterns of secrets in a text. No repetition is nested or unbounded before an anchor, so matching takes linear time.
 */
const rules: readonly MaskRule[] = [
  { pattern: /-----BEGIN [A-Z0-9 ]+-----[^-]*(?:-----END [A-Z0-9 ]+-----)?/gu, by: masked },
  { pattern: /\b(bearer|basic) +[\w.~+/=-]+/giu, by: `$1 ${masked}` },
  { pattern: /\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/gu, by: masked },
  { pattern: /\bwhs(ec|k)_[\w+/=-]+/gu, by: masked },
  // A password may contain @ and /, so credentials end at the last @.
  { pattern: /(:\/\/)(?:(?!:\/\/)[^\s"'<>]){1,512}@/gu, by: `$1${masked}@` },
  {
    pattern: namedSecret,
    by: `$1$2${masked}`,
  },
];

/**
 * Masks secrets in a text: PEM blocks, tokens, credentials in URLs, values named password, secret, token or key. Every
 * text of a log, an event or a condition passes through it.
 */
export function mask(text: string): string {
  return rules.reduce((rest, rule) => rest.replace(rule.pattern, rule.by), text);
}

/** Cuts the text to a number of UTF-8 bytes, between characters, and marks the cut with an ellipsis. */
export function capBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= bytesMax) return text;
  const ellipsis = "…";
  const room = Math.max(0, bytesMax - Buffer.byteLength(ellipsis));
  return new TextDecoder("utf-8").decode(bytes.subarray(0, room), { stream: true }) + ellipsis;
}
