import type { LaneQueue } from "../nats/layout.ts";
import type { Pull } from "../nats/pull.ts";
import type { PulledMessage } from "../nats/pulled-message.ts";
import { storeDeadLetter } from "./carry-out.ts";
import { unreadableLetter } from "./dead-letters.ts";
import type { DeliveryContext, LaneControl, Work } from "./delivery-context.ts";
import { readItem, type DeliveryItem } from "./delivery-item.ts";
import { deliver } from "./delivery.ts";
import { createInFlight } from "./in-flight.ts";
import type { Partner } from "./partner.ts";
import { Slots } from "./slots.ts";
import { createSuspicion, type Suspicion } from "./suspicion.ts";

/** Pulls and delivers the messages of one partner while this pod is its home. */
export interface PartnerWorker {
  /**
   * What is wanted from now on: the next attempt already obeys `partner`; pulls start, change or end as soon as
   * JetStream has answered. Cheap when nothing changed.
   */
  set(partner: Partner, isPulling: boolean): void;
  keepAlive(): void;
  /** Attempts under way and messages that wait for one. */
  readonly inFlight: number;
  /** Pulls nothing more; resolves when what is in work has ended, or after the bound. */
  stop(drainMs: number): Promise<void>;
}

/** Retries may take at most this part of the attempts under way, so that they never hold back fresh events. */
const retryShare = 0.25;
/** Messages asked for in advance at most. */
const creditMax = 256;
const retryPauseMs = 1_000;

/** Attempts that each queue may have under way; together never more than the partner allows, unless that is one. */
export function shareInFlight(maxInFlight: number, hasRetries: boolean): Readonly<Record<LaneQueue, number>> {
  const retry = Math.max(1, Math.floor(maxInFlight * retryShare));
  return { first: hasRetries ? Math.max(1, maxInFlight - retry) : maxInFlight, retry };
}

/**
 * Creates a worker that does nothing until it is told what is wanted.
 *
 * @param turns shared by all workers of a pod: as many of them change consumers at once as there are places
 */
export function createPartnerWorker(context: DeliveryContext, partner: Partner, turns: Slots): PartnerWorker {
  return new Worker(context, partner, turns);
}

class Worker implements PartnerWorker, LaneControl {
  readonly #context: DeliveryContext;
  readonly #turns: Slots;
  readonly #slots: Slots;
  readonly #inFlight = createInFlight<Work>((error, work) => this.#logFailure(error, work));
  readonly #pulls = new Map<LaneQueue, Pull>();
  #partner: Partner;
  #isWanted = false;
  /** Dead letters that cannot be stored now. */
  #blocks = 0;
  /** Specification that answered 410 here; other pods read the stored mark. */
  #disabledDigest: string | undefined;
  /** What JetStream was last told about the consumers. */
  #ensured = "";
  #hasRetries: boolean | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(context: DeliveryContext, partner: Partner, turns: Slots) {
    this.#context = context;
    this.#turns = turns;
    this.#partner = partner;
    this.#slots = new Slots(partner.config.delivery.maxInFlight);
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  set(partner: Partner, isPulling: boolean): void {
    const isSame = this.#partner === partner && this.#isWanted === isPulling;
    this.#partner = partner;
    this.#isWanted = isPulling;
    this.#slots.resize(partner.config.delivery.maxInFlight);
    if (!isSame) {
      this.#reconcileSoon();
    }
  }

  keepAlive(): void {
    this.#inFlight.keepAlive();
  }

  async stop(drainMs: number): Promise<void> {
    this.#isWanted = false;
    this.#reconcileSoon();
    await this.#work;
    await this.#inFlight.idle(drainMs);
  }

  async prepareRetries(): Promise<void> {
    if (this.#hasRetries === true) {
      return;
    }
    this.#hasRetries = true;
    const { lane } = this.#partner;
    try {
      await this.#ensure(this.#partner, "retry", lane);
    } catch (error) {
      this.#hasRetries = undefined;
      throw error;
    }
    this.#reconcileSoon();
  }

  disable(partner: Partner): void {
    this.#disabledDigest = partner.config.specDigest;
    this.#context.log.warn(
      { partner: partner.label },
      "partner answered 410: disabled until its specification changes",
    );
    this.#reconcileSoon();
  }

  block(isBlocked: boolean): void {
    const before = this.#blocks;
    this.#blocks += isBlocked ? 1 : -1;
    if (before === 0 || this.#blocks === 0) {
      this.#context.metrics.blockedPartners.inc(isBlocked ? 1 : -1);
      this.#reconcileSoon();
    }
  }

  /** One reconciliation at a time; each looks at what is wanted when it starts. */
  #reconcileSoon(): void {
    this.#work = this.#work.then(() => this.#reconcileInTurn());
  }

  async #reconcileInTurn(): Promise<void> {
    await this.#turns.acquire();
    try {
      await this.#reconcile();
    } catch (error) {
      this.#reconcileLater(error);
    } finally {
      this.#turns.release();
    }
  }

  #reconcileLater(error: unknown): void {
    this.#context.log.warn(
      { err: error, partner: this.#partner.label },
      "consumers of the partner not ready, trying again",
    );
    setTimeout(() => this.#reconcileSoon(), retryPauseMs).unref();
  }

  async #reconcile(): Promise<void> {
    const partner = this.#partner;
    if (!this.#isWanted || this.#blocks > 0 || !(await this.#mayPull(partner))) {
      await this.#stopPulls();
      return;
    }
    this.#hasRetries ??= await this.#context.deliveries.hasConsumer("retry", partner.lane);
    const queues: readonly LaneQueue[] = this.#hasRetries ? ["first", "retry"] : ["first"];
    const wanted = `${partner.config.specDigest} ${queues.join()}`;
    if (this.#ensured !== wanted) {
      await Promise.all(queues.map((queue) => this.#ensure(partner, queue, partner.lane)));
      this.#ensured = wanted;
    }
    queues.filter((queue) => !this.#pulls.has(queue)).forEach((queue) => this.#startPull(queue, partner.lane));
  }

  async #mayPull(partner: Partner): Promise<boolean> {
    if (partner.signers.length === 0) {
      this.#context.log.error({ partner: partner.label }, "the signing key of the partner is missing: nothing is sent");
      return false;
    }
    if (this.#disabledDigest === partner.config.specDigest) {
      return false;
    }
    return this.#pulls.size > 0 || !(await this.#context.disabled.isDisabled(partner));
  }

  #ensure(partner: Partner, queue: LaneQueue, lane: string): Promise<void> {
    const { config, label } = partner;
    const maxAckPending = shareInFlight(config.delivery.maxInFlight, this.#hasRetries === true)[queue];
    const metadata = {
      partner: label,
      uid: config.uid,
      retry_schedule_seconds: config.retry.scheduleSeconds.join(" "),
      retry_max_age_seconds: String(config.retry.maxAgeSeconds),
      retry_jitter_percent: String(config.retry.jitterPercent),
    };
    return this.#context.deliveries.ensureConsumer({ queue, lane, maxAckPending, metadata });
  }

  #startPull(queue: LaneQueue, lane: string): void {
    const suspicion = createSuspicion(() => this.#partner.config.delivery.maxInFlight);
    const pull = this.#context.deliveries.pull(queue, lane, {
      credit: () => {
        const share = shareInFlight(this.#partner.config.delivery.maxInFlight, this.#hasRetries === true);
        return Math.min(share[queue], creditMax);
      },
      onMessage: (message) => this.#accept(message, suspicion),
      onOpen: () => suspicion.raise(),
      repair: () => this.#ensure(this.#partner, queue, lane),
    });
    this.#pulls.set(queue, pull);
  }

  async #stopPulls(): Promise<void> {
    const pulls = [...this.#pulls.values()];
    this.#pulls.clear();
    // While another pod pulls, it may change the consumers.
    this.#ensured = "";
    this.#hasRetries = undefined;
    await Promise.all(pulls.map((pull) => pull.stop()));
  }

  #accept(message: PulledMessage, suspicion: Suspicion): void {
    const item = readItem(message);
    if (item === undefined) {
      this.#dropUnreadable(message);
      return;
    }
    const start = (held: PulledMessage): Work => ({ item, suspicion, message: held, sinceMs: performance.now() });
    this.#inFlight.take(message, start, (work) => this.#run(work));
  }

  async #run(work: Work): Promise<void> {
    const { inFlight } = this.#context.metrics;
    await this.#slots.acquire();
    inFlight.inc();
    try {
      if (this.#isWanted) {
        await deliver(this.#context, work, this.#partner, this);
      } else {
        // It waited for a place while the partner was paused or got another home.
        work.message.release();
      }
    } finally {
      inFlight.dec();
      this.#slots.release();
    }
  }

  #dropUnreadable(message: PulledMessage): void {
    const { subject, seq, data } = message;
    this.#context.log.error({ subject, seq }, "a message of the deliveries stream is no delivery");
    storeDeadLetter(this.#context, unreadableLetter(this.#partner.token, subject, seq, data), this)
      .then(() => message.ack())
      .catch((error: unknown) => this.#context.log.error({ err: error, subject, seq }, "not stored as a dead letter"));
  }

  #logFailure(error: unknown, { item }: { readonly item: DeliveryItem }): void {
    if (!this.#context.ending.aborted) {
      const { eventId, tenant, attempt } = item;
      this.#context.log.error(
        { err: error, eventId, tenant, attempt, partner: this.#partner.label },
        "attempt failed here",
      );
    }
  }
}
