// The Prometheus metrics of the metrics API, its recent requests and its health response. Quotas are elsewhere.
import type { HealthAnswer } from "../../../api/catalog.ts";
import type { ClassLimits } from "../../../crds/config.ts";
import type { Store } from "../../stores/store.ts";
import type { HitRatios } from "../cache/read-cache.ts";
import { accessOf, allows, type Caller } from "../authorization/access.ts";
import { mayRead } from "../authorization/policy.ts";
import type { CatalogIndex } from "../catalog-index.ts";
import type { MetricsResponse } from "../metrics-api.ts";
import type { QueryContext } from "../planning/query.ts";
import { recipeOf } from "../promql/recipe-of.ts";
import type { StoreNeeds } from "../promql/recipe.ts";
import type { RecentOfPods } from "../usage/usage-recorder.ts";
import { unitedUsage } from "../usage/usage-window.ts";
import { type RequestFigures, requestLogSeconds } from "./instruments.ts";

type HealthState = HealthAnswer["stores"][number]["state"];

interface HealthInput extends CacheInput {
  readonly usage: RecentOfPods;
  readonly caller: Caller;
  readonly figures: RequestFigures;
  readonly stores: readonly (readonly [key: string, store: Store])[];
  /** What is known to be wrong with the series of a store. */
  readonly warningsOf: (storeKey: string) => readonly string[];
}

interface CacheInput {
  readonly queryContext: QueryContext;
  readonly ratios: ReturnType<HitRatios["ratios"]>;
  /** Pods that share extents. @default extents are not shared */
  readonly pods?: { readonly isConnected: () => boolean } | undefined;
  /** Residency of the pods' messages: stores of other residencies share nothing. @default any store may share */
  readonly residency?: string | undefined;
}

const decimals = 1_000;

/**
 * `GET /v1/metrics/health`, from the requests of the last {@link requestLogSeconds}. A pod reads points from its
 * memory, then from other pods, then from the stores. Source: seed "Operational Metrics API" §2.5.
 */
export function healthResponse({
  figures,
  stores,
  warningsOf,
  usage,
  caller,
  ...caches
}: HealthInput): MetricsResponse {
  const needs = needsByStore(caches.queryContext.catalog);
  const reports = stores.map(([key, store]) => ({
    name: store.config.name,
    region: store.config.region,
    catalog: key.slice(0, key.lastIndexOf("/")),
    state: stateOf(store, needs.get(key)),
    ...ageOf(store),
    ...(warningsOf(key).length === 0 ? {} : { warnings: warningsOf(key) }),
  }));
  const cacheReports = reportCaches(caches);
  return {
    status: 200,
    headers: {},
    body: {
      status: statusOf(
        reports.map(({ state }) => state),
        cacheReports.some(({ state }) => state === "failing"),
      ),
      window_seconds: requestLogSeconds,
      requests: figures.requests,
      latency_p95_ms: round(figures.latencyP95Ms),
      error_rate: round(figures.errorRate),
      cache_hit_ratio: round(caches.ratios.all),
      partial_response_rate: round(figures.partialRate),
      ...usageMembers(usage, caller, caches.queryContext),
      caches: cacheReports,
      stores: reports,
    } satisfies HealthAnswer,
  };
}

/** Metrics in the health response. */
const expensiveMax = 10;

function usageMembers(
  { live, pods }: RecentOfPods,
  caller: Caller,
  { catalog, quotas }: QueryContext,
): Pick<HealthAnswer, "requests_per_second" | "response_bytes_avg" | "most_expensive" | "pods"> {
  const access = accessOf(caller, quotas);
  const maySee = (tenant: string, id: string): boolean => {
    const entry = catalog.get(id);
    const isTenant = tenant === "" ? access.tenants === "every" : allows(access.tenants, tenant);
    return isTenant && entry !== undefined && mayRead(entry, caller, access);
  };
  return { ...unitedUsage(pods, maySee, expensiveMax), pods: { live, counted: pods.length } };
}

function reportCaches({ queryContext, ratios, pods, residency }: CacheInput): HealthAnswer["caches"] {
  const { catalog, quotas } = queryContext;
  const limits: readonly ClassLimits[] = [
    ...Object.values(quotas.classDefaults),
    ...quotas.quotas.map((quota) => quota.limits),
  ];
  const stores = [...catalog.values()].flatMap((entry) => entry.stores);
  const mayShare =
    limits.some(({ distributedSeconds = 0 }) => distributedSeconds > 0) &&
    stores.some(({ config: store }) => residency === undefined || store.residency === residency);
  const state = !mayShare || pods === undefined ? "off" : pods.isConnected() ? "ok" : "failing";
  return [
    {
      name: "memory",
      state: limits.some(({ memorySeconds }) => memorySeconds > 0) ? "ok" : "off",
      hit_ratio: round(ratios.memory),
      fallback: state === "ok" ? "distributed" : "stores",
    },
    { name: "distributed", state, hit_ratio: round(ratios.distributed), fallback: "stores" },
  ];
}

function statusOf(states: readonly HealthState[], isCacheFailing: boolean): HealthAnswer["status"] {
  if (states.length > 0 && states.every((state) => state === "failing")) return "down";
  return isCacheFailing || states.some((state) => state === "failing" || state === "unsupported") ? "degraded" : "ok";
}

function ageOf(store: Store): { readonly age_seconds?: number } {
  const ms = store.stateAgeMs();
  return ms === undefined ? {} : { age_seconds: Math.max(0, Math.floor(ms / 1_000)) };
}

function stateOf(store: Store, needs: StoreNeeds | undefined): HealthState {
  const state = store.state();
  const known = store.knownCapabilities();
  if (state !== "ok" || needs === undefined || known === undefined) return state;
  return (needs.anchored && !known.anchored) || (needs.native && !known.native) ? "unsupported" : "ok";
}

/** The needs of all metrics of each store. */
function needsByStore(catalog: CatalogIndex): ReadonlyMap<string, StoreNeeds> {
  const needs = new Map<string, StoreNeeds>();
  for (const { metric, stores } of catalog.values()) {
    const own = recipeOf(metric, metric.defaultAggregation).needs;
    for (const { key } of stores) {
      const others = needs.get(key) ?? own;
      needs.set(key, {
        increases: own.increases || others.increases,
        anchored: own.anchored || others.anchored,
        native: own.native || others.native,
      });
    }
  }
  return needs;
}

function round(value: number): number {
  return Math.round(value * decimals) / decimals;
}
