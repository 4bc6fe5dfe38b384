import { digestOf } from "../../crds/compile/canonical-json.ts";
import type { RuntimeConfig } from "../../crds/config.ts";

type Resource = RuntimeConfig["partners" | "catalogs" | "quotas"][number];

/**
 * Hashes of configurations without generations: an edit that is undone restores the hash. A resource that an edit does
 * not change stays the same object, and is not hashed again.
 */
export class ContentHash {
  readonly #configs = new WeakMap<RuntimeConfig, string>();
  readonly #resources = new WeakMap<Resource, string>();

  /** sha256 in lowercase hex. The bytes of Secrets are in it by their digests. */
  of(config: RuntimeConfig): string {
    const known = this.#configs.get(config);
    if (known !== undefined) return known;
    const { partners, catalogs, quotas, material, notApplied: _notApplied, ...rest } = config;
    const resources = [partners, catalogs, quotas].map((list) => list.map((resource) => this.#ofResource(resource)));
    const hash = digestOf({ ...rest, resources, material: Object.keys(material).toSorted() });
    this.#configs.set(config, hash);
    return hash;
  }

  #ofResource(resource: Resource): string {
    const known = this.#resources.get(resource);
    if (known !== undefined) return known;
    const { generation: _generation, ...content } = resource;
    const digest = digestOf(content);
    this.#resources.set(resource, digest);
    return digest;
  }
}
