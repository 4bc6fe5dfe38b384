import { classDefaults } from "../../crds/compile/class-defaults.ts";
import type { RuntimeConfig } from "../../crds/config.ts";
import { materialIdsOf } from "../../crds/material.ts";
import { resourcesOf } from "../../crds/part.ts";
import { isReadable } from "../../crds/shards/join-shards.ts";
import { type KeyShard, type Shard, type ShardCounts, shardOfMaterial } from "../../crds/shards/shards.ts";
import { type EncodedShard, splitIntoShards } from "../../crds/shards/split-shards.ts";

/** The state of a published shard that decides about a write. */
export interface PublishedState {
  /** Undefined when it cannot be read. */
  readonly shard: Shard | undefined;
  readonly sha256: string | undefined;
  /** False when its Secret has other faults, such as a missing label. */
  readonly isIntact: boolean;
}

/** A Secret holds 1 MiB. Source: Kubernetes API validation, `MaxSecretSize`. */
const secretBytesMax = 1024 * 1024;

/** Groups of shards to be written, each after the one before has succeeded. */
export type PublishPlan = readonly [
  additions: readonly EncodedShard[],
  resources: readonly EncodedShard[],
  removals: readonly EncodedShard[],
];

/** A configuration without any resource. */
export const emptyConfig: RuntimeConfig = {
  schema: 1,
  partners: [],
  catalogs: [],
  quotas: [],
  classDefaults,
  material: {},
};

/**
 * Plans the writes that turn the published shards into the desired ones. At no time is a resource published without its
 * material:
 *
 * ```
 *   1. shards of keys with new material, still with the material of published resources
 *   2. shards of resources
 *   3. shards of keys without unused material
 * ```
 *
 * An intact shard is not in the plan. After a partial run, the next plan leads to the same end.
 */
export function planPublish(
  published: ReadonlyMap<string, PublishedState>,
  desired: ReadonlyMap<string, EncodedShard>,
  counts: ShardCounts,
): PublishPlan {
  const shards = [...desired.values()];
  const [resources, keys] = [
    shards.filter(({ shard }) => "partners" in shard),
    shards.filter(({ shard }) => "material" in shard),
  ];
  let names: ReadonlySet<string> | undefined;
  const named = (): ReadonlySet<string> => (names ??= namedMaterial([...published.values()]));
  const additions = keys.flatMap((key) => addition(key, published.get(key.name), named, counts) ?? []);
  const between = new Map<string, PublishedState>([...published, ...additions.map(writtenState)]);
  return [
    additions,
    resources.filter((encoded) => !isSame(published.get(encoded.name), encoded)),
    keys.filter((encoded) => !isSame(between.get(encoded.name), encoded)),
  ];
}

/**
 * Returns true for a shard of resources that names material of the missing shards of keys, which are not written yet:
 * pods would lack it.
 */
export function lacksMaterial(
  { shard }: EncodedShard,
  missing: ReadonlySet<string>,
  published: ReadonlyMap<string, PublishedState>,
  counts: ShardCounts,
): boolean {
  if (missing.size === 0 || !("partners" in shard)) return false;
  return resourcesOf(shard)
    .flatMap(materialIdsOf)
    .some((id) => {
      const name = shardOfMaterial(id, counts);
      const held = published.get(name)?.shard;
      return missing.has(name) && !(held !== undefined && "material" in held && Object.hasOwn(held.material, id));
    });
}

/** The shard of keys with the material for old and new resources; undefined when it holds that already. */
function addition(
  desired: EncodedShard,
  published: PublishedState | undefined,
  named: () => ReadonlySet<string>,
  counts: ShardCounts,
): EncodedShard | undefined {
  const wanted = desired.shard as KeyShard;
  const present = published?.shard;
  if (published === undefined || present === undefined || !("material" in present)) return desired;
  const isThere = Object.keys(wanted.material).every((id) => Object.hasOwn(present.material, id));
  if (isThere && published.isIntact && present.configzToken === wanted.configzToken) return undefined;
  const still = Object.entries(present.material).filter(
    ([id]) => !Object.hasOwn(wanted.material, id) && named().has(id),
  );
  return still.length === 0 ? desired : withMore(desired, wanted, Object.fromEntries(still), counts);
}

/** The shard of keys with more material, if it fits into a Secret. */
function withMore(
  desired: EncodedShard,
  wanted: KeyShard,
  more: KeyShard["material"],
  counts: ShardCounts,
): EncodedShard {
  const material = { ...more, ...wanted.material };
  const both = splitIntoShards({ ...emptyConfig, material }, counts, wanted.configzToken).get(desired.name);
  // Pods keep the material of applied resources: without it they report an error only briefly.
  return both !== undefined && both.bytes.length <= secretBytesMax ? both : desired;
}

/** Ids of the material of published resources. */
function namedMaterial(published: readonly PublishedState[]): ReadonlySet<string> {
  const shards = published.flatMap(({ shard }) => (shard !== undefined && "partners" in shard ? [shard] : []));
  return new Set(shards.flatMap(resourcesOf).filter(isReadable).flatMap(materialIdsOf));
}

function writtenState({ name, shard, sha256 }: EncodedShard): [string, PublishedState] {
  return [name, { shard, sha256, isIntact: true }];
}

function isSame(published: PublishedState | undefined, { sha256 }: EncodedShard): boolean {
  return published !== undefined && published.isIntact && published.shard !== undefined && published.sha256 === sha256;
}
