import { setTimeout } from "node:timers/promises";
import type { CatalogCheck, CatalogChecksAnswer } from "../../api/catalog.ts";
import type { RuntimeConfig, StoreConfig } from "../../crds/config.ts";
import { createMetricsApi } from "../../runtime/metrics/api/create-metrics-api.ts";
import type { MetricsApi } from "../../runtime/metrics/metrics-api.ts";
import { CommandError } from "../command-line/command.ts";
import { readConfiguration, withProblems } from "./read-configuration.ts";

/** Time in which each metric in a store gets its requests once. All have a result after twice this time. */
const periodMs = 2_000;
const pollMs = 100;
/** Bound of a comparison, for stores that are slow or have many metrics. */
const checkMsMax = 300_000;

type Reader = Parameters<MetricsApi["catalogChecks"]>[1];

/** Reads every metric of a configuration, also those that require a role. */
function readerOf({ catalogs }: RuntimeConfig): Reader {
  const all = ["*"];
  const roles = catalogs.flatMap(({ metrics }) => metrics.flatMap(({ requiredRole }) => requiredRole ?? []));
  const scopes = ["metrics:read"];
  return { client: "catalog-check", tenants: all, regions: all, environments: all, metrics: all, roles, scopes };
}

/**
 * Compares the catalogs of a place with their stores, once.
 *
 * @param urls of stores by name, instead of those of the catalogs
 * @throws StartError `folder`; CommandError `usage` for a store that no catalog has
 */
export async function checkStores(place: string, urls: ReadonlyMap<string, string>): Promise<readonly CatalogCheck[]> {
  const { config, problems } = await readConfiguration(place);
  if (problems.length > 0) throw withProblems(place);
  const api = createMetricsApi({ config: withUrls(config, urls), log: { warn: () => undefined }, checksMs: periodMs });
  try {
    return await comparedBy(api, readerOf(config), Date.now() + checkMsMax);
  } finally {
    await api.stop();
  }
}

/** Waits until nothing is pending, at most until a time. */
async function comparedBy(api: MetricsApi, reader: Reader, endMs: number): Promise<readonly CatalogCheck[]> {
  for (;;) {
    const { body } = await api.catalogChecks(new Map(), reader, { correlationId: "catalog-check", nowMs: Date.now() });
    const { data } = body as CatalogChecksAnswer;
    const isPending = data.some(({ status, stores }) => status === "Unknown" && stores === undefined);
    if (!isPending || Date.now() >= endMs) return data;
    await setTimeout(pollMs);
  }
}

function withUrls(config: RuntimeConfig, urls: ReadonlyMap<string, string>): RuntimeConfig {
  const names = new Set(config.catalogs.flatMap(({ stores }) => stores.map(({ name }) => name)));
  const unknown = [...urls.keys()].find((name) => !names.has(name));
  if (unknown !== undefined)
    throw new CommandError("usage", `no catalog has the store ${unknown}; it has ${[...names].sort().join(", ")}`);
  const placed = (store: StoreConfig): StoreConfig => {
    const url = urls.get(store.name);
    return url === undefined || store.prometheus === undefined
      ? store
      : { ...store, prometheus: { ...store.prometheus, url } };
  };
  return { ...config, catalogs: config.catalogs.map((one) => ({ ...one, stores: one.stores.map(placed) })) };
}
