// Wires the metrics API. The rooms of `metrics/` do its work.
import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { queryDeadlineMsDefault, type RuntimeConfig } from "../../../crds/config.ts";
import { type CacheBytes, usualCaches } from "../../../limits/memory-plan.ts";
import { createTimeSlices } from "../../../limits/clock.ts";
import { type Pods, singlePod } from "../../pods/pods.ts";
import { tracedReads } from "../../stores/read-middleware.ts";
import type { WebIdentity } from "../../stores/store-secrets.ts";
import { createStoreSet, type Stores } from "../../stores/store.ts";
import type { Tracer } from "../../tracing/tracer.ts";
import {
  type Admission,
  type AdmitQueries,
  type AdmittedQueries,
  type AdmitRepeats,
  createAdmission,
  runAdmitted,
} from "../admission/admission.ts";
import { createConcurrencyLimit } from "../admission/concurrency-limit.ts";
import { UsageCounts } from "../admission/usage-counts.ts";
import { type Caller, classOf } from "../authorization/access.ts";
import { createBackgroundRefreshes, createHitRatios, createReadCache, type ReadCache } from "../cache/read-cache.ts";
import { indexCatalogs, storesByKey } from "../catalog-index.ts";
import { quotaResponse } from "../explain/quota-response.ts";
import { handlePartials } from "../federation/handle-partials.ts";
import { createPeerClient } from "../federation/peer-client.ts";
import { handleQuery, type QueryRoute, type QuerySources } from "../handle-query.ts";
import type { MetricsApi, MetricsResponse, RequestContext } from "../metrics-api.ts";
import type { Plan } from "../planning/plan.ts";
import type { QueryContext } from "../planning/query.ts";
import { createCollection, createEditJudge } from "../query-log/judge-edit.ts";
import { createQueryRecord } from "../query-log/query-record.ts";
import { createFinishedMetrics } from "../reads/finish-metric.ts";
import { createClassBulkheads } from "../reads/store-middleware.ts";
import { type CachedQuery, createResponseCache } from "../response/cached-response.ts";
import { catalogResponse, describeMetric, readableMetrics, type Thresholds } from "../response/catalog-response.ts";
import { createRepeatQueries, repeatQuery } from "../response/repeat-queries.ts";
import { noStore } from "../response/response-headers.ts";
import { createSnapshots } from "../response/snapshots.ts";
import { handleSelectors } from "../selectors/handle-selectors.ts";
import { createMetadataReads } from "../selectors/read-metadata.ts";
import { type CachedSelectors, repeatSelectors } from "../selectors/selectors-result.ts";
import { createBoundWarnings } from "../slo/bound-warnings.ts";
import { createSloHistoryHandler } from "../slo/handle-history.ts";
import { createSloHandler } from "../slo/handle-slo.ts";
import { indexSlos, type SloEntry } from "../slo/slo-selection.ts";
import { handleBulk } from "./handle-bulk.ts";
import { checksResponse } from "../observed/checks-response.ts";
import { CatalogChecks } from "../observed/catalog-checks.ts";
import { readUsage } from "../usage/read-usage.ts";
import { readRemovedUses, removedUses } from "../usage/removed-uses.ts";
import type { UsageStore } from "../usage/usage-message.ts";
import { readUsageQuery } from "../usage/usage-query.ts";
import { UsageRecorder } from "../usage/usage-recorder.ts";
import { handlePlan } from "./handle-plan.ts";
import { healthResponse } from "./health-response.ts";
import {
  createInstruments,
  createMeasurement,
  createRequestLog,
  exportCatalogCounts,
  requestLogSeconds,
  type Instruments,
  observeBackground,
  observeParts,
} from "./instruments.ts";

/** Options of {@link createMetricsApi}. */
export interface MetricsApiOptions {
  readonly config: RuntimeConfig;
  readonly log: Pick<Logger, "warn">;
  /** Receives the Prometheus metrics of the API. @default no registry */
  readonly registry?: Registry;
  /** @default no spans */
  readonly tracer?: Tracer | undefined;
  /** Unix milliseconds, for probes and the health view. @default Date.now */
  readonly now?: () => number;
  /** Monotonic milliseconds, for quotas. @default performance.now */
  readonly elapsed?: () => number;
  /**
   * Bound on all store reads of one query together, in milliseconds. It is below the 2 s timeout of the clients, so
   * that they receive the partial response. Source: seed "Operational Metrics API" §8. @default 1800
   */
  readonly deadlineMs?: number;
  /** Pods that share the quotas and the cached extents. @default this pod only, without shared lifetimes */
  readonly pods?: Pods;
  /** Residency of the pods' messages: stores of other residencies share nothing. @default any store may share */
  readonly residency?: string;
  /** Stores the usage of clients. @default it is not stored */
  readonly usage?: UsageStore;
  /** Time in which each metric is compared with its stores once. @default they are not compared */
  readonly checksMs?: number;
  /** Identity with which roles of AWS are assumed for stores. @default none: stores with roles fail */
  readonly webIdentity?: WebIdentity | undefined;
  /** Sizes of the caches. @default those of a process that nothing limits */
  readonly caches?: CacheBytes;
}

/** Characters that distinguish runs of one pod. */
const runLength = 8;
/** Most concurrent partial requests of peers. The asking runtime has charged its own callers for them. */
const partialRequestsMax = 128;

/** The part of the configuration that requests use. */
interface AppliedConfig {
  readonly queryContext: QueryContext;
  readonly slos: readonly SloEntry[];
  readonly thresholds: Thresholds;
}

/** Creates the API and starts to probe the stores. Connections stay open until `stop`. */
export function createMetricsApi(options: MetricsApiOptions): MetricsApi {
  const { log, pods, residency } = options;
  const parts = createParts(options);
  const { stores, admission, instruments, measurement, repeats, slo, sloHistory, partials } = parts;
  let applied = appliedOf(options.config);
  const apply = (config: RuntimeConfig): void => {
    applied = appliedOf(config);
    repeats.forget();
    instruments.keepMetrics((id) => applied.queryContext.catalog.has(id));
    parts.sources.finished.forget();
    stores.apply(storesByKey(config.catalogs), config.material);
    checkAll(stores);
    parts.boundWarnings.apply(applied.slos);
    parts.checks.apply(config);
  };
  const observe = (context: RequestContext) => observeParts(instruments, log, context);
  const sourcesOf = (context: RequestContext): QuerySources => ({
    ...parts.sources,
    queryContext: applied.queryContext,
    observe: observe(context),
  });
  const queryOn =
    (route: QueryRoute): MetricsApi["query"] =>
    (params, caller, signal, context) =>
      measurement.request(route, { signal, context }, (own) => {
        const sources = { ...sourcesOf(context), remember: parts.remember(route) };
        return handleQuery(route, { params, caller, signal, context: own }, sources);
      });
  const objectivesOn =
    (handle: typeof slo): MetricsApi["slo"] =>
    (params, caller, signal, context) =>
      measurement.request("slo", { signal, context }, (own) => {
        const served = { slos: applied.slos, quotas: applied.queryContext.quotas, observe: observe(context) };
        return handle({ params, caller, signal, context: own }, served);
      });
  const selectors = measuredSelectors(measurement, (run) =>
    handleSelectors(run, { ...sourcesOf(run.context), ...parts.selectorSources }),
  );
  const described = describing(admission, () => applied);

  apply(options.config);
  return {
    query: queryOn("query"),
    instant: queryOn("instant"),
    ...pricing(parts, () => applied.queryContext),
    bulk: (body, caller, signal, context) =>
      measurement.request("bulk-query", { signal, context }, (own) => {
        const sources = { ...sourcesOf(context), log, admission, admitItem: parts.admitWithin };
        return handleBulk({ body, caller, signal, context: own }, sources);
      }),
    ...lookingUp(parts, sourcesOf, () => applied.queryContext),
    selectors,
    slo: objectivesOn(slo),
    sloHistory: objectivesOn(sloHistory),
    partials: (request) =>
      measurement.request("partials", request, ({ span }) => {
        const sources = { ...applied, ...parts.partialsSources, stores: tracedReads(stores, span) };
        return partials(request, { ...sources, observe: observe(request.context) });
      }),
    catalog: (params, caller, context) => catalogResponse(params, caller, applied.queryContext, context),
    ...described,
    health: (caller) => healthOf(parts, caller, { queryContext: applied.queryContext, pods, residency }),
    ...usageReads(parts, options.usage, () => applied.queryContext),
    judgeEdit: parts.judgeEdit,
    ...comparing(parts, () => applied.queryContext),
    apply,
    stop: () => stopParts(parts),
  };
}

async function healthOf(
  { stores, hits, requests, boundWarnings, recorder }: ReturnType<typeof createParts>,
  caller: Caller,
  context: Pick<Parameters<typeof healthResponse>[0], "queryContext" | "pods" | "residency">,
): Promise<MetricsResponse> {
  checkAll(stores);
  const usage = await recorder.recent();
  const warningsOf = (key: string) => boundWarnings.of(key);
  const figures = requests.figures();
  const own = { figures, stores: stores.list(), warningsOf, ratios: hits.ratios(), usage, caller };
  return healthResponse({ ...own, ...context });
}

/** Most concurrent reads of usage, each of which reads a stream. */
const usageReadsMax = 4;

function usageReads(
  { admission, recorder }: ReturnType<typeof createParts>,
  store: UsageStore | undefined,
  queryContext: () => QueryContext,
): Pick<MetricsApi, "usage" | "removedUses" | "stopUsage"> {
  const limited = createConcurrencyLimit(
    usageReadsMax,
    `more than ${usageReadsMax} reads of usage are in progress in this pod; retry later`,
  );
  return {
    async usage(params, caller, { nowMs }) {
      const query = readUsageQuery(params, store?.now() ?? nowMs);
      const admitted = await admission.request(caller, classOf(caller, [], queryContext().quotas), new Map());
      return runAdmitted(admitted, async () => {
        const body = await limited(() => readUsage(query, caller, { store, queryContext: queryContext() }));
        return { status: 200, headers: noStore, body };
      });
    },
    async removedUses(before, after, reader) {
      const removed = removedUses(before, after);
      return limited(() => readRemovedUses(removed, reader, store, Date.now()));
    },
    stopUsage: (remainingMs) => recorder.stop(remainingMs),
  };
}

/** Creates the look-ups. Each takes one request token, and its selectors take none. */
function lookingUp(
  { admission, measurement, selectorSources, admitWithin }: ReturnType<typeof createParts>,
  sourcesOf: (context: RequestContext) => QuerySources,
  queryContext: () => QueryContext,
): ReturnType<typeof createMetadataReads> {
  const selectors = measuredSelectors(measurement, (run) => {
    const sources = { ...sourcesOf(run.context), ...selectorSources, admitSelectors: admitWithin };
    return handleSelectors(run, sources);
  });
  return createMetadataReads({
    admit: (caller, metrics) => admission.request(caller, classOf(caller, metrics, queryContext().quotas), new Map()),
    selectors,
    queryContext,
  });
}

/** Creates the reads of how the catalog compares with its stores. */
function comparing(
  { checks }: ReturnType<typeof createParts>,
  queryContext: () => QueryContext,
): Pick<MetricsApi, "observed" | "catalogChecks"> {
  return {
    observed: () => checks.observed(),
    async catalogChecks(params, caller) {
      const report = await checks.read().catch(() => undefined);
      return checksResponse(params, caller, queryContext(), report);
    },
  };
}

/** Creates the reads of prices and quotas. */
function pricing(
  { sources, admission }: Pick<ReturnType<typeof createParts>, "sources" | "admission">,
  queryContext: () => QueryContext,
): Pick<MetricsApi, "plan" | "quota"> {
  return {
    plan: (params, caller, { nowMs }) =>
      handlePlan({ params, caller, nowMs }, { ...sources, admission, queryContext: queryContext() }),
    quota: (caller, { nowMs }) => quotaResponse({ caller, nowMs }, { admission, queryContext: queryContext() }),
  };
}

/** Measures requests for selectors. */
function measuredSelectors(
  measurement: ReturnType<typeof createMeasurement>,
  handle: (run: Parameters<typeof handleSelectors>[0]) => ReturnType<typeof handleSelectors>,
): MetricsApi["selectors"] {
  return async (request, caller, signal, context) => {
    const { result, sent } = await measurement.request("prometheus", { signal, context }, async (own) => {
      const response = await handle({ request, caller, signal, context: own });
      return { status: response.isPartial ? 206 : 200, result: response, sent: response.sent };
    });
    return { ...result, sent };
  };
}

/** Creates the reads of the catalog as configured. */
function describing(
  admission: Admission,
  applied: () => AppliedConfig,
): Pick<MetricsApi, "readable" | "describe" | "admitEmpty"> {
  return {
    readable: (reader) => readableMetrics(reader, applied().queryContext, applied().thresholds),
    describe: (id, caller) => describeMetric(id, caller, applied().queryContext, applied().thresholds),
    async admitEmpty(caller) {
      const admitted = await admission.request(caller, classOf(caller, [], applied().queryContext.quotas), new Map());
      admitted.end();
      return admitted.headers();
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
    caches = usualCaches,
  } = options;
  const stores = createStoreSet(now, createPeerClient, { deadlineMs, webIdentity: options.webIdentity });
  const requests = createRequestLog(elapsed);
  const instruments = createInstruments(options.registry);
  const { usage, recorder } = createUsage(options, { now, elapsed, pods, lost: instruments.usageLost });
  const measurement = createMeasurement(requests, { instruments, usage, tracer: options.tracer });
  const admission = createAdmission(elapsed, pods, countingInto(usage, instruments));
  const hits = createHitRatios(elapsed);
  const countPoints: QuerySources["countPoints"] = (counts) => {
    hits.add(counts);
    instruments.countPoints(counts);
  };
  const repeats = createRepeatQueries();
  const record = createQueryRecord(now);
  const admitRepeats = countedRepeats(admission.repeats, instruments);
  const bulkheads = createClassBulkheads();
  const sources = {
    stores,
    bulkheads,
    slices: createTimeSlices(),
    finished: createFinishedMetrics(caches.finished),
    snapshots: createSnapshots(caches.snapshots),
    cache: createCache({ ...options, deadlineMs, caches }, instruments),
    responses: createResponseCache(caches.responses),
    countPoints,
    record,
    deadlineMs,
    admit: counted(admission.queries, instruments),
  };
  const sloSources = { stores, bulkheads, points: sources.cache, admission, deadlineMs };
  return {
    stores,
    recorder,
    requests,
    instruments,
    measurement,
    admission,
    hits,
    repeats,
    sources,
    deadlineMs,
    remember: (route: QueryRoute) => (cached: CachedQuery) =>
      repeats.remember(measurement.repeat(route, repeatQuery(cached, { admitRepeats, countPoints }))),
    selectorSources: {
      admitSelectors: sources.admit,
      rememberSelectors: (cached: CachedSelectors) =>
        repeats.remember(measurement.repeat("prometheus", repeatSelectors(cached, { admitRepeats, countPoints }))),
    },
    admitWithin: counted(admission.queriesWithin, instruments),
    slo: createSloHandler({ ...sloSources, elapsed }),
    sloHistory: createSloHistoryHandler(sloSources),
    partials: createPartials(),
    partialsSources: { bulkheads, deadlineMs },
    boundWarnings: createBoundWarnings({ stores, log: options.log, now }),
    checks: createChecks(options, { stores, pods, now, instruments }),
    judgeEdit: createEditJudge({ collect: createCollection(record, pods), price: admission.cost, now }),
  };
}

async function stopParts(parts: ReturnType<typeof createParts>): Promise<void> {
  void parts.recorder.stop(0);
  await parts.checks.stop();
  parts.admission.stop();
  parts.sources.cache.refreshes.stop();
  await parts.stores.stop();
}

function countingInto(usage: UsageCounts, instruments: Instruments): Parameters<typeof createAdmission>[2] {
  return (key, sums) => {
    usage.add(key, sums);
    instruments.charged(key.metric, key.queryClass, sums.cost ?? 0);
  };
}

type UsageSources = Pick<ConstructorParameters<typeof UsageRecorder>[0], "elapsed" | "pods" | "lost">;

/** Creates the counts of usage, and what takes them. */
function createUsage(
  { usage: store, log }: MetricsApiOptions,
  { now, ...sources }: UsageSources & { readonly now: () => number },
) {
  const usage = new UsageCounts(store === undefined ? now : () => store.now());
  const run = randomUUID().slice(0, runLength);
  const recorder = new UsageRecorder({ ...sources, counts: usage, store, windowSeconds: requestLogSeconds, run, log });
  return { usage, recorder };
}

function createPartials(): typeof handlePartials {
  const limited = createConcurrencyLimit(
    partialRequestsMax,
    `more than ${partialRequestsMax} requests from peers are in progress in this pod; retry later`,
  );
  return (request, sources) => limited(() => handlePartials(request, sources));
}

interface CheckParts extends Pick<ConstructorParameters<typeof CatalogChecks>[0], "stores" | "pods" | "now"> {
  readonly instruments: Instruments;
}

function createChecks(
  { log, checksMs, registry }: MetricsApiOptions,
  { instruments, ...sources }: CheckParts,
): CatalogChecks {
  const checks = new CatalogChecks({ ...sources, log, count: instruments.catalogRead, periodMs: checksMs });
  exportCatalogCounts(registry, () => checks.counts());
  return checks;
}

type CacheOptions = MetricsApiOptions & Required<Pick<MetricsApiOptions, "deadlineMs" | "caches">>;

function createCache(
  { log, deadlineMs, pods, residency, caches }: CacheOptions,
  { renewed, unshared }: Instruments,
): ReadCache {
  const ended = observeBackground("background refresh", { log, count: renewed });
  const failed = observeBackground("extent sharing", { log, count: unshared });
  return createReadCache(caches.points, {
    pods,
    residency,
    failed,
    refreshes: createBackgroundRefreshes({ deadlineMs, ended }),
  });
}

/** Admits queries and counts the admitted ones. */
function counted(admit: AdmitQueries, instruments: Instruments): AdmitQueries {
  return async (plans, caller) => countPlanned(plans, await admit(plans, caller), instruments);
}

/** Like {@link counted}, for repeat requests. */
function countedRepeats(admitRepeats: AdmitRepeats, instruments: Instruments): AdmitRepeats {
  return (plans, caller) => {
    const admit = admitRepeats(plans, caller);
    return () => {
      const admitted = admit();
      return admitted && countPlanned(plans, admitted, instruments);
    };
  };
}

function countPlanned<Admitted extends Pick<AdmittedQueries, "estimates">>(
  plans: readonly Plan[],
  admitted: Admitted,
  instruments: Instruments,
): Admitted {
  for (const [index, plan] of plans.entries()) instruments.planned(plan, admitted.estimates[index] ?? 0);
  return admitted;
}

function appliedOf(config: RuntimeConfig): AppliedConfig {
  const catalog = indexCatalogs(config.catalogs);
  const slos = indexSlos(config.catalogs, catalog);
  return { queryContext: { catalog, quotas: config }, slos, thresholds: thresholdsOf(slos) };
}

function thresholdsOf(slos: readonly SloEntry[]): Thresholds {
  const byMetric = Map.groupBy(slos, ({ slo }) => slo.metric);
  return new Map([...byMetric].map(([id, own]) => [id, own.flatMap(({ slo: { threshold } }) => threshold ?? [])]));
}

function checkAll(stores: Stores): void {
  for (const [, store] of stores.list()) store.check();
}
