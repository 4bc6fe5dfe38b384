import type { RuntimeConfig } from "../../../crds/config.ts";
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

  /** @param promoted keys of the partners that were promoted to their own lane */
  constructor(config: RuntimeConfig, rules: LaneRules, promoted: () => ReadonlySet<string>) {
    this.#config = config;
    this.#rules = rules;
    this.#promoted = promoted;
  }

  readonly all = (): readonly Partner[] => this.#all;

  readonly table = (): RoutingTable => this.#table;

  readonly has = (key: string): boolean => this.#all.some((partner) => partner.key === key);

  /**
   * Replaces the configuration. @default the one applied last, compiled again because of promotions
   * @param hash of the configuration; undefined if unknown
   */
  apply(config: RuntimeConfig = this.#config, hash = config === this.#config ? this.#hash : undefined): void {
    this.#config = config;
    this.#hash = hash;
    this.#all = compilePartners(config, this.#all, this.#promoted(), this.#rules);
    this.#table = createRoutingTable(this.#all, hash);
  }
}
