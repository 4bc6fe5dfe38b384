import type { PartnerConfig, RuntimeConfig } from "../config.ts";

/** The applied version of a partner; undefined if there was none. */
type LastOf = (partner: PartnerConfig) => PartnerConfig | undefined;

/**
 * Notes since when partners are paused or held: the time at which this source of the configuration first saw it. A
 * partner that already was so in its applied version keeps the time of that version. If that version has none, because
 * an earlier version of this program published it, the partner waits longer than the time noted now.
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
    const { waitsSinceMs, waitsLonger: _longer, ...bare } = partner;
    if (bare.state !== "Paused") return waitsSinceMs === undefined ? partner : (known ?? this.#keep(partner, bare));
    const before = isAlike(bare, last) ? last : undefined;
    const isKept = before?.waitsSinceMs === undefined || before.waitsSinceMs === known?.waitsSinceMs;
    return known !== undefined && isKept ? known : this.#keep(partner, { ...bare, ...timeAfter(before, nowMs) });
  }

  #keep(partner: PartnerConfig, noted: PartnerConfig): PartnerConfig {
    this.#noted.set(partner, noted);
    return noted;
  }
}

/** @param before the applied version, if it waited as well */
function timeAfter(
  before: PartnerConfig | undefined,
  nowMs: number,
): Pick<PartnerConfig, "waitsSinceMs" | "waitsLonger"> {
  const { waitsSinceMs, waitsLonger } = before ?? {};
  const isLonger = waitsLonger === true || (before !== undefined && waitsSinceMs === undefined);
  return { waitsSinceMs: waitsSinceMs ?? nowMs, ...(isLonger ? { waitsLonger: true } : {}) };
}

/** True if both are paused by the spec, or held for the same reason. */
function isAlike(partner: PartnerConfig, last: PartnerConfig | undefined): last is PartnerConfig {
  return last?.state === partner.state && last.held === partner.held;
}
