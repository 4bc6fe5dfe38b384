import type { CatalogStore } from "../catalog/catalog-index.ts";
import { labelNames, type LabelName, type StoreConfig } from "../../../crds/config.ts";

/** Labels of the isolation, which every metric can be filtered by. Source: seed "Operational Metrics API" §1. */
export const isolationLabels: readonly LabelName[] = ["tenant", "region", "environment"];

/** Labels of a series in an answer: governed names, sorted; a label that the series does not carry is left out. */
export type Labels = Readonly<Partial<Record<LabelName, string>>>;

/**
 * Labels that are the same for every series of a store, whatever the series say; an empty value: no series has the
 * label.
 */
export type ImposedLabels = Readonly<Partial<Record<LabelName, string>>>;

/** The name of a governed label inside a store. */
export function storeLabel(store: StoreConfig, label: LabelName): string {
  return store.labelMap[label] ?? label;
}

/** What a store imposes on the series of one tenant. Source: design §5 "Stores". */
export function imposedLabels({ region, environment, tenancy }: StoreConfig, tenant: string): ImposedLabels {
  return {
    region,
    ...(environment === undefined ? {} : { environment }),
    // Series of a platform store belong to no tenant, even if a label says so; what a store gives for a tenant is that
    // tenant's.
    ...(tenancy === "Labelled" ? {} : { tenant: tenancy === "Platform" ? "" : tenant }),
  };
}

/** The labels that the store itself has to group by. */
export function groupedInStore(
  store: StoreConfig,
  imposed: ImposedLabels,
  groupBy: readonly LabelName[],
): readonly string[] {
  return groupBy.filter((label) => imposed[label] === undefined).map((label) => storeLabel(store, label));
}

/** A series' store and what that imposes. */
export interface LabelSource {
  readonly store: Pick<CatalogStore, "config">;
  readonly imposed: ImposedLabels;
}

/** The governed labels of a series that a store answered. */
export function governedLabels(
  { store, imposed }: LabelSource,
  groupBy: readonly LabelName[],
  labels: Readonly<Record<string, string>>,
): Labels {
  const governed: Partial<Record<LabelName, string>> = {};
  for (const label of groupBy) {
    const value = imposed[label] ?? labels[storeLabel(store.config, label)] ?? "";
    if (value !== "") governed[label] = value;
  }
  return governed;
}

/** Equal for equal labels only; no value can imitate a separator. */
export function labelsKey(labels: Labels): string {
  return JSON.stringify(labelNames.map((label) => labels[label] ?? ""));
}

/** Order of series in an answer: by label name, then by value. */
export function compareLabels(a: Labels, b: Labels): number {
  for (const label of sortedLabelNames) {
    const [left = "", right = ""] = [a[label], b[label]];
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}

const sortedLabelNames: readonly LabelName[] = [...labelNames].sort();
