import type { NotAppliedPartner, RuntimeConfig } from "../../../crds/config.ts";
import { partnerKey } from "../ids.ts";
import type { LaneRules } from "./assign-lanes.ts";
import { compilePartners, defaultLaneRules, type Partner } from "./partner.ts";
import { createRoutingTable, type RoutingTable } from "./routing-table.ts";

/** Replicated streams make acknowledgements more expensive. */
const ownLanesMaxReplicated = 200;

/** The lane rules for streams with this number of replicas. @param ownLanesMax that of the settings */
export function laneRulesFor(replicas: number, ownLanesMax?: number): LaneRules {
  const usualMax = replicas === 1 ? defaultLaneRules.ownLanesMax : ownLanesMaxReplicated;
  return { ...defaultLaneRules, ownLanesMax: ownLanesMax ?? usualMax };
}

/** The partners of the applied configuration. */
export class ConfiguredPartners {
  readonly #rules: LaneRules;
  readonly #promoted: () => ReadonlySet<string>;
  #config: RuntimeConfig;
  #hash: string | undefined;
  #all: readonly Partner[] = [];
  #table = createRoutingTable([]);
  #notApplied: ReadonlyMap<string, NotAppliedPartner> = new Map();

  /** @param promoted keys of the partners that were promoted to their own lane */
  constructor(config: RuntimeConfig, rules: LaneRules, promoted: () => ReadonlySet<string>) {
    this.#config = config;
    this.#rules = rules;
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
    this.#all = compilePartners(config, this.#all, this.#promoted(), this.#rules);
    const notApplied = config.notApplied?.partners ?? [];
    this.#notApplied = new Map(notApplied.map((partner) => [partnerKey(partner.uid), partner]));
    this.#table = createRoutingTable(this.#all, hash);
  }
}
