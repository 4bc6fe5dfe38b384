// One objective in a response. The request and its reads are elsewhere.
import type { BurnRate, Slo, SloBudgetBody, SloCorrection } from "../../../api/objectives.ts";
import { regionReports, stateOfFailures } from "../reads/region-status.ts";
import { formatDuration, formatTime } from "../request/time.ts";
import type { CalendarRest } from "./exhaustion-seconds.ts";
import type { SloData, SloPlan } from "./read-slo.ts";
import { calendarRest, windowBody } from "./calendar-rest.ts";
import type { ReadView } from "./read-views.ts";
import {
  assessSlo,
  budgetOf,
  type EventCounts,
  minimumOf,
  type MissingStores,
  type SloBudget,
  sloSeconds,
  type TierBurn,
} from "./slo-status.ts";
import { type AppliedCorrection, appliedCorrections, correctionStep } from "./slo-windows.ts";

/** An objective of `GET /v1/metrics/slo`. Unknown values are left out, never null. */
export function sloItem({ plan, data }: ReadView<SloData>): Slo {
  const { slo, entry, grant } = plan.view;
  const own = plan.windows.at(-1) ?? { all: { fromMs: 0, toMs: 0 }, left: [] };
  const window = own.all;
  const { minStepSeconds } = entry.metric;
  const step = correctionStep(slo, minStepSeconds);
  const rest = calendarRest(slo, minStepSeconds, own);
  const applied = appliedCorrections(slo.corrections ?? [], window, step);
  const assessment = assessSlo(slo, data.counts, minStepSeconds, {
    rest,
    missing: missingStores(data.outcomes),
    isSilenced: applied.some(({ isActive }) => isActive),
  });
  const [fast, slow] = [assessment.burns.at(0), assessment.burns.at(-1)];
  return {
    name: slo.name,
    ...known("title", slo.title),
    domain: slo.domain,
    metric: slo.metric,
    objective: slo.objective,
    ...windowBody(slo, minStepSeconds, window.toMs),
    minimum_events: minimumOf(slo),
    at: formatTime(window.toMs),
    tenant: grant.tenant,
    regions: regionReports(data.outcomes, data.gaps),
    ...budgetBody(assessment),
    ...known("over", overBody(plan.view, slo.corrections ? data.uncorrected : assessment.events, rest)),
    burn: { ...(fast && { fast: burnBody(fast) }), ...(slow && { slow: burnBody(slow) }) },
    tiers: assessment.burns.map(tierBody),
    ...known("exhaustion_seconds", assessment.exhaustionSeconds),
    ...(slo.corrections && {
      corrections: applied.map(correctionBody),
      uncorrected: budgetBody(budgetOf(slo, data.uncorrected, rest?.slicesToCome)),
    }),
    status: assessment.status,
  };
}

function budgetBody({ sli, events, budget }: SloBudget): SloBudgetBody {
  return { ...known("sli", sli), ...known("events", events), error_budget: budget };
}

function correctionBody({ reason, isActive, seconds, fromMs, toMs }: AppliedCorrection): SloCorrection {
  return { reason, active: isActive, seconds, from: formatTime(fromMs), to: formatTime(toMs) };
}

function missingStores(outcomes: SloData["outcomes"]): MissingStores | undefined {
  const kinds = outcomes.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome.error.kind]));
  if (kinds.length === 0) return undefined;
  return stateOfFailures(kinds) === "late" ? "late" : "failed";
}

function overBody(
  { slo, entry }: SloPlan["view"],
  events: EventCounts | undefined,
  rest: CalendarRest | undefined,
): Slo["over"] {
  if (slo.over === undefined) return undefined;
  const { operator, threshold, sliceSeconds } = slo.over;
  const slices = (rest?.windowSeconds ?? sloSeconds(slo)) / sliceSeconds;
  return {
    aggregation: entry.metric.defaultAggregation,
    operator,
    threshold,
    slice_seconds: sliceSeconds,
    slices,
    missing_slices: slices - (events?.total ?? 0),
    ...known("slices_to_come", rest?.countedSlicesToCome),
  };
}

/** The long window of a tier. */
function burnBody({ longSeconds, longRate }: TierBurn): BurnRate {
  return { window: formatDuration(longSeconds), ...known("rate", longRate) };
}

function tierBody({
  longSeconds,
  shortSeconds,
  longRate,
  shortRate,
  factor,
  severity,
}: TierBurn): Slo["tiers"][number] {
  return {
    severity,
    factor,
    long: { window: formatDuration(longSeconds), ...known("rate", longRate) },
    short: { window: formatDuration(shortSeconds), ...known("rate", shortRate) },
  };
}

function known(name: string, value: unknown): object {
  return value === undefined ? {} : { [name]: value };
}
