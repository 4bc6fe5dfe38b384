import { parseCidr } from "../networks.ts";
import type {
  WebhookPartnerCircuitBreaker,
  WebhookPartnerDelivery,
  WebhookPartnerSigningKey,
  WebhookPartnerSpec,
} from "../types/webhook-partner.ts";
import { differentNames, noMessageHeader } from "./headers.ts";
import { rulesAt, unless, type PlacedRule } from "./cel-rule.ts";
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
    {
      message: "the endpoint's URL is https, unless networks.allowPlaintext is true",
      faults: ({ endpoint, networks }) =>
        unless(networks.allowPlaintext || !endpoint.url.startsWith("http:"), ".endpoint.url"),
    },
    {
      message: "the URL has no query under HmacV1, which signs the path alone",
      faults: ({ endpoint, signing }) =>
        unless(signing.scheme !== "HmacV1" || !endpoint.url.includes("?"), ".endpoint.url"),
    },
    {
      message: "ackUrl has no query under HmacV1, which signs the path alone",
      faults: ({ endpoint, signing }) =>
        unless(signing.scheme !== "HmacV1" || endpoint.ackUrl?.includes("?") !== true, ".endpoint.ackUrl"),
    },
  ]),
  ...rulesAt<string>("spec.endpoint.url", [
    ...urlRules(),
    { message: "the only placeholder in the URL is {domain}", faults: (url) => unless(placeholders.test(url)) },
    {
      message: "the URL holds only characters of URLs, everything else percent-encoded",
      faults: (url) => unless(urlCharacters.test(url)),
    },
  ]),
  ...rulesAt("spec.endpoint.headers", [differentNames]),
  ...rulesAt<string>("spec.endpoint.headers[].name", [
    {
      message: "every delivery sets this header",
      faults: (name) => unless(!deliveryHeaders.has(name.toLowerCase())),
    },
    noMessageHeader,
  ]),
  ...rulesAt<readonly WebhookPartnerSigningKey[]>("spec.signing.keys", [
    {
      message: "the first key signs every delivery, so it has no notAfter",
      faults: ([first]) => unless(first?.notAfter === undefined),
    },
    {
      message: "no two keys refer to the same entry of a Secret",
      faults: (keys) => unless(allDiffer(keys.map(({ secretRef }) => `${secretRef.name}/${secretRef.key}`))),
    },
  ]),
  ...rulesAt<readonly string[]>("spec.subscriptions[].tenants", [
    {
      message: "* is every tenant, so it stands alone",
      faults: (tenants) => unless(!tenants.includes("*") || tenants.length === 1),
    },
  ]),
  ...rulesAt<WebhookPartnerDelivery>("spec.delivery", [
    {
      message: "burst is for a ratePerSecond",
      faults: ({ burst, ratePerSecond }) => unless(burst === undefined || ratePerSecond !== undefined, ".burst"),
    },
  ]),
  ...rulesAt<WebhookPartnerCircuitBreaker>("spec.circuitBreaker", [
    {
      message: "maxOpenSeconds is at least openSeconds",
      faults: ({ openSeconds, maxOpenSeconds }) => unless(openSeconds <= maxOpenSeconds, ".maxOpenSeconds"),
    },
  ]),
  ...rulesAt<readonly number[]>("spec.retry.scheduleSeconds", [
    {
      message: "no wait is shorter than the one before it",
      faults: (waits) => unless(waits.every((wait, index) => wait >= (waits[index - 1] ?? 0))),
    },
  ]),
  ...rulesAt<string>("spec.networks.allowCidrs[]", [
    {
      message: "the block is an address, a slash and the length of the prefix",
      faults: (text) => unless(parseCidr(text) !== undefined),
    },
  ]),
];

function allDiffer(values: readonly string[]): boolean {
  return new Set(values).size === values.length;
}
