import type { NotAppliedPartner, RuntimeConfig } from "../../../crds/config.ts";
import { partnerKey } from "../ids.ts";
import { compilePartners, ownLanesMaxAlone, type Partner } from "./partner.ts";
import type { EventFacts } from "../events/subscriptions.ts";

/** Replicated streams make acknowledgements more expensive. */
const ownLanesMaxReplicated = 200;

/** Matches events with the subscriptions of partners. */
export type RoutingTable = ReturnType<typeof createRoutingTable>;

interface Route {
  readonly matching: readonly Partner[];
  readonly denied: readonly Partner[];
}

/** Limit of cached routes, because producers choose types and tenants. A full cache is cleared. */
const cachedMax = 4_096;

/** The largest number of partners with their own lane, for streams with this number of replicas. */
export function defaultOwnLanesMax(replicas: number): number {
  return replicas === 1 ? ownLanesMaxAlone : ownLanesMaxReplicated;
}

/** The partners of the applied configuration. */
export class ConfiguredPartners {
  readonly #ownLanesMax: number;
  readonly #promoted: () => ReadonlySet<string>;
  #config: RuntimeConfig;
  #hash: string | undefined;
  #all: readonly Partner[] = [];
  #table = createRoutingTable([]);
  #notApplied: ReadonlyMap<string, NotAppliedPartner> = new Map();

  /** @param promoted keys of the partners that were promoted to their own lane */
  constructor(config: RuntimeConfig, ownLanesMax: number, promoted: () => ReadonlySet<string>) {
    this.#config = config;
    this.#ownLanesMax = ownLanesMax;
    this.#promoted = promoted;
  }

  readonly all = (): readonly Partner[] => this.#all;

  readonly table = (): RoutingTable => this.#table;

  readonly has = (key: string): boolean => this.#all.some((partner) => partner.key === key);

  /** Partners that are not applied as they are defined, by key. Some are applied in an earlier version. */
  readonly notApplied = (): ReadonlyMap<string, NotAppliedPartner> => this.#notApplied;

  /**
   * False for a partner that was removed. A partner that is defined but not applied still exists, and so may every
   * partner while a part of the configuration cannot be read.
   */
  readonly mayExist = (key: string): boolean =>
    this.has(key) || this.#notApplied.has(key) || this.#config.notApplied?.isPartial === true;

  /**
   * Replaces the configuration. @default the one applied last, compiled again because of promotions
   * @param hash of the configuration; undefined if unknown
   */
  apply(config: RuntimeConfig = this.#config, hash = config === this.#config ? this.#hash : undefined): void {
    this.#config = config;
    this.#hash = hash;
    this.#all = compilePartners(config, this.#all, this.#promoted(), this.#ownLanesMax);
    const notApplied = config.notApplied?.partners ?? [];
    this.#notApplied = new Map(notApplied.map((partner) => [partnerKey(partner.uid), partner]));
    this.#table = createRoutingTable(this.#all, hash);
  }
}

/**
 * Builds the table of one configuration. It matches once per type, tenant, producer and concerned partner.
 * @param configuration hash of the configuration
 */
export function createRoutingTable(partners: readonly Partner[], configuration?: string) {
  const cache = new Map<string, Route>();
  const routeOf = (event: EventFacts): Route => {
    const key = `${event.type}\n${event.tenant}\n${event.producer ?? ""}\n${event.about ?? ""}\n${event.only ?? ""}`;
    const known = cache.get(key);
    if (known !== undefined) return known;
    const matching = partners.filter(({ matches }) => matches(event));
    const denied = partners.filter(({ isDenied }) => isDenied(event));
    if (cache.size >= cachedMax) cache.clear();
    cache.set(key, { matching, denied });
    return { matching, denied };
  };
  return {
    /** Returns the partners that subscribe to the event, in the order of the configuration. */
    partnersFor: (event: EventFacts) => routeOf(event).matching,
    /** Returns the partners whose right to the event was withdrawn, in the order of the configuration. */
    deniedFor: (event: EventFacts) => routeOf(event).denied,
    /** Hash of the configuration that it is built from. @default unknown */
    configuration,
  };
}
