import { hash } from "node:crypto";
import type { MetricConfig, RuntimeConfig, StoreConfig } from "../../../crds/config.ts";

/** A store as one metric sees it. */
export interface CatalogStore {
  /** `<namespace>/<catalog>/<store>`: unique over all catalogs, and the order in which stores are merged. */
  readonly key: string;
  readonly config: StoreConfig;
  /** Seconds between this metric's samples in this store. */
  readonly intervalSeconds: number;
  /** Of all the above. */
  readonly digest: string;
}

/** A metric and where it is. */
export interface MetricEntry {
  readonly metric: MetricConfig;
  readonly schemaVersion: string;
  /** By key; never empty for a metric that a catalog accepted. */
  readonly stores: readonly CatalogStore[];
  /** Of the metric. */
  readonly digest: string;
}

/** Every metric by id. */
export type CatalogIndex = ReadonlyMap<string, MetricEntry>;

/** The key of a store; see {@link CatalogStore.key}. Names of resources and stores hold no slash. */
export function storeKey(catalog: { readonly namespace: string; readonly name: string }, store: StoreConfig): string {
  return `${catalog.namespace}/${catalog.name}/${store.name}`;
}

/** Indexes the catalogs; `compile` has made sure that no two hold the same metric id. */
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
      return [metric.id, { metric, schemaVersion: catalog.schemaVersion, stores: sorted, digest: digestOf(metric) }];
    }),
  );
  return new Map(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Pods share what they read under names made of this digest: its members stay named as they are. */
function catalogStore({ key, config, intervalSeconds }: Omit<CatalogStore, "digest">): CatalogStore {
  return { key, config, intervalSeconds, digest: digestOf({ key, store: config, intervalSeconds }) };
}

/** Worked out once for each configuration: every query's identity is made of these. */
function digestOf(part: object): string {
  return hash("sha256", JSON.stringify(part), "base64url");
}
