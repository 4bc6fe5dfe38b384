import { gzipSync } from "node:zlib";
import { byText, canonicalJson } from "../compile/canonical-json.ts";
import type {
  CatalogConfig,
  EventCatalogConfig,
  PartnerConfig,
  QuotaConfig,
  ResourceConfig,
  RuntimeConfig,
} from "../config.ts";
import type { Kind } from "../resource.ts";
import {
  resourceKey,
  sha256Of,
  shardNames,
  shardOfMaterial,
  shardOfResource,
  type ConfigShard,
  type KeyShard,
  type LeftOutPartner,
  type Shard,
  type ShardCounts,
} from "./shards.ts";

/** One shard as it is written. */
export interface EncodedShard {
  readonly name: string;
  readonly shard: Shard;
  /** Of the JSON, lowercase hex. */
  readonly sha256: string;
  /** Gzipped canonical JSON. */
  readonly bytes: Uint8Array;
}

/** Splits configurations of one installation. Each split encodes only the shards that differ from the one before. */
export type ShardSplitter = (config: RuntimeConfig, configzToken?: string) => ReadonlyMap<string, EncodedShard>;

/**
 * Splits a configuration into its shards, by name, empty shards included. The same configuration gives the same bytes.
 * @param configzToken goes into `keys-00`
 */
export function splitIntoShards(
  config: RuntimeConfig,
  counts: ShardCounts,
  configzToken?: string,
): ReadonlyMap<string, EncodedShard> {
  return createShardSplitter(counts)(config, configzToken);
}

/** Creates a splitter that caches the encoding of each resource object and each piece of material. */
export function createShardSplitter(counts: ShardCounts): ShardSplitter {
  const encoder = new ShardEncoder(counts);
  let before: ReadonlyMap<string, Draft> = new Map();
  return (config, configzToken) => {
    const drafts = encoder.drafts(config, configzToken);
    const after = new Map([...drafts].map(([name, parts]) => [name, encoder.encode(name, parts, before.get(name))]));
    before = after;
    return new Map([...after].map(([name, { encoded }]) => [name, encoded]));
  };
}

/** One resource or one piece of material, encoded for its shard. */
interface Part {
  readonly shard: string;
  /** Name of its list in the shard. */
  readonly list: "partners" | "catalogs" | "quotas" | "eventCatalogs" | "leftOut" | "material" | "configzToken";
  readonly key: string;
  readonly value: ResourceConfig | LeftOutPartner | string;
  /** Of the value. */
  readonly json: string;
  readonly digest: string;
}

interface Draft {
  readonly parts: readonly Part[];
  readonly encoded: EncodedShard;
}

const digestHexChars = 16;

/**
 * Compression level. The highest level takes three times as long and saves one byte in a hundred. The header has time 0
 * and an unknown operating system, so that equal JSON gives equal bytes.
 */
const gzipLevel = 4;
const operatingSystemAt = 9;
const operatingSystemUnknown = 255;

class ShardEncoder {
  readonly #counts: ShardCounts;
  readonly #resources = new WeakMap<ResourceConfig, Part>();
  #leftOut: ReadonlyMap<string, Part> = new Map();
  #material = new Map<string, Part>();

  constructor(counts: ShardCounts) {
    this.#counts = counts;
  }

  /** The parts of every shard, in the order in which they are written. */
  drafts(config: RuntimeConfig, configzToken: string | undefined): ReadonlyMap<string, readonly Part[]> {
    const drafts = new Map<string, Part[]>(shardNames(this.#counts).map((name) => [name, []]));
    const parts = [
      ...config.catalogs.map((value) => this.#resourcePart("MetricCatalog", "catalogs", value)),
      ...config.partners.map((value) => this.#resourcePart("WebhookPartner", "partners", value)),
      ...config.quotas.map((value) => this.#resourcePart("QueryClassQuota", "quotas", value)),
      ...(config.eventCatalogs ?? []).map((value) => this.#resourcePart("EventCatalog", "eventCatalogs", value)),
      ...this.#leftOutParts(config),
      ...(configzToken === undefined ? [] : [tokenPart(configzToken)]),
      ...this.#materialParts(config.material),
    ];
    for (const part of parts) drafts.get(part.shard)?.push(part);
    return drafts;
  }

  encode(name: string, parts: readonly Part[], before: Draft | undefined): Draft {
    if (before !== undefined && areSame(before.parts, parts)) return before;
    const head = { counts: canonicalJson(this.#counts), schema: "1", shard: JSON.stringify(name) };
    const json = jsonObject(
      name.startsWith("config-") ? { ...head, ...configMembers(parts) } : { ...head, ...keyMembers(parts) },
    );
    const shard = {
      schema: 1,
      shard: name,
      counts: this.#counts,
      ...(name.startsWith("config-") ? configOf(parts) : keysOf(parts)),
    };
    return { parts, encoded: { name, shard: shard as Shard, sha256: sha256Of(json), bytes: gzipped(json) } };
  }

  #resourcePart(kind: Kind, list: Part["list"], value: ResourceConfig): Part {
    const known = this.#resources.get(value);
    if (known !== undefined) return known;
    const json = canonicalJson(value);
    const digest = `${value.generation}:${sha256Of(json).slice(0, digestHexChars)}`;
    const part = {
      shard: shardOfResource(kind, value, this.#counts),
      list,
      key: resourceKey(kind, value),
      value,
      json,
      digest,
    };
    this.#resources.set(value, part);
    return part;
  }

  /** Parts without a digest: no pod reports them as applied. */
  #leftOutParts({ notApplied }: RuntimeConfig): readonly Part[] {
    const parts = (notApplied?.partners ?? []).map(({ uid, namespace, name, reason }): Part => {
      const value: LeftOutPartner = { uid, namespace, name, reason };
      const json = canonicalJson(value);
      const known = this.#leftOut.get(uid);
      if (known?.json === json) return known;
      const shard = shardOfResource("WebhookPartner", value, this.#counts);
      return { shard, list: "leftOut", key: uid, value, json, digest: "" };
    });
    this.#leftOut = new Map(parts.map((part) => [part.key, part]));
    return parts;
  }

  #materialParts(material: RuntimeConfig["material"]): readonly Part[] {
    const parts = Object.entries(material).map(([id, base64]): readonly [string, Part] => {
      const known = this.#material.get(id);
      if (known?.value === base64) return [id, known];
      const shard = shardOfMaterial(id, this.#counts);
      return [id, { shard, list: "material", key: id, value: base64, json: JSON.stringify(base64), digest: "" }];
    });
    this.#material = new Map(parts);
    return parts.map(([, part]) => part).sort((one, other) => byText(one.key, other.key));
  }
}

function tokenPart(token: string): Part {
  return { shard: "keys-00", list: "configzToken", key: "", value: token, json: JSON.stringify(token), digest: "" };
}

function areSame(before: readonly Part[], after: readonly Part[]): boolean {
  return (
    before.length === after.length &&
    before.every((part, index) => part === after[index] || isSameToken(part, after[index]))
  );
}

function isSameToken(before: Part, after: Part | undefined): boolean {
  return before.list === "configzToken" && after?.list === "configzToken" && before.value === after.value;
}

function configMembers(parts: readonly Part[]): Readonly<Record<string, string>> {
  const list = (name: Part["list"]): string =>
    `[${listed(parts, name)
      .map(({ json }) => json)
      .join(",")}]`;
  const digests = Object.fromEntries(digestsOf(parts).map(([key, digest]) => [key, JSON.stringify(digest)]));
  return {
    catalogs: list("catalogs"),
    digests: jsonObject(digests),
    ...(listed(parts, "eventCatalogs").length === 0 ? {} : { eventCatalogs: list("eventCatalogs") }),
    ...(listed(parts, "leftOut").length === 0 ? {} : { leftOut: list("leftOut") }),
    partners: list("partners"),
    quotas: list("quotas"),
  };
}

function keyMembers(parts: readonly Part[]): Readonly<Record<string, string>> {
  const [token] = listed(parts, "configzToken");
  const material = Object.fromEntries(listed(parts, "material").map(({ key, json }) => [key, json]));
  return { ...(token === undefined ? {} : { configzToken: token.json }), material: jsonObject(material) };
}

function configOf(parts: readonly Part[]): Omit<ConfigShard, "schema" | "shard" | "counts"> {
  const eventCatalogs = listed(parts, "eventCatalogs").map(({ value }) => value as EventCatalogConfig);
  const leftOut = listed(parts, "leftOut").map(({ value }) => value as LeftOutPartner);
  return {
    partners: listed(parts, "partners").map(({ value }) => value as PartnerConfig),
    catalogs: listed(parts, "catalogs").map(({ value }) => value as CatalogConfig),
    quotas: listed(parts, "quotas").map(({ value }) => value as QuotaConfig),
    ...(eventCatalogs.length === 0 ? {} : { eventCatalogs }),
    digests: Object.fromEntries(digestsOf(parts)),
    ...(leftOut.length === 0 ? {} : { leftOut }),
  };
}

function keysOf(parts: readonly Part[]): Pick<KeyShard, "material" | "configzToken"> {
  const [token] = listed(parts, "configzToken");
  return {
    material: Object.fromEntries(listed(parts, "material").map(({ key, value }) => [key, value as string])),
    ...(token === undefined ? {} : { configzToken: token.value as string }),
  };
}

function listed(parts: readonly Part[], list: Part["list"]): readonly Part[] {
  return parts.filter((part) => part.list === list);
}

function digestsOf(parts: readonly Part[]): readonly (readonly [string, string])[] {
  return parts.filter(({ list }) => list !== "leftOut").map(({ key, digest }) => [key, digest] as const);
}

/** Canonical JSON of an object whose members are JSON already. */
function jsonObject(members: Readonly<Record<string, string>>): string {
  const sorted = Object.entries(members).sort(([one], [other]) => byText(one, other));
  return `{${sorted.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
}

function gzipped(json: string): Uint8Array {
  const bytes = gzipSync(json, { level: gzipLevel });
  bytes[operatingSystemAt] = operatingSystemUnknown;
  return bytes;
}
