// A configuration as Secrets, and back. Reading and writing of Secrets happens elsewhere.
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import type { CatalogConfig, EventCatalogConfig, NotAppliedPartner, PartnerConfig, QuotaConfig } from "../config.ts";
import type { Kind } from "../resource.ts";

/** Number of Secrets of a configuration: fixed for an installation, the same for operator and pods. */
export interface ShardCounts {
  /** Shards of resources. */
  readonly config: number;
  /** Shards of key material, which no shard of resources holds. */
  readonly keys: number;
}

/** @default of every program that reads or writes shards */
export const shardCountsDefault: ShardCounts = { config: 32, keys: 8 };

/** Names have two digits. */
export const shardCountMax = 100;

interface ShardHead {
  /** Layout of this document. A reader of another layout keeps its configuration. */
  readonly schema: 1;
  /** `config-07`, `keys-00`: a shard under another name is rejected. */
  readonly shard: string;
  /** A shard of other counts is rejected: part of the configuration would be missing. */
  readonly counts: ShardCounts;
}

/** The resources whose hash falls on one shard. */
export interface ConfigShard extends ShardHead {
  readonly partners: readonly PartnerConfig[];
  readonly catalogs: readonly CatalogConfig[];
  readonly quotas: readonly QuotaConfig[];
  /** Absent for none, and in shards of earlier versions, which ignore it. */
  readonly eventCatalogs?: readonly EventCatalogConfig[];
  /** `<Kind>/<namespace>/<name>` → `<generation>:<first 16 hex digits of the sha256 of its canonical JSON here>`. */
  readonly digests: Readonly<Record<string, string>>;
  /**
   * Partners that exist and are not among `partners`. Their deliveries wait, since they were not removed. Absent for
   * none, and in shards of earlier versions, which ignore it.
   */
  readonly leftOut?: readonly LeftOutPartner[];
}

/** A partner of a cluster that is not applied in any version. */
export type LeftOutPartner = Omit<NotAppliedPartner, "message">;

/** The key material whose hash falls on one shard. */
export interface KeyShard extends ShardHead {
  /** Secret bytes by material id, base64. */
  readonly material: Readonly<Record<string, string>>;
  /** Token of the operator for `/configz`; in `keys-00` only. */
  readonly configzToken?: string;
}

export type Shard = ConfigShard | KeyShard;

/** `type` of the Secrets that hold shards. */
export const shardSecretType = "heliograph.dev/config";

/** The entry of the Secret: gzipped canonical JSON. */
export const shardEntry = "shard.json.gz";

/** Annotations of the Secret. */
export const shardAnnotations = {
  /** Counts the writes of a shard: a whole number from 1 that only grows. */
  revision: "heliograph.dev/revision",
  /** sha256 of the JSON before it was gzipped, lowercase hex. */
  sha256: "heliograph.dev/sha256",
} as const;

/** First part of the names of the Secrets. @default of every program that reads or writes shards */
export const shardPrefixDefault = "heliograph";

/** A shard grows no larger than this, in bytes of JSON; the gzipped form is bounded by the Secret. */
const jsonBytesMax = 64 * 1024 * 1024;

/** Names of all shards, sorted: `config-00` … and then `keys-00` …. */
export function shardNames({ config, keys }: ShardCounts): readonly string[] {
  return [
    ...Array.from({ length: config }, (_, index) => shardName("config", index)),
    ...Array.from({ length: keys }, (_, index) => shardName("keys", index)),
  ];
}

/** `config-07` */
export function shardName(part: keyof ShardCounts, index: number): string {
  return `${part}-${String(index).padStart(2, "0")}`;
}

/** Name of the Secret that holds a shard: `heliograph-config-07`. */
export function shardSecretName(prefix: string, shard: string): string {
  return `${prefix}-${shard}`;
}

/** The shard that a resource is in. The hash is of `<Kind>/<namespace>/<name>`, which an edit does not change. */
export function shardOfResource(
  kind: Kind,
  resource: { readonly namespace: string; readonly name: string },
  counts: ShardCounts,
): string {
  return shardName("config", hashed(resourceKey(kind, resource)) % counts.config);
}

/** The shard that key material is in. */
export function shardOfMaterial(material: string, counts: ShardCounts): string {
  return shardName("keys", hashed(material) % counts.keys);
}

/** Key of a resource in {@link ConfigShard.digests}. */
export function resourceKey(
  kind: Kind,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string {
  return `${kind}/${namespace}/${name}`;
}

/** The parts that matter of a Secret that holds a shard. */
export interface ShardSecret {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  /** Base64, as in the API. */
  readonly data?: Readonly<Record<string, string>>;
}

/** The shard of a Secret, or the reason for its rejection in one sentence. */
type ShardResult =
  | { readonly revision: number; readonly sha256: string; readonly shard: Shard; readonly error?: undefined }
  /** `counts`: of the other set that it belongs to. */
  | { readonly error: string; readonly counts?: ShardCounts };

/** Reads the Secret of the shard of that name. A shard with an error must not be applied. */
export function readShardSecret(secret: ShardSecret, name: string, counts: ShardCounts): ShardResult {
  const { [shardAnnotations.revision]: revision = "", [shardAnnotations.sha256]: sha256 = "" } =
    secret.metadata.annotations ?? {};
  if (!/^[1-9]\d{0,14}$/u.test(revision))
    return { error: `the annotation ${shardAnnotations.revision} is not a revision number` };
  const entry = secret.data?.[shardEntry];
  if (entry === undefined) return { error: `the entry ${shardEntry} is missing` };
  const decoded = decodeShard(Buffer.from(entry, "base64"), sha256);
  if (decoded.shard === undefined) return decoded;
  const misplaced = misplacement(decoded.shard, name, counts);
  if (misplaced !== undefined) return { error: misplaced, counts: decoded.shard.counts };
  return { revision: Number(revision), sha256, shard: decoded.shard };
}

/** Decodes gzipped JSON with a known sha256 into a shard, or returns the reason for its rejection in one sentence. */
export function decodeShard(
  bytes: Uint8Array,
  expectedSha256: string,
): { readonly shard: Shard; readonly error?: undefined } | { readonly shard?: undefined; readonly error: string } {
  try {
    const json = gunzipSync(bytes, { maxOutputLength: jsonBytesMax });
    const sha256 = sha256Of(json);
    if (sha256 !== expectedSha256) return { error: `the content's sha256 is ${sha256}, not ${expectedSha256}` };
    const shard: unknown = JSON.parse(json.toString("utf8"));
    return isShard(shard) ? { shard } : { error: "the content is not a shard of schema 1" };
  } catch (error) {
    return { error: `the content cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** sha256 of a shard's JSON, lowercase hex. */
export function sha256Of(json: string | Uint8Array): string {
  return createHash("sha256").update(json).digest("hex");
}

function misplacement(
  { shard, counts: { config, keys } }: Shard,
  name: string,
  counts: ShardCounts,
): string | undefined {
  if (shard !== name) return `the content belongs to the shard ${shard}`;
  if (config === counts.config && keys === counts.keys) return undefined;
  return `the content belongs to a set of ${config} and ${keys} shards, not of ${counts.config} and ${counts.keys}`;
}

/** Checks the layout of a shard. Its hash has shown that the operator wrote it. */
function isShard(value: unknown): value is Shard {
  if (!isObject(value) || value["schema"] !== 1 || typeof value["shard"] !== "string" || !isObject(value["counts"]))
    return false;
  if (isObject(value["material"])) return true;
  return isObject(value["digests"]) && ["partners", "catalogs", "quotas"].every((list) => Array.isArray(value[list]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hashed(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE();
}
