import { ApiError, invalidField } from "../../errors/api-error.ts";
import { runAdmitted } from "../admission/admission.ts";
import { totalCost } from "../admission/cost.ts";
import { requireReadScope } from "../authorization/policy.ts";
import type { MetricsResponse } from "../metrics-api.ts";
import { ageSeconds } from "../reads/read-newest.ts";
import { regionReports } from "../reads/region-status.ts";
import { shown } from "../request/known-names.ts";
import { readOne } from "../request/parameters.ts";
import { formatTime } from "../request/time.ts";
import { contentId, noStore, responseHeaders } from "../response/response-headers.ts";
import { historyStepSeconds, planHistory, readHistory, type SloHistory, type SloPlan } from "./read-slo.ts";
import {
  cacheStatus,
  chargedCosts,
  isPartial,
  type ReadView,
  readViews,
  type ReadViews,
  requireSomeStore,
  type SloContext,
  type SloOptions,
  type SloRequest,
  viewUsage,
} from "./read-views.ts";
import { createCompletedReads, createSloCache } from "./slo-cache.ts";
import { selectSlos, type SloView } from "./slo-selection.ts";
import { calendarRest, windowBody } from "./calendar-rest.ts";
import { budgetOf } from "./slo-status.ts";
import type { CountedWindow } from "./slo-windows.ts";

type HistoryHandler = (request: SloRequest, context: SloContext) => Promise<MetricsResponse>;

/**
 * Creates the handler of `GET /v1/metrics/slo/history`, with its cache, which outlives a configuration. The caller sees
 * the objectives that `GET /v1/metrics/slo` shows it, and needs a token for public ones too.
 *
 * @throws ApiError for an error of the caller, `not_found` for an objective that it does not see, `store_failed` and
 *   `store_timeout` when no store responded; the signal's reason
 */
export function createSloHistoryHandler(options: SloOptions): HistoryHandler {
  const cache = createSloCache<SloHistory>();
  const completed = createCompletedReads();
  return async (request, context) => {
    const startMs = performance.now();
    const {
      caller,
      context: { nowMs },
    } = request;
    requireReadScope(caller);
    const { view, schemaVersion } = selectView(request, context);
    const plan = planHistory(view, caller, context.quotas, nowMs);
    const quota = plan.plans[0]?.query.quota;
    if (quota === undefined) throw new Error("a history has one plan");
    const admitted = await options.admission.request(caller, quota, plan.costs);
    const sources = { ...options, ...context, cache, completed, read: readHistory };
    const usage = viewUsage([plan], caller, options.admission);
    // Its errors show no quota.
    const ending = {
      sent: usage.sent,
      end() {
        admitted.end();
        usage.end();
      },
    };
    return runAdmitted(ending, async () => {
      const { read, counts } = await readViews([plan], request, sources);
      const [own] = read;
      if (own === undefined) throw new Error("a plan was not read");
      admitted.settle(chargedCosts(own));
      usage.read(read);
      requireSomeStore(own.data.outcomes);
      const partial = isPartial(own.data);
      return {
        status: partial ? 206 : 200,
        headers: {
          ...headersOf(plan, own, counts, { durationMs: performance.now() - startMs, nowMs }),
          ...admitted.headers(),
          ...(partial ? noStore : { "Cache-Control": "private, max-age=30" }),
          Vary: "Authorization, Accept",
        },
        body: historyBody(own, { schemaVersion, partial }),
      };
    });
  };
}

/** The one view that a request names. */
function selectView({ params, caller, context: { nowMs } }: SloRequest, { slos, quotas }: SloContext) {
  const name = readOne(params, "slo");
  if (name === undefined) throw invalidField("invalid_request", "slo", "the request has no objective; add slo=");
  const { views, schemaVersion } = selectSlos(params, caller, { slos, quotas }, nowMs);
  const [view, ...others] = views;
  if (view === undefined) throw new ApiError("not_found", `The objective ${shown(name)} does not exist.`);
  if (others.length > 0) throw severalViews(views);
  return { view, schemaVersion };
}

function severalViews(views: readonly SloView[]): ApiError {
  const field = new Set(views.map(({ slo }) => slo.domain)).size > 1 ? "domain" : "region";
  const values = views.map(({ slo, grant }) => (field === "domain" ? slo.domain : grant.regions.join("+")));
  const named = [...new Set(values)].sort().join(", ");
  return invalidField(
    "invalid_request",
    field,
    `the objective has ${views.length} histories; select one ${field} of ${named}`,
  );
}

function headersOf(
  { plans }: SloPlan,
  own: ReadView<SloHistory>,
  counts: ReadViews<SloHistory>["counts"],
  { durationMs, nowMs }: { readonly durationMs: number; readonly nowMs: number },
): MetricsResponse["headers"] {
  const { outcomes } = own.data;
  return responseHeaders({
    freshness: [ageSeconds(own.data.stalestMs, nowMs)],
    downsample: "none",
    partial: isPartial(own.data),
    plan: `points=${plans.reduce((sum, { grid }) => sum + grid.count, 0)}, reads=${counts.wanted}, sent=${counts.sent}`,
    cache: cacheStatus([own]),
    shards: { requested: outcomes.length, responded: outcomes.filter(({ outcome }) => outcome.ok).length },
    total: { estimate: totalCost(own.plan.costs), cost: totalCost(chargedCosts(own)), durationMs },
  });
}

interface HistoryBodyContext {
  readonly schemaVersion: string;
  readonly partial: boolean;
}

/** The body of `GET /v1/metrics/slo/history`: one item for each point, the oldest first. */
function historyBody(
  { plan, data: { points, outcomes, gaps } }: ReadView<SloHistory>,
  { schemaVersion, partial }: HistoryBodyContext,
): object {
  const { view } = plan;
  const { slo, entry, grant } = view;
  const data = points.map((point, index) => pointBody(view, point, plan.windows[index]));
  const about = {
    schema_version: schemaVersion,
    name: slo.name,
    domain: slo.domain,
    metric: slo.metric,
    tenant: grant.tenant,
    ...windowBody(slo, entry.metric.minStepSeconds, points.at(-1)?.atMs ?? 0),
    objective: slo.objective,
    step_seconds: historyStepSeconds(slo),
    regions: regionReports(outcomes, gaps),
    partial,
  };
  return { data, meta: { correlation_id: contentId([data, about]), ...about } };
}

/** The share of good events and the remaining budget, by the same rule as the objective itself; null without events. */
function pointBody(
  { slo, entry }: SloView,
  { atMs, events }: SloHistory["points"][number],
  window: CountedWindow | undefined,
): object {
  const rest = window && calendarRest(slo, entry.metric.minStepSeconds, window);
  const { sli, budget } = budgetOf(slo, events, rest?.countedSlicesToCome);
  return { at: formatTime(atMs), sli: sli ?? null, remaining: budget.remaining ?? null };
}
