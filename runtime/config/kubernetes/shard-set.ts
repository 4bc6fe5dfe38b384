import type { RuntimeConfig } from "../../../crds/config.ts";
import type { ConfigzShard } from "../../../crds/configz.ts";
import { joinShards } from "../../../crds/shards/join-shards.ts";
import {
  readShardSecret,
  sha256Of,
  shardNames,
  type Shard,
  type ShardCounts,
  type ShardSecret,
} from "../../../crds/shards/shards.ts";
import type { ConfigState } from "../config-source.ts";
import { supportedConfig } from "../supported-config.ts";

/** What shards say together. */
export interface ShardedState extends ConfigState {
  readonly shards: NonNullable<ConfigState["shards"]>;
  readonly errors: NonNullable<ConfigState["errors"]>;
}

interface HeldShard {
  /** The last good version; undefined when there was none yet. */
  readonly good?: { readonly revision: number; readonly sha256: string; readonly shard: Shard };
  /** Why what there is now is not obeyed. */
  readonly error?: string;
}

/** The shards of one installation as they were last good, whatever became of them since. */
export class ShardSet {
  private readonly counts: ShardCounts;
  private readonly held: Map<string, HeldShard>;

  constructor(counts: ShardCounts) {
    this.counts = counts;
    this.held = new Map(shardNames(counts).map((name) => [name, {}]));
  }

  /**
   * Takes what there is now of a shard; undefined when its Secret is gone. What cannot be obeyed leaves the last good
   * one.
   * @returns `good` for a version that is held from now on, `bad` for one that is not, `same` when nothing changed
   */
  take(name: string, secret: ShardSecret | undefined): "good" | "bad" | "same" {
    const before = this.held.get(name) ?? {};
    const reading =
      secret === undefined ? { error: "the Secret does not exist" } : readShardSecret(secret, name, this.counts);
    if (reading.error !== undefined) return this.fail(name, reading.error);
    const isSame = before.good?.sha256 === reading.sha256 && before.good.revision === reading.revision;
    if (isSame && before.error === undefined) return "same";
    const { revision, sha256, shard } = reading;
    // The same content keeps its objects, by which everyone after this sees that nothing changed.
    this.held.set(name, {
      good: { revision, sha256, shard: before.good?.sha256 === sha256 ? before.good.shard : shard },
    });
    return "good";
  }

  /** Takes a copy of a shard of which no good version was heard; what is said against the newest one stays said. */
  takeCopy(name: string, secret: ShardSecret): "good" | "bad" {
    const { good, error } = this.held.get(name) ?? {};
    const reading = readShardSecret(secret, name, this.counts);
    if (good !== undefined || reading.error !== undefined) return "bad";
    this.held.set(name, { good: reading, ...(error === undefined ? {} : { error }) });
    return "good";
  }

  /** A shard cannot be read any more; the last good one stays. */
  fail(name: string, error: string): "bad" | "same" {
    const before = this.held.get(name) ?? {};
    if (before.error === error) return "same";
    this.held.set(name, { ...before, error });
    return "bad";
  }

  /** Shards of which no good version was ever seen, each with what is known of that. */
  missing(): readonly { readonly name: string; readonly error: string }[] {
    const missing = [...this.held].filter(([, { good }]) => good === undefined);
    return missing.map(([name, { error = "not received yet" }]) => ({ name, error }));
  }

  /**
   * What the shards say together; undefined while one is missing. Parts that cannot be obeyed stay as in `previous`.
   */
  join(previous: RuntimeConfig | undefined): ShardedState | undefined {
    const held = [...this.held].flatMap(([name, { good, error }]) =>
      good === undefined ? [] : [{ name, ...good, error }],
    );
    if (held.length < this.held.size) return undefined;
    const joined = joinShards(
      held.map(({ shard }) => shard),
      previous,
    );
    const { config, errors: unknown } = supportedConfig(joined.config, previous);
    const errors = [...joined.faults, ...unknown];
    return {
      config,
      // Of the digests, since one of everything would cost more than all the rest of an edit.
      hash: sha256Of(JSON.stringify([held.map(({ name, sha256 }) => [name, sha256]), errors])),
      shards: Object.fromEntries(
        held.map(({ name, revision, sha256, error }): [string, ConfigzShard] => {
          return [name, { revision, sha256, ...(error === undefined ? {} : { error }) }];
        }),
      ),
      errors,
      ...(joined.configzToken === undefined ? {} : { configzToken: joined.configzToken }),
    };
  }
}
