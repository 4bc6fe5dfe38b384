/** Resources that wait for pods, by shard, so that a report affects only the resources of its shards. */
export class WaitingIndex {
  readonly #shardsOf = new Map<string, readonly string[]>();
  readonly #byShard = new Map<string, Set<string>>();

  /** Sets the shards that the resource waits for. */
  set(key: string, shards: readonly string[]): void {
    this.delete(key);
    if (shards.length === 0) return;
    this.#shardsOf.set(key, shards);
    for (const shard of shards) {
      const keys = this.#byShard.get(shard) ?? new Set();
      this.#byShard.set(shard, keys.add(key));
    }
  }

  /** Removes a resource. */
  delete(key: string): void {
    for (const shard of this.#shardsOf.get(key) ?? []) {
      const keys = this.#byShard.get(shard);
      keys?.delete(key);
      if (keys?.size === 0) this.#byShard.delete(shard);
    }
    this.#shardsOf.delete(key);
  }

  /** All waiting resources. */
  all(): readonly string[] {
    return [...this.#shardsOf.keys()];
  }

  forShard(shard: string): readonly string[] {
    return [...(this.#byShard.get(shard) ?? [])];
  }
}
