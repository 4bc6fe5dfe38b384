import type { MetricConfig, SeriesConfig } from "../../../crds/config.ts";
import type { CatalogStore, MetricEntry } from "../catalog-index.ts";
import { fixedMatcher, type Selector } from "../promql/promql.ts";

/** A metric in one of its stores. */
export interface MetricInStore {
  readonly entry: Pick<MetricEntry, "metric" | "slos">;
  readonly store: Pick<CatalogStore, "config" | "intervalSeconds">;
}

/** One series of a source, by the name of its part. */
interface Part {
  readonly name: string;
  readonly selector: Selector;
}

/** The series that a metric needs. */
export function partsOf({ source, aggregations }: Pick<MetricConfig, "source" | "aggregations">): readonly Part[] {
  const part = (name: string, series: SeriesConfig, suffix = ""): Part => ({
    name,
    selector: { name: `${series.name}${suffix}`, matchers: series.matchers.map(fixedMatcher) },
  });
  if (source.kind === "ratio") return [part("numerator", source.numerator), part("denominator", source.denominator)];
  if (source.kind !== "histogram" || source.type === "Native") return [part("series", source)];
  const sums = aggregations.some((name) => name === "avg" || name === "sum");
  return [
    part("_count", source, "_count"),
    part("_bucket", source, "_bucket"),
    ...(sums ? [part("_sum", source, "_sum")] : []),
  ];
}

/** Parts whose labels are read: all series of a classic histogram have those of its count. */
export function labelledParts({ metric }: MetricInStore["entry"]): readonly Part[] {
  const parts = partsOf(metric);
  return metric.source.kind === "histogram" ? parts.slice(0, 1) : parts;
}

/** The names of a metric's labels in a store, by those of the catalog; without those that the store itself replaces. */
export function storedLabels({ entry, store }: MetricInStore): ReadonlyMap<string, string> {
  const { config } = store;
  const governed = entry.metric.labels.filter(
    (label) =>
      label !== "region" &&
      !(label === "environment" && config.environment !== undefined) &&
      !(label === "tenant" && config.tenancy !== "Labelled"),
  );
  const tenant = config.tenancy === "Labelled" ? (["tenant"] as const) : [];
  return new Map([...new Set([...tenant, ...governed])].map((label) => [label, config.labelMap[label] ?? label]));
}
