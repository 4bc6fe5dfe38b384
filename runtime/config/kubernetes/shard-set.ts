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

/** The configuration of all shards. */
export interface ShardedState extends ConfigState {
  readonly shards: NonNullable<ConfigState["shards"]>;
  readonly errors: NonNullable<ConfigState["errors"]>;
}

interface HeldShard {
  /** The last good version; undefined before the first. */
  readonly good?: { readonly revision: number; readonly sha256: string; readonly shard: Shard };
  /** Fault of the present version. */
  readonly error?: string;
}

/**
 * The hash of the configuration of these shards, in the order of {@link shardNames}. It is a hash of digests: a hash of
 * all content would cost more than the rest of an edit.
 */
export function shardedHash(
  shards: readonly { readonly name: string; readonly sha256: string }[],
  errors: ShardedState["errors"],
): string {
  return sha256Of(JSON.stringify([shards.map(({ name, sha256 }) => [name, sha256]), errors]));
}

/** The last good versions of the shards of one installation. */
export class ShardSet {
  private readonly counts: ShardCounts;
  private readonly held: Map<string, HeldShard>;

  constructor(counts: ShardCounts) {
    this.counts = counts;
    this.held = new Map(shardNames(counts).map((name) => [name, {}]));
  }

  /**
   * Takes the present version of a shard, undefined without its Secret. An invalid version keeps the last good one.
   * @returns `good` for an accepted version, `bad` for a rejected one, `same` without a change
   */
  take(name: string, secret: ShardSecret | undefined): "good" | "bad" | "same" {
    const before = this.held.get(name) ?? {};
    const reading =
      secret === undefined ? { error: "the Secret does not exist" } : readShardSecret(secret, name, this.counts);
    if (reading.error !== undefined) return this.fail(name, reading.error);
    const isSame = before.good?.sha256 === reading.sha256 && before.good.revision === reading.revision;
    if (isSame && before.error === undefined) return "same";
    const { revision, sha256, shard } = reading;
    // Equal content keeps its objects, so that later steps detect that nothing changed.
    this.held.set(name, {
      good: { revision, sha256, shard: before.good?.sha256 === sha256 ? before.good.shard : shard },
    });
    return "good";
  }

  /** Takes a copy of a shard without a good version. The fault of the newest version stays reported. */
  takeCopy(name: string, secret: ShardSecret): "good" | "bad" {
    const { good, error } = this.held.get(name) ?? {};
    const reading = readShardSecret(secret, name, this.counts);
    if (good !== undefined || reading.error !== undefined) return "bad";
    this.held.set(name, { good: reading, ...(error === undefined ? {} : { error }) });
    return "good";
  }

  /** Records a fault of a shard. Its last good version stays. */
  fail(name: string, error: string): "bad" | "same" {
    const before = this.held.get(name) ?? {};
    if (before.error === error) return "same";
    this.held.set(name, { ...before, error });
    return "bad";
  }

  /** Shards without a good version, each with its fault. */
  missing(): readonly { readonly name: string; readonly error: string }[] {
    const missing = [...this.held].filter(([, { good }]) => good === undefined);
    return missing.map(([name, { error = "not received yet" }]) => ({ name, error }));
  }

  /**
   * Joins the shards; undefined while one is missing. Unsupported resources stay as in `previous`.
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
      config: withRejected(config, held, errors),
      hash: shardedHash(held, errors),
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

/** The configuration with the partners that this pod does not apply as the shards define them. */
function withRejected(
  config: RuntimeConfig,
  shards: readonly { readonly shard: Shard }[],
  errors: ShardedState["errors"],
): RuntimeConfig {
  const rejected = errors.filter(({ kind }) => kind === "WebhookPartner");
  if (rejected.length === 0) return config;
  const defined = shards.flatMap(({ shard }) => ("partners" in shard ? shard.partners : []));
  const partners = rejected.flatMap(({ namespace, name, reason, message }) => {
    const partner = defined.find((one) => one.namespace === namespace && one.name === name);
    return partner === undefined ? [] : [{ uid: partner.uid, namespace, name, reason, message }];
  });
  const { partners: leftOut = [], isPartial = false } = config.notApplied ?? {};
  // A partner whose name cannot be read may be any.
  const isUnclear = partners.length < rejected.length;
  return { ...config, notApplied: { partners: [...leftOut, ...partners], isPartial: isPartial || isUnclear } };
}
