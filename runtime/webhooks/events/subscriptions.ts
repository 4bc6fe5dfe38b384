import { producersOf, type EventMatcherConfig, type SubscriptionConfig } from "../../../crds/config.ts";
import { compileMatchers, createEventValues, treeOf, type Condition, type EventValues } from "./compile-matchers.ts";
import { noSensitiveFields, withClasses, type PayloadSelection, type SensitiveFields } from "./payload-selection.ts";
import { anyTenant, includesTenant } from "../ids.ts";

/** The fields of an event that subscriptions match. */
export interface EventFacts {
  readonly type: string;
  /** `-`: no tenant. */
  readonly tenant: string;
  readonly producer?: string;
  /** Key of the partner that an operational event concerns; this partner never gets the event. */
  readonly about?: string;
  /** Key of the partner that a ping is for; no other partner gets it, and this one whatever its subscriptions. */
  readonly only?: string;
  /** The event as sent, which matchers read. @default unknown: matchers are taken to match */
  readonly body?: Uint8Array;
}

export type Matcher = (event: EventFacts) => boolean;

const oneSegment = "*";
const rest = "**";

/**
 * Compiles a pattern of event types. In its dotted segments, `*` matches one segment, and a last `**` matches one or
 * more. All other segments must be equal.
 */
export function compilePattern(pattern: string): (type: string) => boolean {
  const segments = pattern.split(".");
  const isOpen = segments.at(-1) === rest;
  const fixed = isOpen ? segments.slice(0, -1) : segments;
  if (!isOpen && !fixed.includes(oneSegment)) return (type) => type === pattern;
  return (type) => {
    const given = type.split(".");
    const fits = isOpen ? given.length > fixed.length : given.length === fixed.length;
    return fits && fixed.every((segment, index) => segment === oneSegment || segment === given[index]);
  };
}

/** A compiled subscription. */
export interface Subscription {
  readonly name: string;
  /** The content that it requires; empty if it matches whatever the content. */
  readonly matchers: readonly EventMatcherConfig[];
  /** Whether type, tenant and producer match. */
  readonly suits: (event: EventFacts) => boolean;
  /** Whether all matchers match. */
  readonly holds: Condition;
  /** The part of an event of a type that is sent; empty for the whole event. */
  readonly payloadOf: (type: string) => PayloadSelection;
}

/**
 * Compiles the subscriptions of one partner. An event matches when type, tenant, producer and all matchers of one
 * subscription match. Tenant `*` matches every event, with or without a tenant. An empty list of producers matches all.
 */
export function compileSubscriptions(subscriptions: readonly SubscriptionConfig[]): Matcher {
  const compiled = compileInOrder(subscriptions);
  const valuesOf = valuesFor(compiled);
  return (event) => {
    const suiting = compiled.filter(({ suits }) => suits(event));
    return suiting.length > 0 && firstMet(suiting, valuesOf(event)) !== undefined;
  };
}

/** Compiles subscriptions, in the order in which they decide about the payload. */
export function compileInOrder(
  subscriptions: readonly SubscriptionConfig[],
  sensitive: SensitiveFields = noSensitiveFields,
): readonly Subscription[] {
  const place = ({ selects }: SubscriptionConfig): number => selects?.order ?? 0;
  return subscriptions
    .toSorted((one, other) => place(one) - place(other))
    .map((one) => compileSubscription(one, sensitive));
}

function compileSubscription(config: SubscriptionConfig, sensitive: SensitiveFields): Subscription {
  const { name, types, tenants } = config;
  const patterns = types.map(compilePattern);
  const tenantSet = tenants.includes(anyTenant) ? undefined : new Set(tenants);
  const producers = producersOf(config);
  const producerSet = producers.length === 0 ? undefined : new Set<string | undefined>(producers);
  const { matchers = [], payload = [] } = config.selects ?? {};
  return {
    name,
    matchers,
    payloadOf: (type) => (payload.length === 0 ? payload : withClasses(payload, sensitive(type))),
    suits: ({ type, tenant, producer }) =>
      (tenantSet?.has(tenant) ?? true) &&
      (producerSet?.has(producer) ?? true) &&
      patterns.some((matches) => matches(type)),
    holds: compileMatchers(matchers),
  };
}

/** The first subscription that the content meets. Without values, as in lists by an index, it may. */
export function firstMet(
  subscriptions: readonly Subscription[],
  values: EventValues | undefined,
): Subscription | undefined {
  return subscriptions.find(({ matchers, holds }) => matchers.length === 0 || values === undefined || holds(values));
}

/** What a subscription requires and an event does not meet: of several, the first of these. */
export type Unmet =
  | { readonly kind: "type" | "tenant" | "producer" }
  | { readonly kind: "matcher"; readonly matcher: EventMatcherConfig };

/** The requirement of a subscription that an event with a body does not meet; undefined if it matches. */
export function unmetOf(config: SubscriptionConfig, event: EventFacts): Unmet | undefined {
  const { types, tenants, selects: { matchers = [] } = {} } = config;
  const producers: readonly (string | undefined)[] = producersOf(config);
  if (!types.some((pattern) => compilePattern(pattern)(event.type))) return { kind: "type" };
  if (!includesTenant(tenants, event.tenant)) return { kind: "tenant" };
  if (producers.length > 0 && !producers.includes(event.producer)) return { kind: "producer" };
  if (matchers.length === 0 || event.body === undefined) return undefined;
  const values = createEventValues(event.body, treeOf(matchers));
  const matcher = matchers.find((one) => !compileMatchers([one])(values));
  return matcher === undefined ? undefined : { kind: "matcher", matcher };
}

/** Reads the values that some subscriptions need. Undefined if they need none, or if the body is not known. */
export function valuesFor(subscriptions: readonly Subscription[]): (event: EventFacts) => EventValues | undefined {
  const matchers = subscriptions.flatMap((subscription) => subscription.matchers);
  if (matchers.length === 0) return () => undefined;
  const tree = treeOf(matchers);
  return ({ body }) => (body === undefined ? undefined : createEventValues(body, tree));
}
