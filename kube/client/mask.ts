interface MaskRule {
  readonly pattern: RegExp;
  readonly by: string;
}

const masked = "***";

/**
 * What gives a secret away in a text. No repetition is nested in another or unbounded before an anchor: linear time.
 */
const rules: readonly MaskRule[] = [
  { pattern: /-----BEGIN [A-Z0-9 ]+-----[^-]*(?:-----END [A-Z0-9 ]+-----)?/gu, by: masked },
  { pattern: /\b(bearer|basic) +[\w.~+/=-]+/giu, by: `$1 ${masked}` },
  { pattern: /\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/gu, by: masked },
  { pattern: /\bwhs(ec|k)_[\w+/=-]+/gu, by: masked },
  { pattern: /(:\/\/)[^\s/@]+@/gu, by: `$1${masked}@` },
  {
    pattern: /\b([\w-]{0,40}(?:password|passwd|secret|token|api[_-]?key))(["']?[=:] ?["']?)[^\s"',;&]+/giu,
    by: `$1$2${masked}`,
  },
];

/**
 * The text without what looks like a secret: PEM blocks, tokens, credentials in URLs, values named password, secret,
 * token or key. For every text that leaves for a log, an event or a condition.
 */
export function mask(text: string): string {
  return rules.reduce((rest, rule) => rest.replace(rule.pattern, rule.by), text);
}

/** At most so many bytes of the text as UTF-8, cut between characters, with an ellipsis where something was cut. */
export function capBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= bytesMax) return text;
  const ellipsis = "…";
  const room = Math.max(0, bytesMax - Buffer.byteLength(ellipsis));
  return new TextDecoder("utf-8").decode(bytes.subarray(0, room), { stream: true }) + ellipsis;
}
