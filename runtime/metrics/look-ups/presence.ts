import type { Aggregation, MetricConfig } from "../../../crds/config.ts";
import type { MetricEntry } from "../catalog/catalog-index.ts";
import type { Measure } from "../leaves/leaf.ts";

/** Aggregations that one read of each store answers, the ones that see most series first. */
const cheapest: Readonly<Partial<Record<MetricConfig["source"]["kind"], readonly Aggregation[]>>> = {
  gauge: ["max", "min", "sum"],
  counter: ["sum"],
};

/** The cheapest measure with a value wherever a series has samples. The metric offers it to queries. */
export function presenceOf({ metric, slos }: Pick<MetricEntry, "metric" | "slos">): Measure {
  const { source, aggregations, defaultAggregation } = metric;
  const own = cheapest[source.kind];
  if (own === undefined && (aggregations.includes("avg") || slos.length > 0)) return { kind: "count" };
  const aggregation = own?.find((one) => aggregations.includes(one)) ?? defaultAggregation;
  return { kind: "aggregation", aggregation };
}
