import type { RuntimeConfig } from "../../../crds/config.ts";
import type { Resource } from "../../../crds/resource.ts";
import { type EncodedShard, splitIntoShards } from "../../../crds/shards/split-shards.ts";
import type { ShardCounts } from "../../../crds/shards/shards.ts";
import type { PublishedState } from "../../../operator/publish/plan.ts";
import { compiled, keyOf, resourceOf } from "../../crds/compile/resources.ts";

export const counts: ShardCounts = { config: 3, keys: 2 };
export const token = "t".repeat(43);

interface PartnerState {
  /** Byte that the key repeats; 32 of them. */
  readonly key: number;
  readonly maxInFlight?: number;
}

/** The configuration of partners by name, each with a Secret of its own, and of quotas by client. */
export function configOf(
  partners: Readonly<Record<string, PartnerState>>,
  quotas: readonly string[] = [],
): RuntimeConfig {
  const names = Object.keys(partners);
  const resources: Resource[] = names.map((name) => {
    const { maxInFlight = 64 } = partners[name] ?? {};
    return resourceOf(
      "WebhookPartner",
      { "signing.keys[0].secretRef.name": name, "delivery.maxInFlight": maxInFlight },
      { name, uid: `uid-${name}` },
    );
  });
  const clients = quotas.map((name) =>
    resourceOf("QueryClassQuota", { clients: [{ clientId: name }] }, { name, uid: `uid-${name}` }),
  );
  const secrets = new Map(names.map((name) => [`default/${name}`, { hmac: keyOf(partners[name]?.key ?? 0) }]));
  return compiled([...resources, ...clients], secrets).config;
}

export function shardsOf(config: RuntimeConfig, configzToken = token): ReadonlyMap<string, EncodedShard> {
  return splitIntoShards(config, counts, configzToken);
}

/** Shards as they are once written. */
export function writtenStates(shards: ReadonlyMap<string, EncodedShard>): Map<string, PublishedState> {
  return new Map([...shards].map(([name, { shard, sha256 }]) => [name, { shard, sha256, isIntact: true }]));
}
