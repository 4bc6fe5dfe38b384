import { readShardSecret, shardNames, shardSecretName, type Shard } from "../../crds/shards/shards.ts";
import { followSecret, followTimes } from "../../runtime/config/kubernetes/secret-watch.ts";
import { counts, prefix } from "../operator/operator-cluster.ts";
import { systemNamespace, type Installation } from "./installation.ts";
import type { RoutedPartners } from "./model.ts";
import { PublishedShards } from "./published-shards.ts";
import type { ClassifiedField } from "./contracts.ts";
import { seenFields, seenPartners } from "./watch-configuration.ts";

/** Records every version of every shard. */
export interface PublishedWatch {
  /** The partners of a configuration by which a pod routed an event until then; undefined if unknown. */
  partnersOf(configuration: string, untilMs: number): RoutedPartners | undefined;
  /** The fields of a type that this configuration classifies; undefined if unknown. */
  fieldsOf(configuration: string, untilMs: number, type: string): readonly ClassifiedField[] | undefined;
  stop(): Promise<void>;
}

/** After an absence of the API server, a watch begins again as fast as those of pods. */
const times = { ...followTimes, backoff: { baseMs: 50, maxMs: 500, jitter: 0.5 } };

/** Watches the Secrets as pods do, so that no version is missed between two looks. */
export function watchPublished({ cluster }: Installation): PublishedWatch {
  const names = shardNames(counts);
  const published = new PublishedShards<Shard>(names);
  const stopping = new AbortController();
  const { client, outage } = cluster;
  const following = names.map((shard) => {
    const onSecret: Parameters<typeof followSecret>[0]["listener"]["onSecret"] = (secret) => {
      const reading = secret === undefined ? undefined : readShardSecret(secret, shard, counts);
      if (reading !== undefined && reading.error === undefined)
        published.add(shard, reading.sha256, Date.now(), reading.shard);
    };
    const listener = { onSecret, onFault: () => undefined, onData: () => undefined };
    const name = shardSecretName(prefix, shard);
    const options = { client, namespace: systemNamespace, name, times, outage, random: Math.random, listener };
    return followSecret(options, stopping.signal);
  });
  const known = new Map<readonly Shard[], RoutedPartners>();
  return {
    partnersOf: (configuration, untilMs) => {
      const shards = published.contentsOf(configuration, untilMs);
      if (shards === undefined) return undefined;
      const partners = known.get(shards) ?? seenPartners(shards);
      known.set(shards, partners);
      return partners;
    },
    fieldsOf: (configuration, untilMs, type) => {
      const shards = published.contentsOf(configuration, untilMs);
      return shards === undefined ? undefined : seenFields(shards, type);
    },
    stop: async () => {
      stopping.abort();
      await Promise.all(following);
    },
  };
}
