import { bucketsPart, exemplarsPart, newestPart, type PartialAsk } from "../../../api/peers.ts";
import { traitsOf } from "../../stores/prometheus/flavours.ts";
import type { CatalogStore } from "../catalog/catalog-index.ts";
import { imposedLabels, isolationLabels, writtenFilters } from "./labels.ts";
import type { Question } from "../promql/promql.ts";
import type { QueriedMetric, Query } from "./query.ts";

/** The questions to a peer about one metric. */
interface PeerQuestions {
  /** One for each statistic, in the recipe's order; for a percentile, one for the buckets. */
  readonly ranges: readonly Question[];
  readonly newest: Question;
  readonly exemplars: Question | undefined;
}

/** Builds the questions of one metric to the peer of a region. They carry the rights as granted names. */
export function planPeer(query: Query, metric: QueriedMetric, store: CatalogStore): PeerQuestions {
  const { recipe } = metric;
  const base = baseOf(query, metric, store);
  const { stepSeconds, widthSeconds } = query.window;
  const points = {
    width_ms: widthSeconds * 1_000,
    ...(stepSeconds === widthSeconds ? {} : { step_ms: stepSeconds * 1_000 }),
    interval_seconds: store.intervalSeconds,
    increases: traitsOf(store.config).increases,
  };
  const parts = recipe.kind === "quantile" ? [bucketsPart] : recipe.statistics.map(({ name }) => name);
  return {
    ranges: parts.map((part) => ({ kind: "question", of: { ...base, part, points } })),
    newest: { kind: "question", of: { ...base, part: newestPart } },
    exemplars: query.exemplars ? { kind: "question", of: { ...base, part: exemplarsPart } } : undefined,
  };
}

function baseOf(
  query: Query,
  { entry, aggregation, slo }: QueriedMetric,
  { config: store }: CatalogStore,
): Omit<PartialAsk, "part"> {
  const imposed = imposedLabels(store, query.tenant);
  const environments = store.environment === undefined ? query.environments : new Set([store.environment]);
  return {
    schema_version: entry.schemaVersion,
    region: store.region,
    regions: query.regions,
    metric: entry.metric.id,
    agg: aggregation,
    ...(slo === undefined ? {} : { slo }),
    tenant: query.tenant,
    ...(environments === "every" ? {} : { environments: [...environments].sort() }),
    filters: Object.fromEntries(writtenFilters(query.filters).filter(([label]) => !isolationLabels.includes(label))),
    group_by: query.groupBy.filter((label) => imposed[label] === undefined),
  };
}
