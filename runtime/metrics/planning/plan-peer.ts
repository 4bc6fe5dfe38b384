import { hash } from "node:crypto";
import {
  bucketsPart,
  exemplarsPart,
  newestPart,
  type PartialAsk,
  type PartialTimes,
  partialRequestVersion,
} from "../../../api/peers.ts";
import type { LabelName } from "../../../crds/config.ts";
import { traitsOf } from "../../stores/prometheus/prometheus-client.ts";
import type { CatalogStore } from "../catalog-index.ts";
import type { PartialQuery } from "../promql/promql.ts";
import { isolationLabels, writtenFilters } from "../request/parameters.ts";
import type { QueriedMetric, Query } from "./query.ts";

/** The partial requests to a peer about one metric. */
interface PeerRequests {
  /** One for each statistic, in the recipe's order; for a percentile, one for the buckets. */
  readonly ranges: readonly PartialQuery[];
  readonly newest: PartialQuery;
  readonly exemplars: PartialQuery | undefined;
}

interface PeerStore {
  readonly store: CatalogStore;
  /** The labels that the peer groups by: the catalog does not set them. */
  readonly groupBy: readonly LabelName[];
}

/** Builds the partial requests of one metric to the peer of a region. They carry the rights as granted names. */
export function planPeer(query: Query, metric: QueriedMetric, { store, groupBy }: PeerStore): PeerRequests {
  const { recipe } = metric;
  const base = baseOf(query, metric, { store, groupBy });
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
  { store: { config: store }, groupBy }: PeerStore,
): Omit<PartialAsk, "part"> {
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
    filters: Object.fromEntries(
      // Environments are a separate member, unless a filter wants any.
      writtenFilters(query.filters).filter(
        ([label, values]) => !isolationLabels.includes(label) || (label === "environment" && values.length === 0),
      ),
    ),
    group_by: groupBy,
  };
}

/** Builds the body of a partial request. @param question as printed; it is the key of cached responses */
export function partialRequestBody(request: string, over: PartialTimes): string {
  return `{"version":${partialRequestVersion},"ask":${request},"over":${JSON.stringify(over)}}`;
}

/** Builds the body that only asks for the capabilities of a peer in a region. */
export function probeBody(probe: { readonly region: string }): string {
  return JSON.stringify({ version: partialRequestVersion, probe });
}

/** The digest that binds a response to its partial request. */
export function partialRequestKey(body: string | Uint8Array): string {
  return hash("sha256", body, "base64url");
}
