import type { Bucket } from "../../nats/streams/buckets.ts";
import { ownerOf } from "../../pods/pods.ts";
import { untilAvailable } from "../../nats/connection/retry-until-reply.ts";
import type { StreamClock } from "../../nats/connection/stream-clock.ts";
import { laneLeaseMs, laneUseMs, type LeaseClock } from "../../nats/connection/lease-clock.ts";
import type { Log } from "../log.ts";
import {
  podKey,
  type Lease,
  beatMsMin,
  beatValue,
  leftMs,
  livePods,
  msToNextBeat,
  removeBeat,
  sendBeat,
  untilGoneMs,
  OtherPods,
} from "./heartbeats.ts";

export interface LaneOwnershipDeps {
  readonly bucket: Bucket;
  readonly clock: StreamClock;
  readonly leases: LeaseClock;
  readonly podId: string;
  readonly log: Log;
  /** Keys of the partners whose lanes this pod owns, or for whom it has deliveries in work. */
  readonly held: () => ReadonlySet<string>;
  /** Called after the set of live pods changed. */
  readonly onChange: () => void;
  /** Called after each heartbeat, when others may have ended their attempts. */
  readonly onBeat: () => void;
  /** Called when other pods may have taken this one for gone, before {@link onChange}. */
  readonly onLapse: () => void;
}

/** Time for reading the heartbeats, whose server may be lost. It doubles with each read that fails. */
const readMs = { least: 500, most: 4_000 } as const;
/** Pause after a replica that lags behind has returned old heartbeats only of a pod that may be gone. */
const staleMs = 100;
/** JetStream measured so much more between two heartbeats that the clocks of this pod stood still. */
const skippedMsMin = 1_000;
/** After an outage of JetStream, the live pods stay for so long without a new heartbeat. */
const graceMs = 2_000;

/**
 * Selects the owner of each lane among the live pods. Only the owner pulls the messages of the lane. The age of
 * heartbeats is measured by JetStream's clock.
 */
export class LaneOwnership {
  readonly #deps: LaneOwnershipDeps;
  readonly #key: string;
  #live: readonly string[];
  #allPodsSupportDirect = false;
  #lastBeatMs = performance.now();
  /** Resolves with the next heartbeat. */
  #next = Promise.withResolvers<void>();
  readonly #others = new OtherPods();
  /** Partners that the last stored heartbeat names. */
  #named: ReadonlySet<string> = new Set();
  /** That of the last stored heartbeat. */
  #revision = 0;
  /** The last heartbeat: when it was sent, by the lease clock, and when JetStream stored it. */
  #lease: Lease | undefined;
  #graceUntilMs = 0;
  /** Milliseconds from the last heartbeat until another pod counts as gone, unless it sends one. */
  #untilGoneMs = Number.POSITIVE_INFINITY;
  #isSilent = false;
  #readMs: number = readMs.least;
  #timer: NodeJS.Timeout | undefined;
  #beat: Promise<void> = Promise.resolve();
  #hasLeft = false;

  constructor(deps: LaneOwnershipDeps) {
    this.#deps = deps;
    this.#key = podKey(deps.podId);
    this.#live = [this.#key];
  }

  /**
   * Sends the first heartbeat and starts the others. Resolves when JetStream has stored it and its clock is known.
   *
   * @throws the last error of JetStream when it is unavailable for half a minute
   */
  async start(): Promise<void> {
    // An earlier process may have had the name of this pod.
    const before = await untilAvailable(() => this.#deps.bucket.all());
    this.#others.meet(before, this.#deps.clock.now());
    await untilAvailable(() => this.#update());
    this.#schedule();
  }

  /** True when this pod owns the lane. */
  isOwner(lane: string): boolean {
    return ownerOf(lane, this.#live) === this.#key;
  }

  /** Keys of the live pods, including this one. */
  livePods(): readonly string[] {
    return this.#live;
  }

  /** True when every live pod recovers attempts that were made straight from events. */
  allPodsSupportDirect(): boolean {
    return this.#allPodsSupportDirect;
  }

  /**
   * True while every other pod counts this one as live, by the age of its last heartbeat at this moment. Unlike {@link
   * isOwner}, it is right after this process stood still.
   */
  isCurrent(): boolean {
    return this.#lease !== undefined && this.#deps.leases.nowMs() - this.#lease.sentMs < laneUseMs;
  }

  /**
   * Undefined while this process has not stood still since its last heartbeat. Otherwise resolves with the next one:
   * other pods may own its lanes.
   */
  confirmed(): Promise<void> | undefined {
    const isUnbroken = this.#lease !== undefined && this.#deps.leases.isUnbrokenSince(this.#lease.sentMs);
    return isUnbroken ? undefined : this.#next.promise;
  }

  /** True when the last stored heartbeat names this partner, so that the next owner of its lane knows of attempts. */
  isNamed(partner: string): boolean {
    return this.#named.has(partner);
  }

  /**
   * Milliseconds until the attempts to a partner have ended that other pods may have under way by their heartbeats.
   * 0: none are.
   *
   * @param endMs time after its last heartbeat at which all attempts of a pod have ended
   * @param ownedSince {@link revision} when this pod became the owner of the lane
   */
  othersEndMs(partner: string, endMs: number, ownedSince: number): number {
    return this.#others.endMs(partner, endMs, this.#deps.clock.now(), ownedSince);
  }

  /** Revision of the last stored heartbeat of this pod; 0 before the first one. */
  revision(): number {
    return this.#revision;
  }

  /** Milliseconds since JetStream last stored a heartbeat of this pod. */
  silentMs(): number {
    return performance.now() - this.#lastBeatMs;
  }

  /**
   * Deletes the heartbeat of this pod, so that other pods take its lanes at once. Never rejects.
   *
   * @param drained resolves when the work of this pod has ended. @default no work
   */
  async leave(drained: Promise<unknown> = Promise.resolve()): Promise<void> {
    this.#hasLeft = true;
    clearTimeout(this.#timer);
    await this.#beat;
    // What is in work may still end here.
    const named = await removeBeat(this.#deps.bucket, this.#key, this.#deps.held());
    await (named.size > 0 && drained);
    // The next owners use all places at once.
    const held = this.#deps.held();
    if (named.difference(held).size > 0) await removeBeat(this.#deps.bucket, this.#key, held);
  }

  async #update(): Promise<void> {
    const held = this.#deps.held();
    // What this heartbeat names no more ends with it, whether it is stored or not.
    this.#named = this.#named.intersection(held);
    const { entries, isUpToDate, ...lease } = await sendBeat(this.#deps, this.#key, held, () => this.#nextReadMs());
    this.#readMs = readMs.least;
    this.#named = held;
    const nowMs = this.#deps.clock.now();
    const others = entries.filter(({ key }) => key !== this.#key);
    this.#others.meet(others, nowMs);
    this.#renew(lease);
    const found = livePods(others, this.#key, nowMs);
    const allPodsSupportDirect = others.every((entry) => entry.value === beatValue || leftMs(entry, nowMs) <= 0);
    const isInDoubt = !isUpToDate && this.#live.some((pod) => !found.includes(pod));
    this.#untilGoneMs = isInDoubt ? staleMs : untilGoneMs(others, nowMs);
    if (this.silentMs() > laneLeaseMs) {
      // After an outage of JetStream all heartbeats are old. The live pods stay until the others have sent new ones.
      this.#graceUntilMs = performance.now() + graceMs;
    }
    this.#lastBeatMs = performance.now();
    // Nor does a pod go because a replica lags behind.
    const isGrace = this.#lastBeatMs < this.#graceUntilMs || !isUpToDate;
    const next = isGrace ? [...new Set([...this.#live, ...found])].sort() : found;
    this.#endWaits();
    if ((next.join() !== this.#live.join() || allPodsSupportDirect !== this.#allPodsSupportDirect) && !this.#hasLeft) {
      this.#live = next;
      this.#allPodsSupportDirect = allPodsSupportDirect;
      this.#deps.onChange();
    }
    this.#deps.onBeat();
  }

  /** Takes a stored heartbeat. JetStream's times count too: both clocks of a suspended machine may stand still. */
  #renew({ revision, ...next }: Lease & { readonly revision: number }): void {
    const { leases, onLapse } = this.#deps;
    const before = this.#lease ?? next;
    const passedMs = next.sentMs - before.sentMs;
    const storedMs = next.storedAtMs - before.storedAtMs;
    const isSkipped = storedMs - passedMs >= skippedMsMin;
    const isUnbroken = leases.isUnbrokenSince(before.sentMs);
    if (isSkipped) leases.skip(storedMs - passedMs);
    const sentMs = next.sentMs + (isSkipped ? storedMs - passedMs : 0);
    leases.confirm(sentMs);
    const isLapsed = !isUnbroken || isSkipped || Math.max(passedMs, storedMs) >= laneUseMs;
    this.#lease = { ...next, sentMs };
    this.#revision = revision;
    if (isLapsed) onLapse();
  }

  #nextReadMs(): number {
    const nextMs = this.#readMs;
    this.#readMs = Math.min(2 * nextMs, readMs.most);
    return nextMs;
  }

  #endWaits(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  #schedule(): void {
    // A pod that is gone is noticed at once, and not half a second later.
    const waitMs = Math.max(beatMsMin, Math.min(msToNextBeat(performance.now()), this.#untilGoneMs));
    this.#untilGoneMs = Number.POSITIVE_INFINITY;
    this.#timer = setTimeout(() => {
      this.#beat = this.#update()
        .then(() => this.#log(false))
        // Without JetStream the live pods are unknown, so the last owners stay.
        .catch((error: unknown) => this.#log(true, error))
        .finally(() => !this.#hasLeft && this.#schedule());
    }, waitMs);
    this.#timer.unref();
  }

  /** Logs when heartbeats begin to fail, and when they are stored again. */
  #log(isSilent: boolean, error?: unknown): void {
    if (isSilent !== this.#isSilent) {
      this.#isSilent = isSilent;
      this.#deps.log.warn({ err: error }, isSilent ? "heartbeat not stored" : "heartbeats stored again");
    }
  }
}
