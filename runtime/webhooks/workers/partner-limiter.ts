import { pause, type Clock } from "../../../limits/clock.ts";
import {
  afterAttempt,
  boundedPause,
  causeOf,
  closedBreaker,
  joinedPause,
  takenOver,
  type BreakerState,
  type Effect,
  type OpenBreaker,
} from "../settlement/circuit-breaker.ts";
import type { Partner } from "../partners/partner.ts";
import { RateLimiter } from "../../../limits/token-bucket.ts";
import { Semaphore } from "../../../limits/fair-places.ts";

interface PartnerLimiterDeps {
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
  /** Measures the rate and its waits. */
  readonly clock: Clock;
  /** Called after the breaker opened or closed. */
  readonly onBreaker: (state: BreakerState) => void;
  /** Called after every change of a pause that other pods must know. @default nothing */
  readonly onPause?: (state: BreakerState) => void;
}

const secondsPerMinute = 60;

/**
 * Limits of one partner: attempts at once, its rate, and its circuit breaker. The pod that owns the partner's lane
 * checks them before each attempt.
 */
export class PartnerLimiter {
  readonly #deps: PartnerLimiterDeps;
  readonly #semaphore: Semaphore;
  #partner: Partner;
  #rate: RateLimiter | undefined;
  /** The rate that the endpoint granted in its validation. */
  #granted: { readonly perMinute: number; readonly rate: RateLimiter } | undefined;
  #breaker: BreakerState = closedBreaker;
  /** The attempt that probes the partner; undefined when none does. */
  #probe: object | undefined;
  /** Callers that wait for the outcome of the probe. */
  #waiting: (() => void)[] = [];

  constructor(partner: Partner, deps: PartnerLimiterDeps) {
    this.#deps = deps;
    this.#partner = partner;
    this.#semaphore = new Semaphore(partner.config.delivery.maxInFlight);
    this.use(partner);
  }

  get breaker(): BreakerState {
    return this.#breaker;
  }

  /** Applies the limits of this specification from now on. */
  use(partner: Partner): void {
    const isOtherSpec = partner.config.specDigest !== this.#partner.config.specDigest;
    const isOtherUrl = partner.config.endpoint.url !== this.#partner.config.endpoint.url;
    this.#partner = partner;
    const { maxInFlight, rate } = partner.config.delivery;
    this.#semaphore.resize(maxInFlight);
    const nowMs = this.#deps.clock.nowMs();
    if (rate === undefined) this.#rate = undefined;
    else if (this.#rate === undefined) this.#rate = new RateLimiter(rate, nowMs);
    else this.#rate.change(rate, nowMs);
    if (isOtherSpec) this.#granted = undefined;
    if (isOtherSpec && this.#breaker.kind !== "closed") this.#edited(isOtherUrl);
  }

  /** Takes over the open breaker of the previous owner. Milliseconds of JetStream's clock. */
  openUntil(untilMs: number): void {
    const policy = this.#partner.config.circuitBreaker;
    if (policy !== undefined && this.#breaker.kind === "closed")
      this.#breaker = takenOver(untilMs, policy, this.#deps.now());
  }

  /** Takes over a pause that another owner of the lane found; false when it changes nothing. */
  restore(state: OpenBreaker): boolean {
    const bounded = boundedPause(state, this.#partner.config.circuitBreaker, this.#deps.now());
    const next = joinedPause(this.#breaker, bounded);
    // The shorter pause may have replaced this one in the bucket.
    if (next.untilMs !== bounded.untilMs || next.cause !== bounded.cause) this.#deps.onPause?.(next);
    if (next === this.#breaker) return false;
    this.#breaker = next;
    this.#probe = undefined;
    this.#wake();
    return true;
  }

  /** Closes the breaker without a report, because another pod owns the lane. */
  forget(): void {
    this.#probe = undefined;
    this.#breaker = closedBreaker;
    this.#wake();
  }

  /** Attempts that rate and breaker allow now; undefined without a limit. */
  allowance(): number | undefined {
    if (this.#breaker.kind !== "closed") return this.#isOpen() || this.#breaker.kind === "probing" ? 0 : 1;
    const nowMs = this.#deps.clock.nowMs();
    const rates = [this.#rate, this.#granted?.rate].filter((rate) => rate !== undefined);
    return rates.length === 0 ? undefined : Math.min(...rates.map((rate) => rate.available(nowMs)));
  }

  /** Milliseconds until the rates allow `count` attempts, or as many as they ever do at once; 0: now. */
  tokensInMs(count: number): number {
    const nowMs = this.#deps.clock.nowMs();
    return Math.max(this.#rate?.waitMs(count, nowMs) ?? 0, this.#granted?.rate.waitMs(count, nowMs) ?? 0);
  }

  /** Milliseconds until the breaker allows a probe; 0: now, or as soon as the probe under way ends. */
  opensInMs(): number {
    return this.#breaker.kind === "open" ? Math.max(0, this.#breaker.untilMs - this.#deps.now()) : 0;
  }

  /**
   * Resolves with true when the caller may make its attempt, and must {@link leave} afterwards; with false when the
   * breaker is open. Then nothing is to be left.
   *
   * @param by identifies the attempt
   */
  async enter(by: object = this): Promise<boolean> {
    for (;;) {
      await this.#semaphore.acquire();
      if (this.#breaker.kind === "closed") await this.#wait(this.#rate?.take(this.#deps.clock.nowMs()) ?? 0);
      // The breaker may have opened while the attempt waited for its token.
      if (this.#isClosed() || this.#mayProbe(by)) return true;
      this.#semaphore.release();
      if (this.#breaker.kind === "open") return false;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** True while an attempt that has entered may still send its request. */
  admits(by: object): boolean {
    return this.#isClosed() || (this.#breaker.kind === "probing" && this.#probe === by);
  }

  /**
   * Takes a place if one is free, the breaker is closed and there is no rate. The caller must {@link leave} if it took
   * one.
   */
  tryEnter(): boolean {
    return this.allowance() === undefined && this.#semaphore.tryAcquire();
  }

  /** Resolves when the rate that the endpoint granted allows an attempt. */
  async throttle(perMinute: number): Promise<void> {
    const nowMs = this.#deps.clock.nowMs();
    const perSecond = perMinute / secondsPerMinute;
    if (this.#granted?.perMinute !== perMinute) {
      const rate = new RateLimiter({ perSecond, burst: Math.max(1, Math.floor(perSecond)) }, nowMs);
      this.#granted = { perMinute, rate };
    }
    await this.#wait(this.#granted.rate.take(nowMs));
  }

  leave(by: object = this): void {
    this.#semaphore.release();
    if (this.#breaker.kind === "probing" && this.#probe === by) {
      // The probe ended without an attempt, for example because its delivery had been settled before.
      this.#probe = undefined;
      this.#breaker = { ...this.#breaker, kind: "open", untilMs: this.#deps.now() };
      this.#wake();
    }
  }

  /** Counts the effect of an ended attempt on the breaker. */
  observe(effect: Effect, by: object = this): void {
    const before = this.#breaker;
    const state = this.#stateFor(effect, by);
    if (state === undefined) return;
    const next = afterAttempt(state, effect, this.#partner.config.circuitBreaker, this.#deps.now());
    if (next.kind !== before.kind || causeOf(next) !== causeOf(before)) {
      this.#become(next);
      return;
    }
    this.#breaker = next;
    if (next.kind === "open" && next !== before) this.#deps.onPause?.(next);
  }

  /** The state that an attempt affects. One from before the pause may prolong it. */
  #stateFor({ pauseMs = 0 }: Effect, by: object): BreakerState | undefined {
    const breaker = this.#breaker;
    const isEarlier = breaker.kind === "probing" && this.#probe !== by;
    if (!isEarlier) return breaker;
    return pauseMs > 0 ? { ...breaker, kind: "open", untilMs: this.#deps.now() } : undefined;
  }

  /** A changed specification may have repaired the partner. An endpoint that requested a pause still has it. */
  #edited(isOtherUrl: boolean): void {
    const { circuitBreaker } = this.#partner.config;
    if (isOtherUrl || causeOf(this.#breaker) !== "rate_limited") this.#become(closedBreaker);
    else if (this.#breaker.kind === "open") this.#become(boundedPause(this.#breaker, circuitBreaker, this.#deps.now()));
  }

  #become(next: BreakerState): void {
    this.#breaker = next;
    if (next.kind !== "probing") this.#probe = undefined;
    this.#wake();
    this.#deps.onPause?.(next);
    this.#deps.onBreaker(next);
  }

  #isClosed(): boolean {
    return this.#breaker.kind === "closed";
  }

  /** Makes the attempt the probe if the pause is over. */
  #mayProbe(by: object): boolean {
    const breaker = this.#breaker;
    if (breaker.kind !== "open" || this.#isOpen()) return false;
    const { untilMs: _untilMs, ...rest } = breaker;
    this.#breaker = { ...rest, kind: "probing" };
    this.#probe = by;
    return true;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    waiting.forEach((resolve) => resolve());
  }

  #isOpen(): boolean {
    return this.#breaker.kind === "open" && this.#deps.now() < this.#breaker.untilMs;
  }

  async #wait(waitMs: number): Promise<void> {
    if (waitMs > 0) await pause(this.#deps.clock, waitMs);
  }
}
