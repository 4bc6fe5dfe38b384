import type { DescribedMetric, MetricsApi } from "../../metrics/metrics-api.ts";
import type { PrometheusRequest } from "../prometheus-api.ts";
import type { CallerCatalog } from "./read-expression.ts";

type Catalog = Pick<MetricsApi, "describe" | "readable">;

/** The catalog as the caller of a request sees it. */
export function callerCatalog(metrics: Catalog, request: PrometheusRequest): CallerCatalog {
  return {
    lookUp: (id) => metrics.describe(id, request.caller),
    names: () => readableOf(metrics, request).keys(),
  };
}

/** The metrics that the caller of a request may read, by id. @throws Refusal `tenant_forbidden`, `tenant_required` */
export function readableOf(
  { readable }: Pick<Catalog, "readable">,
  { caller, tenant, context: { nowMs } }: PrometheusRequest,
): ReadonlyMap<string, DescribedMetric> {
  return readable({ caller, tenant, nowMs });
}
