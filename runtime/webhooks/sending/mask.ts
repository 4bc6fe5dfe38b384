import type { AttemptOutcome } from "../settlement/outcome.ts";

/** Request headers without secrets. The values of all other headers are treated as secret. */
const publicHeaders: ReadonlySet<string> = new Set(
  (
    "accept accept-encoding content-digest content-length content-type host signature-input traceparent " +
    "user-agent webhook-id webhook-request-origin webhook-request-rate webhook-timestamp x-attempt x-event-id " +
    "x-timestamp x-webhook-producer x-webhook-replay"
  ).split(" "),
);
/** Shorter values can occur in any text by chance. */
const secretCharactersMin = 8;
const maskText = "***";
/** `v1=` of a signature, `session=` of a cookie. */
const namePart = /^[\w-]+=/u;
const basicForm = /^basic +(\S+)$/iu;

/** A part of a text: start index, and end index (exclusive). */
type TextRange = readonly [start: number, end: number];

/** Named character references of HTML. */
const characters: Readonly<Record<string, string>> = { amp: "&", apos: "'", gt: ">", lt: "<", quot: '"' };

/** Only this much of a text is decoded, so that a text full of escapes costs little. Less of each text is stored. */
const decodedCharactersMax = 4_096;
/** What an escape looks like, and its character: one unit of UTF-16, since headers contain no higher code points. */
type Escape = readonly [form: RegExp, characterOf: (escape: string) => string];

/** Percent-encoding, JSON escapes, and character references of HTML. */
const escapes: readonly Escape[] = [
  [/%[0-9A-Fa-f]{2}/gu, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16))],
  [/\\(?:u[0-9A-Fa-f]{4}|["/\\])/gu, (escape) => JSON.parse(`"${escape}"`) as string],
  [
    /&(?:#[xX][0-9A-Fa-f]{1,6}|#[0-9]{1,7}|amp|apos|gt|lt|quot);/gu,
    (escape) =>
      characters[escape.slice(1, -1)] ?? String.fromCharCode(Number(escape.slice(2, -1).replace(/^x/iu, "0x"))),
  ],
];
const base64Run = /[\w+/-]{10}/u;

/**
 * Masks secrets of the request in its outcome. Partners echo requests in error pages, and responses are stored, shown
 * and logged. Secrets are found unchanged and in base64, both also escaped once for URLs, JSON or HTML.
 *
 * @param url of the request; the values of its query are treated as secret
 */
export function maskOutcome(
  outcome: AttemptOutcome,
  requestHeaders: Readonly<Record<string, string>>,
  url?: Pick<URL, "search" | "searchParams">,
): AttemptOutcome {
  const { warnings } = outcome;
  if (outcome.kind === "failure" || (outcome.body === "" && outcome.headers["location"] === undefined && !warnings))
    return outcome;
  const mask = createMask([...secretsOf(requestHeaders), ...querySecrets(url)]);
  const masked = { ...outcome, headers: maskHeaders(outcome.headers, mask), body: mask(outcome.body) };
  return warnings === undefined ? masked : { ...masked, warnings: warnings.map(mask) };
}

type Mask = (text: string) => string;

function maskHeaders(headers: Readonly<Record<string, string>>, mask: Mask): Readonly<Record<string, string>> {
  // Most responses echo nothing, and one search over all headers is cheaper than one per header.
  const all = Object.values(headers).join("\n");
  if (mask(all) === all) return headers;
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, mask(value)]));
}

/** Complete values and their parts. An echo may show a token without its scheme, or one of several signatures. */
function secretsOf(headers: Readonly<Record<string, string>>): readonly string[] {
  const values = Object.entries(headers).flatMap(([name, value]) =>
    publicHeaders.has(name.toLowerCase()) ? [] : [value],
  );
  const parts = values.flatMap((value) => [value, ...value.split(/[\s,]+/u)]);
  const named = parts.map((part) => part.replace(namePart, ""));
  const long = new Set(
    [...parts, ...named, ...values.flatMap(basicCredentials)].filter((part) => part.length >= secretCharactersMin),
  );
  return [...long];
}

/** The query, and its values as written and decoded. */
function querySecrets(url: Pick<URL, "search" | "searchParams"> | undefined): readonly string[] {
  if (url === undefined || url.search === "") return [];
  const query = url.search.slice(1);
  const written = query.split("&").map((pair) => pair.slice(pair.indexOf("=") + 1));
  const all = new Set([query, ...written, ...url.searchParams.values()]);
  return [...all].filter((text) => text.length >= secretCharactersMin);
}

/**
 * The decoded credentials of `Basic`, and the password alone, which a client may form-encode. Source: RFC 7617 §2, RFC
 * 6749 §2.3.1.
 */
function basicCredentials(value: string): readonly string[] {
  const [, encoded] = basicForm.exec(value) ?? [];
  if (encoded === undefined) return [];
  const credentials = Buffer.from(encoded, "base64").toString();
  const password = credentials.slice(credentials.indexOf(":") + 1);
  return [credentials, password, new URLSearchParams(`p=${password}`).get("p") ?? ""];
}

function createMask(words: readonly string[]): Mask {
  let withBase64: readonly string[] | undefined;
  const wordsFor = (text: string): readonly string[] =>
    base64Run.test(text) ? (withBase64 ??= [...words, ...words.flatMap(base64Forms)]) : words;
  return (text) => {
    const kinds = [undefined, ...escapes.filter(([form]) => text.search(form) !== -1)];
    const ranges = kinds.flatMap((escape) => [...rangesIn(text, wordsFor, escape)]);
    const shown = ranges.length === 0 ? [text] : text.split("");
    for (const [start, end] of ranges) {
      const first = shown[start] === "" ? "" : maskText;
      shown.fill("", start, end);
      shown[start] = first;
    }
    return shown.join("");
  };
}

/** Finds words in a text, or in the text without its escapes of one kind. */
function* rangesIn(text: string, wordsFor: (text: string) => readonly string[], escape?: Escape): Generator<TextRange> {
  const decoded = escape === undefined ? text : text.slice(0, decodedCharactersMax).replaceAll(...escape);
  const found = wordsFor(decoded).filter((word) => decoded.includes(word));
  if (found.length === 0) return;
  // One token per character of the decoded text. Without the flag `u`, a surrogate pair is two.
  const tokens = text.match(new RegExp(`${escape?.[0].source ?? "(?!)"}|[^]`, "g")) ?? [];
  let position = 0;
  const starts = [0, ...tokens.map(({ length }) => (position += length))];
  for (const word of found) {
    for (let at = decoded.indexOf(word); at !== -1; at = decoded.indexOf(word, at + word.length))
      yield [starts[at] ?? 0, starts[at + word.length] ?? 0];
  }
}

/**
 * Base64 forms of a text in both alphabets: alone, and inside a longer encoded text at each of three offsets. The first
 * and last characters depend on the neighbouring bytes and are left out.
 */
function base64Forms(text: string): readonly string[] {
  const bytes = Buffer.from(`\0\0${text}`);
  return (["base64", "base64url"] as const).flatMap((alphabet) => [
    bytes.toString(alphabet, 2),
    ...[0, 1, 2].map((before) => {
      const end = Math.floor(((before + bytes.length - 2) * 4) / 3);
      return bytes.toString(alphabet, 2 - before).slice(Math.ceil((before * 4) / 3), end);
    }),
  ]);
}
