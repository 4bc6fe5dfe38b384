// Leader election over a Lease. It does not know the work of the leader.
import type { Logger } from "pino";
import type { CallOptions, KubeClient } from "../client/client.ts";
import { type Clock, systemClock } from "../../limits/clock.ts";
import { describeError, isKubeError } from "../client/kube-error.ts";
import { type Lease, type Observation, heldBy, leaseType, mayTake, observe, released } from "./lease-record.ts";
import type { KubeMetrics } from "../metrics.ts";
import { Outage } from "../outage.ts";
import type { ObjectRef } from "../client/resource.ts";
import { singleTry } from "../client/retry.ts";

export interface LeaderElectionOptions {
  readonly client: KubeClient;
  readonly lease: Required<ObjectRef> & { readonly namespace: string };
  /**
   * Identity of this process, unique over all processes and restarts. For example the pod's name with a random part.
   */
  readonly identity: string;
  /**
   * Called when a term begins. A failure ends the term.
   *
   * @param term aborted when the term ends; all work of the leader must end then
   */
  readonly onStarted: (term: AbortSignal) => void | Promise<void>;
  /**
   * Called after the end of a term. Resolves when all work of the leader has ended. Only then the Lease is released or
   * sought again.
   */
  readonly onStopped: () => void | Promise<void>;
  readonly log: Logger;
  readonly metrics: KubeMetrics;
  /** Other processes take the Lease after this time without a change. @default 15 s */
  readonly leaseMs?: number;
  /** A term ends after this time without a successful renewal. @default 10 s */
  readonly renewDeadlineMs?: number;
  /** From the start of one attempt to the start of the next. @default 2 s */
  readonly retryMs?: number;
  /** Bound on one call. @default 3 s */
  readonly callTimeoutMs?: number;
  /** Its end starts the next attempt. @default its own */
  readonly outage?: Outage;
  /** @default the machine's */
  readonly clock?: Clock;
  /** @default Math.random */
  readonly random?: () => number;
}

interface Times {
  readonly leaseMs: number;
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
  readonly callTimeoutMs: number;
}

const timesDefault: Times = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000, callTimeoutMs: 3_000 };
/** Share of the retry time that is random, so that not all processes write when the Lease becomes free. */
const retryJitter = 0.2;
/** After a conflict, one more write is tried on the current Lease. */
const writesMax = 2;

/**
 * Acquires and renews a Lease, so that at most one of all its processes leads.
 *
 * A term counts from *before* the last successful write was sent. A timer ends it {@link
 * LeaderElectionOptions.renewDeadlineMs} later at the latest, even during a hanging call. Other processes wait the
 * longer {@link LeaderElectionOptions.leaseMs} after they observed that write. So a term ends before another process
 * can win, as long as both clocks run at about the same rate.
 */
export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #times: Times;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #outage: Outage;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  /** The Lease as last read or written. */
  #lease: Lease | undefined;
  #seen: Observation | undefined;
  /** End of the term unless it is renewed, monotonic milliseconds. */
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  #term: AbortController | undefined;
  #cancelEnd: (() => void) | undefined;
  /** Settles when the last term's work has ended; undefined when it has. */
  #ending: Promise<void> | undefined;

  /** @throws RangeError when the times do not fit into each other */
  constructor(options: LeaderElectionOptions) {
    const { leaseMs, renewDeadlineMs, retryMs, callTimeoutMs } = { ...timesDefault, ...options };
    if (leaseMs <= renewDeadlineMs || renewDeadlineMs <= retryMs + 2 * callTimeoutMs)
      throw new RangeError("leaseMs must exceed renewDeadlineMs, and that retryMs and two calls");
    this.#options = options;
    this.#times = { leaseMs, renewDeadlineMs, retryMs, callTimeoutMs };
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#outage = options.outage ?? new Outage(this.#clock, this.#random);
    options.metrics.leader.set({ name: options.lease.name }, 0);
  }

  /** Starts to seek the Lease. Must be called once. */
  start(): void {
    if (this.#running !== undefined) throw new Error(`election for ${this.#options.lease.name} was started before`);
    this.#running = this.#run();
  }

  /**
   * Returns true while this process leads. It compares the clock, so it is right even after a freeze in which no timer
   * fired.
   */
  isLeader(): boolean {
    return this.#term !== undefined && this.#clock.nowMs() < this.#heldUntilMs;
  }

  /** Identity of the last observed holder; undefined without one. */
  leader(): string | undefined {
    const holder = this.#lease?.spec?.holderIdentity;
    return holder === "" ? undefined : holder;
  }

  /** Ends the term, waits for its work and releases the Lease while it is still held. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    this.#endTerm("stopped");
    await this.#ending;
    if (this.#clock.nowMs() < this.#heldUntilMs) await this.#release();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const startedMs = this.#clock.nowMs();
      await this.#attempt();
      const spreadMs = this.#term === undefined ? this.#times.retryMs * retryJitter * this.#random() : 0;
      await this.#outage.pause(startedMs + this.#times.retryMs + spreadMs - this.#clock.nowMs(), signal);
      await this.#ending;
    }
  }

  /** Tries once to take or to renew the Lease. The next attempt follows a failure. */
  async #attempt(): Promise<void> {
    try {
      for (let writes = 0; writes < writesMax; writes += 1) if (await this.#seek()) return;
    } catch (error) {
      const { log, lease } = this.#options;
      log.warn(
        { lease: lease.name, leading: this.#term !== undefined, error: describeError(error) },
        "lease attempt failed",
      );
    }
  }

  /** Returns false when another process wrote meanwhile, so that a second try at once makes sense. */
  async #seek(): Promise<boolean> {
    const { identity } = this.#options;
    // Only the leader knows the Lease without a read: no other process writes it.
    const lease = (this.#term === undefined ? undefined : this.#lease) ?? (await this.#read());
    const nowMs = this.#clock.nowMs();
    if (lease !== undefined) {
      this.#seen = observe(this.#seen, lease, nowMs);
      if (!mayTake(lease, identity, this.#seen, nowMs, this.#times.leaseMs)) {
        this.#lease = lease;
        this.#endTerm("taken by another");
        return true;
      }
    }
    try {
      this.#hold(await this.#write(lease), nowMs);
      return true;
    } catch (error) {
      this.#lease = undefined;
      if (isKubeError(error, "conflict", "alreadyExists", "notFound")) return false;
      throw error;
    }
  }

  #hold(lease: Lease, sinceMs: number): void {
    const nowMs = this.#clock.nowMs();
    this.#lease = lease;
    this.#seen = observe(this.#seen, lease, nowMs);
    this.#heldUntilMs = sinceMs + this.#times.renewDeadlineMs;
    this.#cancelEnd?.();
    this.#cancelEnd = this.#clock.after(this.#heldUntilMs - nowMs, () => this.#endTerm("not renewed in time"));
    if (this.#term === undefined && this.#ending === undefined && !this.#stopping.signal.aborted) this.#beginTerm();
  }

  #beginTerm(): void {
    const { onStarted, log, metrics, lease, identity } = this.#options;
    const term = new AbortController();
    this.#term = term;
    metrics.leader.set({ name: lease.name }, 1);
    log.info({ lease: lease.name, identity }, "leading");
    void settled(() => onStarted(term.signal)).then((error) => {
      if (error === undefined) return;
      log.error({ lease: lease.name, error: describeError(error) }, "start as leader failed");
      if (this.#term === term) this.#endTerm("could not start");
    });
  }

  #endTerm(reason: string): void {
    if (this.#term === undefined) return;
    const { onStopped, log, metrics, lease, identity } = this.#options;
    this.#term.abort();
    this.#term = undefined;
    this.#cancelEnd?.();
    metrics.leader.set({ name: lease.name }, 0);
    log.info({ lease: lease.name, identity, reason }, "leadership lost");
    this.#ending = settled(onStopped).then((error) => {
      this.#ending = undefined;
      if (error !== undefined) log.error({ lease: lease.name, error: describeError(error) }, "stop as leader failed");
    });
  }

  async #read(): Promise<Lease | undefined> {
    const { client, lease } = this.#options;
    try {
      return await client.get<Lease>(leaseType, lease, this.#callOptions());
    } catch (error) {
      if (isKubeError(error, "notFound")) return undefined;
      throw error;
    }
  }

  /** The resource version makes the write fail after another write. */
  async #write(lease: Lease | undefined): Promise<Lease> {
    const { client, identity, lease: ref } = this.#options;
    const spec = heldBy(identity, lease?.spec ?? {}, this.#times.leaseMs, this.#clock.wallMs());
    const options = this.#callOptions();
    if (lease === undefined) return await client.create<Lease>(leaseType, { metadata: ref, spec }, options);
    return await client.replace<Lease>(leaseType, { ...lease, spec }, options);
  }

  /** Uses its own connections, so that no other calls can delay a renewal. */
  #callOptions(): CallOptions {
    return { retry: singleTry(this.#times.callTimeoutMs), pool: "lease" };
  }

  async #release(): Promise<void> {
    const { client, identity, log, lease: ref } = this.#options;
    try {
      const lease = this.#lease ?? (await this.#read());
      if (lease?.spec?.holderIdentity !== identity) return;
      const free = { ...lease, spec: released(lease.spec, this.#clock.wallMs()) };
      this.#lease = await client.replace<Lease>(leaseType, free, this.#callOptions());
    } catch (error) {
      log.warn({ lease: ref.name, error: describeError(error) }, "lease not released; it will expire");
    } finally {
      this.#cancelEnd?.();
    }
  }
}

/** Returns the error of the call, or undefined. */
async function settled(call: () => void | Promise<void>): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error ?? new Error("failed without a reason");
  }
}
