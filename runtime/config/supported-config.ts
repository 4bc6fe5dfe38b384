import { classDefaults } from "../../crds/compile/class-defaults.ts";
import {
  labelNames,
  type Aggregation,
  type CatalogConfig,
  type ClassLimits,
  type IncreaseKind,
  type MetricConfig,
  type PartnerConfig,
  type PeerConfig,
  type QueryClass,
  type QuotaConfig,
  type ResourceOrigin,
  type RuntimeConfig,
  type SourceConfig,
  type StoreConfig,
  type StoreFlavour,
} from "../../crds/config.ts";
import type { StoreCredentials } from "../../crds/store-credentials.ts";
import type { ConfigzError } from "../../crds/configz.ts";
import { unsupportedSchema } from "../../crds/event-schema/keywords.ts";
import { materialIdsOf } from "../../crds/material.ts";
import type { Kind } from "../../crds/resource.ts";
import { unsupportedPart } from "./unsupported-part.ts";
import { readPublishedKey, type SigningScheme } from "../../crds/signing-key.ts";

/** The supported part of a configuration, and the resources outside of it. */
interface SupportedConfig {
  readonly config: RuntimeConfig;
  readonly errors: readonly ConfigzError[];
}

/**
 * Removes resources that this version of the program does not support, so that they do not block the others. Such a
 * resource keeps its version of `previous`, or is left out without one.
 */
export function supportedConfig(config: RuntimeConfig, previous: RuntimeConfig | undefined): SupportedConfig {
  const partners = sift("WebhookPartner", config.partners, previous?.partners, (partner) =>
    partnerFault(partner, config.material),
  );
  const catalogs = sift("MetricCatalog", config.catalogs, previous?.catalogs, catalogFault);
  const quotas = sift("QueryClassQuota", config.quotas, previous?.quotas, quotaFault);
  const eventCatalogs = sift("EventCatalog", config.eventCatalogs ?? [], previous?.eventCatalogs, ({ types }) =>
    unsupportedSchema(types),
  );
  const errors = [...partners.errors, ...catalogs.errors, ...quotas.errors, ...eventCatalogs.errors];
  if (errors.length === 0) return { config, errors };
  const material = { ...keptMaterial([...partners.kept, ...catalogs.kept], previous), ...config.material };
  return {
    config: {
      ...config,
      partners: partners.kept,
      catalogs: catalogs.kept,
      quotas: quotas.kept,
      ...(config.eventCatalogs === undefined ? {} : { eventCatalogs: eventCatalogs.kept }),
      material,
    },
    errors,
  };
}

function sift<T extends ResourceOrigin>(
  kind: Kind,
  wanted: readonly T[],
  previous: readonly T[] | undefined,
  faultOf: (resource: T) => string | undefined,
): { readonly kept: readonly T[]; readonly errors: readonly ConfigzError[] } {
  const checked = wanted.map((resource) => ({ resource, message: check(faultOf, resource) }));
  const kept = checked.flatMap(({ resource, message }) => {
    return message === undefined ? resource : (previous?.find(({ uid }) => uid === resource.uid) ?? []);
  });
  const errors = checked.flatMap(({ resource: { namespace, name, generation }, message }) => {
    return message === undefined ? [] : [{ kind, namespace, name, generation, reason: "NotObeyable", message }];
  });
  return { kept, errors };
}

/** Runs a check. It throws for a resource of an unknown shape. */
function check<T>(faultOf: (resource: T) => string | undefined, resource: T): string | undefined {
  try {
    return faultOf(resource);
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    return `this version of the runtime cannot read the resource: ${cause}`;
  }
}

type HistogramType = Extract<SourceConfig, { readonly kind: "histogram" }>["type"];

const unsupported = "this version of the runtime does not support";

/** All words of a closed list: a word that is added to the type must be added to the call. */
const all = <Word extends string>(words: Readonly<Record<Word, true>>): Readonly<Record<string, true>> => words;

/** The supported words of each closed list. */
const known = {
  scheme: all<SigningScheme>({ HmacV1: true, StandardWebhooks: true, HttpMessageSignatures: true }),
  format: all<NonNullable<PartnerConfig["format"]>>({ CloudEvents: true }),
  state: all<PartnerConfig["state"]>({ Active: true, Paused: true }),
  tenancy: all<StoreConfig["tenancy"]>({ Labelled: true, Platform: true, StoreHeader: true }),
  source: all<SourceConfig["kind"]>({ gauge: true, counter: true, ratio: true, histogram: true }),
  class: all<QueryClass>({ A: true, B: true, C: true }),
  flavour: all<StoreFlavour>({ Prometheus: true, Thanos: true, Mimir: true, VictoriaMetrics: true }),
  credentials: all<StoreCredentials["kind"]>({ basic: true, bearer: true, oauth2: true, sigv4: true, awsRole: true }),
  increases: all<PeerConfig["increases"]>({ Extrapolated: true, Plain: true }),
  aggregation: all<Aggregation>({ avg: true, sum: true, min: true, max: true, p50: true, p95: true, p99: true }),
  increase: all<IncreaseKind>({ Extrapolated: true, Anchored: true }),
  histogram: all<HistogramType>({ Classic: true, Native: true }),
  sensitivity: all<MetricConfig["sensitivity"]>({ none: true, finance: true, "responsible-gaming": true }),
  label: Object.fromEntries(labelNames.map((name) => [name, true])),
} as const;

const isKnown = (list: keyof typeof known, word: unknown): boolean =>
  typeof word === "string" && Object.hasOwn(known[list], word);
const isWhole = (value: unknown, min: number): boolean => Number.isSafeInteger(value) && Number(value) >= min;
const areWhole = (...values: readonly unknown[]): boolean => values.every((value) => isWhole(value, 1));

function partnerFault(partner: PartnerConfig, material: RuntimeConfig["material"]): string | undefined {
  const { endpoint, signing, subscriptions, withdrawn = [], delivery, retry, circuitBreaker, state } = partner;
  const { rate, maxBacklog } = delivery;
  return firstFault([
    [
      isHttpUrl(endpoint.url.replaceAll("{domain}", "domain")),
      `${endpoint.url.replace(/\?.*$/u, "?***")} is not an http or https URL`,
    ],
    [isWhole(endpoint.timeoutMs, 1), "the endpoint has no timeout"],
    [isKnown("scheme", signing.scheme), `${unsupported} the signing scheme ${signing.scheme}`],
    ...keyFacts(partner, material),
    [
      [...subscriptions, ...withdrawn].every(({ types, tenants, producers, selects }) =>
        [types, tenants, producers ?? selects?.producers].every(Array.isArray),
      ),
      "a subscription is incomplete",
    ],
    ...[...subscriptions, ...withdrawn].map(({ selects }): Fact => {
      const part = unsupportedPart(selects);
      return [part === undefined, `this version of the runtime does not support ${part} of a subscription`];
    }),
    [partner.format === undefined || isKnown("format", partner.format), `${unsupported} the format ${partner.format}`],
    [isWhole(delivery.maxInFlight, 1), "delivery.maxInFlight is not a whole number of at least 1"],
    [rate === undefined || areWhole(rate.perSecond, rate.burst), "the rate is incomplete"],
    [maxBacklog === undefined || areWhole(maxBacklog.messages, maxBacklog.bytes), "the backlog is incomplete"],
    [
      circuitBreaker === undefined ||
        areWhole(circuitBreaker.failures, circuitBreaker.openMs, circuitBreaker.maxOpenMs),
      "the circuit breaker is incomplete",
    ],
    [retry.scheduleSeconds.length > 0 && retry.scheduleSeconds.every((wait) => wait > 0), "there is no retry schedule"],
    [Array.isArray(partner.networks.allowCidrs), "the networks are incomplete"],
    [isKnown("state", state), `${unsupported} the state ${state}`],
  ]);
}

/** A held partner needs no keys: nothing is sent to it. */
function keyFacts({ signing, held, state }: PartnerConfig, material: RuntimeConfig["material"]): readonly Fact[] {
  const [key] = signing.keys;
  if (held !== undefined) return [[state === "Paused", "the partner is held but not paused"]];
  return [
    [key !== undefined && decoded(material[key.material]).length > 0, "the bytes of the signing key are empty"],
    [signing.keys.every((one) => canSign(signing.scheme, material[one.material])), "a signing key cannot sign"],
  ];
}

function catalogFault({ stores, metrics }: CatalogConfig): string | undefined {
  return firstFault([...stores.flatMap(storeFacts), ...metrics.flatMap(metricFacts)]);
}

function storeFacts({ name, tenancy, prometheus, peer }: StoreConfig): readonly Fact[] {
  const of = `of the store ${name}`;
  const { auth } = prometheus ?? peer;
  return [
    [isHttpUrl((prometheus ?? peer).url), `the store ${name} has no http or https URL: ${(prometheus ?? peer).url}`],
    knows("tenancy", tenancy, of),
    ...(auth === undefined ? [] : [knows("credentials", auth.kind, of)]),
    prometheus === undefined ? knows("increases", peer?.increases, of) : knows("flavour", prometheus.flavour, of),
  ];
}

function metricFacts(metric: MetricConfig): readonly Fact[] {
  const { id, source, labels, aggregations } = metric;
  const of = `of the metric ${id}`;
  const isComplete = isKnown("class", metric.queryClass) && Array.isArray(labels) && Array.isArray(aggregations);
  return [
    knows("source", source.kind, of),
    ...("increase" in source ? [knows("increase", source.increase, of)] : []),
    ...("type" in source ? [knows("histogram", source.type, of)] : []),
    [isComplete, `the metric ${id} is incomplete`],
    ...labels.map((label) => knows("label", label, of)),
    ...aggregations.map((aggregation) => knows("aggregation", aggregation, of)),
    knows("aggregation", metric.defaultAggregation, of),
    knows("sensitivity", metric.sensitivity, of),
  ];
}

const laterLimits: readonly (keyof ClassLimits)[] = ["distributedSeconds", "staleWhileRevalidateSeconds"];
/** Limits in the quotas of every version. */
const limitNames = (Object.keys(classDefaults.A) as readonly (keyof ClassLimits)[]).filter(
  (name) => !laterLimits.includes(name),
);

function quotaFault(quota: QuotaConfig): string | undefined {
  return firstFault([
    [isKnown("class", quota.class), `${unsupported} the class ${quota.class}`],
    [limitNames.every((name) => isWhole(quota.limits[name], 0)), "the limits are incomplete"],
    [Array.isArray(quota.perMetric), "the limits of single metrics are incomplete"],
    [
      quota.clients.every(({ tenants, metrics }) => Array.isArray(tenants) && Array.isArray(metrics)),
      "a client is incomplete",
    ],
  ]);
}

/** A condition that must hold, and the message when it does not. */
type Fact = readonly [holds: boolean, message: string];

function knows(list: keyof typeof known, word: unknown, of: string): Fact {
  return [isKnown(list, word), `${unsupported} the ${list} ${String(word)} ${of}`];
}

function firstFault(facts: readonly Fact[]): string | undefined {
  return facts.find(([holds]) => !holds)?.[1];
}

function isHttpUrl(text: string): boolean {
  return ["http:", "https:"].includes(URL.parse(text)?.protocol ?? "");
}

/**
 * Unknown schemes and empty bytes have their own messages. Keys after the first may lack their bytes.
 */
function canSign(scheme: SigningScheme, base64: string | undefined): boolean {
  const bytes = decoded(base64);
  return bytes.length === 0 || !isKnown("scheme", scheme) || !("fault" in readPublishedKey(scheme, bytes));
}

function decoded(base64: string | undefined): Buffer {
  return Buffer.from(base64 ?? "", "base64");
}

/** Material of the kept resources. */
function keptMaterial(
  kept: readonly (PartnerConfig | CatalogConfig)[],
  previous: RuntimeConfig | undefined,
): RuntimeConfig["material"] {
  const ids = new Set(kept.flatMap(materialIdsOf));
  return Object.fromEntries(Object.entries(previous?.material ?? {}).filter(([id]) => ids.has(id)));
}
