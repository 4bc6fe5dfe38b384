import type { LaneQueue } from "../../nats/layout.ts";
import type { DeliveryContext, HeldEvent, LaneControl, Work } from "../delivery/delivery-context.ts";
import type { DeliveryRecord } from "../records/delivery-record.ts";
import { maySendTo, type Partner } from "../partners/partner.ts";
import type { Hold } from "../partners/partner-holds.ts";
import { causeOf, type BreakerState, type Effect, type OpenCause } from "../settlement/circuit-breaker.ts";
import { DirectAttempts } from "./direct-attempts.ts";
import { LaneWorker, type LanePolicy, type SharedByWorkers } from "./lane-worker.ts";
import { OwnLaneConsumers } from "./own-lane-consumers.ts";
import { PartnerLimiter } from "./partner-limiter.ts";
import { passPause } from "./partner-session.ts";

/** Bounds of the messages that are requested ahead without a rate. */
const creditMax = 256;
const creditMin = 8;
/** Tokens that make a new request for messages worthwhile. */
const tokensWorthwhile = 16;
const tokensWaitMsMax = 50;
/** Period at which a waiting probe checks which queue has a message. */
const probePollMs = 2_000;

/**
 * The lane of one partner. While its circuit breaker is open, the consumers are paused; then one message probes.
 * Nothing is pulled before {@link set}.
 */
export class OwnLane implements LanePolicy, LaneControl {
  readonly hasOnePartner = true;
  readonly worker: LaneWorker;
  readonly #context: DeliveryContext;
  readonly #limiter: PartnerLimiter;
  readonly #consumers: OwnLaneConsumers;
  readonly #direct: DirectAttempts;
  readonly #shared: SharedByWorkers;
  #partner: Partner;
  /** Dead letters that cannot be stored now. */
  #blocks = 0;
  /** Specification that responded with 410 here; other pods read the stored mark. */
  #disabledDigest: string | undefined;
  #waitsForTokens = false;
  /** Resolves when JetStream knows the places of this owner; undefined when it does. */
  #renewal: Promise<void> | undefined;
  /** Identifies the ownership of the lane by this pod; undefined while another pod owns it. */
  #ownership: object | undefined;
  /** The ownership for which the pause of the previous owner was read. */
  #restored: object | undefined;
  #endProbeWait: () => void = () => undefined;
  /** The pause that was logged last. */
  #reported: OpenCause | undefined;

  constructor(context: DeliveryContext, partner: Partner, shared: SharedByWorkers) {
    this.#context = context;
    this.#partner = partner;
    this.#limiter = new PartnerLimiter(partner, {
      now: context.now,
      clock: context.clock,
      onBreaker: (state) => this.#onBreaker(state),
      onPause: (state) => context.holds.keep(this.#partner, state),
    });
    this.#shared = shared;
    this.#direct = new DirectAttempts({ clock: context.clock, shared, onTakenOver: () => this.#reconciled() });
    this.#consumers = new OwnLaneConsumers(
      context,
      () => this.#isClosed(),
      (one) => this.#direct.reserved(one),
    );
    this.worker = new LaneWorker(context, shared, this);
  }

  get lane(): string {
    return this.#partner.key;
  }

  get logFields(): { readonly partner: string } {
    return { partner: this.#partner.label };
  }

  /**
   * Changes the partner or whether its lane is pulled. The next attempt uses `partner`; pulls change once JetStream has
   * answered. Does nothing when nothing has changed.
   *
   * @param isOwner whether this pod owns the lane. @default as `isPulling`
   */
  set(partner: Partner, isPulling: boolean, isOwner = isPulling): void {
    const isOther = this.#partner !== partner;
    this.#partner = partner;
    this.#direct.set(partner, isOwner);
    if (isOther) this.#limiter.use(partner);
    if (isOwner !== (this.#ownership !== undefined)) {
      this.#ownership = isOwner ? {} : undefined;
      if (!isOwner) this.#limiter.forget();
    }
    if (isOther && this.worker.isPulling === isPulling) this.worker.reconcile();
    this.worker.setPulling(isPulling);
  }

  /** Forgets what only the owner of the lane knows: another pod may have owned it since. */
  renew(): void {
    this.#direct.set(this.#partner, false);
    this.#consumers.discard(false);
    // The pause of the previous owner is read again.
    if (this.#ownership !== undefined) this.#ownership = {};
    this.worker.reconcile();
    const renewal = this.worker.reconciled.then(() => {
      if (this.#renewal === renewal) this.#renewal = undefined;
    });
    this.#renewal = renewal;
  }

  /** True while this pod owns the lane. */
  get isOwned(): boolean {
    return this.#ownership !== undefined;
  }

  /** As in {@link DirectAttempts}. */
  refresh(): void {
    this.#direct.refresh(this.#partner);
  }

  /** Reads the consumer of retries again, because one exists now. */
  findRetries(): void {
    if (this.#consumers.discardAbsence()) this.worker.reconcile();
  }

  throttle(perMinute: number): Promise<void> {
    return this.#limiter.throttle(perMinute);
  }

  observe(effect: Effect, tookMs: number, work: object): void {
    this.#direct.observe(effect.health, tookMs);
    if (this.#ownership !== undefined) this.#limiter.observe(effect, work);
    else passPause(this.#context, this.#partner, effect);
  }

  learn(_partner: Partner, hold: Hold): void {
    if (this.#ownership === undefined) return;
    if (hold === "disabled") {
      if (!this.#isDisabled()) this.disable(this.#partner);
    } else if (hold.untilMs > this.#context.now() && this.#limiter.restore(hold)) {
      this.#reported = hold.cause;
      this.worker.reconcile();
    }
  }

  /**
   * Makes a first attempt straight from its event. Undefined when the delivery must be stored first: something limits
   * attempts, stored deliveries wait, or the partner is slow, failing, or was another pod's a moment ago.
   */
  attemptDirectly(delivery: DeliveryRecord, event: HeldEvent): Promise<boolean> | undefined {
    return this.#mayAttemptDirectly() && this.#enterDirectly() ? this.#attemptDirectly(delivery, event) : undefined;
  }

  current(work: object): Partner | undefined {
    const mayBeSent = this.worker.isPulling && !this.#isDisabled() && this.#limiter.admits(work);
    return mayBeSent && maySendTo(this.#partner, this.#context.now()) ? this.#partner : undefined;
  }

  async prepareRetries(): Promise<void> {
    if (await this.#consumers.createRetries(this.#partner)) this.worker.reconcile();
  }

  disable(partner: Partner): void {
    this.#disabledDigest = partner.config.specDigest;
    this.#context.log.warn({ partner: partner.label }, "partner disabled after status 410");
    this.worker.reconcile();
  }

  block(isBlocked: boolean): void {
    const before = this.#blocks;
    this.#blocks += isBlocked ? 1 : -1;
    if (before === 0 || this.#blocks === 0) {
      this.#context.metrics.blockedPartners.inc(isBlocked ? 1 : -1);
      this.worker.reconcile();
    }
  }

  async reconcile(): Promise<void> {
    const partner = this.#partner;
    const { partnerMetrics } = this.#context;
    if (!this.worker.isPulling || this.#blocks > 0 || !(await this.#mayPull(partner))) {
      await this.#stopPulls();
      partnerMetrics.paused(partner.label, undefined);
      return;
    }
    await this.#takeOver();
    partnerMetrics.paused(partner.label, causeOf(this.#limiter.breaker));
    const { queues } = this.#consumers;
    if (!(await this.#pauseWhileOpen(partner, queues))) await this.#pull(partner, queues);
  }

  ensureConsumer(queue: LaneQueue): Promise<void> {
    return this.#consumers.ensure(this.#partner, queue);
  }

  credit(queue: LaneQueue): number {
    const allowance = this.#limiter.allowance() ?? creditMax;
    if (allowance === 0) this.#topUpWithTokens();
    // A lane with much in flight requests more ahead.
    const usual = Math.min(creditMax, Math.max(creditMin, 2 * this.worker.inFlight));
    return Math.min(this.#consumers.share(this.#partner, queue), usual, allowance);
  }

  inFlightMax(): number {
    return this.#partner.config.delivery.maxInFlight;
  }

  breakerOf(): BreakerState {
    return this.#limiter.breaker;
  }

  async handle(work: Work): Promise<void> {
    // Another router may have got the event before the record of its attempt was stored.
    const earlier = this.#direct.endOf(work.delivery);
    if (earlier !== undefined) {
      work.hasAttempt = true;
      await earlier;
    }
    if (!(await this.#limiter.enter(work)) || !(await this.#attempt(work))) {
      // The pulls end first. Otherwise the server would deliver the released message again at once.
      await this.worker.reconciled;
      // JetStream hands a released message to the next owner beyond its limit, which does not count direct attempts.
      await this.#direct.ended();
      work.message.release();
    }
  }

  /** False when nothing may be sent any more: the partner is held or paused, or another pod owns its lane. */
  async #attempt(work: Work): Promise<boolean> {
    try {
      const confirmed = this.worker.confirmed() ?? this.#renewal;
      // JetStream counted this message among the places of the previous owner, next to its direct attempts.
      if (confirmed !== undefined) await confirmed;
      else if (this.worker.isPulling && (await this.worker.attempt(work, this.#partner, this))) return true;
      this.worker.reconcile();
      return false;
    } finally {
      this.#limiter.leave(work);
    }
  }

  #mayAttemptDirectly(): boolean {
    const { isPulling, queues, waiting } = this.worker;
    const isPulled = isPulling && queues.includes("first") && waiting === 0;
    return isPulled && this.#blocks === 0 && !this.#isDisabled() && this.#direct.mayBegin(this.#partner);
  }

  /** Takes a place of the pod and one of the partner, or none. */
  #enterDirectly(): boolean {
    const { directSlots } = this.#shared;
    if (!directSlots.tryTake(this.lane)) return false;
    const isEntered = this.#limiter.tryEnter();
    if (!isEntered) directSlots.release(this.lane);
    return isEntered;
  }

  async #attemptDirectly(delivery: DeliveryRecord, event: HeldEvent): Promise<boolean> {
    const { clock, ending, log } = this.#context;
    const attempt = { delivery, sinceMs: clock.nowMs() };
    try {
      return await this.#direct.run(attempt, () => this.worker.attemptDirectly(attempt, event, this));
    } catch (error) {
      const { eventId, tenant } = delivery;
      if (!ending.aborted) log.error({ err: error, eventId, tenant, ...this.logFields }, "attempt failed");
      return false;
    } finally {
      this.#limiter.leave(attempt);
    }
  }

  /** Reads the consumers, and once for each ownership the pause of the previous owner. */
  async #takeOver(): Promise<void> {
    const ownership = this.#ownership;
    const partner = this.#partner;
    const isNew = ownership !== this.#restored;
    const [pausedMs, pause] = await Promise.all([
      this.#consumers.findRetries(partner),
      isNew ? this.#context.holds.read(partner) : undefined,
    ]);
    if (ownership !== this.#ownership || (isNew && partner !== this.#partner)) {
      // An edit meanwhile may have ended the pause that was read.
      await this.#takeOver();
      return;
    }
    if (pause !== undefined) {
      this.#limiter.restore(pause);
      this.#reported = pause.cause;
    } else if (pausedMs > 0) {
      // An earlier version paused the consumers and stored nothing.
      this.#limiter.openUntil(this.#context.now() + pausedMs);
    }
    this.#restored = ownership;
  }

  /** True while the breaker is open: the pulls have ended and the consumers are paused until it may be probed. */
  async #pauseWhileOpen(partner: Partner, queues: readonly LaneQueue[]): Promise<boolean> {
    const { breaker } = this.#limiter;
    const { now, clock } = this.#context;
    this.#endProbeWait();
    if (breaker.kind !== "open" || breaker.untilMs <= now()) {
      await this.#consumers.resume(partner, queues);
      return false;
    }
    await this.#stopPulls();
    await this.#consumers.pause(partner, queues, breaker.untilMs);
    this.#endProbeWait = clock.after(Math.max(1, breaker.untilMs - now()), () => this.worker.reconcile());
    return true;
  }

  /** Pulls all queues; while the breaker is not closed, the one that has a message for the probe. */
  async #pull(partner: Partner, queues: readonly LaneQueue[]): Promise<void> {
    await this.#consumers.ensureAll(partner, queues);
    const active = this.#isClosed() ? queues : [await this.#probeQueue(partner)];
    await this.worker.stopPulls(queues.filter((queue) => !active.includes(queue)));
    this.worker.startPulls(active);
  }

  #probeQueue(partner: Partner): Promise<LaneQueue> {
    this.#endProbeWait = this.#context.clock.after(probePollMs, () => this.worker.reconcile());
    return this.#consumers.probeQueue(partner);
  }

  #isDisabled(): boolean {
    return this.#disabledDigest === this.#partner.config.specDigest;
  }

  #isClosed(): boolean {
    return this.#limiter.breaker.kind === "closed";
  }

  #onBreaker(state: BreakerState): void {
    this.#report(state);
    this.worker.reconcile();
  }

  /** Reports a breaker that opened or closed. A pause that the partner requests again is reported once. */
  #report(state: BreakerState): void {
    const { log, onBreakerOpen } = this.#context;
    const partner = this.#partner.label;
    const before = this.#reported;
    this.#reported = causeOf(state);
    if (state.kind === "open" && state.cause === "failures") {
      void onBreakerOpen(this.#partner, state.restMs);
      log.warn({ partner, restMs: state.restMs }, "circuit breaker of the partner opened");
    } else if (state.kind === "open" && before !== "rate_limited") {
      log.info(
        { partner, reason: state.cause, restMs: state.restMs },
        "deliveries paused by a Retry-After of the partner",
      );
    } else if (state.kind === "closed" && before === "rate_limited")
      log.info({ partner, reason: before }, "deliveries to the partner resumed after its Retry-After");
    else if (state.kind === "closed") log.warn({ partner }, "circuit breaker of the partner closed");
  }

  async #mayPull(partner: Partner): Promise<boolean> {
    if (!maySendTo(partner, this.#context.now())) {
      this.#context.log.error({ partner: partner.label }, "signing key of the partner not found, deliveries paused");
      return false;
    }
    if (this.#isDisabled()) return false;
    return this.worker.queues.length > 0 || !(await this.#context.disabled.isDisabled(partner));
  }

  #reconciled(): Promise<void> {
    this.worker.reconcile();
    return this.worker.reconciled;
  }

  #topUpWithTokens(): void {
    const waitMs = Math.min(tokensWaitMsMax, this.#limiter.tokensInMs(tokensWorthwhile));
    if (waitMs > 0 && !this.#waitsForTokens) {
      this.#waitsForTokens = true;
      this.#context.clock.after(waitMs, () => {
        this.#waitsForTokens = false;
        this.worker.topUp();
      });
    }
  }

  async #stopPulls(): Promise<void> {
    this.#consumers.discard(this.worker.isPulling);
    await this.worker.stopPulls(this.worker.queues);
  }
}
