import type { CatalogStore } from "../catalog-index.ts";
import { labelNames, type LabelName, type StoreConfig } from "../../../crds/config.ts";
import type { Filters } from "../request/parameters.ts";

/** Labels of the isolation, which every metric can be filtered by. Source: seed "Operational Metrics API" §1. */
export const isolationLabels: readonly LabelName[] = ["tenant", "region", "environment"];

/**
 * The filters as identities and questions to peers hold them: the value itself where there is one, else the list. A
 * filter with one value keeps the form that it had before filters could have several.
 */
export function writtenFilters(filters: Filters): readonly (readonly [LabelName, string | readonly string[]])[] {
  return filters
    .entries()
    .map(([label, values]) => [label, values.length === 1 ? (values[0] ?? "") : values] as const)
    .toArray();
}

/** Labels of a series in a response: governed names, sorted, without labels that the series does not have. */
export type Labels = Readonly<Partial<Record<LabelName, string>>>;

/** Labels that a store sets for all of its series. An empty value removes the label. */
export type ImposedLabels = Readonly<Partial<Record<LabelName, string>>>;

/** The name of a governed label inside a store. */
export function storeLabel(store: StoreConfig, label: LabelName): string {
  return store.labelMap[label] ?? label;
}

/** The labels that a store sets for the series of one tenant. */
export function imposedLabels({ region, environment, tenancy }: StoreConfig, tenant: string): ImposedLabels {
  return {
    region,
    ...(environment === undefined ? {} : { environment }),
    // A platform store has no tenant, whatever its labels are. A store that gets the tenant in a header returns only
    // series of that tenant.
    ...(tenancy === "Labelled" ? {} : { tenant: tenancy === "Platform" ? "" : tenant }),
  };
}

/** The labels that the store groups by, in its own names. */
export function groupedInStore(
  store: StoreConfig,
  imposed: ImposedLabels,
  groupBy: readonly LabelName[],
): readonly string[] {
  return groupBy.filter((label) => imposed[label] === undefined).map((label) => storeLabel(store, label));
}

/** The store of a series and the labels that the store sets. */
export interface LabelSource {
  readonly store: Pick<CatalogStore, "config">;
  readonly imposed: ImposedLabels;
}

/** The governed labels of a series from a store. */
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

/** A key that is equal for equal labels only, since JSON escapes every separator in a value. */
export function labelsKey(labels: Labels): string {
  return JSON.stringify(labelNames.map((label) => labels[label] ?? ""));
}

/** The order of series in a response: by label name, then by value. */
export function compareLabels(a: Labels, b: Labels): number {
  for (const label of sortedLabelNames) {
    const [left = "", right = ""] = [a[label], b[label]];
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}

const sortedLabelNames: readonly LabelName[] = [...labelNames].sort();
