import type { Logger } from "pino";
import type { EncodedShard } from "../../crds/shards/split-shards.ts";
import type { ShardCounts } from "../../crds/shards/shards.ts";
import { type BackoffOptions, backoffMs } from "../../kube/backoff.ts";
import { type Clock, onAbort, pauseUntilAborted } from "../../limits/clock.ts";
import { describeError } from "../../kube/client/kube-error.ts";
import type { Outage } from "../../kube/outage.ts";
import type { OperatorMetrics } from "../metrics.ts";
import { lacksMaterial, planPublish, type PublishPlan } from "./plan.ts";
import type { ShardSecrets } from "./shard-secrets.ts";

export interface PublisherOptions {
  readonly shards: ShardSecrets;
  readonly counts: ShardCounts;
  /** The desired shards; undefined before the first compilation. */
  readonly desired: () => ReadonlyMap<string, EncodedShard> | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  /** Its end ends the wait after a failure. */
  readonly outage: Outage;
  readonly log: Logger;
  readonly metrics: OperatorMetrics;
}

const writesAtOnce = 4;
/** Least time between two publications, for another writer that reverts them. */
const spacingMs = 300;
const backoff: BackoffOptions = { baseMs: 50, maxMs: 10_000, jitter: 0.3 };

/** Publishes the desired shards while this replica leads. */
export class Publisher {
  readonly #options: PublisherOptions;
  #wake: (() => void) | undefined;
  #running: Promise<void> | undefined;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** @param term aborted at the end of the term; no write may follow */
  start(term: AbortSignal): void {
    onAbort(term, () => this.wake());
    this.#running = this.#run(term);
  }

  /** Wakes the loop after a change of the desired or published shards. */
  wake(): void {
    this.#wake?.();
  }

  /** Resolves when the last write has ended; the term must have been aborted. */
  async stopped(): Promise<void> {
    await this.#running;
  }

  async #run(term: AbortSignal): Promise<void> {
    let failures = 0;
    while (!term.aborted) {
      const news = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      try {
        const wrote = await this.#publish(term);
        failures = 0;
        await (wrote ? pauseUntilAborted(this.#options.clock, spacingMs, term) : news);
      } catch (error) {
        if (term.aborted) return;
        failures += 1;
        const waitMs = backoffMs(failures, backoff, this.#options.random);
        this.#options.log.warn({ failures, waitMs, error: describeError(error) }, "publishing failed, retry scheduled");
        if (await this.#pauseUntil(news, waitMs, term)) failures = 0;
      }
    }
  }

  /** Waits after a failure. News of other shards end the wait; returns true when the end of an outage did. */
  async #pauseUntil(news: Promise<void>, waitMs: number, term: AbortSignal): Promise<boolean> {
    const { clock, outage } = this.#options;
    const woken = new AbortController();
    const soon = pauseUntilAborted(clock, Math.min(spacingMs, waitMs), term).then(() => news);
    void soon.then(() => woken.abort());
    return await outage.pause(waitMs, AbortSignal.any([term, woken.signal]));
  }

  /** Returns true when a write was needed. */
  async #publish(term: AbortSignal): Promise<boolean> {
    const { desired, shards, counts, clock, log, metrics } = this.#options;
    const wanted = desired();
    if (wanted === undefined) return false;
    const plan = planPublish(shards.published(), wanted, counts);
    const names = plan.flat().map(({ name }) => name);
    if (names.length > 0) {
      const startedMs = clock.nowMs();
      await this.#writeAll(plan, term);
      const durationMs = clock.nowMs() - startedMs;
      metrics.publishSeconds.observe(durationMs / 1000);
      log.info({ shards: names, bytes: bytesOf(plan), durationMs }, "published");
    }
    const removed = await shards.removeSurplus(term);
    if (removed > 0) log.info({ removed }, "surplus shards removed");
    return names.length > 0;
  }

  /**
   * Writes all shards that can be written: one that fails keeps back only what depends on it. Throws the first failure
   * when no write runs any more.
   */
  async #writeAll([additions, resources, removals]: PublishPlan, term: AbortSignal): Promise<void> {
    const { shards, counts } = this.#options;
    const missing = await this.#write(additions, term);
    const names = new Set(missing.keys());
    const ready = resources.filter((encoded) => !lacksMaterial(encoded, names, shards.published(), counts));
    const failures = [...missing.values(), ...(await this.#write(ready, term)).values()];
    // A shard of resources that was not written still names the material that would be removed.
    if (failures.length === 0) failures.push(...(await this.#write(removals, term)).values());
    if (failures.length > 0) throw failures[0];
    term.throwIfAborted();
  }

  /** Writes a group, a few shards at once. Returns the failures by the name of the shard. */
  async #write(group: readonly EncodedShard[], term: AbortSignal): Promise<ReadonlyMap<string, unknown>> {
    const { shards, metrics } = this.#options;
    const waiting = [...group];
    const failures = new Map<string, unknown>();
    const writeNext = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined && !term.aborted; next = waiting.shift()) {
        try {
          await shards.write(next, term);
          metrics.shardWrites.inc({ result: "written" });
          metrics.shardBytes.set({ shard: next.name }, next.bytes.length);
        } catch (error) {
          metrics.shardWrites.inc({ result: "failed" });
          failures.set(next.name, error);
        }
      }
    };
    await Promise.all(Array.from({ length: writesAtOnce }, writeNext));
    return failures;
  }
}

function bytesOf(plan: PublishPlan): number {
  return plan.flat().reduce((sum, { bytes }) => sum + bytes.length, 0);
}
