import type { SubscriptionConfig } from "../../../crds/config.ts";
import { anyTenant } from "./tenants.ts";

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

/**
 * Compiles the subscriptions of one partner. An event matches when type, tenant and producer of one subscription match.
 * Tenant `*` matches every event, with or without a tenant. An empty list of producers matches all.
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
