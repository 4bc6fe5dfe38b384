import type { Outcome } from "../settlement/outcome.ts";

/** Request headers without secrets. The values of all other headers are treated as secret. */
const publicHeaders: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "content-digest",
  "content-length",
  "content-type",
  "host",
  "signature-input",
  "traceparent",
  "user-agent",
  "webhook-id",
  "webhook-request-origin",
  "webhook-request-rate",
  "webhook-timestamp",
  "x-attempt",
  "x-event-id",
  "x-timestamp",
  "x-webhook-producer",
  "x-webhook-replay",
]);
/** Shorter values can occur in any text by chance. */
const secretCharactersMin = 8;
const maskText = "***";
/** `v1=` of a signature, `session=` of a cookie. */
const namePart = /^[\w-]+=/u;
const basicForm = /^basic +(\S+)$/iu;

/** A part of a text: start index, and end index (exclusive). */
type TextRange = readonly [start: number, end: number];

/** Nested encodings that are decoded. */
const decodingsMax = 2;
/** Only this much of a text is decoded, so that a text full of escapes costs little. Less of each text is stored. */
const decodedCharactersMax = 4_096;
/** Percent-encoding, JSON escapes, and numeric character references of HTML. */
const escapeForm = new RegExp(
  [
    /%(?<percent>[0-9A-Fa-f]{2})/u,
    /\\u(?<json>[0-9A-Fa-f]{4})/u,
    /\\(?<plain>["/\\])/u,
    /&#[xX](?<hex>[0-9A-Fa-f]{1,6});/u,
    /&#(?<decimal>[0-9]{1,7});/u,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gu",
);
const base64Run = /[\w+/-]{10}/u;
const bitsOfByte = 8;
const bitsOfCharacter = 6;

/**
 * Masks secrets of the request in its outcome. Partners echo requests in error pages, and responses are stored, shown
 * and logged. Secrets are found unchanged, in base64, and escaped for URLs, JSON or HTML.
 *
 * @param url of the request; the values of its query are treated as secret
 */
export function maskOutcome(
  outcome: Outcome,
  requestHeaders: Readonly<Record<string, string>>,
  url?: Pick<URL, "search" | "searchParams">,
): Outcome {
  const { warnings } = outcome;
  if (outcome.kind === "failure" || (outcome.body === "" && outcome.headers["location"] === undefined && !warnings)) {
    return outcome;
  }
  const find = createWordFinder([...secretsOf(requestHeaders), ...querySecrets(url)]);
  const masked = { ...outcome, headers: maskHeaders(outcome.headers, find), body: mask(outcome.body, find) };
  return warnings === undefined ? masked : { ...masked, warnings: warnings.map((text) => mask(text, find)) };
}

type FindSecrets = ReturnType<typeof createWordFinder>;

function maskHeaders(headers: Readonly<Record<string, string>>, find: FindSecrets): Readonly<Record<string, string>> {
  // Most responses echo nothing, and one search over all headers is cheaper than one per header.
  if (find(Object.values(headers).join("\n")).length === 0) {
    return headers;
  }
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, mask(value, find)]));
}

function mask(text: string, find: FindSecrets): string {
  let rest = text;
  for (const [start, end] of find(text).toReversed()) {
    rest = rest.slice(0, start) + maskText + rest.slice(end);
  }
  return rest;
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
  if (url === undefined || url.search === "") {
    return [];
  }
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
  if (encoded === undefined) {
    return [];
  }
  const credentials = Buffer.from(encoded, "base64").toString();
  const password = credentials.slice(credentials.indexOf(":") + 1);
  return [credentials, password, new URLSearchParams(`p=${password}`).get("p") ?? ""];
}

/**
 * Finds words in texts: unchanged, in base64, and escaped for URLs, JSON or HTML, completely or in part. The ranges are
 * sorted and never overlap.
 */
function createWordFinder(words: readonly string[]): (text: string) => readonly TextRange[] {
  // A word may contain text that looks like an escape.
  const plain = [...new Set(words.flatMap((word) => [word, ...decodings(word).map(({ text }) => text)]))];
  let encoded: readonly string[] | undefined;
  return (text) => {
    const levels = [{ text, starts: undefined }, ...decodings(text.slice(0, decodedCharactersMax))];
    const found = levels.flatMap((level) => {
      const inBase64 = base64Run.test(level.text) ? (encoded ??= words.flatMap(base64Forms)) : [];
      return [...plain, ...inBase64].flatMap((word) => placesOf(level, word));
    });
    return joined(found);
  };
}

/**
 * Base64 forms of a text in both alphabets: alone, and inside a longer encoded text at each of three offsets. The first
 * and last characters depend on the neighbouring bytes and are left out.
 */
function base64Forms(text: string): readonly string[] {
  const bytes = Buffer.from(`\0\0${text}`);
  const lengthOfText = bytes.length - 2;
  const alone = bytes.toString("base64", 2);
  const inside = [0, 1, 2].map((before) => {
    const start = Math.ceil((before * bitsOfByte) / bitsOfCharacter);
    const end = Math.floor(((before + lengthOfText) * bitsOfByte) / bitsOfCharacter);
    return bytes.toString("base64", 2 - before).slice(start, end);
  });
  const standard = [alone, alone.replace(/=+$/u, ""), ...inside];
  const ofUrls = standard
    .filter((form) => /[+/]/u.test(form))
    .map((form) => form.replaceAll("+", "-").replaceAll("/", "_"));
  return [...standard, ...ofUrls];
}

interface Level {
  readonly text: string;
  /** Index of each character, and of the end, in the original text; undefined for the original text itself. */
  readonly starts: readonly number[] | undefined;
}

/** The text decoded once, twice, and so on up to the limit. */
function decodings(text: string): readonly Level[] {
  const levels: Level[] = [];
  let last: Level = { text, starts: undefined };
  while (levels.length < decodingsMax && last.text.search(escapeForm) !== -1) {
    last = decoded(last);
    levels.push(last);
  }
  return levels;
}

function decoded({ text, starts }: Level): Level {
  const placed: number[] = [];
  const place = (from: number, to: number): void => {
    for (let index = from; index < to; index += 1) placed.push(starts?.[index] ?? index);
  };
  let plain = "";
  let done = 0;
  for (const { index, 0: escape, groups = {} } of text.matchAll(escapeForm)) {
    plain += text.slice(done, index) + characterOf(groups);
    place(done, index + 1);
    done = index + escape.length;
  }
  place(done, text.length + 1);
  return { text: plain + text.slice(done), starts: placed };
}

/** One unit of UTF-16; headers contain no higher code points. */
function characterOf({ percent, json, plain, hex, decimal }: Readonly<Record<string, string | undefined>>): string {
  const code = percent ?? json ?? hex;
  return plain ?? String.fromCharCode(code === undefined ? Number(decimal) : Number.parseInt(code, 16));
}

function placesOf({ text, starts }: Level, word: string): readonly TextRange[] {
  const places: TextRange[] = [];
  for (let start = text.indexOf(word); start !== -1; start = text.indexOf(word, start + word.length)) {
    const end = start + word.length;
    places.push(starts === undefined ? [start, end] : [starts[start] ?? 0, starts[end] ?? 0]);
  }
  return places;
}

function joined(ranges: readonly TextRange[]): readonly TextRange[] {
  const whole: [number, number][] = [];
  for (const [start, end] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = whole.at(-1);
    if (last !== undefined && start < last[1]) last[1] = Math.max(last[1], end);
    else whole.push([start, end]);
  }
  return whole;
}
