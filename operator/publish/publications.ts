import { withoutKeys } from "../../crds/compile/last-good.ts";
import type { CatalogConfig, EventCatalogConfig, PartnerConfig } from "../../crds/config.ts";
import type { ConfigPart } from "../../crds/part.ts";
import { isReadable } from "../../crds/shards/join-shards.ts";
import { materialIdsOf } from "../../crds/material.ts";
import {
  resourceKey,
  shardOfMaterial,
  type ConfigShard,
  type KeyShard,
  type ShardCounts,
} from "../../crds/shards/shards.ts";
import type { Need } from "../observe/rollout.ts";
import type { ShardChange } from "./shard-secrets.ts";

/** The published form of one resource. */
export interface Publication {
  readonly part: Omit<ConfigPart, "material">;
  /** `<generation>:<hash>`, as in the shard. */
  readonly digest: string;
  readonly shard: string;
  /** The first known revision with this form; at the start, the revision that was found. */
  readonly sinceRevision: number;
  /** Time at which it was written or found, monotonic milliseconds. */
  readonly atMs: number;
}

type Version = Need["current"];

/**
 * The resources and material of the published shards, with their first revisions. A deleted or unreadable shard changes
 * nothing here: pods keep its last good version, and the publisher writes it again.
 */
export class Publications {
  readonly #counts: ShardCounts;
  /** By shard, by `<Kind>/<namespace>/<name>`. */
  readonly #resources = new Map<string, ReadonlyMap<string, Publication>>();
  /** By shard, by material id: bytes and the first revision that held them. */
  readonly #material = new Map<
    string,
    ReadonlyMap<string, { readonly base64: string; readonly sinceRevision: number }>
  >();
  readonly #current = new Map<string, Version>();
  readonly #shardOf = new Map<string, string>();
  readonly #parts = new WeakMap<Publication, ConfigPart>();

  constructor(counts: ShardCounts) {
    this.#counts = counts;
  }

  /** Takes a change of a shard. Returns the resources whose published form changed. */
  take({ name, after }: ShardChange, nowMs: number): readonly string[] {
    const { shard, revision = 0, sha256 = "" } = after ?? {};
    if (shard === undefined) return [];
    this.#current.set(name, { revision, sha256 });
    return "partners" in shard ? this.#takeResources(shard, revision, nowMs) : this.#takeMaterial(shard, revision);
  }

  of(key: string): Publication | undefined {
    return this.#resources.get(this.#shardOf.get(key) ?? "")?.get(key);
  }

  /** The last good version of a shard; undefined without one. */
  current(shard: string): Version | undefined {
    return this.#current.get(shard);
  }

  /** The resources of one shard. */
  inShard(name: string): readonly string[] {
    return [...(this.#resources.get(name)?.keys() ?? [])];
  }

  /** Every published resource. */
  keys(): readonly string[] {
    return [...this.#shardOf.keys()];
  }

  /** The shards that a pod must run to apply the published form of a resource. */
  needs({ part, shard, sinceRevision }: Publication): readonly Need[] {
    const ids = materialIdsOf(part.config);
    const material = ids.map((id): [string, number] => {
      const name = shardOfMaterial(id, this.#counts);
      return [name, this.#material.get(name)?.get(id)?.sinceRevision ?? Number.MAX_SAFE_INTEGER];
    });
    return [[shard, sinceRevision] as const, ...material].map(([name, since]) => ({
      shard: name,
      sinceRevision: since,
      current: this.#current.get(name) ?? { revision: 0, sha256: "" },
    }));
  }

  /** The published form, with its material, of the resource with that uid; undefined when there is none. */
  part(key: string, uid: string | undefined): ConfigPart | undefined {
    const publication = this.of(key);
    if (publication === undefined || publication.part.config.uid !== uid) return undefined;
    const known = this.#parts.get(publication);
    if (known !== undefined) return known;
    const ids = materialIdsOf(publication.part.config);
    const entries = ids.flatMap((id) => {
      const base64 = this.#material.get(shardOfMaterial(id, this.#counts))?.get(id)?.base64;
      return base64 === undefined ? [] : [[id, base64] as const];
    });
    if (entries.length < ids.length) return undefined;
    const part = { ...publication.part, material: Object.fromEntries(entries) } as ConfigPart;
    this.#parts.set(publication, part);
    return part;
  }

  /**
   * The published forms that the caller wants, with their material and keys. A partner whose material is missing is
   * held; another form without its material is absent.
   */
  parts(isWanted: (part: Publication["part"]) => boolean): readonly (readonly [key: string, part: ConfigPart])[] {
    return this.keys().flatMap((key) => {
      const part = this.of(key)?.part;
      if (part === undefined || !isWanted(part)) return [];
      const whole = this.part(key, part.config.uid) ?? keyless(part);
      return whole === undefined ? [] : [[key, whole] as const];
    });
  }

  /** The published catalogs of event types, and what is left of deleted ones. */
  eventCatalogs(): readonly EventCatalogConfig[] {
    return this.keys().flatMap((key) => {
      const part = this.of(key)?.part;
      return part?.kind === "EventCatalog" ? [part.config as EventCatalogConfig] : [];
    });
  }

  /** The published form of a partner; undefined without one of that uid. */
  partner(partner: PartnerConfig): PartnerConfig | undefined {
    const part = this.of(resourceKey("WebhookPartner", partner))?.part;
    return part?.config.uid === partner.uid ? (part.config as PartnerConfig) : undefined;
  }

  /** The published form of a catalog, by `<namespace>/<name>`; undefined when there is none of that uid. */
  catalog(name: string, uid: string): CatalogConfig | undefined {
    const part = this.of(`MetricCatalog/${name}`)?.part;
    return part?.config.uid === uid ? (part.config as CatalogConfig) : undefined;
  }

  #takeResources(shard: ConfigShard, revision: number, nowMs: number): readonly string[] {
    const before = this.#resources.get(shard.shard) ?? new Map<string, Publication>();
    const after = new Map(
      partsOf(shard).map(([key, part]) => {
        const digest = shard.digests[key] ?? "";
        const known = before.get(key);
        const isSame = known?.digest === digest && known.part.config === part.config;
        const since = known?.digest === digest ? known : { sinceRevision: revision, atMs: nowMs };
        const { sinceRevision, atMs } = since;
        return [key, isSame ? known : { part, digest, shard: shard.shard, sinceRevision, atMs }] as const;
      }),
    );
    this.#resources.set(shard.shard, after);
    const gone = [...before.keys()].filter((key) => !after.has(key));
    for (const key of gone) this.#shardOf.delete(key);
    for (const key of after.keys()) this.#shardOf.set(key, shard.shard);
    return [
      ...gone,
      ...[...after].filter(([key, { digest }]) => before.get(key)?.digest !== digest).map(([key]) => key),
    ];
  }

  #takeMaterial({ shard, material }: KeyShard, revision: number): readonly string[] {
    const before = this.#material.get(shard);
    const after = Object.entries(material).map(([id, base64]) => {
      return [id, before?.get(id) ?? { base64, sinceRevision: revision }] as const;
    });
    this.#material.set(shard, new Map(after));
    return [];
  }
}

function keyless(part: Publication["part"]): ConfigPart | undefined {
  return "subscriptions" in part.config ? withoutKeys(part.config) : undefined;
}

/** The readable resources of a shard. Those that another version wrote in an unknown form are written again. */
function partsOf(shard: ConfigShard): readonly (readonly [string, Publication["part"]])[] {
  const { partners, catalogs, quotas, eventCatalogs = [] } = shard;
  return [
    ...partners
      .filter(isReadable)
      .map((config) => [resourceKey("WebhookPartner", config), { kind: "WebhookPartner", config }] as const),
    ...catalogs
      .filter(isReadable)
      .map((config) => [resourceKey("MetricCatalog", config), { kind: "MetricCatalog", config }] as const),
    ...quotas
      .filter(isReadable)
      .map((config) => [resourceKey("QueryClassQuota", config), { kind: "QueryClassQuota", config }] as const),
    ...eventCatalogs
      .filter(isReadable)
      .map((config) => [resourceKey("EventCatalog", config), { kind: "EventCatalog", config }] as const),
  ];
}
