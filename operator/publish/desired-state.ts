import type { Logger } from "pino";
import { createCompiler } from "../../crds/compile/compile.ts";
import type { ConfigPart } from "../../crds/part.ts";
import { byText } from "../../crds/compile/canonical-json.ts";
import type { Before } from "../../crds/compile/stand-in.ts";
import type { ResourceResult } from "../../crds/compile/resource-result.ts";
import { secretNamesOf } from "../../crds/checks/references.ts";
import type { Secrets } from "../../crds/checks/secret-entry.ts";
import type { InstallationPolicy } from "../../crds/policy.ts";
import type { Resource } from "../../crds/resource.ts";
import { createShardSplitter, type EncodedShard } from "../../crds/shards/split-shards.ts";
import { resourceKey, type ShardCounts } from "../../crds/shards/shards.ts";
import type { ResourceInventory } from "../inventory/resources.ts";
import type { SecretInventory } from "../inventory/secrets.ts";
import type { Clock } from "../../kube/clock.ts";
import { describeError } from "../../kube/client/kube-error.ts";
import { measureStandIns, type OperatorMetrics } from "../metrics.ts";
import { isPaused } from "../resource-types.ts";
import { Coalescer } from "./coalescer.ts";
import { fitIntoShards } from "./fit.ts";
import type { Publications } from "./publications.ts";

/** What is to become of one object. */
export interface CompileOutcome {
  /** The version of it that was looked at. */
  readonly resource: Resource;
  /** Undefined for a paused object of which nothing was published. */
  readonly result: ResourceResult | undefined;
  readonly isTooLarge: boolean;
  /** Of its part in the shards, as in {@link Publications}; undefined when it is not to be in force. */
  readonly digest: string | undefined;
}

/** What is to be published, and why. */
export interface Desired {
  readonly shards: ReadonlyMap<string, EncodedShard>;
  /** By `<Kind>/<namespace>/<name>`. */
  readonly outcomes: ReadonlyMap<string, CompileOutcome>;
}

interface DesiredStateOptions {
  readonly resources: ResourceInventory;
  readonly secrets: SecretInventory;
  readonly publications: Publications;
  readonly policy: () => InstallationPolicy;
  /** What is to prove the operator to pods. */
  readonly token: () => string;
  readonly counts: ShardCounts;
  /** For how long a last good version stands in for an object whose references cannot be read. */
  readonly lastGoodMs: number;
  /** From the first change to the compilation that takes all of them in. @default {@link coalesceMsDefault} */
  readonly coalesceMs?: number;
  /** @see FitOptions.bytesMax */
  readonly shardBytesMax?: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: OperatorMetrics;
  /** @param changed keys of objects whose outcome is another, or gone */
  readonly onDesired: (desired: Desired, changed: readonly string[]) => void;
}

const coalesceMsDefault = 300;
/** A third of the time at most goes into compiling, of which an edit waits for no more than this. */
const restFactor = 2;
const restMsMax = 1_000;

/** Compiles what is to be in force after each change, whether or not this replica is the one that publishes it. */
export class DesiredState {
  readonly #options: DesiredStateOptions;
  readonly #compile = createCompiler();
  readonly #split;
  readonly #secretNames = new WeakMap<Resource, readonly string[]>();
  readonly #coalescer: Coalescer;
  readonly #stopping = new AbortController();
  #desired: Desired | undefined;
  #cancelAgain: (() => void) | undefined;

  constructor(options: DesiredStateOptions) {
    this.#options = options;
    this.#split = createShardSplitter(options.counts);
    const { coalesceMs: delayMs = coalesceMsDefault, clock } = options;
    this.#coalescer = new Coalescer({ delayMs, restFactor, restMsMax, clock, run: () => this.#run() });
  }

  /** The last outcome; undefined before the first. */
  get current(): Desired | undefined {
    return this.#desired;
  }

  /** Something that it depends on changed. */
  touch(): void {
    this.#coalescer.touch();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelAgain?.();
    await this.#coalescer.stop();
  }

  async #run(): Promise<void> {
    const { resources, secrets, log } = this.#options;
    const { signal } = this.#stopping;
    try {
      // One moment's objects with their Secrets: an object that comes meanwhile is for the next run.
      const all = resources.all();
      const entries = await secrets.read(new Set(all.flatMap((resource) => this.#secretNamesOf(resource))), signal);
      if (!signal.aborted) this.#decide(all, entries);
    } catch (error) {
      log.error({ error: describeError(error) }, "compilation failed, published configuration kept");
      this.#coalescer.touch();
    }
  }

  #decide(all: readonly Resource[], secrets: Secrets): void {
    const { policy, metrics, onDesired, clock } = this.#options;
    const startedMs = clock.nowMs();
    const before = this.#before();
    const held = new Map(
      all.filter(isPaused).flatMap((resource): [Resource, ConfigPart][] => {
        const part = before.partOf(resource);
        return part === undefined ? [] : [[resource, part]];
      }),
    );
    const compiled = all.filter((resource) => !isPaused(resource) || held.has(resource));
    const { config, results, againMs } = this.#compile({
      resources: compiled,
      secrets,
      policy: policy(),
      held,
      before,
    });
    this.#lookAgain(againMs - before.nowMs);
    const fitted = this.#fit(config, all);
    const outcomes = this.#outcomesOf(all, results, fitted);
    const changed = changedBetween(this.#desired?.outcomes, outcomes);
    this.#desired = { shards: fitted.shards, outcomes };
    metrics.compileSeconds.observe((clock.nowMs() - startedMs) / 1000);
    measureStandIns(metrics, results);
    onDesired(this.#desired, changed);
  }

  /** What the shards hold is what was in force: it outlives every replica. */
  #before(): Before {
    const { publications, lastGoodMs, clock } = this.#options;
    return {
      partOf: (resource) => publications.part(keyOf(resource), resource.metadata.uid),
      nowMs: clock.wallMs(),
      lastGoodMs,
    };
  }

  /** Time alone will make something else of what is in force. */
  #lookAgain(afterMs: number): void {
    this.#cancelAgain?.();
    this.#cancelAgain = Number.isFinite(afterMs) ? this.#options.clock.after(afterMs, () => this.touch()) : undefined;
  }

  #fit(config: Parameters<typeof fitIntoShards>[0], all: readonly Resource[]) {
    const { counts, token, shardBytesMax } = this.#options;
    let births: ReadonlyMap<string, string> | undefined;
    const bornAt = (key: string): string => {
      births ??= new Map(all.map((resource) => [keyOf(resource), resource.metadata.creationTimestamp ?? ""]));
      return births.get(key) ?? "";
    };
    const byAge = (one: string, other: string): number => byText(bornAt(one), bornAt(other)) || byText(one, other);
    const bound = shardBytesMax === undefined ? {} : { bytesMax: shardBytesMax };
    return fitIntoShards(config, { counts, split: this.#split, configzToken: token(), byAge, ...bound });
  }

  #outcomesOf(
    all: readonly Resource[],
    results: readonly ResourceResult[],
    { shards, tooLarge }: ReturnType<typeof fitIntoShards>,
  ): ReadonlyMap<string, CompileOutcome> {
    const resultOf = new Map(results.map((result) => [resourceKey(result.kind, result), result]));
    const digests = [...shards.values()].flatMap(({ shard }) =>
      "digests" in shard ? Object.entries(shard.digests) : [],
    );
    const digestOf = new Map(digests);
    const before = this.#desired?.outcomes;
    return new Map(
      all.map((resource) => {
        const key = keyOf(resource);
        const outcome = {
          resource,
          result: resultOf.get(key),
          isTooLarge: tooLarge.has(key),
          digest: digestOf.get(key),
        };
        const known = before?.get(key);
        return [key, known !== undefined && isSame(known, outcome) ? known : outcome];
      }),
    );
  }

  #secretNamesOf(resource: Resource): readonly string[] {
    const known = this.#secretNames.get(resource);
    if (known !== undefined) return known;
    const names = namesOrNone(resource);
    this.#secretNames.set(resource, names);
    return names;
  }
}

/** An object that an earlier version of the schema let in may lack anything; `compile` says so. */
function namesOrNone(resource: Resource): readonly string[] {
  try {
    return secretNamesOf(resource);
  } catch {
    return [];
  }
}

function keyOf({ kind, metadata }: Resource): string {
  return resourceKey(kind, metadata);
}

function changedBetween(before: Desired["outcomes"] | undefined, after: Desired["outcomes"]): readonly string[] {
  const gone = [...(before?.keys() ?? [])].filter((key) => !after.has(key));
  return [...gone, ...[...after].filter(([key, outcome]) => before?.get(key) !== outcome).map(([key]) => key)];
}

function isSame(one: CompileOutcome, other: CompileOutcome): boolean {
  return (
    one.resource === other.resource &&
    one.result === other.result &&
    one.isTooLarge === other.isTooLarge &&
    one.digest === other.digest
  );
}
