import { contentId } from "../response/content-id.ts";
import { regionReports } from "../reads/region-status.ts";
import { formatTime } from "../request/time.ts";
import { historyStepSeconds, type SloHistory } from "./read-history.ts";
import type { ReadView } from "./read-views.ts";
import type { SloView } from "./slo-selection.ts";
import { assessSlo, type EventCounts } from "./slo-status.ts";
import { sloSeconds } from "./slo-windows.ts";

interface HistoryContext {
  readonly schemaVersion: string;
  readonly partial: boolean;
}

/** The body of `GET /v1/metrics/slo/history`: one item for each point, the oldest first. */
export function historyBody(
  { plan, data: { counts, outcomes, gaps } }: ReadView<SloHistory>,
  { schemaVersion, partial }: HistoryContext,
): object {
  const { view, plans } = plan;
  const { slo, grant } = view;
  const { startMs = 0, stepMs = 0 } = plans[0]?.grid ?? {};
  const data = counts.map((events, index) => pointBody(view, startMs + index * stepMs, events));
  const about = {
    schema_version: schemaVersion,
    name: slo.name,
    domain: slo.domain,
    metric: slo.metric,
    tenant: grant.tenant,
    window_days: slo.windowDays,
    objective: slo.objective,
    step_seconds: historyStepSeconds(slo),
    regions: regionReports(outcomes, gaps),
    partial,
  };
  return { data, meta: { correlation_id: contentId([data, about]), ...about } };
}

/** The share of good events and the remaining budget, by the same rule as the objective itself; null without events. */
function pointBody({ slo, entry }: SloView, atMs: number, events: EventCounts | undefined): object {
  const counts = new Map(events === undefined ? [] : [[sloSeconds(slo), events] as const]);
  const { sli, budget } = assessSlo(slo, counts, entry.metric.minStepSeconds);
  return { at: formatTime(atMs), sli: sli ?? null, remaining: budget.remaining ?? null };
}
