import type { SloConfig } from "../../../crds/config.ts";
import { burnTiers, sloSeconds, type BurnTier } from "./slo-windows.ts";

/** Events of one window. */
export interface EventCounts {
  readonly good: number;
  readonly total: number;
}

/** Events by window, in seconds; a window of which nothing is known is absent. */
export type CountsByWindow = ReadonlyMap<number, EventCounts>;

/**
 * How an objective does:
 *
 * | Status | Means |
 * | --- | --- |
 * | `insufficient_data` | the objective's window holds fewer than its minimum of events |
 * | `critical` | a page tier fires, or the error budget is spent |
 * | `increasing` | only a ticket tier fires |
 * | `recovering` | none fires, but the long window of one still burns above its factor |
 * | `ok` | none of these |
 */
export type SloStatus = "ok" | "increasing" | "critical" | "recovering" | "insufficient_data";

/** How fast the budget burns over the two windows of one tier; undefined where there are no events. */
export interface TierBurn extends BurnTier {
  readonly longRate: number | undefined;
  readonly shortRate: number | undefined;
  /** The long window holds too few events to conclude anything. */
  readonly tooFew: boolean;
}

/** What follows from the events of an objective. */
export interface SloAssessment {
  /** Events of the objective's window; undefined without any. */
  readonly events: EventCounts | undefined;
  /** Share of good events; undefined without events. */
  readonly sli: number | undefined;
  /** Shares of all events: those that may be bad, those that were, and what is left, below 0 once it is overspent. */
  readonly budget: {
    readonly total: number;
    readonly spent: number | undefined;
    readonly remaining: number | undefined;
  };
  /** The fastest first. */
  readonly burns: readonly TierBurn[];
  readonly status: SloStatus;
}

/** Decides how an objective does. Source: seed "Operational Metrics API" §2.5, wire "SLO". */
export function assessSlo(slo: SloConfig, counts: CountsByWindow, stepSecondsMin: number): SloAssessment {
  const known = counts.get(sloSeconds(slo));
  const events = known === undefined || known.total <= 0 ? undefined : known;
  const total = errorBudget(slo);
  const spent = badShare(events);
  const burns = burnTiers(slo, stepSecondsMin).map((tier) => tierBurn(tier, slo, counts));
  const budget = { total, spent, remaining: spent === undefined ? undefined : total - spent };
  return {
    events,
    sli: events && Math.min(1, events.good / events.total),
    budget,
    burns,
    status: statusOf(slo, events, budget.remaining, burns),
  };
}

function statusOf(
  slo: SloConfig,
  events: EventCounts | undefined,
  remaining: number | undefined,
  burns: readonly TierBurn[],
): SloStatus {
  if (events === undefined || remaining === undefined || events.total < slo.minimumEvents) return "insufficient_data";
  const fires = (severity: BurnTier["severity"]): boolean =>
    burns.some((burn) => burn.severity === severity && isFiring(burn));
  if (remaining <= 0 || fires("page")) return "critical";
  if (fires("ticket")) return "increasing";
  return burns.some((burn) => isAbove(burn, burn.longRate)) ? "recovering" : "ok";
}

/** Both windows: the long one says that it matters, the short one that it is not over. */
function isFiring(burn: TierBurn): boolean {
  return isAbove(burn, burn.longRate) && isAbove(burn, burn.shortRate);
}

function isAbove({ factor, tooFew }: TierBurn, rate: number | undefined): boolean {
  return !tooFew && rate !== undefined && rate > factor;
}

function tierBurn(tier: BurnTier, slo: SloConfig, counts: CountsByWindow): TierBurn {
  const long = counts.get(tier.longSeconds);
  const rate = (events: EventCounts | undefined): number | undefined => {
    const bad = badShare(events);
    return bad === undefined ? undefined : bad / errorBudget(slo);
  };
  return {
    ...tier,
    longRate: rate(long),
    shortRate: rate(counts.get(tier.shortSeconds)),
    tooFew: long === undefined || long.total < slo.minimumEvents,
  };
}

/** The share of events that may be bad, without what the subtraction makes of decimal digits. */
function errorBudget({ objective }: SloConfig): number {
  return Number((1 - objective).toPrecision(12));
}

/** Increases are extrapolated apart, so that good events may seem to be a trifle more than all. */
function badShare(events: EventCounts | undefined): number | undefined {
  if (events === undefined || events.total <= 0) return undefined;
  return Math.max(0, (events.total - events.good) / events.total);
}
