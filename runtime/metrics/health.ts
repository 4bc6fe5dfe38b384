import type { Store } from "../stores/store.ts";
import type { CatalogIndex } from "./catalog-index.ts";
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
}

const decimals = 1_000;

/**
 * `GET /v1/metrics/health`, from what was measured in the last {@link requestLogSeconds}. There is no cache yet, which
 * the view says: nothing is cached, nothing has to fall back. Source: seed "Operational Metrics API" §2.5, wire "Health".
 */
export function healthAnswer({ figures, stores, catalog }: HealthInput): MetricsAnswer {
  const anchoredStores = storesThatNeedAnchored(catalog);
  const reports = stores.map(([key, store]) => ({
    name: store.config.name,
    region: store.config.region,
    state: stateOf(store, anchoredStores.has(key)),
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
      cache_hit_ratio: 0,
      partial_response_rate: round(figures.partialRate),
      caches: [
        { name: "memory", state: "off", fallback: "stores" },
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

function stateOf(store: Store, needsAnchored: boolean): HealthState {
  const state = store.state();
  return state === "ok" && needsAnchored && store.knownCapabilities()?.anchored === false ? "unsupported" : state;
}

function storesThatNeedAnchored(catalog: CatalogIndex): ReadonlySet<string> {
  const anchored = catalog
    .values()
    .filter(({ metric }) => recipeOf(metric, metric.defaultAggregation).anchored)
    .flatMap(({ stores }) => stores.map(({ key }) => key));
  return new Set(anchored);
}

function round(value: number): number {
  return Math.round(value * decimals) / decimals;
}
