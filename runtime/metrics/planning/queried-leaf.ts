import type { GrantedMetric } from "../authorization/policy.ts";
import type { Measure } from "../leaves/leaf.ts";
import { eventCountRecipe, eventFractionRecipe, refuseMeasure } from "../promql/event-recipes.ts";
import type { EventsMeasure } from "./measure-name.ts";
import { queriedMetric, requireOneRule, type QueriedMetric } from "./query.ts";

/**
 * Builds one metric of a query that asks for a measure. The number and the share of events are partials of `avg`: a
 * peer is asked for these.
 *
 * @throws Refusal `invalid_aggregation`, `incompatible_increases`
 */
export function queriedLeaf(granted: GrantedMetric, measure: Measure): QueriedMetric {
  switch (measure.kind) {
    case "aggregation":
      return queriedMetric(granted, measure.aggregation);
    case "count":
      return measured(granted, measure, { recipe: eventCountRecipe(granted.entry.metric), slo: countedBy(granted) });
    case "fraction": {
      const recipe = eventFractionRecipe(granted.entry.metric, measure.threshold);
      return measured(granted, measure, { recipe, slo: sloWith(granted, measure.threshold) });
    }
    default:
      return measure satisfies never;
  }
}

interface Counted {
  readonly recipe: QueriedMetric["recipe"];
  readonly slo: string | undefined;
}

function measured(granted: GrantedMetric, measure: EventsMeasure, { recipe, slo }: Counted): QueriedMetric {
  requireOneRule(granted, recipe);
  return { ...granted, aggregation: "avg", measure, recipe, ...(slo === undefined ? {} : { slo }) };
}

/** The objective whose events are the count; undefined where the metric offers its average, which holds the count. */
function countedBy({ entry: { metric, slos } }: GrantedMetric): string | undefined {
  if (metric.aggregations.includes("avg")) return undefined;
  const [slo] = slos;
  if (slo !== undefined) return slo.name;
  const valid = metric.aggregations.join(", ");
  throw refuseMeasure(metric.id, `it has neither avg nor an objective, so its events are not counted; use ${valid}`);
}

/** The objective with a threshold: no other bound is read. */
function sloWith({ entry: { metric, slos } }: GrantedMetric, threshold: number): string {
  const found = slos.find((slo) => slo.threshold === threshold);
  if (found !== undefined) return found.name;
  const valid = [...new Set(slos.flatMap((slo) => slo.threshold ?? []))].sort((one, other) => one - other);
  const advice = valid.length === 0 ? "it has none, so ask for a percentile" : `use ${valid.join(" or ")}`;
  throw refuseMeasure(metric.id, `no objective has the threshold ${threshold}; ${advice}`);
}
