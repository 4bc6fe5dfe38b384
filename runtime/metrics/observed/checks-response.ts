import type { CatalogCheck, CatalogChecksAnswer } from "../../../api/catalog.ts";
import type { StoreConfig } from "../../../crds/config.ts";
import type { CatalogCheck as Observed } from "../../../crds/configz.ts";
import { accessOf, allows, type Caller } from "../authorization/access.ts";
import { mayRead, namedTenant, requireReadScope } from "../authorization/policy.ts";
import type { MetricEntry } from "../catalog-index.ts";
import type { MetricsResponse } from "../metrics-api.ts";
import type { QueryContext } from "../planning/query.ts";
import { type Parameters, rejectUnknown } from "../request/parameters.ts";
import { formatTime } from "../request/time.ts";
import type { ChecksReport, MetricStoreResult } from "./checks-report.ts";
import { metricCheck } from "./decide-checks.ts";

/**
 * `GET /v1/metrics/catalog/checks`: how the metrics that the caller may read compare with their stores.
 *
 * @param report undefined if the pod that compares them does not respond
 * @throws ApiError for a parameter, and for a caller without the scope or a tenant
 */
export function checksResponse(
  params: Parameters,
  caller: Caller,
  queryContext: QueryContext,
  report: ChecksReport | undefined,
): MetricsResponse {
  rejectUnknown(params, () => false);
  const access = accessOf(caller, queryContext.quotas);
  requireReadScope(caller);
  namedTenant(new Map(), access.tenants);
  const entries = [...queryContext.catalog.values()].filter((entry) => mayRead(entry, caller, access));
  const resultOf = resultsOf(report, ({ region }) => allows(access.regions, region));
  const data = entries.map((entry): CatalogCheck => ({ ...resultOf(entry), ...catalogOf(entry) }));
  const countOf = (status: CatalogCheck["status"]): number => data.filter((one) => one.status === status).length;
  const meta = { total: data.length, failed: countOf("False"), unknown: countOf("Unknown") };
  return { status: 200, headers: {}, body: { data, meta } satisfies CatalogChecksAnswer };
}

function catalogOf({ stores: [first] }: MetricEntry): Pick<CatalogCheck, "catalog"> {
  return first === undefined ? {} : { catalog: first.key.slice(0, first.key.lastIndexOf("/")) };
}

/** The result of each metric. @param isVisible tests the stores whose results the caller may see */
function resultsOf(
  report: ChecksReport | undefined,
  isVisible: (store: StoreConfig) => boolean,
): (entry: MetricEntry) => CatalogCheck {
  const checked = new Set(report?.checked);
  const found = new Map(report?.catalogs.flatMap(({ metrics }) => metrics.map((one) => [one.metric, one] as const)));
  const byMetric = Map.groupBy(report?.stores ?? [], ({ metric }) => metric);
  const missing = report === undefined ? "the pod that compares catalogs does not respond" : "not compared yet";
  return ({ metric: { id }, stores }) => {
    if (!checked.has(id)) return { metric_id: id, status: "Unknown", message: missing };
    const visible = new Set(stores.filter(({ config }) => isVisible(config)).map(({ config }) => config.name));
    const own = byMetric.get(id)?.filter(({ store }) => visible.has(store));
    // A pod of an earlier version reports no stores.
    const matching: Observed = { metric: id, status: "True", message: "" };
    const { metric, ...result } = own === undefined ? (found.get(id) ?? matching) : metricCheck(id, own);
    return { metric_id: metric, ...result, ...(own === undefined ? {} : { stores: own.map(storeBody) }) };
  };
}

type StoreBody = NonNullable<CatalogCheck["stores"]>[number];

function storeBody({ metric: _metric, readMs, ...result }: MetricStoreResult): StoreBody {
  return { ...result, ...(readMs === undefined ? {} : { checked_at: formatTime(readMs) }) };
}
