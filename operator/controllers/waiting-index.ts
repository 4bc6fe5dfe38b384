/** Resources that wait for pods, by the shards they wait for: a report touches only those that it may settle. */
export class WaitingIndex {
  readonly #shardsOf = new Map<string, readonly string[]>();
  readonly #byShard = new Map<string, Set<string>>();

  /** The resource waits for these shards, and for no others. */
  set(key: string, shards: readonly string[]): void {
    this.delete(key);
    if (shards.length === 0) return;
    this.#shardsOf.set(key, shards);
    for (const shard of shards) {
      const keys = this.#byShard.get(shard) ?? new Set();
      this.#byShard.set(shard, keys.add(key));
    }
  }

  /** The resource waits no more. */
  delete(key: string): void {
    for (const shard of this.#shardsOf.get(key) ?? []) {
      const keys = this.#byShard.get(shard);
      keys?.delete(key);
      if (keys?.size === 0) this.#byShard.delete(shard);
    }
    this.#shardsOf.delete(key);
  }

  /** Everything that waits. */
  all(): readonly string[] {
    return [...this.#shardsOf.keys()];
  }

  forShard(shard: string): readonly string[] {
    return [...(this.#byShard.get(shard) ?? [])];
  }
}
