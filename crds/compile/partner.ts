import { addressWarnings, type EndpointEntry, type EndpointUse } from "../checks/endpoint-references.ts";
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
  WebhookPartnerEndpointOauth2,
  WebhookPartnerSigningKey,
  WebhookPartnerSubscription,
} from "../types/webhook-partner.ts";
import { byText } from "./canonical-json.ts";
import { originOf } from "./origin.ts";

const secondMs = 1_000;

/** Path of an endpoint whose URL has none. Source: seed "Webhook Event Delivery" §4.1. */
const defaultPath = "/webhooks/v1/{domain}";

const urlParts = /^(?<origin>https?:\/\/[^/?]*)(?<path>[^?]*)(?<query>.*)$/u;
const versionSegment = /\/v[0-9]+(\/|$)/u;

/** One partner whose keys were all found, in the order of its spec. */
export function compilePartner(
  resource: WebhookPartner,
  keys: readonly ResolvedKey[],
  entries: readonly EndpointEntry[],
): PartnerConfig {
  const { endpoint, signing, subscriptions, delivery, retry, circuitBreaker, deadLetter, networks, state } =
    resource.spec;
  const { retainSeconds } = deadLetter;
  return {
    ...originOf(resource),
    endpoint: compileEndpoint(endpoint, (use) => entries.find((entry) => entry.use === use)?.material),
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

/**
 * Warnings for valid values that are probably mistakes, such as a path without a version.
 */
export function partnerWarnings({ spec }: WebhookPartner): readonly string[] {
  const { url } = compileEndpoint(spec.endpoint, () => undefined);
  const path = urlParts.exec(url)?.groups?.["path"] ?? "";
  const unversioned = versionSegment.test(path)
    ? []
    : [`the endpoint's path ${path} has no version segment such as v1`];
  return [...unversioned, ...addressWarnings(spec)];
}

type MaterialFor = (use: EndpointUse) => string | undefined;

function compileEndpoint(endpoint: WebhookPartnerEndpoint, material: MaterialFor): EndpointConfig {
  const { url, timeoutSeconds, headers, idempotencySeconds, ackUrl, oauth2, verification } = endpoint;
  return {
    url: compileUrl(url),
    timeoutMs: timeoutSeconds * secondMs,
    headers: Object.fromEntries(headers.map(({ name, value }) => [name.toLowerCase(), value])),
    idempotencyMs: idempotencySeconds * secondMs,
    ...compileTls(material),
    ...(oauth2 === undefined ? {} : compileOAuth2(oauth2, material)),
    ...(verification === "Handshake" ? { verification } : {}),
    ...(ackUrl === undefined ? {} : { ackUrl }),
  };
}

function compileUrl(url: string): string {
  const { origin = "", path = "", query = "" } = urlParts.exec(url)?.groups ?? {};
  return path === "" || path === "/" ? origin + defaultPath + query : url;
}

function compileTls(material: MaterialFor): Pick<EndpointConfig, "tls"> {
  const [ca, certificate, key] = [material("trusted certificates"), material("certificate"), material("private key")];
  const client = certificate === undefined || key === undefined ? {} : { client: { certificate, key } };
  const tls = { ...(ca === undefined ? {} : { ca }), ...client };
  return Object.keys(tls).length === 0 ? {} : { tls };
}

function compileOAuth2(
  { tokenUrl, clientId, scopes, dpop }: WebhookPartnerEndpointOauth2,
  material: MaterialFor,
): Pick<EndpointConfig, "oauth2"> {
  const secret = material("password") ?? "";
  return { oauth2: { tokenUrl, clientId, secret, scopes: scopes.toSorted(byText), ...(dpop ? { dpop: true } : {}) } };
}

/** Without a burst, the deliveries of one second may start at once. */
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

function compileSubscription({
  name,
  types,
  tenants,
  producers,
  matchers,
}: WebhookPartnerSubscription): SubscriptionConfig {
  const sorted = producers.toSorted(byText);
  return {
    name,
    types: types.toSorted(byText),
    tenants: tenants.toSorted(byText),
    ...(matchers === undefined ? { producers: sorted } : { selects: { producers: sorted, matchers } }),
  };
}
