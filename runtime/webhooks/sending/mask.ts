import { createWordFinder } from "./encoded-forms.ts";
import type { Outcome } from "../settlement/outcome.ts";

/** Request headers that anybody may read; the values of all others are secrets, or prove something. */
const publicHeaders: ReadonlySet<string> = new Set([
  "accept",
  "content-digest",
  "content-length",
  "content-type",
  "host",
  "signature-input",
  "traceparent",
  "user-agent",
  "webhook-id",
  "webhook-timestamp",
  "x-attempt",
  "x-event-id",
  "x-timestamp",
  "x-webhook-producer",
  "x-webhook-replay",
]);
/** Shorter values occur in any text by chance. */
const secretCharactersMin = 8;
const maskText = "***";
/** `v1=` of a signature, `session=` of a cookie. */
const namePart = /^[\w-]+=/u;
const basicForm = /^basic +(\S+)$/iu;

/**
 * The outcome without what the request carried in confidence: partners echo requests in their error pages, and what
 * came back is kept, shown and logged. A secret is found as it was sent, in base64, and escaped for URLs, JSON or HTML.
 * Source: design §4, list of what an attempt record holds.
 */
export function maskOutcome(outcome: Outcome, requestHeaders: Readonly<Record<string, string>>): Outcome {
  if (outcome.kind === "failure" || (outcome.body === "" && outcome.headers["location"] === undefined)) {
    return outcome;
  }
  const find = createWordFinder(secretsOf(requestHeaders));
  return { ...outcome, headers: maskHeaders(outcome.headers, find), body: mask(outcome.body, find) };
}

type FindSecrets = ReturnType<typeof createWordFinder>;

function maskHeaders(headers: Readonly<Record<string, string>>, find: FindSecrets): Readonly<Record<string, string>> {
  // Most answers echo nothing: one look at all headers is cheaper than one at each.
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

/** Whole values, and their parts: an echo may show a token without its scheme, or one signature of several. */
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

/**
 * What stands behind `Basic`, and the password alone, which clients may have form-encoded. Source: RFC 7617 §2, RFC
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
