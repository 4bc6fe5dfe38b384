// Wires the metrics API. The rooms of `metrics/` do its work.
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { queryDeadlineMsDefault, type RuntimeConfig } from "../../crds/config.ts";
import { createTimeSlices } from "../bounds/time-slices.ts";
import { singlePod, type Pods } from "../pods/pods.ts";
import { createStoreSet, type Stores } from "../stores/store-set.ts";
import { createAdmission, type AdmitQuery, type AdmitQueryNow } from "./admission/admission.ts";
import { createConcurrencyLimit } from "./admission/concurrency-limit.ts";
import { handleBulk } from "./bulk/handle-bulk.ts";
import { createBackgroundRefreshes } from "./cache/background-refresh.ts";
import { createHitRatios } from "./cache/hit-ratio.ts";
import { createReadCache, type ReadCache } from "./cache/read-cache.ts";
import { createResponseCache } from "./cache/response-cache.ts";
import { createSharedExtents, type SharedBytes } from "./cache/shared-extents.ts";
import { indexCatalogs, storesByKey } from "./catalog/catalog-index.ts";
import { createClassBulkheads } from "./execution/class-bulkheads.ts";
import { handlePartials } from "./federation/handle-partials.ts";
import { createPeerClient } from "./federation/peer-client.ts";
import { handleQuery, type QueryRoute } from "./handle-query.ts";
import type { MetricsApi, RequestContext } from "./metrics-api.ts";
import type { QueryContext } from "./planning/query.ts";
import type { QuerySources } from "./query-sources.ts";
import { createRepeatQueries, repeatQuery } from "./repeat-query.ts";
import type { CachedQuery } from "./response/cached-response.ts";
import { catalogResponse } from "./response/catalog-response.ts";
import { createSnapshots } from "./response/snapshot-store.ts";
import { createSloHandler } from "./slo/handle-slo.ts";
import { indexSlos, type SloEntry } from "./slo/slo-index.ts";
import { healthResponse } from "./telemetry/health-response.ts";
import { createInstruments, type Instruments } from "./telemetry/instruments.ts";
import { createMeasurement } from "./telemetry/measure-request.ts";
import { observeBackground, observeParts } from "./telemetry/observe-outcomes.ts";
import { createRequestLog } from "./telemetry/recent-requests.ts";

/** Options of {@link createMetricsApi}. */
export interface MetricsApiOptions {
  readonly config: RuntimeConfig;
  readonly log: Pick<Logger, "warn">;
  /** Receives the Prometheus metrics of the API. @default no registry */
  readonly registry?: Registry;
  /** Unix milliseconds, for probes and the health view. @default Date.now */
  readonly now?: () => number;
  /** Monotonic milliseconds, for quotas. @default performance.now */
  readonly elapsed?: () => number;
  /**
   * Bound on all store reads of one query together, in milliseconds. It is below the 2 s timeout of the clients, so
   * that they receive the partial response. Source: seed "Operational Metrics API" §8. @default 1800
   */
  readonly deadlineMs?: number;
  /** Pods that share the quotas and the cached extents. @default this pod only */
  readonly pods?: Pods;
  /** Bytes that pods share; they hold cached extents. @default pods share none */
  readonly sharedBytes?: SharedBytes;
  /** Residency of the shared bytes: stores of other residencies share nothing. @default any store may share */
  readonly residency?: string;
}

/** Most bytes of the extents in memory. */
const readCacheBytesMax = 128 * 1024 * 1024;

/** Most concurrent questions of peers. The asking runtime has charged its own callers for them. */
const questionsMax = 128;

/** The part of the configuration that requests use. */
interface AppliedConfig {
  readonly queryContext: QueryContext;
  readonly slos: readonly SloEntry[];
}

/** Creates the API and starts to probe the stores. Connections stay open until `stop`. */
export function createMetricsApi(options: MetricsApiOptions): MetricsApi {
  const { log, sharedBytes, residency } = options;
  const parts = createParts(options);
  const { stores, admission, instruments, requests, measurement, hits, repeats, slo, partials } = parts;
  let applied = appliedOf(options.config);
  const apply = (config: RuntimeConfig): void => {
    applied = appliedOf(config);
    repeats.forget();
    stores.apply(storesByKey(config.catalogs), config.material);
    probeAll(stores);
  };
  const observe = (context: RequestContext) => observeParts(instruments, log, context);
  const sourcesOf = (context: RequestContext): QuerySources => {
    return { ...parts.sources, queryContext: applied.queryContext, observe: observe(context) };
  };
  const queryOn =
    (route: QueryRoute): MetricsApi["query"] =>
    (params, caller, signal, context) =>
      measurement.request(route, signal, () => {
        const sources = { ...sourcesOf(context), remember: parts.remember(route) };
        return handleQuery(route, { params, caller, signal, context }, sources);
      });

  apply(options.config);
  return {
    query: queryOn("query"),
    instant: queryOn("instant"),
    bulk: (body, caller, signal, context) =>
      measurement.request("bulk-query", signal, () => {
        const sources = { ...sourcesOf(context), log, admission, admitItem: counted(admission.bulkItem, instruments) };
        return handleBulk({ body, caller, signal, context }, sources);
      }),
    slo: (params, caller, signal, context) =>
      measurement.request("slo", signal, () => {
        const { slos, queryContext } = applied;
        const { quotas } = queryContext;
        return slo({ params, caller, signal, context }, { slos, quotas, observe: observe(context) });
      }),
    partials: (request) =>
      measurement.request("partials", request.signal, () =>
        partials(request, { ...applied, stores, deadlineMs: parts.deadlineMs, observe: observe(request.context) }),
      ),
    catalog: (params, caller, context) => catalogResponse(params, caller, applied.queryContext, context),
    health() {
      probeAll(stores);
      const { queryContext } = applied;
      const caches = { queryContext, ratios: hits.ratios(), sharedBytes, residency };
      return healthResponse({ figures: requests.figures(), stores: stores.list(), ...caches });
    },
    apply,
    stop() {
      admission.stop();
      parts.sources.cache.refreshes.stop();
      return stores.stop();
    },
  };
}

/** Creates everything that outlives a configuration. */
function createParts(options: MetricsApiOptions) {
  const {
    now = Date.now,
    elapsed = () => performance.now(),
    deadlineMs = queryDeadlineMsDefault,
    pods = singlePod(),
  } = options;
  const stores = createStoreSet(now, createPeerClient);
  const requests = createRequestLog(now);
  const instruments = createInstruments(options.registry);
  const measurement = createMeasurement(requests, instruments);
  const admission = createAdmission(elapsed, pods);
  const hits = createHitRatios(now);
  const countPoints: QuerySources["countPoints"] = (counts) => {
    hits.add(counts);
    instruments.countPoints(counts);
  };
  const repeats = createRepeatQueries();
  const admitNow = countedNow(admission.queryNow, instruments);
  const sources = {
    stores,
    bulkheads: createClassBulkheads(),
    slices: createTimeSlices(),
    snapshots: createSnapshots(),
    cache: createCache({ ...options, deadlineMs, pods }, instruments),
    responses: createResponseCache(),
    countPoints,
    deadlineMs,
    admit: counted(admission.query, instruments),
  };
  return {
    stores,
    requests,
    instruments,
    measurement,
    admission,
    hits,
    repeats,
    sources,
    deadlineMs,
    remember: (route: QueryRoute) => (cached: CachedQuery) =>
      repeats.remember(measurement.repeat(route, repeatQuery(cached, { admitNow, countPoints }))),
    slo: createSloHandler({ stores, admission, deadlineMs, elapsed }),
    partials: createPartials(),
  };
}

function createPartials(): typeof handlePartials {
  const limited = createConcurrencyLimit(
    questionsMax,
    `more than ${questionsMax} questions of peers are under way in this pod; ask again later`,
  );
  return (request, sources) => limited(() => handlePartials(request, sources));
}

type CacheOptions = MetricsApiOptions & Required<Pick<MetricsApiOptions, "deadlineMs" | "pods">>;

function createCache(
  { log, deadlineMs, pods, sharedBytes, residency }: CacheOptions,
  { renewed, unshared }: Instruments,
): ReadCache {
  const ended = observeBackground("background refresh", { log, count: renewed });
  const failed = observeBackground("extent sharing", { log, count: unshared });
  return createReadCache(readCacheBytesMax, {
    shared: sharedBytes && createSharedExtents(sharedBytes, pods, { residency, failed }),
    refreshes: createBackgroundRefreshes({ deadlineMs, ended }),
  });
}

/** Admits queries and counts the admitted ones. */
function counted(admit: AdmitQuery, instruments: Instruments): AdmitQuery {
  return async (plan, caller) => {
    const admitted = await admit(plan, caller);
    instruments.planned(plan, admitted.estimate);
    return admitted;
  };
}

/** Like {@link counted}, without a wait. */
function countedNow(admit: AdmitQueryNow, instruments: Instruments): AdmitQueryNow {
  return (plan, caller) => {
    const admitted = admit(plan, caller);
    if (admitted !== undefined) instruments.planned(plan, admitted.estimate);
    return admitted;
  };
}

function appliedOf(config: RuntimeConfig): AppliedConfig {
  const catalog = indexCatalogs(config.catalogs);
  return { queryContext: { catalog, quotas: config }, slos: indexSlos(config.catalogs, catalog) };
}

/**
 * Probes the stores in the background, where an earlier probe has expired. The result shows in the state of the store.
 * A store that needs a tenant for each request is probed with its first query.
 */
function probeAll(stores: Stores): void {
  for (const [, store] of stores.list()) {
    if (store.config.tenancy !== "StoreHeader") store.capabilities().catch(() => undefined);
  }
}
