// When the budget of an objective is spent, if its events stay as bad as they are.
import type { Slo } from "../../../api/objectives.ts";
import type { SloConfig } from "../../../crds/config.ts";

/** What the rest of a calendar period adds to an assessment. */
export interface CalendarRest {
  /** Seconds of the window so far. */
  readonly windowSeconds: number;
  /** Of these, those that corrections leave out. */
  readonly excludedSeconds: number;
  /** Seconds until the end of the period. */
  readonly leftSeconds: number;
  /** Slices until then, all of them and those that no correction leaves out; 0 for events. */
  readonly slicesToCome: number;
  readonly countedSlicesToCome: number;
}

/** How a burn spends the budget. */
interface Spending {
  /** Seconds of which the budget is a share. */
  readonly budgetSeconds: number;
  /** Burn rate that leaves the share of bad events as it is. */
  readonly steadyRate: number;
  /** The window ends then. */
  readonly leftSeconds: number;
}

/** What is bad now leaves a rolling window after its length. */
export function rollingSpending(windowSeconds: number): Spending {
  return { budgetSeconds: windowSeconds, steadyRate: 0, leftSeconds: windowSeconds };
}

/**
 * Events to come add to the budget of a calendar period; its slices are known beforehand.
 *
 * @param slices slices of the window with a value
 */
export function spendingOf({ over }: SloConfig, slices: number, rest: CalendarRest): Spending {
  const { windowSeconds, excludedSeconds, leftSeconds, countedSlicesToCome } = rest;
  if (over === undefined) return { budgetSeconds: windowSeconds - excludedSeconds, steadyRate: 1, leftSeconds };
  return { budgetSeconds: (slices + countedSlicesToCome) * over.sliceSeconds, steadyRate: 0, leftSeconds };
}

/**
 * Seconds until the budget is spent, if events stay as frequent and as bad as at a burn rate. 0 for a spent budget;
 * undefined without a rate, and if the window ends before.
 */
export function exhaustionSeconds(
  { total, remaining }: Slo["error_budget"],
  rate: number | undefined,
  { budgetSeconds, steadyRate, leftSeconds }: Spending,
): number | undefined {
  if (remaining === undefined) return undefined;
  if (remaining <= 0) return 0;
  if (rate === undefined || rate <= steadyRate) return undefined;
  const seconds = ((remaining / total) * budgetSeconds) / (rate - steadyRate);
  return seconds <= leftSeconds ? Math.floor(seconds) : undefined;
}
