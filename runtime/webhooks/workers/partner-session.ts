import type { DeliveryContext, LaneControl } from "../delivery/delivery-context.ts";
import { maySendTo, type Partner } from "../partners/partner.ts";
import type { Health } from "../settlement/circuit-breaker.ts";
import { PartnerLimiter } from "./partner-limiter.ts";

/** Why a delivery whose message is here cannot be attempted now. `open`: by the partner's circuit breaker. */
export type HoldReason = "paused" | "disabled" | "blocked" | "keyless" | "open" | "busy" | "rate";

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

  /** @param find the partner as configured now; undefined when it is not in this lane any more */
  constructor(context: DeliveryContext, partner: Partner, find: () => Partner | undefined) {
    this.#context = context;
    this.#find = find;
    this.#partner = partner;
    const onBreaker = (): void => this.resume();
    this.limiter = new PartnerLimiter(partner, { now: context.now, clock: context.clock, onBreaker });
  }

  get partner(): Partner {
    return this.#partner;
  }

  use(partner: Partner): void {
    if (partner !== this.#partner) {
      this.#partner = partner;
      this.limiter.use(partner);
    }
  }

  /** Reports the state of the circuit breaker, because this pod owns the lane. */
  resume(): void {
    this.#report(this.limiter.breaker.kind !== "closed");
  }

  /** Reports no open circuit breaker any more, because another pod owns the lane. */
  release(): void {
    this.#report(false);
  }

  current(): Partner | undefined {
    const partner = this.#find();
    return partner !== undefined && maySendTo(partner, this.#context.now()) ? partner : undefined;
  }

  /** Undefined when the limits of the partner allow an attempt. */
  async holdReason(): Promise<HoldReason | undefined> {
    const { config } = this.#partner;
    if (config.state === "Paused" || config.held !== undefined) {
      return "paused";
    }
    if (!maySendTo(this.#partner, this.#context.now())) {
      return "keyless";
    }
    if (await this.#isDisabled()) {
      return "disabled";
    }
    return this.#limitReached();
  }

  prepareRetries(): Promise<void> {
    // A shared lane has both its consumers from the start.
    return Promise.resolve();
  }

  disable(partner: Partner): void {
    this.#disabled = { digest: partner.config.specDigest, isDisabled: Promise.resolve(true) };
  }

  throttle(perMinute: number): Promise<void> {
    return this.limiter.throttle(perMinute);
  }

  observe(health: Health): void {
    this.limiter.observe(health);
  }

  block(isBlocked: boolean): void {
    this.#blocks += isBlocked ? 1 : -1;
  }

  #report(isOpen: boolean): void {
    this.#context.partnerMetrics.breakerOpen(this.#partner.label, isOpen);
  }

  #limitReached(): HoldReason | undefined {
    if (this.#blocks > 0) {
      return "blocked";
    }
    if (this.limiter.allowance() === 0) {
      return this.limiter.breaker.kind === "closed" ? "rate" : "open";
    }
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
