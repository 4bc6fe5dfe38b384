import { contentId } from "../response/content-id.ts";
import { formatDuration } from "../request/duration.ts";
import { regionReports, stateOfFailures } from "../reads/region-status.ts";
import { formatTime } from "../request/time.ts";
import type { SloData } from "./read-slo.ts";
import type { ReadView } from "./read-views.ts";
import { assessSlo, type MissingStores, type SloAssessment, type TierBurn } from "./slo-status.ts";

interface SloContext {
  readonly schemaVersion: string;
  readonly partial: boolean;
}

/** The body of `GET /v1/metrics/slo`. Unknown values are left out, never null. */
export function sloBody(read: readonly ReadView<SloData>[], { schemaVersion, partial }: SloContext): object {
  const data = read.map(sloItem);
  const about = { schema_version: schemaVersion, partial };
  return { data, meta: { correlation_id: contentId([data, about]), ...about } };
}

function sloItem({ plan, data }: ReadView<SloData>): object {
  const { slo, entry, grant } = plan.view;
  const assessment = assessSlo(slo, data.counts, entry.metric.minStepSeconds, missingStores(data.outcomes));
  const [fast, slow] = [assessment.burns.at(0), assessment.burns.at(-1)];
  return {
    name: slo.name,
    ...known("title", slo.title),
    domain: slo.domain,
    metric: slo.metric,
    objective: slo.objective,
    window_days: slo.windowDays,
    minimum_events: slo.minimumEvents,
    at: formatTime(plan.plans[0]?.query.window.toMs ?? 0),
    tenant: grant.tenant,
    regions: regionReports(data.outcomes, data.gaps),
    ...known("sli", assessment.sli),
    ...known("events", assessment.events),
    error_budget: budgetBody(assessment),
    burn: { ...(fast && { fast: burnBody(fast) }), ...(slow && { slow: burnBody(slow) }) },
    tiers: assessment.burns.map(tierBody),
    status: assessment.status,
  };
}

function missingStores(outcomes: SloData["outcomes"]): MissingStores | undefined {
  const kinds = outcomes.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome.error.kind]));
  if (kinds.length === 0) return undefined;
  return stateOfFailures(kinds) === "late" ? "late" : "failed";
}

function budgetBody({ budget: { total, spent, remaining } }: SloAssessment): object {
  return { total, ...known("spent", spent), ...known("remaining", remaining) };
}

/** The long window of a tier. */
function burnBody({ longSeconds, longRate }: TierBurn): object {
  return { window: formatDuration(longSeconds), ...known("rate", longRate) };
}

function tierBody({ longSeconds, shortSeconds, longRate, shortRate, factor, severity }: TierBurn): object {
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
