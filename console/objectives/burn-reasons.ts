import type { Slo } from "../../api/objectives.ts";
import { formatNumber, formatSeconds, formatShare } from "../components/format.ts";
import { formatSli } from "./format-sli.ts";
import { windowText } from "./window-text.ts";
import { budgetLeft, isBurning, secondsLeft } from "./objective-view.ts";

/** Why an objective has its state, most important first. Empty if nothing is wrong. */
export function burnReasons(objective: Slo): readonly string[] {
  return [...budgetReasons(objective), ...tierReasons(objective), ...stateReasons(objective)];
}

function budgetReasons(objective: Slo): readonly string[] {
  const { error_budget: budget, window_days: days } = objective;
  const left = budgetLeft(objective);
  if (left === undefined || left > 0) return [];
  const used = `${formatSli(budget.spent)} of the events in ${days} d were bad, and ${formatSli(budget.total)} may be`;
  return [`The error budget is spent: ${used} (${formatShare(1 - left)} of the budget).`];
}

/** The fastest tier that burns says most: the others follow from it. */
function tierReasons(objective: Slo): readonly string[] {
  const tier = objective.tiers.find(isBurning);
  if (tier === undefined) return [];
  const { long, short, factor } = tier;
  const [slow, fast] = [`the last ${windowText(long.window)}`, `the last ${windowText(short.window)}`];
  const ofSlow = `${formatNumber(long.rate)} times the sustainable rate in ${slow}`;
  const rates = `${ofSlow}, and ${formatNumber(short.rate)} times in ${fast}`;
  const left = secondsLeft(objective, tier);
  const end = left === undefined ? "" : ` At this rate the budget is spent in ${formatSeconds(left)}.`;
  return [`The budget burns at ${rates} (alert above ${formatNumber(factor)}).${end}`];
}

function stateReasons({ status, minimum_events: least, events, regions }: Slo): readonly string[] {
  const missing = regions.filter(({ state }) => state !== "ok").map(({ region, state }) => `${region} (${state})`);
  const without = missing.length === 0 ? "" : ` Incomplete: ${missing.join(", ")}.`;
  const total = formatNumber(Math.round(events?.total ?? 0));
  const counted = `${total} events were counted, and a state needs ${formatNumber(least)}.`;
  if (status === "insufficient_data") return [`${counted}${without}`];
  if (status === "late") return [`${counted} Stores did not respond in time.${without}`];
  if (status === "failed") return [`${counted} Stores failed.${without}`];
  if (status === "recovering") return [`No alert fires, but a long window is still above its threshold.${without}`];
  return without === "" ? [] : [without.trim()];
}

/** Bad events next to those that the budget permits: with fewer than one, a single bad event spends it. */
export function badEventsText({ events, error_budget: { total } }: Pick<Slo, "events" | "error_budget">): string {
  if (events === undefined) return "none";
  const permitted = events.total * total;
  const shown = permitted < 10 ? Number(permitted.toFixed(1)) : Math.round(permitted);
  return `${formatNumber(Math.round(events.total - events.good))} of ${formatNumber(shown)} permitted`;
}
