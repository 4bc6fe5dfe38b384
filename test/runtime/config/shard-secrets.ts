import { compile } from "../../../crds/compile/compile.ts";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { allowAll } from "../../../crds/policy.ts";
import { splitIntoShards } from "../../../crds/shards/split-shards.ts";
import {
  shardAnnotations,
  shardEntry,
  shardSecretName,
  shardSecretType,
  type ShardCounts,
  type ShardSecret,
} from "../../../crds/shards/shards.ts";
import { validateResource } from "../../../crds/validate.ts";
import { plainObject, type Changes } from "../../crds/valid-objects.ts";

/** A Secret that holds a shard, as it is applied. */
export interface AppliedShard extends ShardSecret {
  readonly apiVersion: "v1";
  readonly kind: "Secret";
  readonly type: string;
  readonly metadata: { readonly name: string; readonly annotations: Readonly<Record<string, string>> };
  readonly data: Readonly<Record<string, string>>;
}

export const fewShards: ShardCounts = { config: 2, keys: 1 };

/** One partner of a configuration; without a key of its own it signs with its name. */
interface PartnerPlan {
  readonly changes?: Changes;
  readonly generation?: number;
  readonly key?: string;
}

/** What `compile` makes of these partners and, when asked for, of the catalog `example`. */
export function configOf(partners: Readonly<Record<string, PartnerPlan>>, catalog?: Changes): RuntimeConfig {
  const objects = [
    ...Object.entries(partners).map(([name, { changes, generation = 1 }]) => {
      const plain = plainObject("WebhookPartner", { "signing.keys[0].secretRef.name": name, ...changes }, name);
      return { ...plain, metadata: { ...plain.metadata, uid: `uid-${name}`, generation } };
    }),
    ...(catalog === undefined ? [] : [plainObject("MetricCatalog", catalog)]),
  ];
  const resources = objects.map((object) => {
    const { resource, problems } = validateResource(object);
    if (resource === undefined) throw new Error(JSON.stringify(problems));
    return resource;
  });
  const hmac = (text: string) => ({ hmac: Buffer.from(text.padEnd(40, "k")).toString("base64") });
  const secrets = Object.entries(partners).map(([name, { key = name }]) => [`default/${name}`, hmac(key)] as const);
  const { config, results } = compile({ resources, secrets: new Map(secrets), policy: allowAll });
  const refused = results.flatMap(({ problems }) => problems);
  if (refused.length > 0) throw new Error(JSON.stringify(refused));
  return config;
}

interface ShardOptions {
  /** @default 1 */
  readonly revision?: number;
  /** @default {@link fewShards} */
  readonly counts?: ShardCounts;
  /** @default heliograph */
  readonly prefix?: string;
  readonly token?: string;
}

/** The Secrets of a configuration by shard name, all of one revision. */
export function shardSecrets(config: RuntimeConfig, options: ShardOptions = {}): ReadonlyMap<string, AppliedShard> {
  const { revision = 1, counts = fewShards, prefix = "heliograph", token } = options;
  const shards = [...splitIntoShards(config, counts, token)];
  return new Map(
    shards.map(([shard, { bytes, sha256 }]) => [
      shard,
      {
        apiVersion: "v1",
        kind: "Secret",
        type: shardSecretType,
        metadata: {
          name: shardSecretName(prefix, shard),
          annotations: { [shardAnnotations.revision]: String(revision), [shardAnnotations.sha256]: sha256 },
        },
        data: { [shardEntry]: Buffer.from(bytes).toString("base64") },
      },
    ]),
  );
}

/** The same Secret with other bytes than its sha256 says. */
export function corrupted(secret: AppliedShard): AppliedShard {
  return { ...secret, data: { [shardEntry]: Buffer.from("no gzip").toString("base64") } };
}

/** The one Secret of these that holds a shard. */
export function secretOf(secrets: ReadonlyMap<string, AppliedShard>, shard: string): AppliedShard {
  const secret = secrets.get(shard);
  if (secret === undefined) throw new Error(`no shard ${shard}`);
  return secret;
}
