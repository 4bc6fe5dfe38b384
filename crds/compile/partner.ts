import type { ResolvedKey } from "../checks/references.ts";
import type {
  CircuitBreakerConfig,
  DeliveryConfig,
  EndpointConfig,
  PartnerConfig,
  SigningKeyConfig,
  SubscriptionConfig,
} from "../config.ts";
import type { WebhookPartner } from "../resource.ts";
import type {
  WebhookPartnerCircuitBreaker,
  WebhookPartnerDelivery,
  WebhookPartnerEndpoint,
  WebhookPartnerSigningKey,
  WebhookPartnerSubscription,
} from "../types/webhook-partner.ts";
import { byText } from "./canonical-json.ts";
import { originOf } from "./origin.ts";

const secondMs = 1_000;

/** Path of an endpoint whose URL has none. Source: seed "Webhook Event Delivery" §4.1. */
const defaultPath = "/webhooks/v1/{domain}";

const urlParts = /^(?<origin>https?:\/\/[^/]*)(?<path>.*)$/u;
const versionSegment = /\/v[0-9]+(\/|$)/u;

/** One partner whose keys were all found, in the order of its spec. */
export function compilePartner(resource: WebhookPartner, keys: readonly ResolvedKey[]): PartnerConfig {
  const { endpoint, signing, subscriptions, delivery, retry, circuitBreaker, deadLetter, networks, state } = resource.spec;
  const { retainSeconds } = deadLetter;
  return {
    ...originOf(resource),
    endpoint: compileEndpoint(endpoint),
    signing: {
      scheme: signing.scheme,
      ...(signing.sideBySide ? { sideBySide: true } : {}),
      keys: keys.map((key) => compileKey(signing.keys, key)),
    },
    subscriptions: subscriptions.map(compileSubscription).sort((one, other) => byText(one.name, other.name)),
    delivery: compileDelivery(delivery),
    retry: {
      scheduleSeconds: retry.scheduleSeconds,
      maxAgeSeconds: retry.maxAgeSeconds,
      jitterPercent: retry.jitterPercent,
    },
    ...(circuitBreaker.enabled ? { circuitBreaker: compileBreaker(circuitBreaker) } : {}),
    ...(retainSeconds === undefined ? {} : { deadLetterSeconds: retainSeconds }),
    networks: { allowCidrs: networks.allowCidrs.toSorted(byText), allowPlaintext: networks.allowPlaintext },
    state,
  };
}

/** What is legal and yet probably not meant. Source: wire, "a path without a version raises a warning event". */
export function partnerWarnings({ spec }: WebhookPartner): readonly string[] {
  const { url } = compileEndpoint(spec.endpoint);
  const path = urlParts.exec(url)?.groups?.["path"] ?? "";
  return versionSegment.test(path) ? [] : [`the endpoint's path ${path} has no segment with a version, such as v1`];
}

function compileEndpoint({ url, timeoutSeconds, headers, idempotencySeconds, ackUrl }: WebhookPartnerEndpoint): EndpointConfig {
  const { origin = "", path = "" } = urlParts.exec(url)?.groups ?? {};
  return {
    url: path === "" || path === "/" ? origin + defaultPath : url,
    timeoutMs: timeoutSeconds * secondMs,
    headers: Object.fromEntries(headers.map(({ name, value }) => [name.toLowerCase(), value])),
    idempotencyMs: idempotencySeconds * secondMs,
    ...(ackUrl === undefined ? {} : { ackUrl }),
  };
}

/** Without a burst, one second's worth may begin at once. */
function compileDelivery({ maxInFlight, ratePerSecond, burst, maxBacklog }: WebhookPartnerDelivery): DeliveryConfig {
  const rate = ratePerSecond === undefined ? {} : { rate: { perSecond: ratePerSecond, burst: burst ?? ratePerSecond } };
  return { maxInFlight, ...rate, maxBacklog: { messages: maxBacklog.messages, bytes: maxBacklog.bytes } };
}

function compileBreaker({ failures, openSeconds, maxOpenSeconds }: WebhookPartnerCircuitBreaker): CircuitBreakerConfig {
  return { failures, openMs: openSeconds * secondMs, maxOpenMs: maxOpenSeconds * secondMs };
}

function compileKey(keys: readonly WebhookPartnerSigningKey[], { index, material }: ResolvedKey): SigningKeyConfig {
  const { id = "", notAfter } = keys[index] ?? {};
  return { id, material, ...(notAfter === undefined ? {} : { notAfterMs: Date.parse(notAfter) }) };
}

function compileSubscription({ name, types, tenants, producers }: WebhookPartnerSubscription): SubscriptionConfig {
  return {
    name,
    types: types.toSorted(byText),
    tenants: tenants.toSorted(byText),
    producers: producers.toSorted(byText),
  };
}
