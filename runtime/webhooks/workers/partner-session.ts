import type { DeliveryContext, LaneControl } from "../delivery/delivery-context.ts";
import { maySendTo, type Partner } from "../partners/partner.ts";
import type { Hold } from "../partners/partner-holds.ts";
import { causeOf, requestedPause, type Effect } from "../settlement/circuit-breaker.ts";
import { PartnerLimiter } from "./partner-limiter.ts";

/** Why a delivery whose message is here cannot be attempted now. `open`: by the partner's circuit breaker. */
export type HoldReason = "paused" | "disabled" | "blocked" | "keyless" | "open" | "busy" | "rate";

/**
 * Keeps a pause that the partner requested of a pod which does not own its lane any more, for the pod that does. Its
 * failures count for nothing: the owner has later attempts.
 */
export function passPause({ holds, now }: DeliveryContext, partner: Partner, effect: Effect): void {
  const pause = requestedPause(effect, partner.config.circuitBreaker, now());
  if (pause !== undefined) holds.keep(partner, pause);
}

/** State of one partner in a shared lane: its limits and its circuit breaker. */
export class PartnerSession implements LaneControl {
  readonly limiter: PartnerLimiter;
  readonly #context: DeliveryContext;
  readonly #find: () => Partner | undefined;
  #partner: Partner;
  /** Dead letters that cannot be stored now. */
  #blocks = 0;
  /** True for a specification with a stored mark; read once for each specification. */
  #disabled: { readonly digest: string; readonly isDisabled: Promise<boolean> } | undefined;
  /** Specification that responded with 410. */
  #disabledDigest: string | undefined;
  /** The read of the pause that the previous owner of the lane stored; once for each ownership. */
  #restored: Promise<void> | undefined;
  /** True while this pod owns the lane. */
  #isOwned = true;

  /** @param find the partner as configured now; undefined when it is not in this lane any more */
  constructor(context: DeliveryContext, partner: Partner, find: () => Partner | undefined) {
    this.#context = context;
    this.#find = find;
    this.#partner = partner;
    this.limiter = new PartnerLimiter(partner, {
      now: context.now,
      clock: context.clock,
      onBreaker: () => this.#report(),
      onPause: (state) => context.holds.keep(this.#partner, state),
    });
  }

  get partner(): Partner {
    return this.#partner;
  }

  use(partner: Partner): void {
    if (partner !== this.#partner) {
      this.#partner = partner;
      // It may have had another lane meanwhile, and a pause there.
      this.#restored = undefined;
      this.limiter.use(partner);
    }
  }

  /** Takes a hold that another pod, or another lane of this one, found. */
  learn(hold: Hold): void {
    if (hold === "disabled") this.disable(this.#partner);
    else if (hold.untilMs > this.#context.now() && this.limiter.restore(hold)) this.#report();
  }

  /** Stores pauses from now on, because this pod owns the lane. */
  own(): void {
    this.#isOwned = true;
  }

  /** Takes over the pause of the previous owner and reports it. A failed read is repeated. @throws NoReplyError */
  async restore(): Promise<void> {
    this.#restored ??= this.#readPause();
    const reading = this.#restored;
    try {
      await reading;
    } catch (error) {
      if (this.#restored === reading) this.#restored = undefined;
      throw error;
    }
  }

  /** Forgets the circuit breaker and reports none, because another pod owns the lane. */
  release(): void {
    this.#isOwned = false;
    this.#restored = undefined;
    this.limiter.forget();
    this.#report();
  }

  current(work: object): Partner | undefined {
    const partner = this.#find();
    if (partner === undefined || partner.config.specDigest === this.#disabledDigest) return undefined;
    return maySendTo(partner, this.#context.now()) && this.limiter.admits(work) ? partner : undefined;
  }

  /** Undefined when the limits of the partner allow an attempt. */
  async holdReason(): Promise<HoldReason | undefined> {
    const { config } = this.#partner;
    if (config.state === "Paused" || config.held !== undefined) return "paused";
    if (!maySendTo(this.#partner, this.#context.now())) return "keyless";
    if (await this.#isDisabled()) return "disabled";
    await this.restore();
    return this.#limitReached();
  }

  prepareRetries(): Promise<void> {
    // A shared lane has both its consumers from the start.
    return Promise.resolve();
  }

  disable(partner: Partner): void {
    this.#disabledDigest = partner.config.specDigest;
    this.#disabled = { digest: partner.config.specDigest, isDisabled: Promise.resolve(true) };
  }

  throttle(perMinute: number): Promise<void> {
    return this.limiter.throttle(perMinute);
  }

  observe(effect: Effect, _tookMs: number, work: object): void {
    if (this.#isOwned) this.limiter.observe(effect, work);
    else passPause(this.#context, this.#partner, effect);
  }

  block(isBlocked: boolean): void {
    this.#blocks += isBlocked ? 1 : -1;
  }

  async #readPause(): Promise<void> {
    const partner = this.#partner;
    const pause = await this.#context.holds.read(partner);
    if (partner !== this.#partner) {
      // An edit meanwhile may have ended the pause that was read.
      return this.#readPause();
    }
    if (pause !== undefined && this.#restored !== undefined) {
      this.limiter.restore(pause);
      this.#report();
    }
  }

  #report(): void {
    this.#context.partnerMetrics.paused(this.#partner.label, causeOf(this.limiter.breaker));
  }

  #limitReached(): HoldReason | undefined {
    if (this.#blocks > 0) return "blocked";
    if (this.limiter.allowance() === 0) return this.limiter.breaker.kind === "closed" ? "rate" : "open";
    return undefined;
  }

  #isDisabled(): Promise<boolean> {
    const digest = this.#partner.config.specDigest;
    if (this.#disabled?.digest !== digest) {
      this.#disabled = { digest, isDisabled: this.#context.disabled.isDisabled(this.#partner) };
      // A failed read is repeated for the next message.
      this.#disabled.isDisabled.catch(() => {
        this.#disabled = undefined;
      });
    }
    return this.#disabled.isDisabled;
  }
}
