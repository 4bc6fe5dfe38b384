import type { LaneQueue } from "../../nats/layout.ts";
import type { Pull } from "../../nats/messages/pull.ts";
import type { PulledMessage } from "../../nats/messages/pulled-message.ts";
import type { BreakerState, Health } from "../settlement/circuit-breaker.ts";
import type { InFlightBudget } from "./in-flight-budget.ts";
import { storeDeadLetter } from "../delivery/apply-settlement.ts";
import { unreadableDeadLetter } from "../records/dead-letter-record.ts";
import type { DeliveryContext, LaneControl, Work } from "../delivery/delivery-context.ts";
import { parseDeliveryRecord, type DeliveryRecord } from "../records/delivery-record.ts";
import { deliver } from "../delivery/deliver.ts";
import { createInFlight, type InFlight } from "../delivery/in-flight.ts";
import { maySendTo, type Partner } from "../partners/partner.ts";
import { partnerConsumer, shareInFlight } from "../delivery/partner-consumer.ts";
import { PartnerLimiter } from "./partner-limiter.ts";
import type { Semaphore } from "./semaphore.ts";
import { createRedeliveryCheck, type RedeliveryCheck } from "../delivery/redelivery-check.ts";

/** Pulls and delivers the messages of one partner while this pod is its home. */
export interface PartnerWorker {
  /**
   * What is wanted from now on: the next attempt already obeys `partner`; pulls start, change or end as soon as
   * JetStream has answered. Cheap when nothing changed.
   */
  set(partner: Partner, isPulling: boolean): void;
  keepAlive(): void;
  /** What is pulled now. */
  readonly queues: readonly LaneQueue[];
  /** The server has no consumers of these queues, which were pulled, and says nothing: they are made again. */
  startOver(queues: readonly LaneQueue[]): void;
  /** Attempts under way and messages that wait for one. */
  readonly inFlight: number;
  /** Somebody made a consumer of its retries, and put something there perhaps. */
  findRetries(): void;
  /** Pulls nothing more; resolves when what is in work has ended, or after the bound. */
  stop(drainMs: number): Promise<void>;
}

/** Messages asked for in advance at most, and at least as far as that is allowed. */
const creditMax = 256;
const creditMin = 8;
/** Tokens worth asking for messages again. */
const tokensWorthAsking = 16;
const tokensWaitMsMax = 50;
const retryPauseMs = 1_000;
/** A probe waits for a message of one queue this long before the other is looked at. */
const probeLookMs = 2_000;

/**
 * Creates a worker that does nothing until it is told what is wanted.
 *
 * @param shared by all workers of a pod
 */
export function createPartnerWorker(
  context: DeliveryContext,
  partner: Partner,
  shared: SharedByWorkers,
): PartnerWorker {
  return new Worker(context, partner, shared);
}

/** What all workers of a pod share. */
export interface SharedByWorkers {
  /** As many workers change consumers at once as there are places. */
  readonly turns: Semaphore;
  /** Bounds the messages in work. */
  readonly budget: InFlightBudget;
  /** The messages in work, by stream sequence. */
  readonly inWork: Map<number, Work>;
}

class Worker implements PartnerWorker, LaneControl {
  readonly #context: DeliveryContext;
  readonly #shared: SharedByWorkers;
  readonly #gate: PartnerLimiter;
  readonly #inFlight: InFlight<Work>;
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
  /** Whether the consumers were paused by this pod, or by the one before. */
  #isPaused = false;
  /** Whether a pause that is found was made here, as this pod has been the home since it last looked. */
  #isOwnPause = false;
  #waitsForTokens = false;
  #endProbeWait: () => void = () => undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(context: DeliveryContext, partner: Partner, shared: SharedByWorkers) {
    this.#context = context;
    this.#shared = shared;
    this.#partner = partner;
    this.#inFlight = createInFlight((error, work) => this.#logFailure(error, work), shared.inWork, context.clock);
    this.#gate = new PartnerLimiter(partner, {
      now: context.now,
      clock: context.clock,
      onBreaker: (state) => this.#onBreaker(state),
    });
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  set(partner: Partner, isPulling: boolean): void {
    const isSame = this.#partner === partner && this.#isWanted === isPulling;
    this.#partner = partner;
    this.#isWanted = isPulling;
    if (!isSame) {
      this.#gate.use(partner);
      this.#reconcileSoon();
    }
  }

  keepAlive(): void {
    this.#inFlight.keepAlive();
    this.#pulls.forEach((pull) => pull.watch());
  }

  get queues(): readonly LaneQueue[] {
    return [...this.#pulls.keys()];
  }

  startOver(queues: readonly LaneQueue[]): void {
    queues.forEach((queue) => this.#pulls.get(queue)?.startOver());
  }

  throttle(perMinute: number): Promise<void> {
    return this.#gate.throttle(perMinute);
  }

  observe(health: Health): void {
    this.#gate.observe(health);
  }

  async stop(drainMs: number): Promise<void> {
    this.#isWanted = false;
    this.#reconcileSoon();
    await this.#work;
    await this.#inFlight.idle(drainMs);
  }

  current(): Partner | undefined {
    return this.#isWanted && maySendTo(this.#partner, this.#context.now()) ? this.#partner : undefined;
  }

  async prepareRetries(): Promise<void> {
    if (this.#hasRetries === true) {
      return;
    }
    this.#hasRetries = true;
    try {
      await this.#ensure(this.#partner, "retry");
    } catch (error) {
      this.#hasRetries = undefined;
      throw error;
    }
    this.#reconcileSoon();
  }

  findRetries(): void {
    if (this.#hasRetries === false) {
      this.#hasRetries = undefined;
      this.#reconcileSoon();
    }
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
    await this.#shared.turns.acquire();
    try {
      await this.#reconcile();
    } catch (error) {
      this.#reconcileLater(error);
    } finally {
      this.#shared.turns.release();
    }
  }

  #reconcileLater(error: unknown): void {
    this.#context.log.warn(
      { err: error, partner: this.#partner.label },
      "consumers of the partner not ready, trying again",
    );
    this.#context.clock.after(retryPauseMs, () => this.#reconcileSoon());
  }

  async #reconcile(): Promise<void> {
    const partner = this.#partner;
    if (!this.#isWanted || this.#blocks > 0 || !(await this.#mayPull(partner))) {
      await this.#stopAll();
      this.#context.partnerMetrics.resting(partner.label, false);
      return;
    }
    await this.#lookAtRetries(partner);
    this.#context.partnerMetrics.resting(partner.label, !this.#isWell());
    const queues: readonly LaneQueue[] = this.#hasRetries === true ? ["first", "retry"] : ["first"];
    if (await this.#restIfSick(partner, queues)) {
      return;
    }
    const wanted = `${partner.config.specDigest} ${queues.join()} ${this.#isWell()}`;
    if (this.#ensured !== wanted) {
      await Promise.all(queues.map((queue) => this.#ensure(partner, queue)));
      this.#ensured = wanted;
    }
    const active = this.#isWell() ? queues : [await this.#probeQueue(partner)];
    await this.#stopPulls(queues.filter((queue) => !active.includes(queue)));
    active.filter((queue) => !this.#pulls.has(queue)).forEach((queue) => this.#startPull(queue, partner.lane));
  }

  /** Exactly one message flows: out of one queue, whose consumer hands out one at a time. */
  async #probeQueue({ lane }: Partner): Promise<LaneQueue> {
    this.#endProbeWait = this.#context.clock.after(probeLookMs, () => this.#reconcileSoon());
    const retries = await this.#context.deliveries.laneState("retry", lane);
    return (retries?.messages ?? 0) > 0 ? "retry" : "first";
  }

  /** Whoever was the home before may have paused the consumers. */
  async #lookAtRetries({ lane }: Partner): Promise<void> {
    if (this.#hasRetries !== undefined) {
      return;
    }
    const state = await this.#context.deliveries.laneState("retry", lane);
    this.#hasRetries = state !== undefined;
    if (state !== undefined && state.pausedMs > 0 && !this.#isOwnPause) {
      this.#isPaused = true;
      this.#gate.rest(this.#context.now() + state.pausedMs);
    }
    this.#isOwnPause = true;
  }

  /** While deliveries rest, the server hands nothing out either, whichever pod asks. */
  async #restIfSick({ lane }: Partner, queues: readonly LaneQueue[]): Promise<boolean> {
    const { breaker } = this.#gate;
    const { deliveries, now, clock } = this.#context;
    this.#endProbeWait();
    const restMs = breaker.kind === "open" ? breaker.untilMs - now() : 0;
    if (breaker.kind === "open" && restMs > 0) {
      await this.#stopAll();
      await Promise.all(queues.map((queue) => this.#ensure(this.#partner, queue)));
      await Promise.all(queues.map((queue) => deliveries.pause(queue, lane, breaker.untilMs)));
      this.#isPaused = true;
      this.#endProbeWait = clock.after(Math.max(1, breaker.untilMs - now()), () => this.#reconcileSoon());
      return true;
    }
    if (this.#isPaused) {
      await Promise.all(queues.map((queue) => deliveries.pause(queue, lane, 0)));
      this.#isPaused = false;
    }
    return false;
  }

  #isWell(): boolean {
    return this.#gate.breaker.kind === "closed";
  }

  #onBreaker(state: BreakerState): void {
    const isOpen = state.kind === "open";
    if (isOpen) {
      void this.#context.onBreakerOpen(this.#partner, state.restMs);
    }
    const partner = this.#partner.label;
    this.#context.log.warn(
      isOpen ? { partner, restMs: state.restMs } : { partner },
      isOpen ? "the partner fails: deliveries rest" : "deliveries to the partner go on",
    );
    this.#reconcileSoon();
  }

  async #mayPull(partner: Partner): Promise<boolean> {
    if (!maySendTo(partner, this.#context.now())) {
      this.#context.log.error({ partner: partner.label }, "the partner has no signing key in force: nothing is sent");
      return false;
    }
    if (this.#disabledDigest === partner.config.specDigest) {
      return false;
    }
    return this.#pulls.size > 0 || !(await this.#context.disabled.isDisabled(partner));
  }

  #ensure(partner: Partner, queue: LaneQueue): Promise<void> {
    const share = shareInFlight(partner.config.delivery.maxInFlight, this.#hasRetries === true)[queue];
    return this.#context.deliveries.ensureConsumer(partnerConsumer(partner, queue, this.#isWell() ? share : 1));
  }

  #startPull(queue: LaneQueue, lane: string): void {
    const redeliveryCheck = createRedeliveryCheck(() => this.#partner.config.delivery.maxInFlight);
    const pull = this.#context.deliveries.pull(queue, lane, {
      credit: () => this.#credit(queue),
      onMessage: (message) => this.#accept(message, redeliveryCheck),
      onOpen: () => redeliveryCheck.require(),
      repair: () => this.#ensure(this.#partner, queue),
    });
    this.#pulls.set(queue, pull);
  }

  /** Messages that may be under way here besides those in work. */
  #credit(queue: LaneQueue): number {
    const share = shareInFlight(this.#partner.config.delivery.maxInFlight, this.#hasRetries === true)[queue];
    const allowance = this.#gate.allowance() ?? creditMax;
    if (allowance === 0) {
      this.#topUpWithTokens();
    }
    // Whoever is busy asks for more in advance.
    const usual = Math.min(creditMax, Math.max(creditMin, 2 * this.#inFlight.size));
    return Math.min(share, usual, allowance, this.#shared.budget.share());
  }

  #topUp(): void {
    this.#pulls.forEach((pull) => pull.topUp());
  }

  #topUpWithTokens(): void {
    const waitMs = Math.min(tokensWaitMsMax, this.#gate.tokensInMs(tokensWorthAsking));
    if (waitMs > 0 && !this.#waitsForTokens) {
      this.#waitsForTokens = true;
      this.#context.clock.after(waitMs, () => {
        this.#waitsForTokens = false;
        this.#topUp();
      });
    }
  }

  async #stopAll(): Promise<void> {
    // While another pod pulls, it may change the consumers.
    this.#ensured = "";
    this.#hasRetries = undefined;
    this.#isOwnPause &&= this.#isWanted;
    await this.#stopPulls([...this.#pulls.keys()]);
  }

  async #stopPulls(queues: readonly LaneQueue[]): Promise<void> {
    const pulls = queues.map((queue) => this.#pulls.get(queue)).filter((pull) => pull !== undefined);
    queues.forEach((queue) => this.#pulls.delete(queue));
    await Promise.all(pulls.map((pull) => pull.stop()));
  }

  #accept(message: PulledMessage, redeliveryCheck: RedeliveryCheck): void {
    const delivery = parseDeliveryRecord(message);
    if (delivery === undefined) {
      this.#dropUnreadable(message);
      return;
    }
    const start = (held: PulledMessage): Work => ({
      delivery,
      redeliveryCheck,
      message: held,
      sinceMs: this.#context.clock.nowMs(),
    });
    this.#inFlight.take(message, start, (work) => this.#run(work));
  }

  async #run(work: Work): Promise<void> {
    const { budget } = this.#shared;
    budget.enter();
    try {
      if (!(await this.#gate.enter()) || !(await this.#runInside(work))) {
        // The pulls end first, else the server would hand it out again at once.
        await this.#work;
        work.message.release();
      }
    } finally {
      budget.leave();
    }
  }

  /**
   * False when nothing may be sent: the partner was held or paused, or got another home, since the message was pulled.
   */
  async #runInside(work: Work): Promise<boolean> {
    const { inFlight } = this.#context.metrics;
    inFlight.inc();
    try {
      if (this.#isWanted && (await deliver(this.#context, work, this.#partner, this)) === "done") {
        return true;
      }
      this.#reconcileSoon();
      return false;
    } finally {
      inFlight.dec();
      this.#gate.leave();
    }
  }

  #dropUnreadable(message: PulledMessage): void {
    const { subject, seq, data } = message;
    this.#context.log.error({ subject, seq }, "a message of the deliveries stream is no delivery");
    storeDeadLetter(this.#context, unreadableDeadLetter(this.#partner.key, subject, seq, data), this)
      .then(() => message.ack())
      .catch((error: unknown) => this.#context.log.error({ err: error, subject, seq }, "not stored as a dead letter"));
  }

  #logFailure(error: unknown, { delivery }: { readonly delivery: DeliveryRecord }): void {
    if (!this.#context.ending.aborted) {
      const { eventId, tenant, attempt } = delivery;
      this.#context.log.error(
        { err: error, eventId, tenant, attempt, partner: this.#partner.label },
        "attempt failed here",
      );
    }
  }
}
