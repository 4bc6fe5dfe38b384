import type { Logger } from "pino";
import { Refusal } from "../../errors/refusal.ts";
import { memoizeReads, type ReadMemo } from "../../stores/read-middleware.ts";
import { runBounded } from "../../stores/limits/run-bounded.ts";
import { queryBytesMax } from "../../stores/limits/byte-budget.ts";
import { lateAfter, type Lateness } from "../../stores/limits/read-deadline.ts";
import { classOf } from "../authorization/access.ts";
import type { AdmitQuery, Admission } from "../admission/admission.ts";
import { handleQuery } from "../handle-query.ts";
import type { QuerySources } from "../query-sources.ts";
import type { Caller } from "../authorization/caller.ts";
import { freshnessOf, responseHeaders } from "../response/response-headers.ts";
import type { BulkResponse, BulkResult, RequestContext } from "../metrics-api.ts";
import type { Plan } from "../planning/plan.ts";
import type { AdmittedRequest } from "../admission/quotas.ts";
import { retryAfterSeconds } from "../execution/region-status.ts";
import { pointCount } from "../request/window.ts";
import { readBulk, type BulkItem } from "./bulk-request.ts";

/** Queries of one bulk that run at once. */
const bulkConcurrency = 8;
/** Points that all answers of one bulk may have together: it is one body in memory. */
const bulkPointsMax = 1_000_000;
/** What the stores may answer to all queries of one bulk together. */
const bulkStoreBytesMax = 2 * queryBytesMax;

/** One bulk of one caller. */
interface BulkRequest {
  readonly body: Uint8Array;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly context: RequestContext;
}

/** What a bulk is answered from. */
interface BulkSources extends QuerySources {
  readonly log: Pick<Logger, "warn">;
  readonly admission: Pick<Admission, "request">;
  /** Lets one query of a bulk in. */
  readonly admitItem: AdmitQuery;
}

/** Shards of all queries together. */
interface Shards {
  asked: number;
  answered: number;
}

/** One bulk under way. */
interface Run {
  readonly request: BulkRequest;
  readonly sources: BulkSources;
  readonly reads: ReadMemo;
  readonly lateness: Lateness;
  readonly shards: Shards;
  readonly schemaVersions: Set<string>;
  /** Points that are still to be had. */
  points: number;
}

/**
 * Answers every query of a bulk as if it were asked alone, with equal reads sent once and one deadline for all of them.
 * Source: seed "Operational Metrics API" §4.2.
 *
 * @throws Refusal for a body that is no bulk; the signal's reason when the caller leaves
 */
export async function handleBulk(request: BulkRequest, sources: BulkSources): Promise<BulkResponse> {
  const items = readBulk(request.body);
  const admitted = await admitBulk(items, request.caller, sources);
  const startMs = performance.now();
  const lateness = lateAfter(sources.deadlineMs);
  const reads = memoizeReads({
    signal: AbortSignal.any([request.signal, lateness.signal]),
    bytesMax: bulkStoreBytesMax,
    origin: { correlationId: request.context.correlationId, endsAtMs: startMs + sources.deadlineMs },
  });
  const shards: Shards = { asked: 0, answered: 0 };
  const run: Run = { request, sources, reads, lateness, shards, schemaVersions: new Set(), points: bulkPointsMax };
  try {
    const results = await runBounded(items, bulkConcurrency, (item) => handleItem(item, run));
    const answer = bulkResponse(results, run, performance.now() - startMs);
    return { ...answer, headers: { ...answer.headers, ...admitted.headers() } };
  } finally {
    lateness.end();
    admitted.end();
  }
}

/** A bulk is one request, in the slowest class of all that it names. */
function admitBulk(
  items: readonly BulkItem[],
  caller: Caller,
  { queryContext, admission }: BulkSources,
): Promise<AdmittedRequest> {
  const ids = items.flatMap(({ params }) => (params instanceof Refusal ? [] : (params.get("metric") ?? [])));
  const metrics = [...new Set(ids)].flatMap((id) => queryContext.catalog.get(id)?.metric ?? []);
  return admission.request(caller, classOf(caller, metrics, queryContext.quotas), new Map());
}

async function handleItem({ id, params }: BulkItem, run: Run): Promise<BulkResult> {
  const { request, sources, reads, shards } = run;
  if (params instanceof Refusal) return { id, cost: undefined, refusal: params };
  const deadlineMs = run.lateness.leftMs();
  if (deadlineMs === 0) return { id, cost: undefined, refusal: outOfTime() };
  let cost: number | undefined;
  const admit: AdmitQuery = async (plan, caller) => {
    takePoints(plan, run);
    run.schemaVersions.add(plan.query.schemaVersion);
    const admitted = await sources.admitItem(plan, caller);
    cost = admitted.estimate;
    return admitted;
  };
  const observe: QuerySources["observe"] = (outcomes) => {
    shards.asked += outcomes.length;
    shards.answered += outcomes.filter(({ outcome }) => outcome.ok).length;
    sources.observe(outcomes);
  };
  try {
    const own = { ...sources, share: reads.share, deadlineMs, admit, observe };
    const answer = await handleQuery("query", { ...request, params }, own);
    return { id, cost, answer };
  } catch (error) {
    if (request.signal.aborted) throw error;
    return { id, cost, refusal: refusalOf(error, id, run) };
  }
}

/** @throws Refusal when the answers before left too little room */
function takePoints({ query }: Plan, run: Run): void {
  const series = query.groupBy.length === 0 ? query.metrics.length : query.limit;
  run.points -= series * pointCount(query.window);
  if (run.points >= 0) return;
  const detail = `the answers of one bulk have at most ${bulkPointsMax} points together; ask for fewer or coarser ones`;
  throw new Refusal("result_too_large", detail);
}

function outOfTime(): Refusal {
  return new Refusal("store_timeout", "the time of the bulk was over before this query began", { retryAfterSeconds });
}

function refusalOf(error: unknown, id: string, { request, sources }: Run): Refusal {
  if (error instanceof Refusal) return error;
  const { correlationId } = request.context;
  sources.log.warn({ correlationId, query: id, err: error }, "a query of a bulk failed");
  return new Refusal("internal", "Internal error. The server log has the cause under this correlation id.", {
    cause: error,
  });
}

function bulkResponse(results: readonly BulkResult[], run: Run, durationMs: number): BulkResponse {
  const { request, reads, shards } = run;
  const answers = results.flatMap((result) => ("answer" in result ? [result.answer] : []));
  const partial = results.some(isIncomplete);
  const { wanted, sent } = reads.counts();
  return {
    status: partial ? 206 : 200,
    headers: responseHeaders({
      freshness: answers.map(({ headers }) => freshnessOf(headers)),
      downsample: oneOrMixed(answers.map(({ headers }) => headers["X-Downsample"] ?? "none")),
      partial,
      plan: `queries=${results.length}, concurrency=${bulkConcurrency}, reads=${wanted}, sent=${sent}`,
      cache: oneOrMixed(answers.map(({ headers }) => headers["X-Query-Cache"] ?? "off")),
      shards,
      total: { cost: results.reduce((sum, { cost = 0 }) => sum + cost, 0), durationMs },
    }),
    results,
    meta: {
      correlation_id: request.context.correlationId,
      schema_version: [...run.schemaVersions].sort().join(","),
      queries: results.length,
      failed: results.length - answers.length,
      partial,
    },
  };
}

/** Partial, or failed for a reason that is not the caller's. */
function isIncomplete(result: BulkResult): boolean {
  return "answer" in result ? result.answer.status === 206 : result.refusal.status >= 500;
}

function oneOrMixed(values: readonly string[]): string {
  const [first = "none", ...others] = new Set(values);
  return others.length === 0 ? first : "mixed";
}
