// The index of metrics and their stores over all catalogs, and the deprecation of metrics. The catalog endpoint is
// elsewhere.
import { hash } from "node:crypto";
import type { CatalogConfig, MetricConfig, RuntimeConfig, SloConfig, StoreConfig } from "../../crds/config.ts";

/** A store with one metric's settings. */
export interface CatalogStore {
  /** `<namespace>/<catalog>/<store>`: unique over all catalogs, and the order in which stores are merged. */
  readonly key: string;
  readonly config: StoreConfig;
  /** Seconds between this metric's samples in this store. */
  readonly intervalSeconds: number;
  /** Digest of all members above. */
  readonly digest: string;
}

/** A metric and its stores. */
export interface MetricEntry {
  readonly metric: MetricConfig;
  readonly schemaVersion: string;
  /** The objectives of the metric, in the order of the catalog. */
  readonly slos: readonly SloConfig[];
  /** Sorted by key; not empty for a metric of a valid catalog. */
  readonly stores: readonly CatalogStore[];
  /** Digest of the metric. */
  readonly digest: string;
}

/** All metrics by id. */
export type CatalogIndex = ReadonlyMap<string, MetricEntry>;

/** Builds the key of a store, {@link CatalogStore.key}. Names of resources and stores hold no slash. */
function storeKey(catalog: { readonly namespace: string; readonly name: string }, store: StoreConfig): string {
  return `${catalog.namespace}/${catalog.name}/${store.name}`;
}

/** The stores of all catalogs by key. */
export function storesByKey(catalogs: RuntimeConfig["catalogs"]): ReadonlyMap<string, StoreConfig> {
  return new Map(
    catalogs.flatMap((catalog) => catalog.stores.map((store) => [storeKey(catalog, store), store] as const)),
  );
}

/** Indexes the catalogs. `compile` ensures that each metric id is in one catalog only. */
export function indexCatalogs(catalogs: RuntimeConfig["catalogs"]): CatalogIndex {
  const entries = catalogs.flatMap((catalog) =>
    catalog.metrics.map((metric): readonly [string, MetricEntry] => {
      const stores = catalog.stores.flatMap((store) => {
        const intervalSeconds = metric.intervalSeconds[store.name];
        return intervalSeconds === undefined
          ? []
          : [catalogStore({ key: storeKey(catalog, store), config: store, intervalSeconds })];
      });
      const sorted = stores.sort((a, b) => (a.key < b.key ? -1 : 1));
      const { schemaVersion } = catalog;
      const slos = slosOf(catalog, metric);
      return [metric.id, { metric, schemaVersion, slos, stores: sorted, digest: digestOf(metric) }];
    }),
  );
  return new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function slosOf(catalog: CatalogConfig, { id }: MetricConfig): readonly SloConfig[] {
  return objectivesOf(catalog).filter(({ metric }) => metric === id);
}

/** All objectives of a catalog, by name. An older operator compiles catalogs without objectives. */
export function objectivesOf({ slos = [], newerSlos = [] }: Partial<CatalogConfig>): readonly SloConfig[] {
  return newerSlos.length === 0 ? slos : [...slos, ...newerSlos].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The digest is part of the keys under which pods share extents. Its members therefore keep their names. */
function catalogStore({ key, config, intervalSeconds }: Omit<CatalogStore, "digest">): CatalogStore {
  return { key, config, intervalSeconds, digest: digestOf({ key, store: config, intervalSeconds }) };
}

/** Computed once for each configuration; the identity of every query includes these digests. */
function digestOf(part: object): string {
  return hash("sha256", JSON.stringify(part), "base64url");
}
