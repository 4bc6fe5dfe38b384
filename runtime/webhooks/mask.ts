import type { Outcome } from "./outcome.ts";

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

/**
 * The outcome without what the request carried in confidence: partners echo requests in their error pages, and what came
 * back is kept, shown and logged. Source: design §4, list of what an attempt record holds.
 */
export function maskOutcome(outcome: Outcome, requestHeaders: Readonly<Record<string, string>>): Outcome {
  if (outcome.kind === "failure" || (outcome.body === "" && outcome.headers["location"] === undefined)) {
    return outcome;
  }
  const secrets = secretsOf(requestHeaders);
  const mask = (text: string): string => secrets.reduce((rest, secret) => rest.replaceAll(secret, maskText), text);
  const headers = Object.fromEntries(Object.entries(outcome.headers).map(([name, value]) => [name, mask(value)]));
  return { ...outcome, headers, body: mask(outcome.body) };
}

/** Whole values, and their parts: an echo may show a token without its scheme, or one signature of several. */
function secretsOf(headers: Readonly<Record<string, string>>): readonly string[] {
  const values = Object.entries(headers).flatMap(([name, value]) => (publicHeaders.has(name.toLowerCase()) ? [] : [value]));
  const parts = values.flatMap((value) => [value, ...value.split(/[\s,]+/u)]);
  const long = new Set(parts.filter((part) => part.length >= secretCharactersMin));
  return [...long].sort((a, b) => b.length - a.length);
}
