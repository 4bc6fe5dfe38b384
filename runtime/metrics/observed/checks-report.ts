import type { CatalogConfig } from "../../../crds/config.ts";
import type { CatalogCheck, CheckStatus, ConfigzObserved } from "../../../crds/configz.ts";
import type { CatalogIndex, CatalogStore } from "../catalog-index.ts";
import {
  decideChecks,
  type KnownFacts,
  metricCheck,
  observedOf,
  storeResult,
  type StoreResult,
} from "./decide-checks.ts";
import { type FactStep, factSteps } from "./metric-facts.ts";
import type { MetricInStore } from "./metric-in-store.ts";

/** The catalogs that were compared with their stores. */
export interface ChecksReport {
  readonly catalogs: readonly ConfigzObserved[];
  /** Ids of all metrics of these catalogs. */
  readonly checked: readonly string[];
  /** Absent in the reply of a pod of an earlier version. */
  readonly stores?: readonly MetricStoreResult[];
}

/** How a metric compares with one of its stores. */
export interface MetricStoreResult extends StoreResult {
  readonly metric: string;
  /** Time of the oldest response that the result is based on, in Unix milliseconds. */
  readonly readMs?: number;
}

/** What is known of a metric in a store. */
export interface ReadPair extends MetricInStore, KnownFacts {
  /** Times of the newest responses, in Unix milliseconds. */
  readonly readMs: ReadonlyMap<FactStep, number>;
}

/** Results of metrics in stores in one report, which is one message between pods. */
const storeResultsMax = 2_000;
const textMax = 200;
/** What differs comes first. */
const rank: Readonly<Record<CheckStatus, number>> = { False: 0, Unknown: 1, NotChecked: 2, True: 3 };

/**
 * Reports the catalogs of which every request was sent once.
 *
 * @param pairOf undefined for a store that is not compared
 */
export function checksReport(
  all: readonly CatalogConfig[],
  index: CatalogIndex,
  pairOf: (store: CatalogStore, metric: string) => ReadPair | undefined,
): ChecksReport {
  const catalogs: ConfigzObserved[] = [];
  const checked: string[] = [];
  const stores: MetricStoreResult[] = [];
  for (const catalog of all) {
    const pairs = catalog.metrics.map(({ id }) => {
      const own = index.get(id)?.stores ?? [];
      return { id, own: own.map((store) => ({ store: store.config.name, pair: pairOf(store, id) })) };
    });
    if (!pairs.every(({ own }) => own.every(({ pair }) => pair === undefined || isReadOnce(pair)))) continue;
    const checks = pairs.map(({ id, own }): CatalogCheck => {
      const results = own.map(({ store, pair }) => ({ metric: id, ...resultOf(store, pair) }));
      stores.push(...results);
      checked.push(id);
      return metricCheck(id, results);
    });
    catalogs.push(observedOf(catalog, checks));
  }
  const listed = stores.sort((one, other) => rank[one.status] - rank[other.status]);
  return { catalogs, checked, stores: listed.slice(0, storeResultsMax) };
}

function resultOf(store: string, pair: ReadPair | undefined): Omit<MetricStoreResult, "metric"> {
  if (pair === undefined)
    return { store, status: "NotChecked", message: "it is a peer, or requires a tenant in each request" };
  const result = storeResult(store, decideChecks(pair, pair));
  const readMs = Math.min(...pair.readMs.values());
  return { ...result, message: result.message.slice(0, textMax), ...(Number.isFinite(readMs) ? { readMs } : {}) };
}

function isReadOnce({ facts, faults }: ReadPair): boolean {
  // Without names of labels, their values are not read.
  return factSteps.every(
    (step) => facts[step] !== undefined || faults.has(step) || (step === "values" && faults.has("labels")),
  );
}
