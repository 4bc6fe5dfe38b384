import type { PartnerConfig, RuntimeConfig } from "../config.ts";

/** The applied version of a partner; undefined if there was none. */
type LastOf = (partner: PartnerConfig) => PartnerConfig | undefined;

/**
 * Notes since when partners are paused or held: the time at which this source of the configuration first saw it. A
 * partner that already was so in its applied version keeps the time of that version, or has none.
 */
export class WaitingSince {
  /** Results by the compiled partner, so that an unchanged partner stays the same object. */
  readonly #noted = new WeakMap<PartnerConfig, PartnerConfig>();

  /** @param nowMs Unix milliseconds */
  note(config: RuntimeConfig, lastOf: LastOf, nowMs: number): RuntimeConfig {
    const partners = config.partners.map((partner) => this.#notedFor(partner, lastOf(partner), nowMs));
    return { ...config, partners };
  }

  #notedFor(partner: PartnerConfig, last: PartnerConfig | undefined, nowMs: number): PartnerConfig {
    const known = this.#noted.get(partner);
    const { waitsSinceMs: _earlier, ...bare } = partner;
    const sinceMs = bare.state !== "Paused" ? undefined : isAlike(bare, last) ? last.waitsSinceMs : nowMs;
    const isKept = known !== undefined && (!isAlike(bare, last) || known.waitsSinceMs === sinceMs);
    if (isKept) return known;
    const noted = sinceMs === undefined ? withoutTime(partner, bare) : { ...bare, waitsSinceMs: sinceMs };
    this.#noted.set(partner, noted);
    return noted;
  }
}

function withoutTime(partner: PartnerConfig, bare: PartnerConfig): PartnerConfig {
  return partner.waitsSinceMs === undefined ? partner : bare;
}

/** True if both are paused by the spec, or held for the same reason. */
function isAlike(partner: PartnerConfig, last: PartnerConfig | undefined): last is PartnerConfig {
  return last?.state === partner.state && last.held === partner.held;
}
