import type { Store } from "../../stores/store.ts";
import type { CatalogIndex } from "../catalog/catalog-index.ts";
import type { StoreNeeds } from "../promql/kinds/recipe.ts";
import { recipeOf } from "../promql/kinds/recipe-of.ts";
import type { MetricsResponse } from "../metrics-api.ts";
import type { ClassLimits, QueryClass } from "../../../crds/config.ts";
import type { SharedBytesState } from "../cache/shared-extents.ts";
import { requestLogSeconds, type RequestFigures } from "./recent-requests.ts";

/** `unsupported`: the store cannot answer every metric that the catalog says it holds. */
type HealthState = "unknown" | "ok" | "failing" | "unsupported";

/** What the health view is made of. */
interface HealthInput {
  readonly figures: RequestFigures;
  readonly stores: readonly (readonly [key: string, store: Store])[];
  readonly catalog: CatalogIndex;
  readonly caches: CacheFigures;
}

/** What both caches did of late, as shares of points. */
export interface CacheFigures {
  /** Of all points that were wanted. */
  readonly hitRatio: number;
  /** Of all points that were wanted, those from the memory of this pod. */
  readonly memoryHitRatio: number;
  /** Of the points that memory did not have, those that another pod had read. */
  readonly distributedHitRatio: number;
  /** Undefined: there is nothing to share with other pods, or nothing that may be. */
  readonly distributed: SharedBytesState | undefined;
  /** The limits of every class and quota in force. */
  readonly limits: readonly ClassLimits[];
}

/** The limits of every class and quota in force. */
export function limitsInForce({
  classDefaults,
  quotas,
}: {
  readonly classDefaults: Readonly<Record<QueryClass, ClassLimits>>;
  readonly quotas: readonly { readonly limits: ClassLimits }[];
}): readonly ClassLimits[] {
  return [...Object.values(classDefaults), ...quotas.map(({ limits }) => limits)];
}

const decimals = 1_000;

/**
 * `GET /v1/metrics/health`, from what was measured in the last {@link requestLogSeconds}. What a pod does not have in
 * its memory it looks for in the cache that pods share, then asks the stores. Source: seed "Operational Metrics API"
 * §2.5, wire "Health".
 */
export function healthResponse({ figures, stores, catalog, caches }: HealthInput): MetricsResponse {
  const needs = needsByStore(catalog);
  const reports = stores.map(([key, store]) => ({
    name: store.config.name,
    region: store.config.region,
    state: stateOf(store, needs.get(key)),
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
      cache_hit_ratio: round(caches.hitRatio),
      partial_response_rate: round(figures.partialRate),
      caches: cacheReports,
      stores: reports,
    },
  };
}

/** `off`: no class in force keeps anything there. */
type CacheState = SharedBytesState | "off";

interface CacheReport {
  readonly name: "memory" | "distributed";
  readonly state: CacheState;
  readonly hit_ratio: number;
  /** Where points come from that this cache does not have. */
  readonly fallback: "distributed" | "stores";
}

function reportCaches({
  memoryHitRatio,
  distributedHitRatio,
  distributed,
  limits,
}: CacheFigures): readonly CacheReport[] {
  const state = limits.some(({ distributedSeconds = 0 }) => distributedSeconds > 0) ? (distributed ?? "off") : "off";
  return [
    {
      name: "memory",
      state: limits.some(({ memorySeconds }) => memorySeconds > 0) ? "ok" : "off",
      hit_ratio: round(memoryHitRatio),
      fallback: state === "ok" ? "distributed" : "stores",
    },
    { name: "distributed", state, hit_ratio: round(distributedHitRatio), fallback: "stores" },
  ];
}

function statusOf(states: readonly HealthState[], isCacheFailing: boolean): "ok" | "degraded" | "down" {
  if (states.length > 0 && states.every((state) => state === "failing")) return "down";
  return isCacheFailing || states.some((state) => state === "failing" || state === "unsupported") ? "degraded" : "ok";
}

function stateOf(store: Store, needs: StoreNeeds | undefined): HealthState {
  const state = store.state();
  const known = store.knownCapabilities();
  if (state !== "ok" || needs === undefined || known === undefined) return state;
  return (needs.anchored && !known.anchored) || (needs.native && !known.native) ? "unsupported" : "ok";
}

/** What all metrics of each store need together. */
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
