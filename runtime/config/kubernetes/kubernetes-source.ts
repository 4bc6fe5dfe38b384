import { setMaxListeners } from "node:events";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { shardNames, shardSecretName, type ShardCounts, type ShardSecret } from "../../../crds/shards/shards.ts";
import type { ConfigSource } from "../config-source.ts";
import type { KubernetesAccess } from "./api-access.ts";
import type { KubernetesFault } from "./api-fault.ts";
import { followSecret, followTimes, type FollowListener, type FollowTimes } from "./secret-watch.ts";
import { createKubernetesMetrics, type KubernetesMetrics } from "./kubernetes-metrics.ts";
import { pause, Recovery } from "./api-recovery.ts";
import { KubernetesRequests, type RequestLimits } from "./api-requests.ts";
import type { ShardCopies } from "./shard-copies.ts";
import { ShardSet, type ShardedState } from "./shard-set.ts";

export interface KubernetesSourceOptions {
  readonly access: KubernetesAccess;
  /** Of the Secrets. */
  readonly namespace: string;
  /** First part of the Secrets' names. */
  readonly prefix: string;
  readonly counts: ShardCounts;
  readonly userAgent: string;
  readonly log: Logger;
  /** @default nowhere */
  readonly registry?: Registry;
  /** What a start without the API server is served from. @default nothing */
  readonly copies?: ShardCopies;
  /** Told in one sentence what is missing until everything was heard of once. @default nobody */
  readonly onWaiting?: (detail: string) => void;
  readonly times?: Partial<SourceTimes>;
  readonly limits?: Partial<RequestLimits>;
  /** [0, 1), for jitter. @default Math.random */
  readonly random?: () => number;
}

interface SourceTimes extends FollowTimes {
  /** Changes that come within this time are applied together, in milliseconds. @default 20 */
  readonly settleMs: number;
  /** How long the API server is waited for before copies stand in, in milliseconds. @default 5000 */
  readonly copiesAfterMs: number;
  /** After an outage those who waited go on within this time, in milliseconds. @default 1000 */
  readonly spreadMs: number;
}

const sourceTimes: SourceTimes = { ...followTimes, settleMs: 20, copiesAfterMs: 5000, spreadMs: 1000 };

/**
 * Configuration from the Secrets that an operator writes. Each is watched by its name; whatever happens to one of them,
 * or to the API server, everything that was good stays in force. Source: design §3.
 */
export class KubernetesSource implements ConfigSource<ShardedState> {
  private readonly options: KubernetesSourceOptions;
  private readonly times: SourceTimes;
  private readonly requests: KubernetesRequests;
  private readonly metrics: KubernetesMetrics;
  private readonly set: ShardSet;
  private readonly stopping = new AbortController();
  private readonly listeners = new Set<(state: ShardedState) => void>();
  private readonly first = Promise.withResolvers<void>();
  private following: Promise<unknown> = Promise.resolve();
  private state: ShardedState | undefined;
  private joining: NodeJS.Timeout | undefined;
  private joinMs = 0;

  private constructor(options: KubernetesSourceOptions) {
    this.options = options;
    this.times = { ...sourceTimes, ...options.times };
    this.metrics = createKubernetesMetrics(options.registry);
    const { access, userAgent, limits } = options;
    this.requests = new KubernetesRequests(access, { userAgent, limits, onAnswer: this.metrics.answered });
    this.set = new ShardSet(options.counts);
    setMaxListeners(0, this.stopping.signal);
  }

  /**
   * Begins to watch and resolves when every shard was heard of, from the API server or from a copy, however long that
   * takes.
   * @throws the signal's reason when it is aborted before
   */
  static async open(options: KubernetesSourceOptions, signal: AbortSignal): Promise<KubernetesSource> {
    const source = new KubernetesSource(options);
    const abandon = (): void => source.first.reject(signal.reason);
    signal.addEventListener("abort", abandon, { once: true });
    if (signal.aborted) abandon();
    source.start();
    try {
      await source.first.promise;
      return source;
    } catch (error) {
      await source.stop();
      throw error;
    } finally {
      signal.removeEventListener("abort", abandon);
    }
  }

  current(): ShardedState {
    if (this.state === undefined) throw new Error("no configuration was heard of yet");
    return this.state;
  }

  onChange(listener: (state: ShardedState) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    clearTimeout(this.joining);
    await this.following;
    await this.requests.close();
    await this.options.copies?.settled();
  }

  private start(): void {
    const { namespace, prefix, counts, random = Math.random } = this.options;
    const recovery = new Recovery(this.times.spreadMs, random);
    const following = shardNames(counts).map((shard) => {
      const name = shardSecretName(prefix, shard);
      const listener = this.listenerOf(shard, name);
      const { requests, times } = this;
      return followSecret({ requests, namespace, name, times, recovery, random, listener }, this.stopping.signal);
    });
    this.following = Promise.all([...following, this.standIn()]);
    this.tellWaiting();
  }

  private listenerOf(shard: string, secret: string): FollowListener {
    return {
      onObject: (object) => this.take(shard, object),
      onFault: (fault, waitMs) => this.onFault(shard, secret, fault, waitMs),
      onHeard: () => this.metrics.heard(),
    };
  }

  private take(shard: string, secret: ShardSecret | undefined): void {
    const outcome = this.set.take(shard, secret);
    if (outcome === "same") return;
    this.metrics.shard(outcome);
    if (outcome === "good" && secret !== undefined) this.copy(shard, secret);
    this.joinSoon();
  }

  /** What the server refuses stays so until somebody acts; whatever else fails says nothing of the shard. */
  private onFault(shard: string, secret: string, fault: KubernetesFault, waitMs: number): void {
    this.options.log.warn(
      { secret, fault: fault.kind, reason: fault.message, waitMs: Math.round(waitMs) },
      "configuration watch interrupted",
    );
    if (fault.kind === "refused" && this.set.fail(shard, fault.message) === "bad") this.joinSoon();
    else if (this.state === undefined) this.tellWaiting(fault.message);
  }

  /** Copies of the shards of which nothing good was heard in time. */
  private async standIn(): Promise<void> {
    const { copies, log } = this.options;
    if (copies === undefined || !(await pause(this.times.copiesAfterMs, this.stopping.signal))) return;
    for (const { name } of this.set.missing()) {
      const copy = await copies.read(name);
      // The API server may have been faster than the disk.
      if (copy === undefined || !this.set.missing().some((missing) => missing.name === name)) continue;
      const outcome = this.set.takeCopy(name, copy);
      log.warn({ shard: name, outcome }, "a copy stands in for a shard that the API server did not give");
    }
    this.joinSoon();
  }

  private copy(shard: string, secret: ShardSecret): void {
    const { copies, log } = this.options;
    copies?.write(shard, secret).catch((err: unknown) => log.error({ shard, err }, "a copy cannot be written"));
  }

  /** Under many changes a join never takes more than half of the time. */
  private joinSoon(): void {
    if (this.stopping.signal.aborted) return;
    this.joining ??= setTimeout(() => this.join(), Math.max(this.times.settleMs, this.joinMs));
  }

  private join(): void {
    this.joining = undefined;
    const startedMs = performance.now();
    const state = this.joined();
    this.joinMs = performance.now() - startedMs;
    if (state === undefined) {
      this.tellWaiting();
      return;
    }
    this.state = state;
    this.metrics.joined(state);
    this.first.resolve();
    for (const listener of this.listeners) listener(state);
  }

  /** Content that is whole and yet makes no sense to this version of the program leaves everything as it was. */
  private joined(): ShardedState | undefined {
    try {
      return this.set.join(this.state?.config);
    } catch (err) {
      this.options.log.error({ err }, "the shards cannot be joined");
      const reason = `the shards cannot be joined: ${err instanceof Error ? err.message : String(err)}`;
      this.options.onWaiting?.(reason);
      return this.state === undefined ? undefined : withError(this.state, reason);
    }
  }

  private tellWaiting(reason?: string): void {
    const [first, ...others] = this.set.missing();
    if (first === undefined) return;
    const total = shardNames(this.options.counts).length;
    const secret = shardSecretName(this.options.prefix, first.name);
    const applied = total - 1 - others.length;
    const detail = `${applied} of ${total} shards applied; ${this.options.namespace}/${secret}: ${first.error}`;
    this.options.onWaiting?.(reason === undefined ? detail : `${detail} (${reason})`);
  }
}

function withError(state: ShardedState, error: string): ShardedState {
  return {
    ...state,
    shards: Object.fromEntries(Object.entries(state.shards).map(([name, shard]) => [name, { ...shard, error }])),
  };
}
