import type { Clock } from "../../../limits/clock.ts";
import { directShare } from "./own-lane-consumers.ts";
import type { Partner } from "../partners/partner.ts";
import type { DeliveryRecord } from "../records/delivery-record.ts";
import type { Health } from "../settlement/circuit-breaker.ts";
import type { DeliveryToAttempt } from "../delivery/attempt-once.ts";
import type { SharedByWorkers } from "./lane-worker.ts";

/** Time of an attempt from which its partner is slow: its other deliveries are stored. */
const slowMs = 250;
/** Added to the time limit of an attempt: the previous owner may learn late that the lane is gone, or get a token. */
const takeOverMarginMs = 5_000;

interface DirectAttemptsDeps {
  readonly clock: Clock;
  readonly shared: Pick<SharedByWorkers, "directSlots" | "direct" | "ownership">;
  /** Called when the attempts of the previous owner have ended. Resolves when JetStream fills their places. */
  readonly onTakenOver: () => Promise<void>;
}

/**
 * The attempts of one partner that are made straight from events. After a pod takes the lane, those of the previous
 * owner may still be under way, and JetStream does not count them. Until they have ended, by the last heartbeats of
 * other pods, the new owner makes none and leaves their places free. A pod that was always alone waits for nobody.
 */
export class DirectAttempts {
  readonly #deps: DirectAttemptsDeps;
  /** The attempts under way and their ends, in the order of their starts. */
  readonly #underWay = new Map<DeliveryToAttempt, Promise<void>>();
  #isOwner = false;
  /** True when no attempt of a previous owner is under way. */
  #isAlone = false;
  #takeOverMs = 0;
  /** Heartbeat since which this pod owns the lane. */
  #ownedSince = 0;
  /** True when JetStream fills all places of this ownership. */
  #isFilled = false;
  /** True when a heartbeat after that found no other owner, who would have left places free. */
  #isConfirmed = false;
  /** End of the wait for previous owners, by the monotonic clock. */
  #aloneAtMs = 0;
  /** True when the last attempt, from an event or stored, found the partner healthy and fast. */
  #isHealthy = true;

  constructor(deps: DirectAttemptsDeps) {
    this.#deps = deps;
  }

  /** Takes the specification of the partner, and whether this pod owns its lane. */
  set({ config, key }: Partner, isOwner: boolean): void {
    const { shared, clock } = this.#deps;
    // The previous owner may have an earlier specification, with another time limit.
    this.#takeOverMs = Math.max(this.#takeOverMs, config.endpoint.timeoutMs + takeOverMarginMs);
    if (isOwner === this.#isOwner) return;
    this.#isOwner = isOwner;
    this.#ownedSince = shared.ownership.revision();
    const waitMs = isOwner ? this.#othersEndMs(key) : 0;
    this.#aloneAtMs = clock.nowMs() + waitMs;
    this.#isAlone = isOwner && waitMs === 0;
    this.#isFilled = false;
    this.#isConfirmed = this.#isAlone;
  }

  /**
   * Called after each heartbeat, since the wait for previous owners ends only with what other pods have reported now.
   * It ends when they name nothing that is under way, or when the time is over.
   */
  refresh({ key }: Partner): void {
    if (this.#isAlone) this.#isConfirmed ||= this.#isFilled;
    const isWaiting = this.#isOwner && !this.#isAlone;
    if (isWaiting && (this.#deps.clock.nowMs() >= this.#aloneAtMs || this.#othersEndMs(key) === 0)) {
      this.#isAlone = true;
      const ownedSince = this.#ownedSince;
      void this.#deps.onTakenOver().then(() => (this.#isFilled ||= ownedSince === this.#ownedSince));
    }
  }

  observe(health: Health, tookMs: number): void {
    this.#isHealthy = health === "healthy" && tookMs < slowMs;
  }

  /** Places that the previous owner of the lane may still use. */
  reserved({ config }: Partner): number {
    return this.#isAlone ? 0 : directShare(config.delivery.maxInFlight);
  }

  /** True when one more attempt may begin: the partner responds, and its limit and that of the pod are not reached. */
  mayBegin({ config, key }: Partner): boolean {
    const [oldest] = this.#underWay.keys();
    const isSlow = oldest !== undefined && this.#deps.clock.nowMs() - oldest.sinceMs >= slowMs;
    const isFull = this.#underWay.size >= directShare(config.delivery.maxInFlight);
    return this.#isConfirmed && this.#isHealthy && !isSlow && !isFull && this.#deps.shared.ownership.isNamed(key);
  }

  /** Makes an attempt; resolves with whether the delivery has ended. */
  async run(attempt: DeliveryToAttempt, deliver: () => Promise<boolean>): Promise<boolean> {
    const { direct, directSlots } = this.#deps.shared;
    const { did, partner } = attempt.delivery;
    const end = Promise.withResolvers<void>();
    this.#underWay.set(attempt, end.promise);
    direct.set(did, attempt);
    try {
      return await deliver();
    } finally {
      this.#underWay.delete(attempt);
      direct.delete(did);
      directSlots.release(partner);
      end.resolve();
    }
  }

  #othersEndMs(key: string): number {
    return this.#deps.shared.ownership.othersEndMs(key, this.#takeOverMs, this.#ownedSince);
  }

  /** The end of the attempt of this delivery, whose record is stored then; undefined when none is under way here. */
  endOf({ did }: Pick<DeliveryRecord, "did">): Promise<void> | undefined {
    const attempt = this.#deps.shared.direct.get(did);
    return attempt && this.#underWay.get(attempt);
  }

  /** Resolves when the attempts that are under way now have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }
}
