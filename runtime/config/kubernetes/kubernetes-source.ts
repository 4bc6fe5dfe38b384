// Configuration from shard Secrets of a cluster. It writes no Secret; the client is in `kube/`.
import { setMaxListeners } from "node:events";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { shardNames, shardSecretName, type ShardCounts, type ShardSecret } from "../../../crds/shards/shards.ts";
import { createKubeClient, type KubeClient } from "../../../kube/client/client.ts";
import type { ClusterAccess } from "../../../kube/client/credentials.ts";
import { describeError, isKubeError } from "../../../kube/client/kube-error.ts";
import { singleTry } from "../../../kube/client/retry.ts";
import { pauseUntilAborted, systemClock, untilAborted } from "../../../limits/clock.ts";
import { Outage } from "../../../kube/outage.ts";
import type { ConfigSource } from "../config-source.ts";
import { followSecret, followTimes, type FollowListener, type FollowTimes } from "./secret-watch.ts";
import { createKubernetesMetrics, type KubernetesMetrics } from "./kubernetes-metrics.ts";
import type { ShardCopies } from "./shard-copies.ts";
import { ShardSet, type ShardedState } from "./shard-set.ts";

export interface KubernetesSourceOptions {
  readonly access: ClusterAccess;
  /** Of the Secrets. */
  readonly namespace: string;
  /** Name prefix of the Secrets. */
  readonly prefix: string;
  readonly counts: ShardCounts;
  readonly userAgent: string;
  readonly log: Logger;
  /** @default nowhere */
  readonly registry?: Registry;
  /** Copies of the shards, for a start without the API server. @default none */
  readonly copies?: ShardCopies;
  /** Called with the missing shard until all shards were received once. @default no call */
  readonly onWaiting?: (detail: string) => void;
  readonly times?: Partial<SourceTimes>;
}

interface SourceTimes extends FollowTimes {
  /** Changes that come within this time are applied together, in milliseconds. @default 20 */
  readonly settleMs: number;
  /** Wait for the API server before copies are used, in milliseconds. @default 5000 */
  readonly copiesAfterMs: number;
  /** Bound on the wait for the head of a watch's response, in milliseconds. @default 30 s */
  readonly responseMs: number;
  /** Credentials older than this are read again, in milliseconds. @default 10 s */
  readonly credentialsAgeMs: number;
}

const sourceTimes: SourceTimes = {
  ...followTimes,
  settleMs: 20,
  copiesAfterMs: 5000,
  responseMs: 30_000,
  credentialsAgeMs: 10_000,
};

/**
 * Configuration from the Secrets that an operator writes. Each Secret is watched by its name. After a fault of a Secret
 * or of the API server, the last good version stays in force.
 */
export class KubernetesSource implements ConfigSource<ShardedState> {
  private readonly options: KubernetesSourceOptions;
  private readonly times: SourceTimes;
  private readonly client: KubeClient;
  private readonly outage = new Outage(systemClock, Math.random);
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
    const { access, userAgent } = options;
    const { responseMs, credentialsAgeMs } = this.times;
    this.client = createKubeClient({
      access,
      userAgent,
      metrics: this.metrics,
      outage: this.outage,
      retry: singleTry(responseMs),
      credentialsAgeMsMax: credentialsAgeMs,
    });
    this.set = new ShardSet(options.counts);
    setMaxListeners(0, this.stopping.signal);
  }

  /**
   * Starts to watch. Resolves when every shard was received from the API server or from a copy, without a time limit.
   * @throws the signal's reason when it is aborted before
   */
  static async open(options: KubernetesSourceOptions, signal: AbortSignal): Promise<KubernetesSource> {
    const source = new KubernetesSource(options);
    source.start();
    try {
      await untilAborted(source.first.promise, signal);
      return source;
    } catch (error) {
      await source.stop();
      throw error;
    }
  }

  current(): ShardedState {
    if (this.state === undefined) throw new Error("no configuration was received yet");
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
    await this.client.close();
    await this.options.copies?.settled();
  }

  private start(): void {
    const { namespace, prefix, counts } = this.options;
    const following = shardNames(counts).map((shard) => {
      const name = shardSecretName(prefix, shard);
      const listener = this.listenerOf(shard, name);
      const { client, times, outage } = this;
      const options = { client, namespace, name, times, outage, random: Math.random, listener };
      return followSecret(options, this.stopping.signal);
    });
    this.following = Promise.all([...following, this.useCopies()]);
    this.reportWaiting();
  }

  private listenerOf(shard: string, secret: string): FollowListener {
    return {
      onSecret: (object) => this.take(shard, object),
      onFault: (error, waitMs) => this.onFault(shard, secret, error, waitMs),
      onData: () => this.metrics.dataReceived(),
    };
  }

  private take(shard: string, secret: ShardSecret | undefined): void {
    const outcome = this.set.take(shard, secret);
    if (outcome === "same") return;
    this.metrics.shard(outcome);
    if (outcome === "good" && secret !== undefined) this.copy(shard, secret);
    this.joinSoon();
  }

  /** Handles a failed watch. A rejection is a fault of the shard; any other failure is not. */
  private onFault(shard: string, secret: string, error: unknown, waitMs: number): void {
    const reason = isKubeError(error) ? error.message : describeError(error);
    const fault = isKubeError(error) ? error.kind : "unknown";
    this.options.log.warn({ secret, fault, reason, waitMs: Math.round(waitMs) }, "configuration watch interrupted");
    const isRejection = isKubeError(error) && !isKubeError(error, "transient", "gone", "aborted");
    if (isRejection && this.set.fail(shard, reason) === "bad") this.joinSoon();
    else if (this.state === undefined) this.reportWaiting(reason);
  }

  /** Uses copies of the shards that were not received in time. */
  private async useCopies(): Promise<void> {
    const { copies, log } = this.options;
    if (copies === undefined) return;
    const { signal } = this.stopping;
    await pauseUntilAborted(systemClock, this.times.copiesAfterMs, signal);
    if (signal.aborted) return;
    for (const { name } of this.set.missing()) {
      const copy = await copies.read(name);
      // The API server may have been faster than the disk.
      if (copy === undefined || !this.set.missing().some((missing) => missing.name === name)) continue;
      const outcome = this.set.takeCopy(name, copy);
      log.warn({ shard: name, outcome }, "API server unavailable, copy of a shard used");
    }
    this.joinSoon();
  }

  private copy(shard: string, secret: ShardSecret): void {
    const { copies, log } = this.options;
    copies?.write(shard, secret).catch((err: unknown) => log.error({ shard, err }, "copy of a shard not written"));
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
      this.reportWaiting();
      return;
    }
    this.state = state;
    this.metrics.joined(state);
    this.first.resolve();
    for (const listener of this.listeners) listener(state);
  }

  /** Joins the shards. Content that this version cannot join keeps the previous state. */
  private joined(): ShardedState | undefined {
    try {
      return this.set.join(this.state?.config);
    } catch (err) {
      this.options.log.error({ err }, "shards not joined, previous configuration kept");
      const reason = `the shards cannot be joined: ${err instanceof Error ? err.message : String(err)}`;
      this.options.onWaiting?.(reason);
      return this.state === undefined ? undefined : withError(this.state, reason);
    }
  }

  private reportWaiting(reason?: string): void {
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
