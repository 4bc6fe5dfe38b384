import type { ClassLimits, MetricConfig, RuntimeConfig } from "../../../../crds/config.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import { indexCatalogs } from "../../../../runtime/metrics/catalog-index.ts";
import { makeInstant, makeQuery, type Query, type QueryContext } from "../../../../runtime/metrics/planning/query.ts";
import type { QueryRecord } from "../../../../runtime/metrics/query-log/query-record.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig, wideLimits } from "../oracle/universe.ts";

export const nowMs = Date.parse("2026-01-01T12:00:00Z");
export const reader: Caller = { ...everyone, tenants: ["brand-a"] };
const stores = ["eu", "latam"].map((region) => storeConfig({ name: region, region, url: "http://127.0.0.1:9" }));

export type Pairs = readonly (readonly [name: string, value: string])[];

/** A configuration with the gauge `lag`, changed. */
export function configWith(metric: Partial<MetricConfig> = {}, limits: Partial<ClassLimits> = {}): RuntimeConfig {
  const lag = metricConfig("lag", stores, { source: { kind: "gauge", name: "lag", matchers: [] }, ...metric });
  const own = { ...wideLimits, ...limits };
  return { ...configOf(stores, [lag]), classDefaults: { A: own, B: own, C: own } };
}

export function contextOf(config: RuntimeConfig): QueryContext {
  return { catalog: indexCatalogs(config.catalogs), quotas: config };
}

interface Asking {
  readonly pairs: Pairs;
  readonly route?: "query" | "instant";
  readonly caller?: Caller;
  readonly config?: RuntimeConfig;
}

/** Handles the parameters as a query of the product, up to its plan, and records it. */
export function ask(
  record: QueryRecord,
  { pairs, route = "query", caller = reader, config = configWith() }: Asking,
): void {
  const [params, context] = [parameters(pairs), contextOf(config)];
  const make = (): Query => (route === "query" ? makeQuery : makeInstant)(params, caller, context, nowMs);
  let query: Query | undefined;
  try {
    query = make();
  } catch {
    query = undefined;
  }
  record.add({ route, params, caller, nowMs, query }, context);
}
