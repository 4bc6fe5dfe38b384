import { createHash } from "node:crypto";
import type { ResourceConfig, RuntimeConfig } from "../config.ts";

/** JSON with the members of every object in the order of their names: equal values give equal bytes. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) => (isPlainObject(member) ? sorted(member) : member));
}

/** sha256 of the canonical JSON, lowercase hex. */
export function digestOf(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

/**
 * Hashes of configurations without generations: an edit that is undone restores the hash. A resource that an edit does
 * not change stays the same object, and is not hashed again.
 */
export class ContentHash {
  readonly #configs = new WeakMap<RuntimeConfig, string>();
  readonly #resources = new WeakMap<ResourceConfig, string>();

  /** sha256 in lowercase hex. The bytes of Secrets are in it by their digests. */
  of(config: RuntimeConfig): string {
    const known = this.#configs.get(config);
    if (known !== undefined) return known;
    const { partners, catalogs, quotas, eventCatalogs, material, notApplied: _notApplied, ...rest } = config;
    const lists = [partners, catalogs, quotas, ...(eventCatalogs === undefined ? [] : [eventCatalogs])];
    const resources = lists.map((list) => list.map((resource) => this.#ofResource(resource)));
    const hash = digestOf({ ...rest, resources, material: Object.keys(material).toSorted() });
    this.#configs.set(config, hash);
    return hash;
  }

  #ofResource(resource: ResourceConfig): string {
    const known = this.#resources.get(resource);
    if (known !== undefined) return known;
    const { generation: _generation, ...content } = resource;
    const digest = digestOf(content);
    this.#resources.set(resource, digest);
    return digest;
  }
}

/** The order of names everywhere in a configuration: by UTF-16 code units, which no locale changes. */
export function byText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

function sorted(object: object): object {
  return Object.fromEntries(Object.entries(object).sort(([one], [other]) => byText(one, other)));
}

function isPlainObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
