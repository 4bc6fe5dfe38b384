import type { Bucket, BucketEntry } from "../../nats/streams/buckets.ts";
import { ownerOf } from "../../pods/owner-of.ts";
import { untilAnswered } from "../../nats/connection/retry-until-answered.ts";
import type { StreamClock } from "../../nats/connection/stream-clock.ts";
import { laneLeaseMs, laneUseMs, type LeaseClock } from "../../nats/connection/lease-clock.ts";
import type { Log } from "../log.ts";
import { beatValue, earlierLeaseMs, livePods, sendBeat, untilGoneMs } from "./heartbeats.ts";

export interface LaneOwnershipDeps {
  readonly bucket: Bucket;
  readonly clock: StreamClock;
  readonly leases: LeaseClock;
  readonly podId: string;
  readonly log: Log;
  /** Called after the set of live pods changed. */
  readonly onChange: () => void;
  /** Called when other pods may have taken this one for gone, before {@link onChange}. */
  readonly onLapse: () => void;
}

const beatMs = 500;
/** Shortest time between two heartbeats. */
const beatMsMin = 50;
/** JetStream measured so much more between two heartbeats that the clocks of this pod stood still. */
const skippedMsMin = 1_000;
/** Age of a heartbeat below which its pod may still begin attempts: twice that of a pod that counts as gone. */
const livelyMs = 2 * earlierLeaseMs;
/** After an outage of JetStream, the live pods stay for so long without a new heartbeat. */
const graceMs = 2_000;
/** Time limit of the first heartbeat. */
const startMsMax = 30_000;

/**
 * Selects the owner of each lane among the live pods. Only the owner pulls the messages of the lane. The age of
 * heartbeats is measured by JetStream's clock.
 */
export class LaneOwnership {
  readonly #deps: LaneOwnershipDeps;
  readonly #key: string;
  #live: readonly string[];
  #knowDirect = false;
  #lastBeatMs = performance.now();
  /** Resolves with the next heartbeat. */
  #next = Promise.withResolvers<void>();
  /** Time of the last heartbeat of any other process, or of its removal, by JetStream's clock. */
  #othersMs = Number.NEGATIVE_INFINITY;
  /** The last heartbeat: when it was sent, by the lease clock, and when JetStream stored it. */
  #lease: { readonly sentMs: number; readonly storedAtMs: number } | undefined;
  #graceUntilMs = 0;
  /** Milliseconds from the last heartbeat until another pod counts as gone, unless it sends one. */
  #untilGoneMs = Number.POSITIVE_INFINITY;
  #isSilent = false;
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
   * @throws Unanswered when JetStream does not answer for half a minute
   */
  async start(): Promise<void> {
    // An earlier process may have had the name of this pod.
    this.#meet(await untilAnswered(() => this.#deps.bucket.times(), { giveUpAfterMs: startMsMax }));
    await untilAnswered(() => this.#update(), { giveUpAfterMs: startMsMax });
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
  knowDirect(): boolean {
    return this.#knowDirect;
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

  /**
   * Milliseconds until the attempts of previous owners have ended that a pod begins by its last heartbeat; 0 when there
   * was no other pod.
   *
   * @param endMs time after its last heartbeat at which all attempts of a pod have ended
   */
  othersEndMs(endMs: number): number {
    const ageMs = this.#deps.clock.now() - this.#othersMs;
    // A live pod learns of this one with its next heartbeat.
    return ageMs < livelyMs ? endMs : Math.max(0, endMs - ageMs);
  }

  /** Milliseconds since JetStream last stored a heartbeat of this pod. */
  silentMs(): number {
    return performance.now() - this.#lastBeatMs;
  }

  /** Deletes the heartbeat of this pod, so that other pods take its lanes at once. Never rejects. */
  async leave(): Promise<void> {
    this.#hasLeft = true;
    clearTimeout(this.#timer);
    await this.#beat;
    await this.#deps.bucket.remove(this.#key).catch(() => undefined);
  }

  async #update(): Promise<void> {
    const { entries, ...lease } = await sendBeat(this.#deps, this.#key);
    this.#renew(lease);
    const found = livePods(entries, this.#key, this.#deps.clock.now());
    this.#meet(entries.filter(({ key }) => key !== this.#key));
    const knowDirect = entries.every(({ key, value }) => value === beatValue || !found.includes(key));
    this.#untilGoneMs = untilGoneMs(entries, this.#key, this.#deps.clock.now());
    if (this.silentMs() > laneLeaseMs) {
      // After an outage of JetStream all heartbeats are old. The live pods stay until the others have sent new ones.
      this.#graceUntilMs = performance.now() + graceMs;
    }
    this.#lastBeatMs = performance.now();
    const isGrace = this.#lastBeatMs < this.#graceUntilMs;
    const next = isGrace ? [...new Set([...this.#live, ...found])].sort() : found;
    this.#endWaits();
    if ((next.join() !== this.#live.join() || knowDirect !== this.#knowDirect) && !this.#hasLeft) {
      this.#live = next;
      this.#knowDirect = knowDirect;
      this.#deps.onChange();
    }
  }

  /** Takes a stored heartbeat. JetStream's times count too: both clocks of a suspended machine may stand still. */
  #renew(next: { readonly sentMs: number; readonly storedAtMs: number }): void {
    const { leases, onLapse } = this.#deps;
    const before = this.#lease ?? next;
    const passedMs = next.sentMs - before.sentMs;
    const skippedMs = next.storedAtMs - before.storedAtMs - passedMs;
    const isSkipped = skippedMs >= skippedMsMin;
    const isUnbroken = leases.isUnbrokenSince(before.sentMs);
    if (isSkipped) leases.skip(skippedMs);
    const sentMs = next.sentMs + (isSkipped ? skippedMs : 0);
    leases.confirm(sentMs);
    this.#lease = { ...next, sentMs };
    if (!isUnbroken || isSkipped || passedMs >= laneUseMs) onLapse();
  }

  #meet(others: readonly Pick<BucketEntry, "storedAtMs">[]): void {
    this.#othersMs = Math.max(this.#othersMs, ...others.map(({ storedAtMs }) => storedAtMs));
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
      this.#deps.log.warn({ err: error }, isSilent ? "heartbeat not stored" : "heartbeat stored again");
    }
  }
}

/** Heartbeats are at multiples of their period, also after one that took most of it. */
function msToNextBeat(nowMs: number): number {
  const ms = beatMs - (nowMs % beatMs);
  return ms < beatMsMin ? ms + beatMs : ms;
}

/** The bucket key of a pod, which must be one subject token. */
export function podKey(podId: string): string {
  return podId.replaceAll(/[^\w-]/gu, "_");
}
