import type { Logger } from "pino";
import type { EncodedShard } from "../../crds/shards/split-shards.ts";
import {
  readShardSecret,
  shardAnnotations,
  shardCountMax,
  shardEntry,
  shardNames,
  shardSecretName,
  shardSecretType,
  type ShardCounts,
} from "../../crds/shards/shards.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import type { ObjectChange } from "../../kube/informer/object-store.ts";
import { isLater, secretType } from "../../kube/client/resource.ts";
import { type SecretObject } from "../resource-types.ts";
import type { NamedSet } from "../inventory/watched-set.ts";
import type { PublishedState } from "./plan.ts";

/** One shard as its Secret holds it. */
export interface PublishedShard extends PublishedState {
  readonly name: string;
  /** 0 when it cannot be read. */
  readonly revision: number;
  readonly secret: SecretObject;
}

/** A written, edited or deleted shard, by any writer. */
export interface ShardChange {
  readonly name: string;
  readonly after: PublishedShard | undefined;
}

interface ShardSecretsOptions {
  readonly client: Pick<KubeClient, "get" | "create" | "replace" | "delete">;
  readonly namespace: string;
  readonly prefix: string;
  readonly counts: ShardCounts;
  /** The Secrets of the shards' names, in the namespace. */
  readonly watched: Pick<NamedSet<SecretObject>, "onChange">;
  readonly log: Logger;
}

/** Bound on revisions, far above the writes of a shard and within the digits of the annotation. */
const revisionMax = 1e12;

/** Names the installation that a shard belongs to. */
const prefixLabel = "heliograph.dev/config";

/** Labels of every Secret that holds a shard of the installation. */
function shardLabels(prefix: string): Readonly<Record<string, string>> {
  return { [prefixLabel]: prefix, "app.kubernetes.io/managed-by": "heliograph-operator" };
}

/** Reads and writes the Secrets that hold the shards. */
export class ShardSecrets {
  readonly #options: ShardSecretsOptions;
  readonly #nameOf: ReadonlyMap<string, string>;
  readonly #published = new Map<string, PublishedShard>();
  /** The latest revision of each shard, kept when its Secret is deleted. */
  readonly #revisions = new Map<string, number>();
  /** Resource versions of deleted Secrets; older events are ignored. */
  readonly #goneAt = new Map<string, string>();
  /** The last written shards, or attempts, which need no decoding. */
  readonly #written = new Map<string, EncodedShard>();
  readonly #handlers: Array<(change: ShardChange) => void> = [];
  /** Number of shards of an earlier set, until its surplus is removed. */
  #former: ShardCounts | undefined;
  #token: string | undefined;

  constructor(options: ShardSecretsOptions) {
    this.#options = options;
    this.#nameOf = new Map(shardNames(options.counts).map((name) => [shardSecretName(options.prefix, name), name]));
    options.watched.onChange((change) => this.#take(change));
  }

  /** Calls the handler for every later change. */
  onChange(handler: (change: ShardChange) => void): void {
    this.#handlers.push(handler);
  }

  /** By shard name; an absent shard does not exist. */
  published(): ReadonlyMap<string, PublishedShard> {
    return this.#published;
  }

  /** The token of the shards as last read, kept when its shard is deleted. */
  token(): string | undefined {
    return this.#token;
  }

  /**
   * Writes one shard under the next revision. It replaces the last known state: after another write it fails with
   * `conflict`, and the watch delivers the present state.
   *
   * @throws KubeError
   */
  async write(encoded: EncodedShard, signal: AbortSignal): Promise<void> {
    const known = this.#published.get(encoded.name);
    // Recorded before the request: the watch can deliver the shard before the response.
    this.#written.set(encoded.name, encoded);
    this.#put(encoded.name, await this.#send(encoded, known, signal));
  }

  /**
   * Removes the shards of an earlier, larger number. Shards name the number of their set, so no right to list Secrets
   * is needed to know them.
   *
   * @throws KubeError
   */
  async removeSurplus(signal: AbortSignal): Promise<number> {
    const { prefix } = this.#options;
    const former = this.#former === undefined ? [] : shardNames(this.#former);
    const names = former.map((name) => shardSecretName(prefix, name)).filter((name) => !this.#nameOf.has(name));
    let removed = 0;
    for (const name of names) removed += await this.#removeShard(name, signal);
    this.#former = undefined;
    return removed;
  }

  /** Returns the number of removed Secrets: 0 without a shard of that name. */
  async #removeShard(name: string, signal: AbortSignal): Promise<number> {
    const { client, namespace, prefix } = this.#options;
    try {
      const secret = await client.get<SecretObject>(secretType, { namespace, name }, { signal });
      if (secret.metadata.labels?.[prefixLabel] !== prefix) return 0;
      await this.#delete(secret, signal);
      return 1;
    } catch (error) {
      if (isKubeError(error, "notFound")) return 0;
      throw error;
    }
  }

  /** Deletes exactly this Secret, unless it is deleted already. */
  async #delete({ metadata }: SecretObject, signal: AbortSignal): Promise<void> {
    const { namespace, name = "", uid = "" } = metadata;
    try {
      await this.#options.client.delete(secretType, { namespace, name }, { uid, signal });
    } catch (error) {
      if (!isKubeError(error, "notFound")) throw error;
    }
  }

  async #send(encoded: EncodedShard, known: PublishedShard | undefined, signal: AbortSignal): Promise<SecretObject> {
    const { client } = this.#options;
    const secret = this.#secretOf(encoded, known?.secret);
    try {
      return known === undefined
        ? await client.create(secretType, secret, { signal })
        : await client.replace(secretType, secret, { signal });
    } catch (error) {
      if (known === undefined && isKubeError(error, "alreadyExists")) return await this.#adopt(encoded, signal);
      if (known !== undefined && isKubeError(error, "invalid", "notFound"))
        return await this.#makeAnew(encoded, known, signal);
      throw error;
    }
  }

  /** Takes over a Secret of that name that the watch has not delivered yet. */
  async #adopt(encoded: EncodedShard, signal: AbortSignal): Promise<SecretObject> {
    const { client, namespace, prefix } = this.#options;
    const secret = await client.get<SecretObject>(
      secretType,
      { namespace, name: shardSecretName(prefix, encoded.name) },
      { signal },
    );
    this.#options.log.warn({ shard: encoded.name }, "unknown Secret of a shard taken over");
    this.#revisions.set(encoded.name, Math.max(this.#revisions.get(encoded.name) ?? 0, revisionOf(secret)));
    return await this.#send(encoded, this.#read(encoded.name, secret), signal);
  }

  /** Recreates a Secret that is immutable, of another type or deleted. */
  async #makeAnew(encoded: EncodedShard, known: PublishedShard, signal: AbortSignal): Promise<SecretObject> {
    const { client, log } = this.#options;
    log.warn({ shard: encoded.name }, "Secret of the shard not writable, recreated");
    await this.#delete(known.secret, signal);
    return await client.create(secretType, this.#secretOf(encoded, undefined), { signal });
  }

  #take({ kind, object }: ObjectChange<SecretObject>): void {
    const name = this.#nameOf.get(object.metadata.name ?? "");
    if (name === undefined || kind === "resync") return;
    if (kind === "deleted") this.#remove(name, object);
    else this.#put(name, object);
  }

  #put(name: string, secret: SecretObject): void {
    const { resourceVersion = "" } = secret.metadata;
    const knownVersion = this.#published.get(name)?.secret.metadata.resourceVersion ?? this.#goneAt.get(name) ?? "";
    if (isLater(resourceVersion, knownVersion) === false) return;
    const after = this.#read(name, secret);
    this.#published.set(name, after);
    this.#revisions.set(name, Math.max(this.#revisions.get(name) ?? 0, revisionOf(secret)));
    this.#token = tokenOf(after) ?? this.#token;
    for (const handler of this.#handlers) handler({ name, after });
  }

  #remove(name: string, secret: SecretObject): void {
    const { resourceVersion = "", uid } = secret.metadata;
    const known = this.#published.get(name);
    if (known === undefined || known.secret.metadata.uid !== uid) return;
    this.#published.delete(name);
    this.#goneAt.set(name, resourceVersion);
    for (const handler of this.#handlers) handler({ name, after: undefined });
  }

  #read(name: string, secret: SecretObject): PublishedShard {
    const result = resultOf(secret, name, this.#options.counts, this.#written.get(name));
    if (result.error !== undefined) this.#former = largest(this.#former, result.counts);
    const { shard, sha256, revision } =
      result.error === undefined ? result : { shard: undefined, sha256: undefined, revision: 0 };
    return { name, secret, shard, sha256, revision, isIntact: isIntact(secret, this.#options.prefix) };
  }

  /**
   * Builds the Secret of a shard with the next revision. Labels and annotations of other writers stay.
   * @param before the Secret that it replaces
   */
  #secretOf({ name, sha256, bytes }: EncodedShard, before: SecretObject | undefined): SecretObject {
    const { namespace, prefix } = this.#options;
    const { managedFields: _managed, ...kept } = before?.metadata ?? {};
    return {
      metadata: {
        ...kept,
        namespace,
        name: shardSecretName(prefix, name),
        labels: { ...kept.labels, ...shardLabels(prefix) },
        annotations: {
          ...kept.annotations,
          [shardAnnotations.revision]: String(this.#nextRevision(name)),
          [shardAnnotations.sha256]: sha256,
        },
      },
      type: shardSecretType,
      data: { [shardEntry]: Buffer.from(bytes).toString("base64") },
    };
  }

  /**
   * A revision above all known ones of the shard. An unknown shard starts above those of all others.
   */
  #nextRevision(name: string): number {
    const own = this.#revisions.get(name);
    return (own ?? Math.max(0, ...this.#revisions.values())) + 1;
  }
}

/** The revision of the annotation; 0 for an invalid or huge one, which must not exhaust the numbers. */
function revisionOf({ metadata }: SecretObject): number {
  const revision = Number(metadata.annotations?.[shardAnnotations.revision]);
  return Number.isSafeInteger(revision) && revision > 0 && revision <= revisionMax ? revision : 0;
}

function tokenOf({ shard }: PublishedShard): string | undefined {
  return shard !== undefined && "material" in shard ? shard.configzToken : undefined;
}

/** Reads a shard. One with the bytes that this process wrote keeps its decoded objects. */
function resultOf(
  secret: SecretObject,
  name: string,
  counts: ShardCounts,
  written: EncodedShard | undefined,
): ReturnType<typeof readShardSecret> {
  const { [shardAnnotations.revision]: revision = "", [shardAnnotations.sha256]: sha256 } =
    secret.metadata.annotations ?? {};
  const isOurs = written !== undefined && sha256 === written.sha256 && /^[1-9]\d{0,14}$/u.test(revision);
  if (isOurs && secret.data?.[shardEntry] === Buffer.from(written.bytes).toString("base64"))
    return { revision: Number(revision), sha256, shard: written.shard };
  return readShardSecret(secret, name, counts);
}

function isIntact({ metadata, type, data }: SecretObject, prefix: string): boolean {
  const isLabelled = Object.entries(shardLabels(prefix)).every(([label, value]) => metadata.labels?.[label] === value);
  return isLabelled && type === shardSecretType && Object.keys(data ?? {}).length === 1;
}

/** The larger number of each part, within the numbers that a set can have. */
function largest(one: ShardCounts | undefined, other: ShardCounts | undefined): ShardCounts | undefined {
  if (other === undefined) return one;
  const larger = (part: keyof ShardCounts) => Math.min(shardCountMax, Math.max(one?.[part] ?? 0, other[part]));
  return { config: larger("config"), keys: larger("keys") };
}
