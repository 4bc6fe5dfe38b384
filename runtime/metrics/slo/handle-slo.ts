// The SLO endpoint: it selects objectives, reads the events of their windows, and computes error budgets and burn
// rates. Queries of metrics are elsewhere.
import { runAdmitted } from "../admission/admission.ts";
import { type AnonymousLimit, createAnonymousLimit, createConcurrencyLimit } from "../admission/concurrency-limit.ts";
import { addedCosts, totalCost } from "../admission/cost.ts";
import type { AdmittedRequest } from "../admission/quotas.ts";
import { classOf } from "../authorization/access.ts";
import type { MetricsResponse, RequestContext } from "../metrics-api.ts";
import { ageSeconds } from "../reads/read-newest.ts";
import { contentId, noStore, responseHeaders } from "../response/response-headers.ts";
import { createKnownEnvironments, type KnownEnvironments } from "./known-environments.ts";
import { planSlo, readSlo, type SloData, type SloPlan } from "./read-slo.ts";
import {
  cacheStatus,
  chargedCosts,
  isPartial,
  type ReadView,
  readViews,
  requireSomeStore,
  retryHeaders,
  type SloContext,
  type SloOptions,
  type SloRequest,
  viewUsage,
} from "./read-views.ts";
import { type CompletedReads, createCompletedReads, createSloCache, type SloCache } from "./slo-cache.ts";
import { selectSlos } from "./slo-selection.ts";
import { sloItem } from "./slo-item.ts";

/** Share of the deadline for the look-up of environments. A store that hangs leaves the rest to the others. */
const environmentsShare = 0.25;
/** Maximum concurrent requests without a token. */
const anonymousMax = 32;

interface SloSources extends SloContext, SloOptions {
  readonly cache: SloCache<SloData>;
  readonly completed: CompletedReads;
  /** Limits the rate of callers without a token, for each network and together. */
  readonly anonymous: AnonymousLimit;
  readonly environments: KnownEnvironments;
}

type SloHandler = (request: SloRequest, context: SloContext) => Promise<MetricsResponse>;

/**
 * Creates the handler of `GET /v1/metrics/slo`, with its caches and limits. They outlive a configuration. Source: seed
 * "Operational Metrics API" §2.5 and §4.5.
 *
 * @param elapsed monotonic milliseconds
 * @throws ApiError for an error of the caller, `store_failed` and `store_timeout` when no store responded; the signal's
 *   reason
 */
export function createSloHandler({ elapsed, ...options }: SloOptions & { readonly elapsed: () => number }): SloHandler {
  const own = {
    ...options,
    cache: createSloCache<SloData>(),
    completed: createCompletedReads(),
    anonymous: createAnonymousLimit(elapsed),
    environments: createKnownEnvironments(options.deadlineMs * environmentsShare),
  };
  const limited = createConcurrencyLimit(
    anonymousMax,
    `more than ${anonymousMax} requests without a token are in progress in this pod; retry later`,
  );
  return (request, context) => {
    const work = () => handleSlo(request, { ...own, ...context });
    return request.caller.scopes.length === 0 ? limited(work) : work();
  };
}

async function handleSlo(request: SloRequest, sources: SloSources): Promise<MetricsResponse> {
  const startMs = performance.now();
  const { context, caller, params } = request;
  const { views, isPublic, schemaVersion } = selectSlos(params, caller, sources, context.nowMs);
  if (isPublic) sources.anonymous.take(context.address);
  const planned = views.map((view) => planSlo(view, caller, sources.quotas, context.nowMs));
  const plans = isPublic ? await narrowed(planned, context, sources) : planned;
  const costs = addedCosts(plans.map((plan) => plan.costs));
  const admitted = await admitSlo(plans, request, sources);
  const deadlineMs = sources.deadlineMs - (performance.now() - startMs);
  const usage = viewUsage(plans, caller, sources.admission);
  // Its errors show no quota, nor does a public response.
  const shown = {
    sent: usage.sent,
    end() {
      admitted?.end();
      usage.end();
    },
  };
  return runAdmitted(shown, async () => {
    const { read, counts } = await readViews(plans, request, { ...sources, deadlineMs, read: readSlo });
    const charged = addedCosts(read.map(chargedCosts));
    admitted?.settle(charged);
    usage.read(read);
    const outcomes = read.flatMap(({ data }) => data.outcomes);
    requireSomeStore(outcomes);
    const partial = read.some(({ data }) => isPartial(data));
    const responded = outcomes.filter(({ outcome }) => outcome.ok).length;
    return {
      status: partial ? 206 : 200,
      headers: {
        ...responseHeaders({
          freshness: read.map(({ data }) => ageSeconds(data.stalestMs, context.nowMs)),
          downsample: "none",
          partial,
          plan: `views=${views.length}, reads=${counts.wanted}, sent=${counts.sent}`,
          cache: cacheStatus(read),
          shards: { requested: outcomes.length, responded },
          total: {
            estimate: totalCost(costs),
            cost: totalCost(charged),
            durationMs: performance.now() - startMs,
          },
        }),
        // A public cache must not store the remaining quota of all anonymous callers.
        ...(isPublic ? {} : admitted?.headers()),
        ...(partial ? retryHeaders(outcomes) : {}),
        ...cacheHeaders(isPublic, partial),
      },
      body: sloBody(read, { schemaVersion, partial }),
    };
  });
}

/** Drops plans without a store that has their environment: callers without a token can name any environment. */
async function narrowed(
  plans: readonly SloPlan[],
  { nowMs }: RequestContext,
  { environments, stores }: SloSources,
): Promise<readonly SloPlan[]> {
  const narrower = await Promise.all(plans.map((plan) => environments.narrow(plan, stores, nowMs)));
  return narrower.filter(({ plans: [shortest] }) => shortest !== undefined && shortest.parts.length > 0);
}

/** Charges the plans. All callers without a token are one client, which pays for missing data only. */
async function admitSlo(
  all: readonly SloPlan[],
  { caller, context }: SloRequest,
  { admission, cache, quotas }: SloSources,
): Promise<AdmittedRequest | undefined> {
  const isPublic = caller.scopes.length === 0;
  const plans = isPublic ? all.filter((plan) => !cache.has(plan, context.nowMs)) : all;
  if (isPublic && plans.length === 0) return undefined;
  const quota = plans[0]?.plans[0]?.query.quota ?? classOf(caller, [], quotas);
  return admission.request(caller, quota, addedCosts(plans.map(({ costs }) => costs)));
}

/** A CDN may store public responses, apart from responses to tokens. Source: seed "Operational Metrics API" §8. */
function cacheHeaders(isPublic: boolean, partial: boolean): Readonly<Record<string, string>> {
  const vary = { Vary: "Authorization, Accept" };
  if (partial) return { ...noStore, ...vary };
  return {
    "Cache-Control": isPublic ? "public, max-age=30, s-maxage=60, stale-while-revalidate=60" : "private, max-age=30",
    ...vary,
  };
}

interface SloBodyContext {
  readonly schemaVersion: string;
  readonly partial: boolean;
}

/** The body of `GET /v1/metrics/slo`. Unknown values are left out, never null. */
function sloBody(read: readonly ReadView<SloData>[], { schemaVersion, partial }: SloBodyContext): object {
  const data = read.map(sloItem);
  const about = { schema_version: schemaVersion, partial };
  return { data, meta: { correlation_id: contentId([data, about]), ...about } };
}
