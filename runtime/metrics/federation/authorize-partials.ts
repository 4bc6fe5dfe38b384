import { labelNames, type LabelName } from "../../../crds/config.ts";
import { refuseField } from "../../errors/refusal.ts";
import { traitsOf } from "../../stores/prometheus/flavours.ts";
import { accessOf, classOf } from "../authorization/access.ts";
import type { Caller } from "../authorization/caller.ts";
import type { CatalogStore, MetricEntry } from "../catalog/catalog-index.ts";
import type { ScalarRecipe } from "../promql/kinds/recipe.ts";
import { allows, type Names } from "../authorization/names.ts";
import { shown } from "../request/parameters.ts";
import { makePlan, type Plan } from "../planning/plan.ts";
import { grant, requireScopeOver } from "../authorization/policy.ts";
import {
  entryOf,
  ownQuery,
  queriedMetric,
  requireLabels,
  requireOneRule,
  schemaVersionOf,
  type QueriedMetric,
  type QueryContext,
} from "../planning/query.ts";
import { countingRecipe } from "../slo/slo-recipe.ts";
import type { SloEntry } from "../slo/slo-index.ts";
import {
  bucketsPart,
  exemplarsPart,
  newestPart,
  type AskedTimes,
  type PartialQuestion,
} from "../promql/partial-question.ts";
import { widthMsMax } from "./parse-question.ts";

/** What a question is held against. */
export interface PartialsContext {
  readonly queryContext: QueryContext;
  readonly slos: readonly SloEntry[];
}

/**
 * A question that may be answered, as a plan over this runtime's own stores of the region, of one statistic at most.
 */
interface GrantedPartial {
  readonly plan: Plan;
  readonly metric: QueriedMetric;
}

/**
 * Token ∩ narrowing ∩ this catalog, for a question whose rights came with it as what they come to: what is wider than
 * this catalog or the token is refused, never cut down, since the asker would not know. Stores that are peers answer
 * nothing here, so that no question goes round. Source: seed "Operational Metrics API" §5 and §8, "Data residency".
 *
 * @throws Refusal
 */
export function grantPartials(
  ask: PartialQuestion,
  over: AskedTimes,
  caller: Caller,
  { queryContext, slos }: PartialsContext,
): GrantedPartial {
  const entry = ownEntry(entryOf(ask.metric, queryContext.catalog), ask.region);
  const schemaVersion = schemaVersionOf([entry], ask.schema_version);
  const access = accessOf(caller, queryContext.quotas);
  requireEnvironments(ask.environments, access.environments);
  requireRegions(ask, entry);
  const filters = new Map<LabelName, string>([
    ...(Object.entries(ask.filters) as [LabelName, string][]),
    ["tenant", ask.tenant],
    ["region", ask.region],
  ]);
  const environments = ask.environments === undefined ? access.environments : new Set(ask.environments);
  const granted = grant([entry], filters, caller, { ...access, environments });
  const quota = classOf(caller, [entry.metric], queryContext.quotas);
  requireLabels({ groupBy: ask.group_by, filters }, [entry.metric], labelNames.length);
  const metrics = granted.metrics.map((one) => narrowed(metricOf(one, ask, slos), ask));
  const [metric] = metrics;
  if (metric === undefined) throw new Error("a grant of one metric held none");
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
  // As of the end of the window, so that the newest sample is always asked for.
  return { plan: makePlan(query, window.toMs), metric };
}

/** The stores of the region that this runtime reads by itself. @throws Refusal `region_forbidden` */
function ownEntry(entry: MetricEntry, region: string): MetricEntry {
  const stores = entry.stores.filter(({ config: store }) => store.prometheus !== undefined && store.region === region);
  if (stores.length > 0) return { ...entry, stores };
  throw refuseField(
    "region_forbidden",
    "ask.region",
    `no store of ${entry.metric.id} in ${shown(region)} is read by this runtime itself`,
  );
}

function requireEnvironments(asked: readonly string[] | undefined, allowed: Names): void {
  const isAllowed = asked === undefined ? allowed === "every" : asked.every((name) => allows(allowed, name));
  if (!isAllowed)
    throw refuseField(
      "environment_forbidden",
      "ask.environments",
      "not all of these environments are allowed to this caller",
    );
}

function requireRegions({ region, regions }: PartialQuestion, entry: MetricEntry): void {
  if (!regions.includes(region))
    throw refuseField("invalid_request", "ask.regions", "ask.regions has no place for ask.region");
  requireScopeOver(regions, [{ entry }]);
}

type Granted = Parameters<typeof queriedMetric>[0];

function metricOf(granted: Granted, ask: PartialQuestion, slos: readonly SloEntry[]): QueriedMetric {
  if (ask.slo === undefined) return queriedMetric(granted, ask.agg);
  const found = slos.find(({ slo, entry }) => slo.name === ask.slo && entry.metric.id === ask.metric);
  if (found === undefined)
    throw refuseField("invalid_request", "ask.slo", `${shown(ask.slo)} is no objective over ${ask.metric}`);
  const recipe = countingRecipe(granted.entry.metric, found.slo);
  requireOneRule(granted, recipe);
  return { ...granted, aggregation: "avg", recipe };
}

/**
 * The metric with nothing but what the question is about. @throws Refusal `invalid_aggregation`,
 * `incompatible_increases`
 */
function narrowed(metric: QueriedMetric, { part, agg, points }: PartialQuestion): QueriedMetric {
  const { recipe, entry, stores } = metric;
  if (part === newestPart || part === exemplarsPart) return metric;
  if (recipe.needs.increases) requireIncreases(stores, points?.increases);
  if (recipe.kind === "quantile") {
    if (part === bucketsPart) return metric;
    throw refuseField("invalid_aggregation", "ask.part", `${agg} of ${entry.metric.id} is made of ${bucketsPart}`);
  }
  const statistics = recipe.statistics.filter(({ name }) => name === part);
  if (statistics.length === 1)
    return { ...metric, recipe: { ...recipe, statistics } satisfies ScalarRecipe & typeof recipe };
  const names = recipe.statistics.map(({ name }) => name).join(", ");
  throw refuseField("invalid_aggregation", "ask.part", `${agg} of ${entry.metric.id} is made of ${names}`);
}

function requireIncreases(stores: readonly CatalogStore[], asked: string | undefined): void {
  if (stores.every(({ config: store }) => traitsOf(store).increases === asked)) return;
  throw refuseField(
    "incompatible_increases",
    "ask.points.increases",
    "the stores here compute increases by another rule",
  );
}

type Window = Plan["query"]["window"];

/** What the plan of a question is over. @throws Refusal */
function windowOf({ points, part }: PartialQuestion, over: AskedTimes, { entry }: QueriedMetric): Window {
  const { minStepSeconds } = entry.metric;
  if (part === exemplarsPart) return exemplarsWindow(over, minStepSeconds);
  if (part === newestPart && "time_ms" in over) return onePoint(over.time_ms, minStepSeconds);
  if (points === undefined) throw refuseField("invalid_request", "ask.points", "ask.points is missing");
  if ("from_ms" in over) throw refuseField("invalid_window", "over", "from_ms and to_ms are for exemplars");
  const widthSeconds = points.width_ms / 1_000;
  if (!Number.isInteger(widthSeconds) || widthSeconds < minStepSeconds) {
    const detail = `${entry.metric.id} has points of whole seconds, at least ${minStepSeconds}`;
    throw refuseField("invalid_step", "ask.points.width_ms", detail);
  }
  if ("time_ms" in over) return onePoint(over.time_ms, widthSeconds);
  const { start_ms: startMs, count } = over;
  return { ...onePoint(startMs, widthSeconds), toMs: startMs + (count - 1) * points.width_ms };
}

function onePoint(timeMs: number, stepSeconds: number): Window {
  return { fromMs: timeMs - stepSeconds * 1_000, toMs: timeMs, stepSeconds, downsample: undefined };
}

function exemplarsWindow(over: AskedTimes, stepSeconds: number): Window {
  if ("from_ms" in over && over.from_ms < over.to_ms && over.to_ms - over.from_ms <= widthMsMax) {
    return { fromMs: over.from_ms, toMs: over.to_ms, stepSeconds, downsample: undefined };
  }
  throw refuseField(
    "invalid_window",
    "over",
    "exemplars are asked for with from_ms and a later to_ms, at most 400 days after it",
  );
}
