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
import { byText, canonicalJson } from "./canonical-json.ts";
import { originOf } from "./origin.ts";
import { patternsMeet } from "./unresolved-types.ts";

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
  const { endpoint, signing, subscriptions, delivery, retry, circuitBreaker, deadLetter, networks, state, format } =
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
    subscriptions: compileSubscriptions(subscriptions, format),
    ...(format === "CloudEvents" ? { format } : {}),
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
  return [...unversioned, ...addressWarnings(spec), ...payloadWarnings(spec.subscriptions), ...pointerWarnings(spec)];
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

function compileSubscriptions(
  subscriptions: readonly WebhookPartnerSubscription[],
  format: WebhookPartner["spec"]["format"],
): readonly SubscriptionConfig[] {
  const isOrdered = subscriptions.some(({ payload }) => payload !== undefined);
  return subscriptions
    .map((subscription, index) => compileSubscription(subscription, isOrdered ? index : undefined, format))
    .sort((one, other) => byText(one.name, other.name));
}

function compileSubscription(
  { name, types, tenants, producers, matchers, payload }: WebhookPartnerSubscription,
  order: number | undefined,
  format: WebhookPartner["spec"]["format"],
): SubscriptionConfig {
  const sorted = producers.toSorted(byText);
  const common = { name, types: types.toSorted(byText), tenants: tenants.toSorted(byText) };
  const formatted = format === "CloudEvents" ? { format } : {};
  if (matchers === undefined && order === undefined && format !== "CloudEvents")
    return { ...common, producers: sorted };
  return {
    ...common,
    selects: {
      producers: sorted,
      ...(matchers === undefined ? {} : { matchers }),
      ...(payload === undefined ? {} : { payload: [payload] }),
      ...(order === undefined ? {} : { order }),
      ...formatted,
    },
  };
}

/** Segments of pointers that name no value, though other languages of paths have them. */
function pointerWarnings({ subscriptions }: WebhookPartner["spec"]): readonly string[] {
  return subscriptions.flatMap(({ name, matchers = [], payload = {} }) => [
    ...matchers
      .filter(({ pointer }) => /\/[*-](?:\/|$)/u.test(pointer))
      .map(({ pointer }) => `the pointer ${pointer} of a matcher of ${name} is a name: matchers have no wildcards`),
    ...[...(payload.include ?? []), ...(payload.exclude ?? [])]
      .filter((pointer) => /\/-(?:\/|$)/u.test(pointer))
      .map(
        (pointer) => `the pointer ${pointer} of the payload of ${name} names no item of a list: use * for every item`,
      ),
  ]);
}

/** Pairs of subscriptions that may match one event and send different parts of it: the order of the list decides. */
function payloadWarnings(subscriptions: readonly WebhookPartnerSubscription[]): readonly string[] {
  return subscriptions.flatMap((one, index) =>
    subscriptions
      .slice(index + 1)
      .filter((other) => canonicalJson(one.payload ?? {}) !== canonicalJson(other.payload ?? {}) && mayMeet(one, other))
      .map(({ name }) => `${one.name} and ${name} may match one event; the payload of ${one.name}, the first, is sent`),
  );
}

function mayMeet(one: WebhookPartnerSubscription, other: WebhookPartnerSubscription): boolean {
  const isOpen = (names: readonly string[]): boolean => names.length === 0 || names.includes("*");
  const haveCommon = (some: readonly string[], more: readonly string[]): boolean =>
    isOpen(some) || isOpen(more) || some.some((name) => more.includes(name));
  return (
    haveCommon(one.tenants, other.tenants) &&
    haveCommon(one.producers, other.producers) &&
    one.types.some((pattern) => other.types.some((another) => patternsMeet(pattern.split("."), another.split("."))))
  );
}
