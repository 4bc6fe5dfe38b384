// The configuration of the runtime as data. `compile/` makes it, `shards/` stores it.

import type { SigningScheme } from "./signing-key.ts";
import type { PeerOAuth2Config, StoreCredentials, StoreTlsConfig } from "./store-credentials.ts";
import type { EventCatalogTypeSensitive } from "./types/event-catalog.ts";
import type { MetricCatalogMetricSourceGaugeMatcher, MetricCatalogSlo } from "./types/metric-catalog.ts";
import type {
  QueryClassQuotaCache,
  QueryClassQuotaClient,
  QueryClassQuotaLimits,
  QueryClassQuotaPerMetric,
} from "./types/query-class-quota.ts";
import type {
  WebhookPartnerNetworks,
  WebhookPartnerRetry,
  WebhookPartnerSubscription,
  WebhookPartnerSubscriptionMatcher,
  WebhookPartnerSubscriptionPayload,
} from "./types/webhook-partner.ts";

/**
 * The configuration that `compile` makes from resources and every runtime pod applies. Plain JSON: no dates, no
 * undefined, no binary. Lists are sorted by key, so that the same set of resources gives the same bytes in any order.
 */
export interface RuntimeConfig {
  /** Layout of this document; a pod rejects any other. */
  readonly schema: 1;
  /** Accepted partners, by namespace and name. */
  readonly partners: readonly PartnerConfig[];
  /** Accepted catalogs, by namespace and name. No two hold the same metric id. */
  readonly catalogs: readonly CatalogConfig[];
  /** Accepted quotas, by namespace and name. No two hold the same client. */
  readonly quotas: readonly QuotaConfig[];
  /** Accepted catalogs of event types, by namespace and name; absent for none. No two hold the same type. */
  readonly eventCatalogs?: readonly EventCatalogConfig[];
  /** Limits of a class without a quota. */
  readonly classDefaults: Readonly<Record<QueryClass, ClassLimits>>;
  /** Secret bytes by material id, base64. Kept apart from everything that may be shown. */
  readonly material: Readonly<Record<string, string>>;
  /** Absent when the source was read completely and each of its partners is applied as written. */
  readonly notApplied?: NotApplied;
}

/** What the source of a configuration contains beyond what is applied. None of it counts as removed. */
export interface NotApplied {
  /** By namespace and name. */
  readonly partners: readonly NotAppliedPartner[];
  /** True when a part of the source cannot be read, which may contain further partners. */
  readonly isPartial: boolean;
}

/** A partner that exists and is not applied as written: an earlier version is, or it is held, or it is left out. */
export interface NotAppliedPartner {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** One CamelCase word: the reason of the condition that is not met, or `Unreadable`. */
  readonly reason: string;
  /** It may name other partners. Absent in the shards of a cluster. */
  readonly message?: string;
}

/** The compiled form of a resource of any kind. */
export type ResourceConfig = PartnerConfig | CatalogConfig | QuotaConfig | EventCatalogConfig;

/** The resource that a part of the configuration comes from. */
export interface ResourceOrigin {
  /** `metadata.uid`; without a cluster, derived from kind, namespace and name. */
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** `metadata.generation`; 1 without a cluster. */
  readonly generation: number;
  /** sha256 of the spec's canonical JSON, lowercase hex: changes when, and only when, the spec does. */
  readonly specDigest: string;
}

/** One recipient of webhooks. Source: seed "Webhook Event Delivery". */
export interface PartnerConfig extends ResourceOrigin {
  readonly endpoint: EndpointConfig;
  readonly signing: SigningConfig;
  readonly subscriptions: readonly SubscriptionConfig[];
  readonly delivery: DeliveryConfig;
  readonly retry: RetryConfig;
  /** Absent: no circuit breaker. */
  readonly circuitBreaker?: CircuitBreakerConfig;
  /** Seconds for which dead letters are kept; absent: as long as the installation keeps them. */
  readonly deadLetterSeconds?: number;
  readonly networks: NetworksConfig;
  /** Format of the bodies of deliveries. @default the envelope */
  readonly format?: "CloudEvents";
  /** `Paused` stores all deliveries and sends none. */
  readonly state: "Active" | "Paused";
  /**
   * Present when nothing may be sent although the partner exists: events are routed to it and wait. Its `state` is then
   * `Paused`, which pods of an older version apply.
   */
  readonly held?: HeldReason;
  /** What is missing while it is `unresolved`: `SecretNotFound: namespace/name`. */
  readonly heldBy?: string;
  /** Present when a reference cannot be read and this is the last good version: Unix milliseconds since then. */
  readonly lastGoodSinceMs?: number;
  /**
   * Time at which the source of the configuration first saw that it is `Paused`, or held for this reason, in Unix
   * milliseconds. Absent while it is active, and in configurations of earlier versions.
   */
  readonly waitsSinceMs?: number;
  /** Present when it already was so before times were noted: {@link waitsSinceMs} is the first time noted. */
  readonly waitsLonger?: true;
  /**
   * Subscriptions whose right was withdrawn. Events that match only these are not routed, and their history shows it.
   */
  readonly withdrawn?: readonly SubscriptionConfig[];
}

/**
 * Reason for a held partner. `unresolved`: none of its keys or certificates was ever read. `not_permitted`: the policy
 * no longer permits a name in its spec. `conflicted`: an older object holds one of its unique keys.
 */
export type HeldReason = "unresolved" | "not_permitted" | "conflicted";

/** Rate and concurrency of deliveries, and the bound of the backlog. */
export interface DeliveryConfig {
  /** Concurrent attempts, over all pods. */
  readonly maxInFlight: number;
  /** Attempts begun in a second, and at once after a pause; absent: no limit. */
  readonly rate?: { readonly perSecond: number; readonly burst: number };
  /** Bound of the backlog; absent: no limit of its own. */
  readonly maxBacklog?: { readonly messages: number; readonly bytes: number };
}

/** Circuit breaker of a failing partner. */
export interface CircuitBreakerConfig {
  /** Failed attempts in a row that open the breaker. */
  readonly failures: number;
  /** First time open, in milliseconds; each failed probe doubles it. */
  readonly openMs: number;
  /** Longest time open, in milliseconds. */
  readonly maxOpenMs: number;
}

export interface EndpointConfig {
  /** Absolute URL; its path may hold `{domain}`, the first segment of the event type. Never an empty path. */
  readonly url: string;
  /** Bound on one whole attempt, from look-up to last byte, in milliseconds. */
  readonly timeoutMs: number;
  /** Fixed request headers, lowercase names; never one that a scheme sets. */
  readonly headers: Readonly<Record<string, string>>;
  /** Time for which the recipient remembers event ids, in milliseconds. */
  readonly idempotencyMs: number;
  /** Trusted certificates and the client certificate; absent: the system's roots, and no client certificate. */
  readonly tls?: EndpointTlsConfig;
  /** Source of the token that every delivery carries; absent: no token. */
  readonly oauth2?: OAuth2Config;
  /** Present when the endpoint must agree to deliveries, and to their rate, before the first one. */
  readonly verification?: "Handshake";
  /** Absolute URL that is called when an event was handled by hand; absent: no call. */
  readonly ackUrl?: string;
}

/** PEM texts by their keys in {@link RuntimeConfig.material}. */
export interface EndpointTlsConfig {
  readonly ca?: string;
  readonly client?: { readonly certificate: string; readonly key: string };
}

/** Client credentials. Source: RFC 6749 §4.4, RFC 9449. */
export interface OAuth2Config {
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Key of {@link RuntimeConfig.material}. */
  readonly secret: string;
  readonly scopes: readonly string[];
  /** Present when tokens are bound to a key. */
  readonly dpop?: true;
}

interface SigningConfig {
  readonly scheme: SigningScheme;
  /** Present when every key that has not ended signs, not only the first. */
  readonly sideBySide?: true;
  /** The first key signs; the recipient has all of them. */
  readonly keys: readonly SigningKeyConfig[];
}

export interface SigningKeyConfig {
  readonly id: string;
  /** Key of {@link RuntimeConfig.material}. */
  readonly material: string;
  /** Unix milliseconds after which the recipient no longer accepts this key. */
  readonly notAfterMs?: number;
}

/** A `*` in `types` is one segment, a last `**` one or more; the tenant `-` is that of events without one. */
export interface SubscriptionConfig extends Omit<WebhookPartnerSubscription, "producers" | "matchers" | "payload"> {
  /** Absent if `selects` has them. */
  readonly producers?: readonly string[];
  readonly selects?: SelectsConfig;
}

/**
 * The form of a subscription that depends on the content of events. Pods of earlier versions would route by type,
 * tenant and producer alone, and send envelopes. They reject a subscription without producers, and with it the partner.
 */
export interface SelectsConfig extends Pick<PartnerConfig, "format"> {
  readonly producers: readonly string[];
  readonly matchers?: readonly EventMatcherConfig[];
  /** Selections of the payload, applied one after the other. @default the whole event is sent */
  readonly payload?: readonly PayloadConfig[];
  /** Place in the list, which all subscriptions of a partner have if one selects a payload. */
  readonly order?: number;
}

/**
 * The part of an event that is sent: all but the excluded values, or the envelope with the included ones. Classes are
 * those of the event catalogs.
 */
export type PayloadConfig = WebhookPartnerSubscriptionPayload;

/** A condition on a value of the event. */
export type EventMatcherConfig = WebhookPartnerSubscriptionMatcher;

/** The producers of a subscription; an empty list is all. */
export function producersOf({ producers, selects }: Pick<SubscriptionConfig, "producers" | "selects">) {
  return producers ?? selects?.producers ?? [];
}

export type RetryConfig = WebhookPartnerRetry;

/** Networks that are allowed though they are not public, and `http:`. */
export type NetworksConfig = WebhookPartnerNetworks;

/** Event types of one owner, with the schemas of their versions. */
export interface EventCatalogConfig extends ResourceOrigin {
  readonly owner: string;
  readonly contact?: string;
  /** True when this generation was not compared with an earlier one, because none was published. */
  readonly uncompared?: true;
  /** By type. No two catalogs hold the same type. */
  readonly types: readonly EventTypeConfig[];
  /** True for a catalog whose object was deleted. It has no types, only former ones. */
  readonly deleted?: true;
  /**
   * Sensitive fields of types that it no longer declares: another catalog or the policy prevents it, or its author
   * removed the type and a partner still excludes the class of the field. By type.
   */
  readonly formerTypes?: readonly Pick<EventTypeConfig, "type" | "sensitive">[];
}

/** One type that producers may send. */
export interface EventTypeConfig {
  readonly type: string;
  readonly description: string;
  /** By version. */
  readonly versions: readonly EventVersionConfig[];
  /** Fields of `data` that not every partner may see, by pointer; the segment `*` is every item of a list. */
  readonly sensitive: readonly EventCatalogTypeSensitive[];
}

/** One version of a type's payload. Source: seed "Webhook Event Delivery" §2.1, §9. */
export interface EventVersionConfig {
  /** As in the envelope. */
  readonly version: string;
  /** JSON Schema 2020-12 of `data`, of the permitted keywords. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly examples: readonly Readonly<Record<string, unknown>>[];
  readonly state: "Active" | "Deprecated";
  /** Unix milliseconds; present for a deprecated version. */
  readonly deprecatedAtMs?: number;
  /** Unix milliseconds from which new events are rejected; absent: accepted without an end. */
  readonly sunsetAtMs?: number;
}

/** Default bound on all stores of one query together, in milliseconds. */
export const queryDeadlineMsDefault = 1_800;

/** The closed list of labels. Source: seed "Operational Metrics API" §2.3. */
export const labelNames = [
  "region",
  "tenant",
  "environment",
  "service",
  "psp",
  "bank_group",
  "geo",
  "device",
  "version",
  "component",
] as const;
export type LabelName = (typeof labelNames)[number];

/** Source: seed "Operational Metrics API" §4.1. */
export const aggregations = ["avg", "sum", "min", "max", "p50", "p95", "p99"] as const;
export type Aggregation = (typeof aggregations)[number];

/** Source: seed "Operational Metrics API" §2.6. */
export const queryClasses = ["A", "B", "C"] as const;
export type QueryClass = (typeof queryClasses)[number];

/** Metrics and the regional stores that hold them. Source: seed "Operational Metrics API". */
export interface CatalogConfig extends ResourceOrigin {
  readonly schemaVersion: string;
  readonly stores: readonly StoreConfig[];
  readonly metrics: readonly MetricConfig[];
  /** Objectives over these metrics, by name. */
  readonly slos: readonly SloConfig[];
  /**
   * More objectives, by name: those that earlier versions cannot count. Such a version ignores this member and serves
   * the others.
   *
   * @default none
   */
  readonly newerSlos?: readonly SloConfig[];
  /** Present when a credential cannot be read and this is the last good version: Unix milliseconds since then. */
  readonly lastGoodSinceMs?: number;
}

/** A store that is queried in PromQL, or a peer that is queried for partials. */
export type StoreConfig = QueriedStoreConfig | PeerStoreConfig;

/** A store with the HTTP API of Prometheus. */
export interface QueriedStoreConfig extends StorePlace {
  readonly prometheus: PrometheusConfig;
  readonly peer?: undefined;
}

/** A peer, the runtime of another region. Labels and tenancy of its stores are in its own catalog. */
export interface PeerStoreConfig extends StorePlace {
  readonly peer: PeerConfig;
  readonly prometheus?: undefined;
}

/** Members of every store. */
export interface StorePlace {
  /** Unique in its catalog. */
  readonly name: string;
  readonly region: string;
  readonly residency: string;
  /** Set when the whole store is one environment; takes precedence over a label of the series. */
  readonly environment?: string;
  /**
   * `Labelled`: series carry the tenant label. `Platform`: series belong to no tenant. `StoreHeader`: the store
   * separates tenants by {@link PrometheusConfig.tenantHeader}.
   */
  readonly tenancy: "Labelled" | "Platform" | "StoreHeader";
  /** Governed label → name of the label in this store; a label that is absent keeps its name. */
  readonly labelMap: Readonly<Partial<Record<LabelName, string>>>;
  /** Age in seconds after which the store's samples no longer change. */
  readonly settleSeconds: number;
}

/** Access to a peer, the runtime of another region. */
export interface PeerConfig {
  /** Base URL, https; `/v1/metrics/partials` is appended. */
  readonly url: string;
  /** Bound on one request to the peer, in milliseconds. */
  readonly timeoutMs: number;
  /** The method by which its stores compute increases. */
  readonly increases: "Extrapolated" | "Plain";
  /** Keys of {@link RuntimeConfig.material}: the bytes as they are sent. */
  readonly auth: { readonly kind: "bearer"; readonly token: string } | PeerOAuth2Config;
  readonly tls: StoreTlsConfig & { readonly client: NonNullable<StoreTlsConfig["client"]> };
}

/** Access to a store, and its flavour. */
export interface PrometheusConfig {
  /** Base URL; `/api/v1/…` is appended. */
  readonly url: string;
  /** Bound on one request to the store, in milliseconds. */
  readonly timeoutMs: number;
  readonly flavour: StoreFlavour;
  /** Header of the tenant; present when, and only when, the tenancy is `StoreHeader`. */
  readonly tenantHeader?: string;
  /** Fixed request headers, lowercase names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Keys of {@link RuntimeConfig.material}: the bytes as they are sent. Absent: no credentials. */
  readonly auth?: StoreCredentials;
  /** For an https URL; absent members are those of the runtime. */
  readonly tls?: StoreTlsConfig;
  /** Coarsest downsampled data that a Thanos may return; absent: raw samples only. */
  readonly maxSourceResolutionSeconds?: number;
}

/** The server software of a store. */
export type StoreFlavour = "Prometheus" | "Thanos" | "Mimir" | "VictoriaMetrics";

/** Who owns a metric. An older operator compiles none of it. */
export interface MetricOwnership {
  /** Name of a team. */
  readonly owner?: string;
  /** Where the owner is reached. */
  readonly contact?: string;
  /** Absolute http or https URL. */
  readonly runbookUrl?: string;
  /** Business domain. */
  readonly domain?: string;
}

export interface MetricConfig extends MetricOwnership {
  /** Id of the metric, the only name that clients use. */
  readonly id: string;
  readonly category: "slo" | "kri" | "business" | "infrastructure" | "api";
  readonly unit: string;
  readonly description: string;
  readonly source: SourceConfig;
  /** Seconds between samples, by store name; a store that is absent does not hold the metric. */
  readonly intervalSeconds: Readonly<Record<string, number>>;
  /** Smallest step, and smallest window of one point, in seconds. */
  readonly minStepSeconds: number;
  readonly labels: readonly LabelName[];
  readonly aggregations: readonly Aggregation[];
  readonly defaultAggregation: Aggregation;
  readonly maxGroupBy: number;
  readonly sensitivity: "none" | "finance" | "responsible-gaming";
  /** Role a caller needs; present when, and only when, sensitivity is not `none`. */
  readonly requiredRole?: string;
  /** Regions that one query may span; absent: one region only. */
  readonly complianceScope?: { readonly regions: readonly string[] };
  readonly queryClass: QueryClass;
  readonly state: "Active" | "Deprecated";
  readonly replacedBy?: string;
  /** Unix milliseconds. */
  readonly deprecatedAtMs?: number;
  /** Unix milliseconds. */
  readonly sunsetAtMs?: number;
  /** SLOs bound to this metric, for its catalog entry. */
  readonly slos: readonly { readonly name: string; readonly objective: number }[];
}

/**
 * An objective for the events that a metric counts. `windowDays` of a calendar window are the days that its burn rates
 * are proportional to. Source: seed "Operational Metrics API" §2.5 and §4.5.
 */
export type SloConfig = MetricCatalogSlo;

/** A condition on the value of a gauge over a slice of time. */
export type SliceCondition = NonNullable<SloConfig["over"]>;

/** Series of a metric in the stores. Exactly one kind. */
export type SourceConfig =
  | ({ readonly kind: "gauge" } & SeriesConfig)
  | ({ readonly kind: "counter"; readonly increase: IncreaseKind } & SeriesConfig)
  | {
      readonly kind: "ratio";
      readonly increase: IncreaseKind;
      readonly numerator: SeriesConfig;
      readonly denominator: SeriesConfig;
    }
  | ({
      readonly kind: "histogram";
      readonly type: "Classic" | "Native";
      readonly increase: IncreaseKind;
    } & SeriesConfig);

/** `Anchored` is additive over time, `Extrapolated` is not. */
export type IncreaseKind = "Extrapolated" | "Anchored";

export interface SeriesConfig {
  /** Metric name in the store; for a classic histogram without `_bucket`, `_sum`, `_count`. */
  readonly name: string;
  /** Fixed matchers, in the store's own label names. */
  readonly matchers: readonly MatcherConfig[];
}

export type MatcherConfig = MetricCatalogMetricSourceGaugeMatcher;

/** Limits of a class for its clients, or, without clients, for everyone of the class. */
export interface QuotaConfig extends ResourceOrigin {
  readonly class: QueryClass;
  readonly limits: ClassLimits;
  /** By metric id. */
  readonly perMetric: readonly MetricLimits[];
  readonly clients: readonly ClientConfig[];
}

/** Lifetimes that are undefined when nothing is served from there. */
type SharedLifetime = "distributedSeconds" | "staleWhileRevalidateSeconds";

/** Limits of one request, and of all requests of one client. Source: seed "Operational Metrics API" §2.6 and §8. */
export type ClassLimits = Required<QueryClassQuotaLimits & Omit<QueryClassQuotaCache, SharedLifetime>> &
  Pick<QueryClassQuotaCache, SharedLifetime>;

/** Limits of one client for one metric; absent: only the limits of the class. */
export type MetricLimits = QueryClassQuotaPerMetric;

/** One client or scope of a class. Empty lists narrow nothing. */
export type ClientConfig = QueryClassQuotaClient;
