import { parseCidr } from "../networks.ts";
import type {
  WebhookPartnerCircuitBreaker,
  WebhookPartnerDelivery,
  WebhookPartnerSigningKey,
  WebhookPartnerSpec,
} from "../types/webhook-partner.ts";
import { differentNames, noMessageHeader } from "./headers.ts";
import { type PlacedRule, rule, rulesAt } from "./cel-rule.ts";
import { urlRules } from "./url.ts";

/** Lowercase names of headers that every delivery sets. Source: seed "Webhook Event Delivery" §4.1, wire. */
const deliveryHeaders: ReadonlySet<string> = new Set([
  "x-signature",
  "x-timestamp",
  "x-event-id",
  "x-attempt",
  "x-webhook-producer",
  "x-webhook-replay",
  "user-agent",
  "content-type",
  "webhook-id",
  "webhook-timestamp",
  "webhook-signature",
  "content-digest",
  "signature-input",
  "signature",
  "traceparent",
]);

const placeholders = /^([^{}]|[{]domain[}])*$/u;
const urlCharacters = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%{}]*$/u;

/** The CEL rules of WebhookPartner. */
export const webhookPartnerRules: readonly PlacedRule[] = [
  ...rulesAt<WebhookPartnerSpec>("spec", [
    rule(
      "the endpoint's URL is https, unless networks.allowPlaintext is true",
      ({ endpoint, networks }) => networks.allowPlaintext || !endpoint.url.startsWith("http:"),
      ".endpoint.url",
    ),
    rule(
      "the URL has no query under HmacV1, which signs the path alone",
      ({ endpoint, signing }) => signing.scheme !== "HmacV1" || !endpoint.url.includes("?"),
      ".endpoint.url",
    ),
    rule(
      "ackUrl has no query under HmacV1, which signs the path alone",
      ({ endpoint, signing }) => signing.scheme !== "HmacV1" || endpoint.ackUrl?.includes("?") !== true,
      ".endpoint.ackUrl",
    ),
  ]),
  ...rulesAt<string>("spec.endpoint.url", [
    ...urlRules(),
    rule("the only placeholder in the URL is {domain}", (url) => placeholders.test(url)),
    rule("the URL holds only characters of URLs, everything else percent-encoded", (url) => urlCharacters.test(url)),
  ]),
  ...rulesAt("spec.endpoint.headers", [differentNames]),
  ...rulesAt<string>("spec.endpoint.headers[].name", [
    rule("every delivery sets this header", (name) => !deliveryHeaders.has(name.toLowerCase())),
    noMessageHeader,
  ]),
  ...rulesAt<readonly WebhookPartnerSigningKey[]>("spec.signing.keys", [
    rule("the first key signs every delivery, so it has no notAfter", ([first]) => first?.notAfter === undefined),
    rule("no two keys refer to the same entry of a Secret", (keys) =>
      allDiffer(keys.map(({ secretRef }) => `${secretRef.name}/${secretRef.key}`)),
    ),
  ]),
  ...rulesAt<readonly string[]>("spec.subscriptions[].tenants", [
    rule("* is every tenant, so it stands alone", (tenants) => !tenants.includes("*") || tenants.length === 1),
  ]),
  ...rulesAt<WebhookPartnerDelivery>("spec.delivery", [
    rule(
      "burst is for a ratePerSecond",
      ({ burst, ratePerSecond }) => burst === undefined || ratePerSecond !== undefined,
      ".burst",
    ),
  ]),
  ...rulesAt<WebhookPartnerCircuitBreaker>("spec.circuitBreaker", [
    rule(
      "maxOpenSeconds is at least openSeconds",
      ({ openSeconds, maxOpenSeconds }) => openSeconds <= maxOpenSeconds,
      ".maxOpenSeconds",
    ),
  ]),
  ...rulesAt<readonly number[]>("spec.retry.scheduleSeconds", [
    rule("no wait is shorter than the one before it", (waits) =>
      waits.every((wait, index) => wait >= (waits[index - 1] ?? 0)),
    ),
  ]),
  ...rulesAt<string>("spec.networks.allowCidrs[]", [
    rule("the block is an address, a slash and the length of the prefix", (text) => parseCidr(text) !== undefined),
  ]),
];

function allDiffer(values: readonly string[]): boolean {
  return new Set(values).size === values.length;
}
