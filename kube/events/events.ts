// Kubernetes Events: series, limits and writes. It does not decide which events to write.
import type { Logger } from "pino";
import type { KubeClient } from "../client/client.ts";
import { type Clock, systemClock } from "../../limits/clock.ts";
import { EventSeries, type Occurrence, type Reporter, eventType } from "./event-series.ts";
import { describeError, isKubeError } from "../client/kube-error.ts";
import type { KubeMetrics } from "../metrics.ts";
import { singleTry } from "../client/retry.ts";

interface EventRecorderOptions {
  readonly client: KubeClient;
  readonly reporter: Reporter;
  readonly log: Logger;
  readonly metrics: KubeMetrics;
  /** @default the machine's */
  readonly clock?: Clock;
}

const fieldManager = "heliograph-operator-events";
const writeTimeoutMs = 5_000;
/** Events of one batch; a new warning waits for at most one batch. */
const writesInARow = 20;
/** Dropped events are logged once, and again only after this time without a drop. */
const quietMs = 6 * 60_000;

/**
 * Writes events in the background: {@link record} neither waits nor fails. {@link EventSeries} merges equal events and
 * limits the events per object. The same apply writes the first occurrence and the count of a series.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #clock: Clock;
  readonly #series: EventSeries;
  readonly #stopping = new AbortController();
  #cancelTimer: (() => void) | undefined;
  #writing: Promise<void> | undefined;
  #isDraining = false;
  #droppedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#series = new EventSeries(options.reporter);
  }

  /** Records an occurrence. Never throws; a failure is counted. */
  record(occurrence: Occurrence): void {
    if (this.#isDraining) return;
    try {
      const { result, evicted } = this.#series.add(occurrence, {
        nowMs: this.#clock.nowMs(),
        wallMs: this.#clock.wallMs(),
      });
      this.#options.metrics.events.inc({ result });
      if (evicted > 0) this.#options.metrics.events.inc({ result: "dropped" }, evicted);
      if (result === "dropped" || evicted > 0) this.#reportDrop();
      this.#schedule();
    } catch (error) {
      this.#count("failed", error);
    }
  }

  /** Writes the waiting events within the given time and ends. */
  async stop(drainMs: number): Promise<void> {
    this.#isDraining = true;
    this.#cancelTimer?.();
    const cancel = this.#clock.after(drainMs, () => this.#stopping.abort());
    await this.#writing;
    await this.#write(this.#series.due(Number.POSITIVE_INFINITY));
    this.#stopping.abort();
    cancel();
  }

  #schedule(): void {
    if (this.#writing !== undefined || this.#isDraining) return;
    this.#cancelTimer?.();
    const dueMs = this.#series.nextDueMs();
    if (dueMs === undefined) return;
    this.#cancelTimer = this.#clock.after(dueMs - this.#clock.nowMs(), () => {
      const keys = this.#series.due(this.#clock.nowMs()).slice(0, writesInARow);
      this.#writing = this.#write(keys).finally(() => {
        this.#writing = undefined;
        this.#schedule();
      });
    });
  }

  /** Writes one event after the other, to keep the load on the server low. */
  async #write(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      if (this.#stopping.signal.aborted) return;
      await this.#writeOne(key);
    }
  }

  async #writeOne(key: string): Promise<void> {
    const write = this.#series.event(key);
    if (write === undefined) return;
    try {
      const options = { fieldManager, force: true, retry: singleTry(writeTimeoutMs), signal: this.#stopping.signal };
      await this.#options.client.apply(eventType, write.event, options);
      this.#series.written(key, write.count, this.#clock.nowMs());
      this.#options.metrics.events.inc({ result: "written" });
    } catch (error) {
      const again = this.#series.failed(key, isKubeError(error, "transient"), this.#clock.nowMs());
      if (!again) this.#count("failed", error);
    }
  }

  #reportDrop(): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#droppedAtMs >= quietMs) this.#options.log.warn("events dropped, queue full");
    this.#droppedAtMs = nowMs;
  }

  #count(result: "failed", error: unknown): void {
    this.#options.metrics.events.inc({ result });
    this.#options.log.warn({ error: describeError(error) }, "event not written");
  }
}
