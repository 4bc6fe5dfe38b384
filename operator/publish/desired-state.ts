// Resources compiled into shards, and shards written into Secrets. It writes no status.
import type { Logger } from "pino";
import { createCompiler } from "../../crds/compile/compile.ts";
import type { ConfigPart } from "../../crds/part.ts";
import { byText } from "../../crds/compile/canonical-json.ts";
import { WaitingSince } from "../../crds/compile/waiting-since.ts";
import type { Before } from "../../crds/compile/last-good.ts";
import type { ResourceResult } from "../../crds/compile/resource-result.ts";
import type { Secrets } from "../../crds/checks/secret-entry.ts";
import type { InstallationPolicy } from "../../crds/policy.ts";
import type { Resource } from "../../crds/resource.ts";
import { createShardSplitter, type EncodedShard } from "../../crds/shards/split-shards.ts";
import { resourceKey, type ShardCounts } from "../../crds/shards/shards.ts";
import type { ResourceInventory } from "../inventory/resources.ts";
import type { SecretInventory } from "../inventory/secrets.ts";
import type { Clock } from "../../limits/clock.ts";
import { describeError } from "../../kube/client/kube-error.ts";
import { measureStandIns, type OperatorMetrics } from "../metrics.ts";
import { isPaused } from "../resource-types.ts";
import { Coalescer } from "./coalescer.ts";
import { fitIntoShards } from "./fit.ts";
import { withLeftOut } from "./left-out.ts";
import { namesOrNone } from "./secret-names.ts";
import type { Publications } from "./publications.ts";

/** The outcome of compilation for one object. */
export interface CompileOutcome {
  /** The compiled version. */
  readonly resource: Resource;
  /** Undefined for a paused object without a published version. */
  readonly result: ResourceResult | undefined;
  readonly isTooLarge: boolean;
  /** Digest of its part in the shards, as in {@link Publications}; undefined when it has none. */
  readonly digest: string | undefined;
}

/** The desired shards, and the outcome of each object. */
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
  /** Bearer token of the operator for pods. */
  readonly token: () => string;
  readonly counts: ShardCounts;
  /** Longest use of a last good version while references cannot be read. */
  readonly lastGoodMs: number;
  /** Time from the first change to the compilation of all changes. @default {@link coalesceMsDefault} */
  readonly coalesceMs?: number;
  /** @see FitOptions.bytesMax */
  readonly shardBytesMax?: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: OperatorMetrics;
  /** @param changed keys of objects with another outcome or none */
  readonly onDesired: (desired: Desired, changed: readonly string[]) => void;
}

const coalesceMsDefault = 300;
/** At most a third of the time goes into compiling. An edit waits for at most this time. */
const restFactor = 2;
const restMsMax = 1_000;

/** Compiles the desired configuration after each change, on the leader and on the other replicas. */
export class DesiredState {
  readonly #options: DesiredStateOptions;
  readonly #compile = createCompiler();
  readonly #waitingSince = new WaitingSince();
  readonly #split;
  readonly #secretNames = new WeakMap<Resource, readonly string[]>();
  readonly #coalescer: Coalescer;
  readonly #stopping = new AbortController();
  #desired: Desired | undefined;
  /** By `<Kind>/<namespace>/<name>`. */
  #carried: ReadonlyMap<string, ConfigPart> = new Map();
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

  /** Handles a change of an input. */
  touch(): void {
    this.#coalescer.touch();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelAgain?.();
    await this.#coalescer.stop();
  }

  /** Resolves with the time of the compilation itself, without that of reads. */
  async #run(): Promise<number> {
    const { resources, secrets, log, clock } = this.#options;
    const { signal } = this.#stopping;
    let startedMs = clock.nowMs();
    try {
      // The Secrets belong to these objects: an object that arrives meanwhile is for the next run.
      const all = resources.all();
      const entries = await secrets.read(new Set(all.flatMap((resource) => this.#secretNamesOf(resource))), signal);
      startedMs = clock.nowMs();
      if (!signal.aborted) this.#decide(all, entries);
    } catch (error) {
      log.error({ error: describeError(error) }, "compilation failed, published configuration kept");
      this.#coalescer.touch();
    }
    return clock.nowMs() - startedMs;
  }

  #decide(all: readonly Resource[], secrets: Secrets): void {
    const { policy, metrics, onDesired, clock, publications } = this.#options;
    const startedMs = clock.nowMs();
    const before = this.#before();
    const held = new Map(
      all.filter(isPaused).flatMap((resource): [Resource, ConfigPart][] => {
        const part = before.partOf(resource);
        return part === undefined ? [] : [[resource, part]];
      }),
    );
    const compiled = all.filter((resource) => !isPaused(resource) || held.has(resource));
    const carried = this.#carriedParts();
    const input = { resources: compiled, secrets, policy: policy(), held, before, carried };
    const { config: compiledConfig, results, againMs } = this.#compile(input);
    this.#scheduleAgain(againMs - before.nowMs);
    const config = this.#waitingSince.note(compiledConfig, (partner) => publications.partner(partner), before.nowMs);
    const fitted = this.#fit(withLeftOut(config, all, results), all);
    const outcomes = this.#outcomesOf(all, results, fitted);
    const changed = changedBetween(this.#desired?.outcomes, outcomes);
    this.#desired = { shards: fitted.shards, outcomes };
    metrics.compileSeconds.observe((clock.nowMs() - startedMs) / 1000);
    measureStandIns(metrics, results);
    onDesired(this.#desired, changed);
  }

  /** The shards hold the configuration that was in force; they outlive every replica. */
  #before(): Before {
    const { publications, lastGoodMs, clock } = this.#options;
    return {
      partOf: (resource) => publications.part(keyOf(resource), resource.metadata.uid),
      eventCatalogs: () => publications.eventCatalogs(),
      nowMs: clock.wallMs(),
      lastGoodMs,
    };
  }

  /**
   * The applied parts of namespaces that were not listed yet, as they were found: a deletion shows only in a list. The
   * parts of a namespace that is not watched any more end.
   */
  #carriedParts(): readonly ConfigPart[] {
    const { publications, resources } = this.#options;
    const found = publications.parts(({ kind, config }) => resources.isUnlisted(kind, config.namespace));
    this.#carried = new Map(found.map(([key, part]) => [key, this.#carried.get(key) ?? part]));
    return [...this.#carried.values()];
  }

  /** Schedules the next compilation that time alone requires. */
  #scheduleAgain(afterMs: number): void {
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
