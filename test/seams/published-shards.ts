import { shardedHash } from "../../runtime/config/kubernetes/shard-set.ts";

/** A version of a shard. `T` is what a test reads from it. */
interface Version<T> {
  readonly name: string;
  readonly sha256: string;
  /** Unix milliseconds at which the test saw it. */
  readonly seenMs: number;
  readonly content: T;
}

/** Versions of each shard that are combined: a pod may be that far behind the newest one. */
const versionsMax = [2, 4, 8] as const;
/** Newer versions than an event, which a pod may see before this process does. */
const aheadMs = 3_000;

/** Every version of every shard that was published, and the configurations that pods make of them. */
export class PublishedShards<T> {
  readonly #names: readonly string[];
  readonly #versions = new Map<string, Version<T>[]>();
  readonly #found = new Map<string, readonly T[] | undefined>();

  /** @param names of all shards, in the order of `shardNames` */
  constructor(names: readonly string[]) {
    this.#names = names;
  }

  /** Takes a version that was seen; one that was seen before changes nothing. */
  add(name: string, sha256: string, seenMs: number, content: T): void {
    const versions = this.#versions.get(name) ?? [];
    if (versions.at(-1)?.sha256 === sha256) return;
    this.#versions.set(name, [...versions, { name, sha256, seenMs, content }]);
  }

  /**
   * The contents of the shards of the configuration whose hash begins with these digits, which routed an event by
   * `atMs`. Undefined if no combination of known versions has the hash.
   */
  contentsOf(digits: string, atMs: number): readonly T[] | undefined {
    if (!this.#found.has(digits)) this.#found.set(digits, this.#find(digits, atMs));
    return this.#found.get(digits);
  }

  #find(digits: string, atMs: number): readonly T[] | undefined {
    for (const max of versionsMax) {
      const near = this.#names.map((name) => this.#near(name, atMs + aheadMs, max));
      const match = combinations(near).find((shards) => shardedHash(shards, []).startsWith(digits));
      if (match !== undefined) return match.map(({ content }) => content);
    }
    return undefined;
  }

  #near(name: string, untilMs: number, max: number): readonly Version<T>[] {
    const seen = (this.#versions.get(name) ?? []).filter(({ seenMs }) => seenMs <= untilMs);
    return seen.slice(-max).toReversed();
  }
}

/** Every choice of one element of each list, lazily. */
function* combinations<T>(lists: readonly (readonly T[])[]): Generator<readonly T[], void> {
  const [first, ...rest] = lists;
  if (first === undefined) {
    yield [];
    return;
  }
  for (const one of first) for (const others of combinations(rest)) yield [one, ...others];
}
