import type { SubscriptionConfig } from "../../../crds/config.ts";
import { anyTenant } from "./tenants.ts";

/** What subscriptions look at. */
export interface EventFacts {
  readonly type: string;
  /** `-` for none. */
  readonly tenant: string;
  readonly producer?: string;
  /** Token of the partner that an event about a delivery is about: it never gets the event. */
  readonly about?: string;
}

/** Whether an event is wanted. */
export type Matcher = (event: EventFacts) => boolean;

const oneSegment = "*";
const rest = "**";

/**
 * Compiles a pattern of event types: dotted segments, of which `*` stands for any one and a last `**` for one or more.
 * Anything else is compared letter by letter.
 */
export function compilePattern(pattern: string): (type: string) => boolean {
  const segments = pattern.split(".");
  const isOpen = segments.at(-1) === rest;
  const fixed = isOpen ? segments.slice(0, -1) : segments;
  if (!isOpen && !fixed.includes(oneSegment)) {
    return (type) => type === pattern;
  }
  return (type) => {
    const given = type.split(".");
    const fits = isOpen ? given.length > fixed.length : given.length === fixed.length;
    return fits && fixed.every((segment, index) => segment === oneSegment || segment === given[index]);
  };
}

/**
 * Compiles the subscriptions of one partner: an event is wanted when type, tenant and producer of one of them match.
 * Tenant `*` is every event, also one without a tenant; no producers means every producer.
 */
export function compileSubscriptions(subscriptions: readonly SubscriptionConfig[]): Matcher {
  const matchers = subscriptions.map(compileSubscription);
  return (event) => matchers.some((matches) => matches(event));
}

function compileSubscription({ types, tenants, producers }: SubscriptionConfig): Matcher {
  const patterns = types.map(compilePattern);
  const tenantSet = tenants.includes(anyTenant) ? undefined : new Set(tenants);
  const producerSet = producers.length === 0 ? undefined : new Set<string | undefined>(producers);
  return ({ type, tenant, producer }) =>
    (tenantSet?.has(tenant) ?? true) &&
    (producerSet?.has(producer) ?? true) &&
    patterns.some((matches) => matches(type));
}
