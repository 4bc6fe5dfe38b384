import { pause, type Clock } from "../../bounds/clock.ts";
import {
  afterAttempt,
  closedBreaker,
  takenOver,
  type BreakerState,
  type Health,
} from "../settlement/circuit-breaker.ts";
import type { Partner } from "../partners/partner.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { Semaphore } from "./semaphore.ts";

interface PartnerLimiterDeps {
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
  /** Measures the rate and its waits. */
  readonly clock: Clock;
  /** Called after the breaker opened or closed. */
  readonly onBreaker: (state: BreakerState) => void;
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
    this.#partner = partner;
    const { maxInFlight, rate } = partner.config.delivery;
    this.#semaphore.resize(maxInFlight);
    const nowMs = this.#deps.clock.nowMs();
    if (rate === undefined) {
      this.#rate = undefined;
    } else if (this.#rate === undefined) {
      this.#rate = new RateLimiter(rate, nowMs);
    } else {
      this.#rate.change(rate, nowMs);
    }
    if (isOtherSpec) {
      this.#granted = undefined;
    }
    // A changed specification may have repaired the partner.
    if (this.#breaker.kind !== "closed" && (isOtherSpec || partner.config.circuitBreaker === undefined)) {
      this.#become(closedBreaker);
    }
  }

  /** Takes over the open breaker of the previous owner. Milliseconds of JetStream's clock. */
  openUntil(untilMs: number): void {
    const policy = this.#partner.config.circuitBreaker;
    if (policy !== undefined && this.#breaker.kind === "closed") {
      this.#breaker = takenOver(untilMs, policy);
    }
  }

  /** Attempts that rate and breaker allow now; undefined without a limit. */
  allowance(): number | undefined {
    if (this.#breaker.kind !== "closed") {
      return this.#isOpen() || this.#breaker.kind === "probing" ? 0 : 1;
    }
    const nowMs = this.#deps.clock.nowMs();
    const rates = [this.#rate, this.#granted?.rate].filter((rate) => rate !== undefined);
    return rates.length === 0 ? undefined : Math.min(...rates.map((rate) => rate.available(nowMs)));
  }

  /** Milliseconds until the rates allow `count` attempts, or as many as they ever do at once; 0: now. */
  tokensInMs(count: number): number {
    const nowMs = this.#deps.clock.nowMs();
    return Math.max(this.#rate?.waitMs(count, nowMs) ?? 0, this.#granted?.rate.waitMs(count, nowMs) ?? 0);
  }

  /**
   * Resolves with true when the caller may make its attempt, and must {@link leave} afterwards; with false when the
   * breaker is open. Then nothing is to be left.
   */
  async enter(): Promise<boolean> {
    for (;;) {
      await this.#semaphore.acquire();
      if (this.#breaker.kind === "closed") {
        await this.#wait(this.#rate?.take(this.#deps.clock.nowMs()) ?? 0);
        return true;
      }
      const { kind, restMs } = this.#breaker;
      if (kind === "open" && !this.#isOpen()) {
        this.#breaker = { kind: "probing", restMs };
        return true;
      }
      this.#semaphore.release();
      if (kind === "open") {
        return false;
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
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

  leave(): void {
    this.#semaphore.release();
    if (this.#breaker.kind === "probing") {
      // The probe ended without an attempt, for example because its delivery had been settled before.
      this.#breaker = { kind: "open", untilMs: this.#deps.now(), restMs: this.#breaker.restMs };
      this.#wake();
    }
  }

  /** Counts the effect of an ended attempt on the breaker. */
  observe(health: Health): void {
    const policy = this.#partner.config.circuitBreaker;
    if (policy === undefined) {
      return;
    }
    const next = afterAttempt(this.#breaker, health, policy, this.#deps.now());
    const isOther = next.kind !== this.#breaker.kind;
    this.#breaker = next;
    if (isOther) {
      this.#become(next);
    }
  }

  #become(next: BreakerState): void {
    this.#breaker = next;
    this.#wake();
    this.#deps.onBreaker(next);
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
