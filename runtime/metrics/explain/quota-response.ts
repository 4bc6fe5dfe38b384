import type { ClassLimits, QueryClass } from "../../../crds/config.ts";
import { ApiError } from "../../errors/api-error.ts";
import type { Admission } from "../admission/admission.ts";
import { leftOf, type QuotaState } from "../admission/quotas.ts";
import type { Balance } from "../admission/token-source.ts";
import { accessOf, type Caller, classOf, type QueryClassGrant } from "../authorization/access.ts";
import { mayRead, requireReadScope } from "../authorization/policy.ts";
import type { MetricsResponse } from "../metrics-api.ts";
import { isPastSunset } from "../planning/catalog-entry.ts";
import type { QueryContext } from "../planning/query.ts";
import { noStore } from "../response/response-headers.ts";

interface QuotaRequest {
  readonly caller: Caller;
  /** Unix milliseconds of the request. */
  readonly nowMs: number;
}

interface QuotaSources {
  readonly queryContext: QueryContext;
  readonly admission: Pick<Admission, "state" | "chargeRequest">;
}

/**
 * The quotas of the caller in each class of the metrics that it may read. It reads no store and charges none of these
 * quotas, so that a client that has spent them can read them. Its own rate is that of a class.
 *
 * @throws ApiError `scope_missing`, `rate_exceeded`
 */
export async function quotaResponse(request: QuotaRequest, sources: QuotaSources): Promise<MetricsResponse> {
  const { caller } = request;
  requireReadScope(caller);
  await chargeRead(caller, sources);
  const data = await Promise.all(
    grantsOf(request, sources).map(async ({ grant, metrics }) =>
      quotaItem(caller, grant, await sources.admission.state(caller, grant, metrics)),
    ),
  );
  return { status: 200, headers: noStore, body: { data, meta: {} } };
}

/** Charges the bucket for reads of quotas, which no other request shares. */
async function chargeRead(caller: Caller, { admission, queryContext }: QuotaSources): Promise<void> {
  const reader = { ...caller, client: JSON.stringify([caller.client, "quota"]) };
  try {
    await admission.chargeRequest(reader, classOf(caller, [], queryContext.quotas));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Its headers would read like those of the class.
    const detail = "the rate limit for reading quotas is exceeded; it is separate from the rate limit of the class";
    const { retryAfterSeconds } = error;
    throw new ApiError(error.code, detail, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
  }
}

interface OwnGrant {
  readonly grant: QueryClassGrant;
  /** The metrics of the class that the caller may read. */
  readonly metrics: readonly string[];
}

/** The classes of the caller, by name: the assigned one, else those of its metrics. */
function grantsOf({ caller, nowMs }: QuotaRequest, { queryContext }: QuotaSources): readonly OwnGrant[] {
  const { catalog, quotas } = queryContext;
  const access = accessOf(caller, quotas);
  const readable = [...catalog.values()]
    .filter((entry) => mayRead(entry, caller, access) && !isPastSunset(entry.metric, nowMs))
    .map(({ metric }) => metric);
  const grants = new Map<QueryClass, OwnGrant>();
  for (const own of Map.groupBy(readable, ({ queryClass }) => queryClass).values()) {
    const grant = classOf(caller, own.slice(0, 1), quotas);
    const before = grants.get(grant.queryClass)?.metrics ?? [];
    grants.set(grant.queryClass, { grant, metrics: [...before, ...own.map(({ id }) => id)] });
  }
  if (grants.size === 0) return [{ grant: classOf(caller, [], quotas), metrics: [] }];
  return [...grants.values()].sort((one, other) => (one.grant.queryClass < other.grant.queryClass ? -1 : 1));
}

function quotaItem({ client }: Caller, { queryClass, limits }: QueryClassGrant, state: QuotaState): object {
  const { balances, running, isOfOwner } = state;
  const byMetric = Map.groupBy(balances, ({ charge }) => charge.metric);
  return {
    class: queryClass,
    client,
    ...bucketsBody(byMetric.get(undefined) ?? []),
    concurrent: { limit: limits.maxConcurrent, used: running },
    ...boundsBody(limits),
    metrics: [...byMetric].flatMap(([metric, own]) => (metric === undefined ? [] : [{ metric, ...bucketsBody(own) }])),
    known_by: isOfOwner ? "home_pod" : "this_pod",
  };
}

/** The buckets of a class or of one metric; null for a bucket that it does not have. */
function bucketsBody(balances: readonly Balance[]): object {
  const [requests, cost] = (["requests", "cost"] as const).map((unit) =>
    balances.find(({ charge }) => charge.unit === unit),
  );
  return {
    requests: requests === undefined ? null : { limit_per_second: perSecondOf(requests), ...fillOf(requests) },
    cost: cost === undefined ? null : { limit_per_minute: Math.round(perSecondOf(cost) * 60), ...fillOf(cost) },
  };
}

function perSecondOf({ charge }: Balance): number {
  return charge.limits.perSecond;
}

function fillOf(balance: Balance): object {
  return { burst: balance.charge.limits.burst, remaining: leftOf(balance) };
}

function boundsBody({ maxSeries, maxWindowSeconds, minStepSeconds }: ClassLimits): object {
  return { max_series: maxSeries, max_window_seconds: maxWindowSeconds, min_step_seconds: minStepSeconds };
}
