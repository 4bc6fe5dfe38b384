import type { Store } from "../stores/store.ts";
import type { CatalogIndex } from "./catalog-index.ts";
import type { StoreNeeds } from "./kinds/recipe.ts";
import { recipeOf } from "./kinds/recipe-of.ts";
import type { MetricsAnswer } from "./metrics-api.ts";
import { requestLogSeconds, type RequestFigures } from "./request-log.ts";

/** `unsupported`: the store cannot answer every metric that the catalog says it holds. */
type HealthState = "unknown" | "ok" | "failing" | "unsupported";

/** What the health view is made of. */
export interface HealthInput {
  readonly figures: RequestFigures;
  readonly stores: readonly (readonly [key: string, store: Store])[];
  readonly catalog: CatalogIndex;
  /** Share of points that came from memory. */
  readonly cacheHitRatio: number;
}

const decimals = 1_000;

/**
 * `GET /v1/metrics/health`, from what was measured in the last {@link requestLogSeconds}. Every pod has the memory of
 * its own, and asks the stores without it; there is no cache that pods share. Source: seed "Operational Metrics API" §2.5, wire "Health".
 */
export function healthAnswer({ figures, stores, catalog, cacheHitRatio }: HealthInput): MetricsAnswer {
  const needs = needsByStore(catalog);
  const reports = stores.map(([key, store]) => ({
    name: store.config.name,
    region: store.config.region,
    state: stateOf(store, needs.get(key)),
  }));
  return {
    status: 200,
    headers: {},
    body: {
      status: statusOf(reports.map(({ state }) => state)),
      window_seconds: requestLogSeconds,
      requests: figures.requests,
      latency_p95_ms: round(figures.latencyP95Ms),
      error_rate: round(figures.errorRate),
      cache_hit_ratio: round(cacheHitRatio),
      partial_response_rate: round(figures.partialRate),
      caches: [
        { name: "memory", state: "ok", fallback: "stores" },
        { name: "distributed", state: "off", fallback: "stores" },
      ],
      stores: reports,
    },
  };
}

function statusOf(states: readonly HealthState[]): "ok" | "degraded" | "down" {
  if (states.length > 0 && states.every((state) => state === "failing")) return "down";
  return states.some((state) => state === "failing" || state === "unsupported") ? "degraded" : "ok";
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
