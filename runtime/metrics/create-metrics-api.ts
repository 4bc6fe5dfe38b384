import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { queryDeadlineMsDefault, type RuntimeConfig } from "../../crds/config.ts";
import { createTimeSlices } from "../bounds/time-slices.ts";
import { createAdmission, type AdmitQuery, type Admission } from "./admission/admission.ts";
import { createAnonymousLimit } from "./admission/anonymous-limit.ts";
import { createClassBulkheads } from "./execution/class-bulkheads.ts";
import { createStoreSet, type Stores, type StoreSet } from "../stores/store-set.ts";
import { repeatQuery, createRepeatQueries } from "./repeat-query.ts";
import type { CachedQuery } from "./response/cached-response.ts";
import { handleQuery, type QueryRoute } from "./handle-query.ts";
import type { QuerySources } from "./query-sources.ts";
import { handleBulk } from "./bulk/handle-bulk.ts";
import { createResponseCache } from "./cache/response-cache.ts";
import { createHitLog, type HitLog } from "./cache/hit-ratio.ts";
import { createReadCache, type ReadCache } from "./cache/read-cache.ts";
import { createBackgroundRefreshes } from "./cache/background-refresh.ts";
import { createSharedExtents, type SharedBytes } from "./cache/shared-extents.ts";
import { catalogResponse } from "./response/catalog-response.ts";
import { indexCatalogs, storeKey } from "./catalog/catalog-index.ts";
import { healthResponse, limitsInForce, type CacheFigures } from "./telemetry/health-response.ts";
import { createConcurrencyLimit } from "./admission/concurrency-limit.ts";
import { createInstruments, type Instruments } from "./telemetry/instruments.ts";
import { measured, measuredAgain, type Measure, type MeasuredWork } from "./telemetry/measure-request.ts";
import type { Again, MetricsApi, RequestContext } from "./metrics-api.ts";
import { handlePartials } from "./federation/handle-partials.ts";
import { createPeerClient } from "./federation/peer-client.ts";
import { singlePod, type Pods } from "../pods/pods.ts";
import type { QueryContext } from "./planning/query.ts";
import type { PartOutcome } from "./execution/read-stores.ts";
import { createRequestLog } from "./telemetry/recent-requests.ts";
import { handleSlo } from "./slo/handle-slo.ts";
import { createKnownEnvironments } from "./slo/known-environments.ts";
import { createSloCache } from "./slo/slo-cache.ts";
import { indexSlos, type SloEntry } from "./slo/slo-index.ts";
import { createSnapshots } from "./response/snapshot-store.ts";

/** What the metrics API is made with. */
export interface MetricsApiOptions {
  readonly config: RuntimeConfig;
  readonly log: Pick<Logger, "warn">;
  /** Where the API counts itself. @default nowhere */
  readonly registry?: Registry;
  /** Unix milliseconds, for probes and the health view. @default Date.now */
  readonly now?: () => number;
  /** Monotonic milliseconds, for quotas. @default performance.now */
  readonly elapsed?: () => number;
  /**
   * Bound on all stores of one query together, in milliseconds. Below the 2 s that clients are told to wait (seed
   * "Operational Metrics API" §8), so that they see the partial answer. @default 1800
   */
  readonly deadlineMs?: number;
  /** Pods that quotas are shared with. @default none */
  readonly pods?: Pods;
  /** Where pods share what stores answered. @default nowhere */
  readonly sharedBytes?: SharedBytes;
  /** Where those are kept: nothing of stores elsewhere is among them. @default wherever stores are */
  readonly residency?: string;
}

/** What stores answered of late, in memory. */
const readCacheBytesMax = 128 * 1024 * 1024;

/** Requests without a token that are answered at once. */
const anonymousMax = 32;

/** Questions of peers that are answered at once. Whoever asks them has been counted where it asked. */
const questionsMax = 128;

/** What requests are answered from until the next configuration. */
interface AppliedConfig {
  readonly queryContext: QueryContext;
  readonly slos: readonly SloEntry[];
}

/** Makes the API and begins to probe the stores; connections are kept until `stop`. */
export function createMetricsApi(options: MetricsApiOptions): MetricsApi {
  const parts = createParts(options);
  const { stores, requests, instruments, admission, reads, before, deadlineMs, hits } = parts;
  let applied: AppliedConfig = appliedOf(options.config);

  const apply = (config: RuntimeConfig): void => {
    applied = appliedOf(config);
    before.forget();
    stores.apply(storesOf(config), config.material);
    probeAll(stores);
  };
  const observer = observerOf(instruments, options.log);
  const { sources, counted, slo, gate: concurrency, partials } = parts;
  const sourcesFor = (context: RequestContext): QuerySources => {
    return { ...sources, queryContext: applied.queryContext, observe: observer(context) };
  };
  const measure: Measure = (route, signal, work) => measured({ route, signal, requests, instruments }, work);
  const answer =
    (route: QueryRoute): MetricsApi["query"] =>
    (params, caller, signal, context) =>
      measure(route, signal, () =>
        handleQuery(
          route,
          { params, caller, signal, context },
          { ...sourcesFor(context), remember: before.remember(route) },
        ),
      );

  apply(options.config);
  return {
    query: answer("query"),
    instant: answer("instant"),
    bulk: (body, caller, signal, context) =>
      measure("bulk-query", signal, () =>
        handleBulk(
          { body, caller, signal, context },
          { ...sourcesFor(context), log: options.log, admission, admitItem: counted(admission.bulkItem) },
        ),
      ),
    slo: (params, caller, signal, context) =>
      measure("slo", signal, () => {
        const { slos, queryContext } = applied;
        const views = {
          ...slo,
          slos,
          quotas: queryContext.quotas,
          stores,
          admission,
          deadlineMs,
          observe: observer(context),
        };
        const work = () => handleSlo({ params, caller, signal, context }, views);
        return caller.scopes.length === 0 ? concurrency(work) : work();
      }),
    partials: (request) =>
      measure("partials", request.signal, () =>
        partials(request, { ...applied, stores, deadlineMs, observe: observer(request.context) }),
      ),
    catalog: (params, caller, context) => catalogResponse(params, caller, applied.queryContext, context),
    health() {
      probeAll(stores);
      const { catalog } = applied.queryContext;
      const caches = cacheFigures(hits, options, applied);
      return healthResponse({ figures: requests.figures(), stores: stores.list(), catalog, caches });
    },
    apply,
    stop: () => stopAll([admission, reads.refreshes], stores),
  };
}

/** Makes what is told how each part of a request ended. */
function observerOf(instruments: Instruments, log: MetricsApiOptions["log"]) {
  return ({ correlationId }: RequestContext) =>
    (outcomes: readonly PartOutcome<unknown>[]): void => {
      instruments.asked(outcomes);
      logFailures(log, outcomes, correlationId);
    };
}

/** Everything that outlives a configuration. */
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
  const admission = createAdmission(elapsed, pods);
  const reads = createReads({ ...options, deadlineMs, pods }, instruments);
  const hits = createHitLogs(now);
  const slo = {
    cache: createSloCache(),
    anonymous: createAnonymousLimit(elapsed),
    environments: createKnownEnvironments(deadlineMs),
  };
  const counted = countedBy(instruments);
  const countPoints = pointCounterOf(hits, instruments);
  const before = createMeasuredBefore({ admission, requests, instruments, countPoints });
  const sources = {
    stores,
    bulkheads: createClassBulkheads(),
    slices: createTimeSlices(),
    snapshots: createSnapshots(),
    cache: reads,
    responses: createResponseCache(),
    countPoints,
    deadlineMs,
    admit: counted(admission.query),
  };
  const concurrency = createConcurrencyLimit(
    anonymousMax,
    `more than ${anonymousMax} requests without a token are under way in this pod; ask again later`,
  );
  return {
    stores,
    requests,
    instruments,
    admission,
    reads,
    hits,
    slo,
    counted,
    before,
    sources,
    gate: concurrency,
    partials: createPartials(),
    deadlineMs,
  };
}

function createPartials(): typeof handlePartials {
  const concurrency = createConcurrencyLimit(
    questionsMax,
    `more than ${questionsMax} questions of peers are under way in this pod; ask again later`,
  );
  return (request, sources) => concurrency(() => handlePartials(request, sources));
}

/** Hits of both caches together, of memory, and of what pods share. */
type HitLogs = Readonly<Record<"all" | "memory" | "distributed", HitLog>>;

function createHitLogs(now: () => number): HitLogs {
  return { all: createHitLog(now), memory: createHitLog(now), distributed: createHitLog(now) };
}

function pointCounterOf({ all, memory, distributed }: HitLogs, instruments: Instruments): QuerySources["countPoints"] {
  return (counts) => {
    const { hit, miss, shared = 0, isSharing = false } = counts;
    all.add({ hit, miss });
    memory.add({ hit: hit - shared, miss: miss + shared });
    if (isSharing) distributed.add({ hit: shared, miss });
    instruments.countPoints(counts);
  };
}

function cacheFigures(
  hits: HitLogs,
  { sharedBytes, residency }: MetricsApiOptions,
  { queryContext }: AppliedConfig,
): CacheFigures {
  const stores = [...queryContext.catalog.values()].flatMap((entry) => entry.stores);
  const mayShare = stores.some(({ config: store }) => residency === undefined || store.residency === residency);
  return {
    hitRatio: hits.all.ratio(),
    memoryHitRatio: hits.memory.ratio(),
    distributedHitRatio: hits.distributed.ratio(),
    distributed: mayShare ? sharedBytes?.state() : undefined,
    limits: limitsInForce(queryContext.quotas),
  };
}

/** Counts how work ended that nobody waits for, and logs why it failed. */
function noted(
  what: string,
  { log, count }: { readonly log: Pick<Logger, "warn">; readonly count: (outcome: "ok" | "failed") => void },
): (failure: unknown) => void {
  return (failure) => {
    count(failure === undefined ? "ok" : "failed");
    if (failure !== undefined) log.warn({ err: failure }, `${what} failed`);
  };
}

function stopAll(parts: readonly { readonly stop: () => void }[], stores: StoreSet): Promise<void> {
  for (const part of parts) part.stop();
  return stores.stop();
}

type ReadOptions = MetricsApiOptions & Required<Pick<MetricsApiOptions, "deadlineMs" | "pods">>;

function createReads(
  { log, deadlineMs, pods, sharedBytes, residency }: ReadOptions,
  { renewed, unshared }: Instruments,
): ReadCache {
  const refreshes = createBackgroundRefreshes({ deadlineMs, ended: noted("a renewal", { log, count: renewed }) });
  const failed = noted("sharing what was read", { log, count: unshared });
  return createReadCache(readCacheBytesMax, {
    shared: sharedBytes && createSharedExtents(sharedBytes, pods, { residency, failed }),
    refreshes,
  });
}

function countedBy(instruments: Instruments): (admit: AdmitQuery) => AdmitQuery {
  return (admit) => async (plan, caller) => {
    const admitted = await admit(plan, caller);
    instruments.planned(plan, admitted.estimate);
    return admitted;
  };
}

type Counting = Pick<QuerySources, "countPoints"> &
  Pick<MeasuredWork, "requests" | "instruments"> & { readonly admission: Pick<Admission, "queryNow"> };

/** Queries that are asked again are counted and timed as the others are. */
function createMeasuredBefore({ admission, requests, instruments, countPoints }: Counting) {
  const before = createRepeatQueries();
  const admitNow: Admission["queryNow"] = (plan, caller) => {
    const admitted = admission.queryNow(plan, caller);
    if (admitted !== undefined) instruments.planned(plan, admitted.estimate);
    return admitted;
  };
  return {
    remember:
      (route: QueryRoute) =>
      (answered: CachedQuery): Again =>
        before.remember(
          measuredAgain({ route, requests, instruments }, repeatQuery(answered, { admitNow, countPoints })),
        ),
    forget: () => before.forget(),
  };
}

function appliedOf(config: RuntimeConfig): AppliedConfig {
  const catalog = indexCatalogs(config.catalogs);
  return { queryContext: { catalog, quotas: config }, slos: indexSlos(config.catalogs, catalog) };
}

function storesOf({
  catalogs,
}: RuntimeConfig): ReadonlyMap<string, RuntimeConfig["catalogs"][number]["stores"][number]> {
  return new Map(
    catalogs.flatMap((catalog) => catalog.stores.map((store) => [storeKey(catalog, store), store] as const)),
  );
}

/**
 * In the background, and only where an earlier probe has aged: what is found shows in the state of the store. One that
 * wants a tenant for everything is probed with the first query's.
 */
function probeAll(stores: Stores): void {
  for (const [, store] of stores.list()) {
    if (store.config.tenancy !== "StoreHeader") store.capabilities().catch(() => undefined);
  }
}

function logFailures(
  log: Pick<Logger, "warn">,
  outcomes: readonly PartOutcome<unknown>[],
  correlationId: string,
): void {
  for (const { part, outcome } of outcomes) {
    if (outcome.ok) continue;
    const { store, metric } = part;
    const ids = { correlationId, store: store.key, region: store.config.region, metric: metric.entry.metric.id };
    log.warn({ ...ids, outcome: outcome.error.kind, reason: outcome.error.message }, "store read failed");
  }
}
