import { createWordFinder } from "./encoded-forms.ts";
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
