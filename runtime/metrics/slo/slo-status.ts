import type { Slo } from "../../../api/objectives.ts";
import type { SloConfig } from "../../../crds/config.ts";
import { type CalendarRest, exhaustionSeconds, rollingSpending, spendingOf } from "./exhaustion-seconds.ts";

/** Events of one window, or its time slices with a value. */
export interface EventCounts {
  readonly good: number;
  readonly total: number;
}

/** Events by window, in seconds; a window without data is absent. */
export type CountsByWindow = ReadonlyMap<number, EventCounts>;

/**
 * The status of an objective:
 *
 * | Status | Means |
 * | --- | --- |
 * | `insufficient_data` | the objective's window holds fewer than its minimum of events, with every store |
 * | `late` | the same while stores are missing, all of them late |
 * | `failed` | the same while other stores are missing |
 * | `critical` | a page tier fires, or the error budget is spent |
 * | `increasing` | only a ticket tier fires |
 * | `recovering` | no tier fires, but the long window of one still burns above its factor |
 * | `ok` | otherwise |
 */
export type SloStatus = Slo["status"];

/** Why stores are missing. */
export type MissingStores = Extract<SloStatus, "late" | "failed">;

/** Burn rates over the two windows of one tier; undefined without events. */
export interface TierBurn extends BurnTier {
  readonly longRate: number | undefined;
  readonly shortRate: number | undefined;
  /** The long window holds fewer events than the minimum of the objective. */
  readonly tooFew: boolean;
}

/** The assessment of an objective by its events. */
export interface SloAssessment {
  /** Events of the objective's window; undefined without any. */
  readonly events: EventCounts | undefined;
  /** Share of good events; undefined without events. */
  readonly sli: number | undefined;
  /** Shares of all events: the permitted bad ones, the actual bad ones, and the difference, negative when overspent. */
  readonly budget: Slo["error_budget"];
  /** The fastest first. */
  readonly burns: readonly TierBurn[];
  /** As {@link exhaustionSeconds} returns it. */
  readonly exhaustionSeconds: number | undefined;
  readonly status: SloStatus;
}

/** The events of the objective's window, and what they leave of the budget. */
export type SloBudget = Pick<SloAssessment, "events" | "sli" | "budget">;

/**
 * The budget of an objective.
 *
 * @param counted undefined without data
 * @param slicesToCome slices until the end of a calendar period, which the budget counts as good ones
 */
export function budgetOf(slo: SloConfig, counted: EventCounts | undefined, slicesToCome = 0): SloBudget {
  const events = counted === undefined || counted.total <= 0 ? undefined : counted;
  const total = errorBudget(slo);
  const spent = badShare(events, slicesToCome);
  return {
    events,
    sli: events && Math.min(1, events.good / events.total),
    budget: spent === undefined ? { total } : { total, spent, remaining: total - spent },
  };
}

/** What an assessment depends on besides the events. */
interface AssessmentContext {
  /** Why stores are missing; undefined when all responded. */
  readonly missing?: MissingStores | undefined;
  /** A correction is active, so that no tier fires. @default false */
  readonly isSilenced?: boolean;
  /** The rest of the calendar period. @default the window is a rolling one */
  readonly rest?: CalendarRest | undefined;
}

/** Assesses an objective. Source: seed "Operational Metrics API" §2.5. */
export function assessSlo(
  slo: SloConfig,
  counts: CountsByWindow,
  stepSecondsMin: number,
  { missing, isSilenced = false, rest }: AssessmentContext = {},
): SloAssessment {
  const own = budgetOf(slo, counts.get(rest?.windowSeconds ?? sloSeconds(slo)), rest?.countedSlicesToCome);
  const { events, budget } = own;
  const burns = burnTiers(slo, stepSecondsMin).map((tier) => tierBurn(tier, slo, counts));
  return {
    ...own,
    burns,
    exhaustionSeconds: exhaustionOf(slo, own, burns[0], rest),
    // What a missing store counted may be all that is needed.
    status: statusOf(slo, { events, remaining: budget.remaining, burns, isSilenced }) ?? missing ?? "insufficient_data",
  };
}

/** Seconds until the budget is spent, by the long window of the fastest tier; undefined with too few events in it. */
function exhaustionOf(
  slo: SloConfig,
  { events, budget }: SloBudget,
  fastest: TierBurn | undefined,
  rest: CalendarRest | undefined,
): number | undefined {
  const rate = fastest?.tooFew === false ? fastest.longRate : undefined;
  const known = events?.total ?? 0;
  return exhaustionSeconds(budget, rate, rest ? spendingOf(slo, known, rest) : rollingSpending(sloSeconds(slo)));
}

/** The status by the events; undefined with too few of them. */
function statusOf(
  slo: SloConfig,
  {
    events,
    remaining,
    burns,
    isSilenced,
  }: Pick<SloAssessment, "events" | "burns"> & {
    readonly remaining: number | undefined;
    readonly isSilenced: boolean;
  },
): SloStatus | undefined {
  if (events === undefined || remaining === undefined) return undefined;
  if (events.total < minimumOf(slo)) return undefined;
  const fires = (severity: BurnTier["severity"]): boolean =>
    !isSilenced && burns.some((burn) => burn.severity === severity && isFiring(burn));
  if (remaining <= 0 || fires("page")) return "critical";
  if (fires("ticket")) return "increasing";
  return burns.some((burn) => isAbove(burn, burn.longRate)) ? "recovering" : "ok";
}

/** A tier fires on both windows: the long one shows significance, the short one that the burn continues. */
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
    tooFew: long === undefined || long.total < minimumOf(slo),
  };
}

/**
 * The minimum of events in each window. Of time slices at most half of the fastest long window, which has few: a tier
 * that fires then always has a status.
 */
export function minimumOf(slo: SloConfig): number {
  const { minimumEvents, over } = slo;
  const [fastest] = burnTiers(slo, 0);
  if (over === undefined || fastest === undefined) return minimumEvents;
  return Math.min(minimumEvents, Math.ceil(fastest.longSeconds / over.sliceSeconds / 2));
}

/** The permitted share of bad events, without the rounding error of the subtraction. */
export function errorBudget({ objective }: SloConfig): number {
  return Number((1 - objective).toPrecision(12));
}

/** Stores extrapolate both increases separately, so that the good events can slightly exceed all events. */
function badShare(events: EventCounts | undefined, goodToCome = 0): number | undefined {
  if (events === undefined || events.total <= 0) return undefined;
  return Math.max(0, (events.total - events.good) / (events.total + goodToCome));
}

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

/** The rolling window of an objective, or that its burn rates are proportional to, in seconds. */
export function sloSeconds({ windowDays }: SloConfig): number {
  return windowDays * daySeconds;
}

/**
 * The tiers of an objective, the fastest first. Their windows are proportional to the objective's own, so that a tier
 * fires at the same share of any error budget. No window is shorter than the smallest step of the metric. Windows of
 * time slices are whole numbers of slices.
 *
 * @param stepSecondsMin smallest window of the metric
 */
export function burnTiers({ windowDays, burnRates, over }: SloConfig, stepSecondsMin: number): readonly BurnTier[] {
  const unit = over?.sliceSeconds ?? 1;
  const scaled = (minutes: number): number => {
    const seconds = Math.max(stepSecondsMin, Math.round((minutes * minuteSeconds * windowDays) / baseDays));
    return Math.ceil(seconds / unit) * unit;
  };
  return baseTiers.map(({ longMinutes, shortMinutes, severity }, tier) => ({
    longSeconds: scaled(longMinutes),
    shortSeconds: scaled(shortMinutes),
    factor: burnRates[tier] ?? Infinity,
    severity,
  }));
}

/** The distinct windows of an objective in seconds, ascending, and then its own. */
export function windowsOf(slo: SloConfig, stepSecondsMin: number, ownSeconds = sloSeconds(slo)): readonly number[] {
  const tiers = burnTiers(slo, stepSecondsMin);
  const burning = new Set(tiers.flatMap(({ longSeconds, shortSeconds }) => [longSeconds, shortSeconds]));
  burning.delete(ownSeconds);
  return [...[...burning].sort((a, b) => a - b), ownSeconds];
}
