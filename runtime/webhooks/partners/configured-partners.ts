import type { NotAppliedPartner, RuntimeConfig, SubscriptionConfig } from "../../../crds/config.ts";
import { declaredTypes, type DeclaredType } from "../../../crds/declared-types.ts";
import { partnerKey, anyTenant } from "../ids.ts";
import { compilePartners, ownLanesMaxAlone, type Partner, type RouteCandidate } from "./partner.ts";
import type { EventValues } from "../events/compile-matchers.ts";
import type { PayloadSelection } from "../events/payload-selection.ts";
import { firstMet, valuesFor, type EventFacts } from "../events/subscriptions.ts";

/** Replicated streams make acknowledgements more expensive. */
const ownLanesMaxReplicated = 200;

/** Matches events with the subscriptions of partners. */
export type RoutingTable = ReturnType<typeof createRoutingTable>;

/** The partners of an event, in the order of the configuration. */
interface Route {
  /** Partners that subscribe to the event. */
  readonly matching: readonly Partner[];
  /** Partners whose right to the event was withdrawn. */
  readonly denied: readonly Partner[];
  /** The part of the event that is sent, for matching partners that do not get all of it. */
  readonly payloads: ReadonlyMap<Partner, PayloadSelection>;
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
  #keys: ReadonlySet<string> = new Set();
  #table = createRoutingTable([]);
  #notApplied: ReadonlyMap<string, NotAppliedPartner> = new Map();
  #declared: ReadonlyMap<string, DeclaredType> = new Map();

  /** @param promoted keys of the partners that were promoted to their own lane */
  constructor(config: RuntimeConfig, ownLanesMax: number, promoted: () => ReadonlySet<string>) {
    this.#config = config;
    this.#ownLanesMax = ownLanesMax;
    this.#promoted = promoted;
  }

  readonly all = (): readonly Partner[] => this.#all;

  readonly table = (): RoutingTable => this.#table;

  /** Declared event types by name. */
  readonly declared = (): ReadonlyMap<string, DeclaredType> => this.#declared;

  readonly has = (key: string): boolean => this.#keys.has(key);

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
    this.#declared = declaredTypes(config);
    this.#all = compilePartners(config, this.#all, this.#promoted(), this.#ownLanesMax);
    this.#keys = new Set(this.#all.map(({ key }) => key));
    const notApplied = config.notApplied?.partners ?? [];
    this.#notApplied = new Map(notApplied.map((partner) => [partnerKey(partner.uid), partner]));
    this.#table = createRoutingTable(this.#all, hash);
  }
}

/**
 * Builds the table of one configuration. It matches once per type, tenant, producer and concerned partner. Only where
 * matchers decide, it reads each event: once for all of them.
 * @param configuration hash of the configuration
 */
export function createRoutingTable(partners: readonly Partner[], configuration?: string) {
  const cache = new Map<string, CachedRoute>();
  let index: PartnerIndex | undefined;
  const findRoute = (event: EventFacts): CachedRoute => {
    const key = `${event.type}\n${event.tenant}\n${event.producer ?? ""}\n${event.about ?? ""}\n${event.only ?? ""}`;
    const known = cache.get(key);
    if (known !== undefined) return known;
    index ??= indexOf(partners);
    const found = cachedRoute(partnersIn(index, event), event);
    if (cache.size >= cachedMax) cache.clear();
    cache.set(key, found);
    return found;
  };
  const routeOf = (event: EventFacts): Route => {
    const { route, candidates, valuesOf } = findRoute(event);
    return candidates === undefined ? route : routeFor(event, candidates, valuesOf(event));
  };
  return {
    routeOf,
    /** Returns the partners that subscribe to the event, in the order of the configuration. */
    partnersFor: (event: EventFacts) => routeOf(event).matching,
    /** Whether matchers decide about the event, so that its body is needed. */
    readsContent: (event: EventFacts) => findRoute(event).candidates !== undefined,
    /** Hash of the configuration that it is built from. @default unknown */
    configuration,
  };
}

/** Places of partners in the configuration by what their subscriptions require, so that few of many are matched. */
interface PartnerIndex {
  readonly partners: readonly Partner[];
  readonly byKey: ReadonlyMap<string, Partner>;
  /** By `tenant`, `type` or `segment` and its value. */
  readonly places: ReadonlyMap<string, ReadonlySet<number>>;
}

function indexOf(partners: readonly Partner[]): PartnerIndex {
  const places = new Map<string, Set<number>>();
  partners.forEach(({ config: { subscriptions, withdrawn = [] } }, place) => {
    for (const requirement of [...subscriptions, ...withdrawn].flatMap(requirementsOf)) {
      const found = places.get(requirement);
      if (found === undefined) places.set(requirement, new Set([place]));
      else found.add(place);
    }
  });
  return { partners, byKey: new Map(partners.map((partner) => [partner.key, partner])), places };
}

/** One of these is true for each event that matches: its tenant, its type, or the first segment of its type. */
function requirementsOf({ tenants, types }: SubscriptionConfig): readonly string[] {
  if (!tenants.includes(anyTenant)) return tenants.map((tenant) => `tenant ${tenant}`);
  return types.map((type) => (type.includes("*") ? `segment ${firstSegment(type)}` : `type ${type}`));
}

const firstSegment = (type: string): string => type.split(".", 1).join("");

/** All partners that may match the event, and some others, in the order of the configuration. */
function partnersIn({ partners, byKey, places }: PartnerIndex, { type, tenant, only }: EventFacts): readonly Partner[] {
  if (only !== undefined) return [byKey.get(only) ?? []].flat();
  // A pattern may begin with a placeholder.
  const segments = [firstSegment(type), "*", "**"].map((segment) => `segment ${segment}`);
  const found = [`tenant ${tenant}`, `type ${type}`, ...segments].flatMap((one) => [...(places.get(one) ?? [])]);
  return [...new Set(found)].toSorted((one, other) => one - other).flatMap((place) => partners[place] ?? []);
}

interface CachedRoute {
  /** The route whatever the content. */
  readonly route: Route;
  /** Present if the content decides. */
  readonly candidates?: readonly RouteCandidate[];
  readonly valuesOf: ReturnType<typeof valuesFor>;
}

function cachedRoute(partners: readonly Partner[], event: EventFacts): CachedRoute {
  const candidates = partners
    .map((partner) => ({ partner, ...partner.candidateFor(event) }))
    .filter(({ wanted, withdrawn }) => wanted.length + withdrawn.length > 0);
  const all = candidates.flatMap(({ wanted, withdrawn }) => [...wanted, ...withdrawn]);
  const isDecided = all.every(({ matchers }) => matchers.length === 0);
  const known = { route: routeFor(event, candidates, undefined), valuesOf: valuesFor(all) };
  return isDecided ? known : { ...known, candidates };
}

/** @param values of the event. @default unknown: matchers are taken to match */
function routeFor({ type }: EventFacts, candidates: readonly RouteCandidate[], values: EventValues | undefined): Route {
  const [matching, denied]: [Partner[], Partner[]] = [[], []];
  const payloads = new Map<Partner, PayloadSelection>();
  for (const { partner, wanted, withdrawn } of candidates) {
    const met = firstMet(wanted, values);
    if (met !== undefined) matching.push(partner);
    else if (firstMet(withdrawn, values) !== undefined) denied.push(partner);
    const payload = met?.payloadOf(type) ?? [];
    if (payload.length > 0) payloads.set(partner, payload);
  }
  return { matching, denied, payloads };
}
