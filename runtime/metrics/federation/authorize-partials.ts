import {
  bucketsPart,
  exemplarsPart,
  newestPart,
  type PartialAsk,
  type PartialPoints,
  type PartialTimes,
  widthMsMax,
} from "../../../api/peers.ts";
import { type LabelName, labelNames } from "../../../crds/config.ts";
import { invalidField } from "../../errors/api-error.ts";
import { traitsOf } from "../../stores/prometheus/prometheus-client.ts";
import { accessOf, allows, type Caller, classOf, type Names } from "../authorization/access.ts";
import { grant, requireScopeOver } from "../authorization/policy.ts";
import type { CatalogStore, MetricEntry } from "../catalog-index.ts";
import { catalogEntry, requireLabels, schemaVersionOf } from "../planning/catalog-entry.ts";
import { makePlan, type Plan } from "../planning/plan.ts";
import { ownQuery, type QueriedMetric, queriedMetric, type QueryContext, requireOneRule } from "../planning/query.ts";
import type { ScalarRecipe } from "../promql/recipe.ts";
import { shown } from "../request/known-names.ts";
import { onePoint } from "../request/window.ts";
import { countingRecipe } from "../slo/counted-events.ts";
import type { SloEntry } from "../slo/slo-selection.ts";

/** The configuration that a partial request is checked against. */
export interface PartialsContext {
  readonly queryContext: QueryContext;
  readonly slos: readonly SloEntry[];
}

/** A granted partial request: a plan over this runtime's own stores of the region, with one statistic at most. */
interface GrantedPartial {
  readonly plan: Plan;
  readonly metric: QueriedMetric;
  /** True when the value of a point needs other statistics of the same store too. */
  readonly isOneOfSeveral: boolean;
}

/**
 * Checks a partial request against token, narrowing and catalog, and plans it. A partial request that exceeds them is
 * rejected, not narrowed, since the asking runtime could not tell. Stores that are peers are left out, so that no
 * partial request is forwarded. Source: seed "Operational Metrics API" §5 and §8, "Data residency".
 *
 * @throws ApiError
 */
export function grantPartials(
  ask: PartialAsk,
  over: PartialTimes,
  caller: Caller,
  { queryContext, slos }: PartialsContext,
): GrantedPartial {
  const entry = ownEntry(catalogEntry(ask.metric, queryContext.catalog), ask.region);
  const schemaVersion = schemaVersionOf([entry], ask.schema_version);
  const access = accessOf(caller, queryContext.quotas);
  requireEnvironments(ask.environments, access.environments);
  requireRegions(ask, entry);
  const filters = new Map<LabelName, readonly string[]>([
    ...(Object.entries(ask.filters) as [LabelName, string | readonly string[]][]).map(
      ([label, wanted]): [LabelName, readonly string[]] => [label, typeof wanted === "string" ? [wanted] : wanted],
    ),
    ["tenant", [ask.tenant]],
    ["region", [ask.region]],
  ]);
  const environments = ask.environments === undefined ? access.environments : new Set(ask.environments);
  const granted = grant([entry], filters, caller, { ...access, environments });
  const quota = classOf(caller, [entry.metric], queryContext.quotas);
  requireLabels({ groupBy: ask.group_by, filters }, [entry.metric], labelNames.length);
  const requested = granted.metrics.map((one) => metricOf(one, ask, slos));
  const metrics = requested.map((one) => narrowed(one, ask));
  const [metric] = metrics;
  if (metric === undefined) throw new Error("a grant of one metric has no metric");
  const isOneOfSeveral = requested.some(({ recipe }) => recipe.kind === "scalar" && recipe.statistics.length > 1);
  const window = windowOf(ask, over, metric);
  const query = ownQuery(granted, {
    metrics,
    filters,
    groupBy: ask.group_by,
    window,
    exemplars: ask.part === exemplarsPart,
    schemaVersion,
    quota,
  });
  return { plan: makePlan(query, window.toMs), metric, isOneOfSeveral };
}

/** Narrows a metric to the stores of the region that this runtime reads itself. @throws ApiError `region_forbidden` */
function ownEntry(entry: MetricEntry, region: string): MetricEntry {
  const stores = entry.stores.filter(({ config: store }) => store.prometheus !== undefined && store.region === region);
  if (stores.length > 0) return { ...entry, stores };
  throw invalidField(
    "region_forbidden",
    "ask.region",
    `this runtime reads no store of ${entry.metric.id} in ${shown(region)}; query the runtime of that region`,
  );
}

function requireEnvironments(requested: readonly string[] | undefined, allowed: Names): void {
  if (requested === undefined ? allowed === "every" : requested.every((name) => allows(allowed, name))) return;
  const forbidden = requested?.find((name) => !allows(allowed, name));
  const detail =
    forbidden === undefined
      ? "this caller is not allowed to read all environments; list those of the token"
      : `this caller is not allowed to read the environment ${shown(forbidden)}; remove it`;
  throw invalidField("environment_forbidden", "ask.environments", detail);
}

function requireRegions({ region, regions }: PartialAsk, entry: MetricEntry): void {
  if (!regions.includes(region))
    throw invalidField("invalid_request", "ask.regions", `ask.regions lacks ask.region, ${shown(region)}; add it`);
  requireScopeOver(regions, [{ entry }]);
}

type Granted = Parameters<typeof queriedMetric>[0];

function metricOf(granted: Granted, ask: PartialAsk, slos: readonly SloEntry[]): QueriedMetric {
  if (ask.slo === undefined) return queriedMetric(granted, ask.agg);
  const found = slos.find(({ slo, entry }) => slo.name === ask.slo && entry.metric.id === ask.metric);
  if (found === undefined) {
    throw invalidField(
      "invalid_request",
      "ask.slo",
      `${shown(ask.slo)} is not an objective of ${ask.metric}; use one of its objectives`,
    );
  }
  const recipe = countingRecipe(granted.entry.metric, found.slo);
  requireOneRule(granted, recipe);
  return { ...granted, aggregation: "avg", recipe };
}

/** Reduces a metric to the part in question. @throws ApiError `invalid_aggregation`, `incompatible_increases` */
function narrowed(metric: QueriedMetric, { part, agg, points }: PartialAsk): QueriedMetric {
  const { recipe, entry, stores } = metric;
  if (part === newestPart || part === exemplarsPart) return metric;
  if (recipe.needs.increases) requireIncreases(stores, points?.increases);
  if (recipe.kind === "quantile") {
    if (part === bucketsPart) return metric;
    throw invalidField(
      "invalid_aggregation",
      "ask.part",
      `${agg} of ${entry.metric.id} has no part ${shown(part)}; request ${bucketsPart}`,
    );
  }
  const statistics = recipe.statistics.filter(({ name }) => name === part);
  if (statistics.length === 1)
    return { ...metric, recipe: { ...recipe, statistics } satisfies ScalarRecipe & typeof recipe };
  const names = recipe.statistics.map(({ name }) => name).join(", ");
  throw invalidField(
    "invalid_aggregation",
    "ask.part",
    `${agg} of ${entry.metric.id} has no part ${shown(part)}; request one of ${names}`,
  );
}

function requireIncreases(stores: readonly CatalogStore[], requested: string | undefined): void {
  if (stores.every(({ config: store }) => traitsOf(store).increases === requested)) return;
  const rules = [...new Set(stores.map(({ config: store }) => traitsOf(store).increases))].join(", ");
  const detail = `the stores of this region compute increases as ${rules}, not ${requested ?? "unnamed"}`;
  throw invalidField("incompatible_increases", "ask.points.increases", `${detail}; request that rule`);
}

type Window = Plan["query"]["window"];

/** The window that a partial request is planned over. @throws ApiError */
function windowOf({ points, part }: PartialAsk, over: PartialTimes, { entry }: QueriedMetric): Window {
  const { minStepSeconds } = entry.metric;
  if (part === exemplarsPart) return exemplarsWindow(over, minStepSeconds);
  if (part === newestPart && "time_ms" in over) return onePoint(over.time_ms, minStepSeconds);
  if (points === undefined)
    throw invalidField("invalid_request", "ask.points", `ask.points is missing; the part ${shown(part)} requires it`);
  if ("from_ms" in over) {
    throw invalidField(
      "invalid_window",
      "over",
      "from_ms and to_ms are for exemplars only; use start_ms and count, or time_ms",
    );
  }
  const widthSeconds = secondsOf(points, "width_ms", entry);
  const stepSeconds = points.step_ms === undefined ? widthSeconds : secondsOf(points, "step_ms", entry);
  if ("time_ms" in over) return onePoint(over.time_ms, widthSeconds);
  const { start_ms: startMs, count } = over;
  const toMs = startMs + (count - 1) * stepSeconds * 1_000;
  return { ...onePoint(startMs, widthSeconds), toMs, stepSeconds };
}

/** @throws ApiError `invalid_step` unless it is whole seconds, at least the smallest step of the metric */
function secondsOf(points: PartialPoints, name: "width_ms" | "step_ms", { metric }: MetricEntry): number {
  const ms = points[name] ?? 0;
  const seconds = ms / 1_000;
  if (Number.isInteger(seconds) && seconds >= metric.minStepSeconds) return seconds;
  const detail =
    `${name}=${ms} is not valid for ${metric.id}; use an integer number of seconds, at least ` +
    `${metric.minStepSeconds}`;
  throw invalidField("invalid_step", `ask.points.${name}`, detail);
}

function exemplarsWindow(over: PartialTimes, stepSeconds: number): Window {
  if ("from_ms" in over && over.from_ms < over.to_ms && over.to_ms - over.from_ms <= widthMsMax)
    return { ...onePoint(over.to_ms, stepSeconds), fromMs: over.from_ms };
  throw invalidField(
    "invalid_window",
    "over",
    "the window of exemplars is not valid; use from_ms and a later to_ms, at most 400 days apart",
  );
}
