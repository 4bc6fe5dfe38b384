// The bulk endpoint: it runs several queries of one caller. `handle-query.ts` handles each of them.
import type { Logger } from "pino";
import { ApiError } from "../../errors/api-error.ts";
import { queryBytesMax, type ReadDeadline } from "../../stores/limits/fan-out.ts";
import { type ReadMemo, shareReads } from "../../stores/read-middleware.ts";
import { type Admission, type AdmitQueries, runAdmitted } from "../admission/admission.ts";
import { divided } from "../admission/usage-counts.ts";
import type { AdmittedRequest } from "../admission/quotas.ts";
import { type Caller, classOf } from "../authorization/access.ts";
import { handleQuery, type QuerySources } from "../handle-query.ts";
import type { BulkResponse, BulkResult, RequestContext } from "../metrics-api.ts";
import { joinedVersions } from "../planning/catalog-entry.ts";
import type { Plan } from "../planning/plan.ts";
import { retryAfterSeconds } from "../reads/region-status.ts";
import { type BulkItem, readBulk } from "../request/bulk-request.ts";
import { pointCount } from "../request/window.ts";
import { freshnessOf, oneOrMixed, responseHeaders } from "../response/response-headers.ts";

/** Most points of all responses of one bulk, since its body is in memory. */
const bulkPointsMax = 1_000_000;
/** Most bytes that the stores may send for all queries of one bulk. */
const bulkStoreBytesMax = 2 * queryBytesMax;

/** One bulk of one caller. */
interface BulkRequest {
  readonly body: Uint8Array;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly context: RequestContext;
}

interface BulkSources extends QuerySources {
  readonly log: Pick<Logger, "warn">;
  readonly admission: Pick<Admission, "request">;
  /** Admits one query of a bulk. */
  readonly admitItem: AdmitQueries;
}

/** Store reads of all queries together. */
interface Shards {
  requested: number;
  responded: number;
}

/** One bulk in progress. */
interface Run {
  readonly request: BulkRequest;
  readonly sources: BulkSources;
  readonly reads: ReadMemo;
  readonly deadline: ReadDeadline;
  readonly shards: Shards;
  readonly schemaVersions: Set<string>;
  /** Points that remain for the next queries. */
  points: number;
}

/**
 * Handles every query of a bulk like a single one. Equal reads are sent once, and one deadline bounds all queries.
 * Source: seed "Operational Metrics API" §4.2.
 *
 * @throws ApiError for a body that is no bulk; the signal's reason when the caller leaves
 */
export async function handleBulk(request: BulkRequest, sources: BulkSources): Promise<BulkResponse> {
  const items = readBulk(request.body);
  const admitted = await admitBulk(items, request.caller, sources);
  const startMs = performance.now();
  const { signal, context } = request;
  const sharing = { signal, deadlineMs: sources.deadlineMs, bytesMax: bulkStoreBytesMax, context };
  const shards: Shards = { requested: 0, responded: 0 };
  return runAdmitted(admitted, () =>
    shareReads(sharing, async (reads, deadline) => {
      const run: Run = { request, sources, reads, deadline, shards, schemaVersions: new Set(), points: bulkPointsMax };
      // At most `bulkQueriesMax`, together: one that waits for a store that hangs holds up no query of another store.
      const results = await Promise.all(items.map((item) => handleItem(item, run)));
      return bulkResponse(results, run, performance.now() - startMs);
    }),
  );
}

/** Admits a bulk as one request, in the slowest class of its metrics. */
function admitBulk(
  items: readonly BulkItem[],
  caller: Caller,
  { queryContext, admission }: BulkSources,
): Promise<AdmittedRequest> {
  const ids = items.flatMap(({ params }) => (params instanceof ApiError ? [] : (params.get("metric") ?? [])));
  const metrics = [...new Set(ids)].flatMap((id) => queryContext.catalog.get(id)?.metric ?? []);
  return admission.request(caller, classOf(caller, metrics, queryContext.quotas), new Map());
}

async function handleItem({ id, params }: BulkItem, run: Run): Promise<BulkResult> {
  const { request, sources, reads, shards } = run;
  if (params instanceof ApiError) return { id, cost: undefined, error: params };
  const deadlineMs = run.deadline.leftMs();
  if (deadlineMs === 0) return { id, cost: undefined, error: outOfTime() };
  let cost: number | undefined;
  const admit: AdmitQueries = async (plans, caller) => {
    for (const plan of plans) {
      takePoints(plan, run);
      run.schemaVersions.add(plan.query.schemaVersion);
    }
    const admitted = await sources.admitItem(plans, caller);
    cost = admitted.estimates.reduce((sum, own) => sum + own, 0);
    return admitted;
  };
  const observe: QuerySources["observe"] = (outcomes) => {
    shards.requested += outcomes.length;
    shards.responded += outcomes.filter(({ outcome }) => outcome.ok).length;
    sources.observe(outcomes);
  };
  try {
    const own = { ...sources, share: reads.share, deadlineMs, admit, observe };
    const response = await handleQuery("query", { ...request, params }, own);
    return { id, cost, response };
  } catch (error) {
    if (request.signal.aborted) throw error;
    return { id, cost, error: apiErrorOf(error, id, run) };
  }
}

/** Takes the points of one query. @throws ApiError when too few remain */
function takePoints({ query }: Plan, run: Run): void {
  const series = query.groupBy.length === 0 ? query.metrics.length : query.limit;
  run.points -= series * pointCount(query.window);
  if (run.points >= 0) return;
  const detail = `the responses of one bulk have more than ${bulkPointsMax} points; request fewer or coarser points`;
  throw new ApiError("result_too_large", detail);
}

function outOfTime(): ApiError {
  return new ApiError("store_timeout", "the deadline of the bulk passed before this query; send it again", {
    retryAfterSeconds,
  });
}

function apiErrorOf(error: unknown, id: string, { request, sources }: Run): ApiError {
  if (error instanceof ApiError) return error;
  const { correlationId } = request.context;
  sources.log.warn({ correlationId, query: id, err: error }, "bulk query failed");
  return new ApiError("internal", "Internal error. See the server log for this correlation id.", {
    cause: error,
  });
}

function bulkResponse(results: readonly BulkResult[], run: Run, durationMs: number): BulkResponse {
  const { request, reads, shards } = run;
  const responses = results.flatMap((result) => ("response" in result ? [result.response] : []));
  const partial = results.some(isIncomplete);
  const { wanted, sent } = reads.counts();
  return {
    status: partial ? 206 : 200,
    headers: responseHeaders({
      freshness: responses.map(({ headers }) => freshnessOf(headers)),
      downsample: oneOrMixed(responses.map(({ headers }) => headers["X-Downsample"] ?? "none")),
      partial,
      plan: `queries=${results.length}, concurrency=${results.length}, reads=${wanted}, sent=${sent}`,
      cache: oneOrMixed(responses.map(({ headers }) => headers["X-Query-Cache"] ?? "off")),
      shards,
      total: {
        estimate: results.reduce((sum, { cost = 0 }) => sum + cost, 0),
        cost: responses.reduce((sum, { headers }) => sum + Number(headers["X-Query-Cost"] ?? 0), 0),
        durationMs,
      },
    }),
    results,
    // The bytes of a bulk are divided equally among its queries.
    sent: (bytes) => divided(bytes, responses.length).forEach((own, index) => responses[index]?.sent?.(own)),
    meta: {
      correlation_id: request.context.correlationId,
      schema_version: joinedVersions(run.schemaVersions),
      queries: results.length,
      failed: results.length - responses.length,
      partial,
    },
  };
}

/** Tests if a result is partial, or failed without an error of the caller. */
function isIncomplete(result: BulkResult): boolean {
  return "response" in result ? result.response.status === 206 : result.error.status >= 500;
}
