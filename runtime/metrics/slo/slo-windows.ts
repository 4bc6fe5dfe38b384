import type { SloConfig } from "../../../crds/config.ts";

/** One tier of burn rates. It fires when both windows burn faster than `factor`. */
export interface BurnTier {
  readonly longSeconds: number;
  readonly shortSeconds: number;
  readonly factor: number;
  /** `page` makes an objective critical, `ticket` makes it increasing. */
  readonly severity: "page" | "ticket";
}

const daySeconds = 86_400;
const minuteSeconds = 60;
/** Windows of the tiers over {@link baseDays} days. */
const baseTiers = [
  { longMinutes: 60, shortMinutes: 5, severity: "page" },
  { longMinutes: 360, shortMinutes: 30, severity: "page" },
  { longMinutes: 1_440, shortMinutes: 120, severity: "ticket" },
  { longMinutes: 4_320, shortMinutes: 360, severity: "ticket" },
] as const;
const baseDays = 30;

/** The window of an objective, in seconds. */
export function sloSeconds({ windowDays }: SloConfig): number {
  return windowDays * daySeconds;
}

/**
 * The tiers of an objective, the fastest first. Their windows are proportional to the objective's own, so that a tier
 * fires at the same share of any error budget. No window is shorter than the smallest step of the metric.
 *
 * @param stepSecondsMin smallest window of the metric
 */
export function burnTiers({ windowDays, burnRates }: SloConfig, stepSecondsMin: number): readonly BurnTier[] {
  const scaled = (minutes: number): number =>
    Math.max(stepSecondsMin, Math.round((minutes * minuteSeconds * windowDays) / baseDays));
  return baseTiers.map(({ longMinutes, shortMinutes, severity }, tier) => ({
    longSeconds: scaled(longMinutes),
    shortSeconds: scaled(shortMinutes),
    factor: burnRates[tier] ?? Infinity,
    severity,
  }));
}

/** The distinct windows of an objective in seconds, ascending; the last one is the objective's own. */
export function windowsOf(slo: SloConfig, stepSecondsMin: number): readonly number[] {
  const tiers = burnTiers(slo, stepSecondsMin);
  const all = [...tiers.flatMap(({ longSeconds, shortSeconds }) => [longSeconds, shortSeconds]), sloSeconds(slo)];
  return [...new Set(all)].sort((a, b) => a - b);
}
