import { parseCidr } from "../networks.ts";
import type {
  WebhookPartnerCircuitBreaker,
  WebhookPartnerDelivery,
  WebhookPartnerSigningKey,
  WebhookPartnerSpec,
  WebhookPartnerSubscriptionMatcher,
  WebhookPartnerSubscriptionPayload,
} from "../types/webhook-partner.ts";
import { differentNames, noMessageHeader } from "./headers.ts";
import { type PlacedRule, type Rule, rule, rulesAt } from "./cel-rule.ts";
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
const jsonNumber = /^-?(0|[1-9]\d*)([.]\d+)?([eE][+-]?\d{1,3})?$/u;
const envelopePointer = /^\/(event_id|type|version|ts|producer|tenant|attempt)(\/|$)/u;
const urlCharacters = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%{}]*$/u;

/** The CEL rules of WebhookPartner. */
export const webhookPartnerRules: readonly PlacedRule[] = [
  ...rulesAt<WebhookPartnerSpec>("spec", [
    rule(
      "the endpoint's URL must be https, unless networks.allowPlaintext is true",
      ({ endpoint, networks }) => networks.allowPlaintext || !endpoint.url.startsWith("http:"),
      ".endpoint.url",
    ),
    rule(
      "the URL must not have a query with HmacV1, which signs only the path",
      ({ endpoint, signing }) => signing.scheme !== "HmacV1" || !endpoint.url.includes("?"),
      ".endpoint.url",
    ),
    rule(
      "ackUrl must not have a query with HmacV1, which signs only the path",
      ({ endpoint, signing }) => signing.scheme !== "HmacV1" || endpoint.ackUrl?.includes("?") !== true,
      ".endpoint.ackUrl",
    ),
  ]),
  ...rulesAt<string>("spec.endpoint.url", [
    ...urlRules(),
    rule("the only placeholder allowed in the URL is {domain}", (url) => placeholders.test(url)),
    rule("the URL must contain only valid URL characters; percent-encode all others", (url) => urlCharacters.test(url)),
  ]),
  ...rulesAt("spec.endpoint.headers", [differentNames]),
  ...rulesAt<string>("spec.endpoint.headers[].name", [
    rule("this header is reserved: every delivery sets it", (name) => !deliveryHeaders.has(name.toLowerCase())),
    noMessageHeader,
  ]),
  ...rulesAt<readonly WebhookPartnerSigningKey[]>("spec.signing.keys", [
    rule(
      "the first key must not have notAfter, because it signs every delivery",
      ([first]) => first?.notAfter === undefined,
    ),
    rule("keys must refer to different Secret keys", (keys) =>
      allDiffer(keys.map(({ secretRef }) => `${secretRef.name}/${secretRef.key}`)),
    ),
  ]),
  ...rulesAt<readonly string[]>("spec.subscriptions[].tenants", [
    rule(
      "* matches all tenants and cannot be combined with others",
      (tenants) => !tenants.includes("*") || tenants.length === 1,
    ),
  ]),
  ...rulesAt<WebhookPartnerSubscriptionMatcher>("spec.subscriptions[].matchers[]", matcherRules()),
  ...rulesAt<string>("spec.subscriptions[].matchers[].pointer", [
    rule("an event has no attempt, which is set when it is sent", (pointer) => !/^\/attempt(\/|$)/u.test(pointer)),
  ]),
  ...rulesAt<WebhookPartnerSubscriptionPayload>("spec.subscriptions[].payload", [
    rule(
      "a payload has include or exclude, or excludeClasses with or without one of them",
      ({ include, exclude, excludeClasses }) =>
        [include, exclude].filter((list) => list !== undefined).length === (excludeClasses === undefined ? 1 : 0) ||
        (excludeClasses !== undefined && (include === undefined || exclude === undefined)),
    ),
  ]),
  ...["include", "exclude"].flatMap((list) =>
    rulesAt<string>(`spec.subscriptions[].payload.${list}[]`, [
      rule("the fields of the envelope are always sent", (pointer) => !envelopePointer.test(pointer)),
    ]),
  ),
  ...rulesAt<WebhookPartnerDelivery>("spec.delivery", [
    rule(
      "burst requires ratePerSecond",
      ({ burst, ratePerSecond }) => burst === undefined || ratePerSecond !== undefined,
      ".burst",
    ),
  ]),
  ...rulesAt<WebhookPartnerCircuitBreaker>("spec.circuitBreaker", [
    rule(
      "maxOpenSeconds must be at least openSeconds",
      ({ openSeconds, maxOpenSeconds }) => openSeconds <= maxOpenSeconds,
      ".maxOpenSeconds",
    ),
  ]),
  ...rulesAt<readonly number[]>("spec.retry.scheduleSeconds", [
    rule("delays must not decrease", (waits) => waits.every((wait, index) => wait >= (waits[index - 1] ?? 0))),
  ]),
  ...rulesAt<string>("spec.networks.allowCidrs[]", [
    rule(
      "the block must be a CIDR block: an address, a slash and a prefix length",
      (text) => parseCidr(text) !== undefined,
    ),
  ]),
];

function matcherRules(): readonly Rule<WebhookPartnerSubscriptionMatcher>[] {
  const compared = ["Equal", "NotEqual", "GreaterThan", "LessThan", "Prefix"];
  const words: Readonly<Record<string, readonly string[]>> = { Boolean: ["true", "false"], Null: ["null"] };
  return [
    rule(
      "value is required for Equal, NotEqual, GreaterThan, LessThan and Prefix, and not allowed for other operators",
      ({ op, value }) => (value !== undefined) === compared.includes(op),
    ),
    rule(
      "values is required for In and NotIn, and not allowed for other operators",
      ({ op, values }) => (values !== undefined) === ["In", "NotIn"].includes(op),
    ),
    rule(
      "GreaterThan and LessThan compare numbers, Prefix compares strings, and Exists and NotExists have no type",
      ({ op, type }) => type === undefined || (typesOf[op] ?? [type]).includes(type),
      ".type",
    ),
    rule(
      "the value must be a JSON number",
      ({ op, type = isOrder(op) ? "Number" : "String", value = "0" }) => type !== "Number" || jsonNumber.test(value),
      ".value",
    ),
    rule(
      "each value must be a JSON number",
      ({ type, values = [] }) => type !== "Number" || values.every((value) => jsonNumber.test(value)),
      ".values",
    ),
    rule("values of type Boolean are true or false, and that of type Null is null", (matcher) => {
      const { type = "String", value, values = value === undefined ? [] : [value] } = matcher;
      return values.every((text) => words[type]?.includes(text) ?? true);
    }),
  ];
}

/** The types of operators that do not compare with a value of any type. */
const typesOf: Readonly<Record<string, readonly string[]>> = {
  GreaterThan: ["Number"],
  LessThan: ["Number"],
  Prefix: ["String"],
  Exists: [],
  NotExists: [],
};

function isOrder(op: WebhookPartnerSubscriptionMatcher["op"]): boolean {
  return op === "GreaterThan" || op === "LessThan";
}

function allDiffer(values: readonly string[]): boolean {
  return new Set(values).size === values.length;
}
