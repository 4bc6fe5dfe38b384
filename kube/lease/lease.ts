import type { Logger } from "pino";
import type { CallOptions, KubeClient } from "../client/client.ts";
import { type Clock, systemClock } from "../clock.ts";
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
   * Who we are; no other process, nor an earlier one of ours, may have the same. For example pod name and a random
   * part.
   */
  readonly identity: string;
  /**
   * Called when we begin to lead. A failure ends the term.
   *
   * @param term aborted when the term ends: whatever acts as leader must end then
   */
  readonly onStarted: (term: AbortSignal) => void | Promise<void>;
  /**
   * Called after a term ended; resolves when nothing acts as leader any more. Only then the lease is released, or
   * sought again.
   */
  readonly onStopped: () => void | Promise<void>;
  readonly log: Logger;
  readonly metrics: KubeMetrics;
  /** Others take the lease when they saw no change of it for so long. @default 15 s */
  readonly leaseMs?: number;
  /** A term ends when no renewal succeeded for so long. @default 10 s */
  readonly renewDeadlineMs?: number;
  /** From the start of one attempt to the start of the next. @default 2 s */
  readonly retryMs?: number;
  /** Bound on one call. @default 3 s */
  readonly callTimeoutMs?: number;
  /** Its end brings the next attempt. @default none ever ends */
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
/** Candidates spread their looks at the lease, so that they do not all write at once when it becomes free. */
const retryJitter = 0.2;
/** A write that met a conflict is tried once more on what is there now. */
const writesMax = 2;

/**
 * Seeks and keeps a Lease, so that of all processes with its name at most one leads.
 *
 * A term is counted from *before* the last successful write was sent and ends {@link
 * LeaderElectionOptions.renewDeadlineMs} later at the latest, by a timer that no hanging call can hold up; others wait
 * for the longer {@link LeaderElectionOptions.leaseMs} since they saw that write. So a leader knows that it has lost
 * before anybody else can win, as long as the clocks of both run at about the same pace.
 */
export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #times: Times;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #outage: Outage;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  /** The lease as we last read or wrote it. */
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
    if (leaseMs <= renewDeadlineMs || renewDeadlineMs <= retryMs + 2 * callTimeoutMs) {
      throw new RangeError("leaseMs must exceed renewDeadlineMs, and that retryMs and two calls");
    }
    this.#options = options;
    this.#times = { leaseMs, renewDeadlineMs, retryMs, callTimeoutMs };
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#outage = options.outage ?? new Outage(this.#clock, this.#random);
    options.metrics.leader.set({ name: options.lease.name }, 0);
  }

  /** Starts seeking the lease. To be called once. */
  start(): void {
    if (this.#running !== undefined) throw new Error(`election for ${this.#options.lease.name} was started before`);
    this.#running = this.#run();
  }

  /**
   * Whether we lead at this very moment; true also stops being true when the process was frozen and no timer could
   * fire.
   */
  isLeader(): boolean {
    return this.#term !== undefined && this.#clock.nowMs() < this.#heldUntilMs;
  }

  /** Identity of who holds the lease, as last seen; undefined when nobody does. */
  leader(): string | undefined {
    const holder = this.#lease?.spec?.holderIdentity;
    return holder === "" ? undefined : holder;
  }

  /** Ends the term, waits for its work to end, and releases the lease if that was in time. */
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

  /** One attempt to take or to renew; failures are for the next one. */
  async #attempt(): Promise<void> {
    try {
      for (let writes = 0; writes < writesMax; writes += 1) {
        if (await this.#seek()) return;
      }
    } catch (error) {
      const { log, lease } = this.#options;
      log.warn(
        { lease: lease.name, leading: this.#term !== undefined, error: describeError(error) },
        "lease attempt failed",
      );
    }
  }

  /** False when somebody wrote meanwhile, so that it is worth another look at once. */
  async #seek(): Promise<boolean> {
    const { identity } = this.#options;
    // Only a leader knows the lease without looking: nobody else writes it.
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
      log.error({ lease: lease.name, error: describeError(error) }, "start of the term failed");
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
    log.info({ lease: lease.name, identity, reason }, "no longer leading");
    this.#ending = settled(onStopped).then((error) => {
      this.#ending = undefined;
      if (error !== undefined) log.error({ lease: lease.name, error: describeError(error) }, "end of the term failed");
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

  /** Its resource version makes the write fail when somebody wrote since. */
  async #write(lease: Lease | undefined): Promise<Lease> {
    const { client, identity, lease: ref } = this.#options;
    const spec = heldBy(identity, lease?.spec ?? {}, this.#times.leaseMs, this.#clock.wallMs());
    const options = this.#callOptions();
    if (lease === undefined) return await client.create<Lease>(leaseType, { metadata: ref, spec }, options);
    return await client.replace<Lease>(leaseType, { ...lease, spec }, options);
  }

  /** Connections of its own: no other call, however many there are, ends a term. */
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
      log.warn({ lease: ref.name, error: describeError(error) }, "lease not released; it expires by itself");
    } finally {
      this.#cancelEnd?.();
    }
  }
}

/** What the call failed with, or undefined. */
async function settled(call: () => void | Promise<void>): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error ?? new Error("failed without a reason");
  }
}
