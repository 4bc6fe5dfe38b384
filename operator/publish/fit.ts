import type {
  CatalogConfig,
  EventCatalogConfig,
  PartnerConfig,
  QuotaConfig,
  ResourceConfig,
  RuntimeConfig,
} from "../../crds/config.ts";
import { materialIdsOf } from "../../crds/material.ts";
import type { Kind } from "../../crds/resource.ts";
import { type EncodedShard, splitIntoShards, type ShardSplitter } from "../../crds/shards/split-shards.ts";
import { resourceKey, shardOfMaterial, shardOfResource, type ShardCounts } from "../../crds/shards/shards.ts";
import { emptyConfig } from "./plan.ts";

interface FitOptions {
  readonly counts: ShardCounts;
  readonly split: ShardSplitter;
  readonly configzToken: string | undefined;
  /** Bound on the gzipped shard. @default {@link shardBytesMax} */
  readonly bytesMax?: number;
  /** Orders resources, by `<Kind>/<namespace>/<name>`, from the oldest to the youngest. */
  readonly byAge: (one: string, other: string) => number;
}

/** A configuration that fits into its shards. */
interface Fitted {
  readonly shards: ReadonlyMap<string, EncodedShard>;
  /** Resources that were left out, by `<Kind>/<namespace>/<name>`. */
  readonly tooLarge: ReadonlySet<string>;
}

/** Below the 1 MiB of a Secret, to leave space for old and new material in one shard. */
export const shardBytesMax = 900 * 1024;

/** Bound on trials, each of which gzips a whole shard. After them the rest is left out. */
const trialsMax = 64;

interface Entry {
  readonly key: string;
  readonly kind: Kind;
  readonly config: ResourceConfig;
}

/**
 * Splits a configuration into shards. When a shard is too large, its youngest resources are left out. The result
 * depends only on the configuration and the ages.
 */
export function fitIntoShards(config: RuntimeConfig, options: FitOptions): Fitted {
  const { counts, split, configzToken, bytesMax = shardBytesMax } = options;
  const isFull = ({ bytes }: EncodedShard): boolean => bytes.length > bytesMax;
  const first = split(config, configzToken);
  if (![...first.values()].some(isFull)) return { shards: first, tooLarge: new Set() };

  const tooLarge = new Set<string>();
  for (const shard of [...first.values()].filter(isFull)) {
    const inShard = entriesOf(config).filter((entry) => !tooLarge.has(entry.key) && isIn(shard.name, entry, counts));
    const trial = (entries: readonly Entry[]): boolean => !isFull(encoded(shard.name, entries, config, options));
    for (const { key } of leftOut(
      inShard.sort((one, other) => options.byAge(one.key, other.key)),
      trial,
    ))
      tooLarge.add(key);
  }
  const dropped = config.partners.filter((partner) => tooLarge.has(resourceKey("WebhookPartner", partner)));
  const partners = [
    ...(config.notApplied?.partners ?? []),
    ...dropped.map(({ uid, namespace, name }) => ({ uid, namespace, name, reason: "ConfigTooLarge" })),
  ];
  const fitting = { ...without(config, tooLarge), notApplied: { partners, isPartial: false } };
  return { shards: split(fitting, configzToken), tooLarge };
}

/** Returns the entries that do not fit, tried from first to last. Whole groups are tried at once. */
function leftOut(entries: readonly Entry[], fits: (entries: readonly Entry[]) => boolean): readonly Entry[] {
  const inside: Entry[] = [];
  const outside: Entry[] = [];
  let trials = 0;
  const admit = (group: readonly Entry[]): void => {
    trials += 1;
    if (trials <= trialsMax && fits([...inside, ...group])) inside.push(...group);
    else if (group.length === 1 || trials > trialsMax) outside.push(...group);
    else {
      const half = Math.ceil(group.length / 2);
      admit(group.slice(0, half));
      admit(group.slice(half));
    }
  };
  if (entries.length > 0) admit(entries);
  return outside;
}

/** Encodes the shard of that name with only these entries. */
function encoded(
  name: string,
  entries: readonly Entry[],
  { material }: RuntimeConfig,
  { counts, configzToken }: FitOptions,
): EncodedShard {
  const parts = without(entriesConfig(entries), new Set());
  const ids = entries
    .flatMap(({ config }) => materialIdsOf(config))
    .filter((id) => shardOfMaterial(id, counts) === name);
  const held = Object.fromEntries(ids.map((id) => [id, material[id] ?? ""]));
  const config = name.startsWith("keys-") ? { ...emptyConfig, material: held } : parts;
  const shard = splitIntoShards(config, counts, configzToken).get(name);
  if (shard === undefined) throw new Error(`there is no shard ${name}`);
  return shard;
}

function isIn(name: string, { kind, config }: Entry, counts: ShardCounts): boolean {
  if (name.startsWith("keys-")) return materialIdsOf(config).some((id) => shardOfMaterial(id, counts) === name);
  return shardOfResource(kind, config, counts) === name;
}

function entriesOf({ partners, catalogs, quotas, eventCatalogs = [] }: RuntimeConfig): Entry[] {
  const of =
    (kind: Kind) =>
    (config: Entry["config"]): Entry => ({ kind, config, key: resourceKey(kind, config) });
  return [
    ...partners.map(of("WebhookPartner")),
    ...catalogs.map(of("MetricCatalog")),
    ...quotas.map(of("QueryClassQuota")),
    ...eventCatalogs.map(of("EventCatalog")),
  ];
}

function entriesConfig(entries: readonly Entry[]): RuntimeConfig {
  const listed = (kind: Kind) => entries.filter((entry) => entry.kind === kind).map(({ config }) => config);
  const eventCatalogs = listed("EventCatalog") as EventCatalogConfig[];
  return {
    ...emptyConfig,
    partners: listed("WebhookPartner") as PartnerConfig[],
    catalogs: listed("MetricCatalog") as CatalogConfig[],
    quotas: listed("QueryClassQuota") as QuotaConfig[],
    ...(eventCatalogs.length === 0 ? {} : { eventCatalogs }),
  };
}

/** The configuration without some resources and without the material that only they name. */
function without(config: RuntimeConfig, left: ReadonlySet<string>): RuntimeConfig {
  const kept = entriesOf(config).filter(({ key }) => !left.has(key));
  const named = new Set(kept.flatMap((entry) => materialIdsOf(entry.config)));
  const material = Object.fromEntries(Object.entries(config.material).filter(([id]) => named.has(id)));
  return { ...entriesConfig(kept), material };
}
