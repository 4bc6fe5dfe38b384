import type { Health } from "../settlement/circuit-breaker.ts";
import type { DeliveryContext, LaneControl } from "../delivery/delivery-context.ts";
import { maySendTo, type Partner } from "../partners/partner.ts";
import { PartnerLimiter } from "./partner-limiter.ts";

/** Why a delivery cannot be attempted now though its message is here. */
export type HoldReason = "paused" | "disabled" | "blocked" | "keyless" | "sick" | "busy" | "rate";

/** Messages of one partner that may be in work in a shared lane: a quarter of what the lane hands out. */
const underWayMax = 64;

/** One partner of a shared lane: what it allows, and what its deliveries say of it. */
export class PartnerSession implements LaneControl {
  readonly limiter: PartnerLimiter;
  readonly #context: DeliveryContext;
  readonly #find: () => Partner | undefined;
  #partner: Partner;
  #blocks = 0;
  #underWay = 0;
  /** Whether a mark of some specification is stored, asked once each. */
  #disabled: { readonly digest: string; readonly isDisabled: Promise<boolean> } | undefined;

  /**
   * @param find the partner as it is configured now and in this lane; undefined when it is gone. @default the one of
   * {@link use}
   */
  constructor(context: DeliveryContext, partner: Partner, find?: () => Partner | undefined) {
    this.#context = context;
    this.#find = find ?? (() => this.#partner);
    this.#partner = partner;
    const onBreaker = (): void => this.#tell(this.limiter.breaker.kind !== "closed");
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

  /** This pod is the lane's home again, and tells how the partner is, as far as it knows. */
  comeBack(): void {
    this.#tell(this.limiter.breaker.kind !== "closed");
  }

  /** The lane has another home from now on, which tells how the partner is. */
  leave(): void {
    this.#tell(false);
  }

  current(): Partner | undefined {
    const partner = this.#find();
    return partner !== undefined && maySendTo(partner, this.#context.now()) ? partner : undefined;
  }

  /** Undefined when an attempt may begin: the caller then {@link begin}s it. */
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
    return this.#momentary();
  }

  begin(): void {
    this.#underWay += 1;
  }

  end(): void {
    this.#underWay -= 1;
  }

  prepareRetries(): Promise<void> {
    // Shared lanes have both their consumers from the start.
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

  #tell(isResting: boolean): void {
    this.#context.partnerMetrics.resting(this.#partner.label, isResting);
  }

  #momentary(): HoldReason | undefined {
    if (this.#blocks > 0) {
      return "blocked";
    }
    if (this.#underWay >= underWayMax) {
      return "busy";
    }
    if (this.limiter.allowance() === 0) {
      return this.limiter.breaker.kind === "closed" ? "rate" : "sick";
    }
    return undefined;
  }

  #isDisabled(): Promise<boolean> {
    const digest = this.#partner.config.specDigest;
    if (this.#disabled?.digest !== digest) {
      this.#disabled = { digest, isDisabled: this.#context.disabled.isDisabled(this.#partner) };
      // What could not be read is asked again.
      this.#disabled.isDisabled.catch(() => {
        this.#disabled = undefined;
      });
    }
    return this.#disabled.isDisabled;
  }
}
