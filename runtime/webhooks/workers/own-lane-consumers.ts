import { laneQueues, type LaneQueue } from "../../nats/layout.ts";
import type { DeliveryContext } from "../delivery/delivery-context.ts";
import type { Partner } from "../partners/partner.ts";
import type { LaneConsumer } from "../../nats/streams/deliveries-stream.ts";

/** Largest share of retries among the attempts in flight, so that retries do not delay new events. */
const retryShare = 0.25;

/** The consumers of a partner's own lane: one of first attempts and, after the first failure, one of retries. */
export class OwnLaneConsumers {
  readonly #deliveries: DeliveryContext["deliveries"];
  /** True when the partner's circuit breaker is closed. */
  readonly #isClosed: () => boolean;
  /** Places of first attempts that JetStream must not fill. */
  readonly #reserved: (partner: Partner) => number;
  /** The consumers as they were last requested from JetStream. */
  #ensured = "";
  #hasRetries: boolean | undefined;
  /** True when the consumers were paused by this pod or by the previous owner. */
  #isPaused = false;
  /** True when this pod has owned the lane since it last read the pause. A pause found now is then its own. */
  #isOwnPause = false;

  constructor(
    { deliveries }: Pick<DeliveryContext, "deliveries">,
    isClosed: () => boolean,
    reserved: (partner: Partner) => number,
  ) {
    this.#deliveries = deliveries;
    this.#isClosed = isClosed;
    this.#reserved = reserved;
  }

  get queues(): readonly LaneQueue[] {
    return this.#hasRetries === true ? laneQueues : ["first"];
  }

  /** Attempts that a queue may have under way. */
  share(partner: Partner, queue: LaneQueue): number {
    const share = shareInFlight(partner.config.delivery.maxInFlight, this.#hasRetries === true)[queue];
    return queue === "first" ? share - this.#reserved(partner) : share;
  }

  /** Creates or changes the consumer of a queue. While the breaker is not closed it gets one message at a time. */
  ensure(partner: Partner, queue: LaneQueue): Promise<void> {
    const ackPendingMax = this.#isClosed() ? this.share(partner, queue) : 1;
    return this.#deliveries.ensureConsumer(partnerConsumer(partner, queue, ackPendingMax));
  }

  /** Ensures the consumers of these queues; requests nothing when nothing has changed. */
  async ensureAll(partner: Partner, queues: readonly LaneQueue[]): Promise<void> {
    const wanted = `${partner.config.specDigest} ${queues.join()} ${this.#isClosed()} ${this.#reserved(partner)}`;
    if (this.#ensured !== wanted) {
      await Promise.all(queues.map((queue) => this.ensure(partner, queue)));
      this.#ensured = wanted;
    }
  }

  /** Reads the consumer of retries once; resolves with the milliseconds for which the previous owner paused it. */
  async findRetries({ lane }: Partner): Promise<number> {
    if (this.#hasRetries !== undefined) return 0;
    const state = await this.#deliveries.laneState("retry", lane);
    // It may have been created since the look-up began.
    this.#hasRetries ||= state !== undefined;
    const inheritedMs = this.#isOwnPause ? 0 : (state?.pausedMs ?? 0);
    this.#isPaused ||= inheritedMs > 0;
    this.#isOwnPause = true;
    return inheritedMs;
  }

  /** Creates the consumer of retries; false when it exists. */
  async createRetries(partner: Partner): Promise<boolean> {
    if (this.#hasRetries === true) return false;
    this.#hasRetries = true;
    try {
      await this.ensure(partner, "retry");
      // A look-up that began before, or a stall, may have discarded it.
      this.#hasRetries = true;
      return true;
    } catch (error) {
      this.#hasRetries = undefined;
      throw error;
    }
  }

  /** Discards the finding that there is no consumer of retries; false when there was no such finding. */
  discardAbsence(): boolean {
    const isDiscarded = this.#hasRetries === false;
    if (isDiscarded) this.#hasRetries = undefined;
    return isDiscarded;
  }

  /** Pauses the consumers at the server, so that no other pod gets their messages either. */
  async pause(partner: Partner, queues: readonly LaneQueue[], untilMs: number): Promise<void> {
    await Promise.all(queues.map((queue) => this.ensure(partner, queue)));
    await Promise.all(queues.map((queue) => this.#deliveries.pause(queue, partner.lane, untilMs)));
    this.#isPaused = true;
  }

  async resume({ lane }: Partner, queues: readonly LaneQueue[]): Promise<void> {
    if (this.#isPaused) {
      await Promise.all(queues.map((queue) => this.#deliveries.pause(queue, lane, 0)));
      this.#isPaused = false;
    }
  }

  /** The queue whose next message is the probe: retries when any wait. */
  async probeQueue({ lane }: Partner): Promise<LaneQueue> {
    const retries = await this.#deliveries.laneState("retry", lane);
    return (retries?.messages ?? 0) > 0 ? "retry" : "first";
  }

  /** Discards what is known about the consumers: another pod may change them while this one does not pull. */
  discard(isOwner: boolean): void {
    this.#ensured = "";
    this.#hasRetries = undefined;
    this.#isOwnPause &&= isOwner;
  }
}

/** Attempts in flight per queue. Their sum is at most `maxInFlight`, unless that is 1. */
export function shareInFlight(maxInFlight: number, hasRetries: boolean): Readonly<Record<LaneQueue, number>> {
  const retry = Math.max(1, Math.floor(maxInFlight * retryShare));
  return { first: hasRetries ? Math.max(1, maxInFlight - retry) : maxInFlight, retry };
}

/** Largest share of attempts straight from events among first attempts: a pod that takes a lane over waits for them. */
const directFirstShare = 0.5;

/** Attempts of a partner that are made straight from events at once; none for a small `maxInFlight`. */
export function directShare(maxInFlight: number): number {
  return Math.floor(shareInFlight(maxInFlight, true).first * directFirstShare);
}

/** The consumer of a queue of a partner's own lane. Its metadata shows the retry schedule in `nats consumer info`. */
function partnerConsumer({ config, label, lane }: Partner, queue: LaneQueue, maxAckPending: number): LaneConsumer {
  const metadata = {
    partner: label,
    uid: config.uid,
    retry_schedule_seconds: config.retry.scheduleSeconds.join(" "),
    retry_max_age_seconds: String(config.retry.maxAgeSeconds),
    retry_jitter_percent: String(config.retry.jitterPercent),
  };
  return { queue, lane, maxAckPending, metadata };
}

/**
 * Ensures the consumer of retries of a partner's own lane, which does not exist before the first failure. The pod that
 * pulls the lane finds a new consumer within seconds.
 */
export async function ensureRetries({ deliveries }: DeliveryContext, partner: Partner): Promise<void> {
  if ((await deliveries.laneState("retry", partner.lane)) !== undefined) return;
  await deliveries.ensureConsumer(
    partnerConsumer(partner, "retry", shareInFlight(partner.config.delivery.maxInFlight, true).retry),
  );
}
