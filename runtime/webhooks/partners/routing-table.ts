import type { Partner } from "./partner.ts";
import type { EventFacts } from "../events/subscriptions.ts";

/** Matches events with the subscriptions of partners. */
export interface RoutingTable {
  /** Returns the partners that subscribe to the event, in the order of the configuration. */
  partnersFor(event: EventFacts): readonly Partner[];
  /** Returns the partners whose right to the event was withdrawn, in the order of the configuration. */
  refusedFor(event: EventFacts): readonly Partner[];
  /** Hash of the configuration that it is built from. @default unknown */
  readonly configuration?: string | undefined;
}

interface Route {
  readonly matching: readonly Partner[];
  readonly refused: readonly Partner[];
}

/** Limit of cached routes, because producers choose types and tenants. A full cache is cleared. */
const cachedMax = 4_096;

/**
 * Builds the table of one configuration. It matches once per type, tenant, producer and concerned partner.
 * @param configuration hash of the configuration
 */
export function createRoutingTable(partners: readonly Partner[], configuration?: string): RoutingTable {
  const cache = new Map<string, Route>();
  const routeOf = (event: EventFacts): Route => {
    const key = `${event.type}\n${event.tenant}\n${event.producer ?? ""}\n${event.about ?? ""}\n${event.only ?? ""}`;
    const known = cache.get(key);
    if (known !== undefined) {
      return known;
    }
    const matching = partners.filter(({ matches }) => matches(event));
    const refused = partners.filter(({ isRefused }) => isRefused(event));
    if (cache.size >= cachedMax) {
      cache.clear();
    }
    cache.set(key, { matching, refused });
    return { matching, refused };
  };
  return {
    partnersFor: (event) => routeOf(event).matching,
    refusedFor: (event) => routeOf(event).refused,
    configuration,
  };
}
