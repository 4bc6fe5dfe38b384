import type { Partner } from "./partner.ts";
import type { EventFacts } from "../events/subscriptions.ts";

/** Who wants which events. */
export interface RoutingTable {
  /** Every partner that wants the event, in the order of the configuration. */
  partnersFor(event: EventFacts): readonly Partner[];
  /** Every partner whose right to get the event was withdrawn, in the order of the configuration. */
  refusedFor(event: EventFacts): readonly Partner[];
}

interface Route {
  readonly wanting: readonly Partner[];
  readonly refused: readonly Partner[];
}

/** Producers choose types and tenants, so what is remembered is bounded; beyond it, everything is matched again. */
const rememberedMax = 4_096;

/**
 * Builds the table of one configuration. Matching is done once per type, tenant, producer and partner that an event is
 * about.
 */
export function createRoutingTable(partners: readonly Partner[]): RoutingTable {
  const remembered = new Map<string, Route>();
  const routeOf = (event: EventFacts): Route => {
    const key = `${event.type}\n${event.tenant}\n${event.producer ?? ""}\n${event.about ?? ""}`;
    const known = remembered.get(key);
    if (known !== undefined) {
      return known;
    }
    const wanting = partners.filter(({ wants }) => wants(event));
    const refused = partners.filter(({ isRefused }) => isRefused(event));
    if (remembered.size >= rememberedMax) {
      remembered.clear();
    }
    remembered.set(key, { wanting, refused });
    return { wanting, refused };
  };
  return { partnersFor: (event) => routeOf(event).wanting, refusedFor: (event) => routeOf(event).refused };
}
