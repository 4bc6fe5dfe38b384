import { pause, type Clock } from "../../bounds/clock.ts";
import {
  afterAttempt,
  closedBreaker,
  takenOver,
  type BreakerState,
  type Health,
} from "../settlement/circuit-breaker.ts";
import type { Partner } from "../partners/partner.ts";
import { Semaphore } from "./semaphore.ts";
import { RateLimiter } from "./rate-limiter.ts";

interface PartnerLimiterDeps {
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
  /** What tokens come by. */
  readonly clock: Clock;
  /** Called after the breaker opened or closed. */
  readonly onBreaker: (state: BreakerState) => void;
}

const secondsPerMinute = 60;

/**
 * What one partner allows at this moment: places for attempts, tokens of its rate, and its breaker. One pod, the
 * partner's home, asks it before each attempt.
 */
export class PartnerLimiter {
  readonly #deps: PartnerLimiterDeps;
  readonly #semaphore: Semaphore;
  #partner: Partner;
  #bucket: RateLimiter | undefined;
  /** Of the rate that the endpoint consented to. */
  #pace: { readonly perMinute: number; readonly bucket: RateLimiter } | undefined;
  #breaker: BreakerState = closedBreaker;
  /** Who waits for the outcome of the probe. */
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

  /** Obeys this specification from now on. */
  use(partner: Partner): void {
    const isOtherSpec = partner.config.specDigest !== this.#partner.config.specDigest;
    this.#partner = partner;
    const { maxInFlight, rate } = partner.config.delivery;
    this.#semaphore.resize(maxInFlight);
    const nowMs = this.#deps.clock.nowMs();
    if (rate === undefined) {
      this.#bucket = undefined;
    } else if (this.#bucket === undefined) {
      this.#bucket = new RateLimiter(rate, nowMs);
    } else {
      this.#bucket.change(rate, nowMs);
    }
    if (isOtherSpec) {
      this.#pace = undefined;
    }
    // Somebody changed something about the partner: what was known of its health is old.
    if (this.#breaker.kind !== "closed" && (isOtherSpec || partner.config.circuitBreaker === undefined)) {
      this.#become(closedBreaker);
    }
  }

  /** Deliveries rest until then: another pod found the partner sick. */
  rest(untilMs: number): void {
    const policy = this.#partner.config.circuitBreaker;
    if (policy !== undefined && this.#breaker.kind === "closed") {
      this.#breaker = takenOver(untilMs, policy);
    }
  }

  /** Attempts that may begin now as far as rate and breaker go; undefined without a limit. */
  allowance(): number | undefined {
    if (this.#breaker.kind !== "closed") {
      return this.#isResting() || this.#breaker.kind === "probing" ? 0 : 1;
    }
    const nowMs = this.#deps.clock.nowMs();
    const limits = [this.#bucket, this.#pace?.bucket].filter((bucket) => bucket !== undefined);
    return limits.length === 0 ? undefined : Math.min(...limits.map((bucket) => bucket.available(nowMs)));
  }

  /** Milliseconds until some attempts may begin by the rate; 0 when some may. */
  tokensInMs(count: number): number {
    const nowMs = this.#deps.clock.nowMs();
    return Math.max(this.#bucket?.waitMs(count, nowMs) ?? 0, this.#pace?.bucket.waitMs(count, nowMs) ?? 0);
  }

  /**
   * Resolves with true when the caller may make its attempt, and must {@link leave} afterwards; with false when
   * deliveries rest, and nothing was taken.
   */
  async enter(): Promise<boolean> {
    for (;;) {
      await this.#semaphore.acquire();
      if (this.#breaker.kind === "closed") {
        await this.#token();
        return true;
      }
      const { kind, restMs } = this.#breaker;
      if (kind === "open" && !this.#isResting()) {
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

  /** Resolves when an attempt may begin by the rate that the endpoint consented to. */
  async throttle(perMinute: number): Promise<void> {
    const nowMs = this.#deps.clock.nowMs();
    const perSecond = perMinute / secondsPerMinute;
    if (this.#pace?.perMinute !== perMinute) {
      this.#pace = {
        perMinute,
        bucket: new RateLimiter({ perSecond, burst: Math.max(1, Math.floor(perSecond)) }, nowMs),
      };
    }
    await this.#waited(this.#pace.bucket.take(nowMs));
  }

  leave(): void {
    this.#semaphore.release();
    if (this.#breaker.kind === "probing") {
      // It ended without a word about the partner, for example because it was done already.
      this.#breaker = { kind: "open", untilMs: this.#deps.now(), restMs: this.#breaker.restMs };
      this.#wake();
    }
  }

  /** What an attempt, just ended, says about the partner. */
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

  #isResting(): boolean {
    return this.#breaker.kind === "open" && this.#deps.now() < this.#breaker.untilMs;
  }

  async #token(): Promise<void> {
    await this.#waited(this.#bucket?.take(this.#deps.clock.nowMs()) ?? 0);
  }

  async #waited(waitMs: number): Promise<void> {
    if (waitMs > 0) await pause(this.#deps.clock, waitMs);
  }
}
