import type { Logger } from "pino";
import type { Registry } from "prom-client";
import { queryClasses } from "../../../crds/config.ts";
import { instrumentsOf } from "../../../limits/instruments.ts";
import { percentileOf } from "../../../limits/percentile.ts";
import { ApiError } from "../../errors/api-error.ts";
import { createTracedHistogram } from "../../tracing/traced-histogram.ts";
import { type StartedSpan, startSpan, type Tracer } from "../../tracing/tracer.ts";
import type { UsageCounts } from "../admission/usage-counts.ts";
import type { PointCounts } from "../cache/read-cache.ts";
import type { AgeHeaders, MetricsResponse, RequestContext } from "../metrics-api.ts";
import type { Plan } from "../planning/plan.ts";
import type { PartOutcome } from "../reads/read-part.ts";

/** Routes whose duration depends on the stores. */
type MeasuredRoute = "query" | "instant" | "bulk-query" | "slo" | "partials" | "prometheus";

/** The Prometheus metrics of the metrics API. Source: seed "Operational Metrics API" §2.2. */
export interface Instruments {
  /** @param traceId of a sampled trace */
  request(route: MeasuredRoute, outcome: RequestOutcome, durationMs: number, traceId: string | undefined): void;
  /** Counts an admitted query with its expected cost in cost units. */
  planned(plan: Plan, cost: number): void;
  /** Counts the charged cost units of a metric. */
  charged(metric: string, queryClass: string, cost: number): void;
  /** Counts requests whose usage is lost. */
  readonly usageLost: (requests: number) => void;
  /** Counts a request that compares a metric with a store. */
  readonly catalogRead: (outcome: "ok" | "failed") => void;
  /** Removes the series of metrics that are no longer in a catalog. */
  keepMetrics(isKnown: (metric: string) => boolean): void;
  countParts(outcomes: readonly PartOutcome<unknown>[]): void;
  countPoints(counts: PointCounts): void;
  /** Counts a background refresh. */
  readonly renewed: (outcome: "ok" | "failed") => void;
  /** Counts reads that could not get the extents of another pod. */
  readonly unshared: () => void;
}

const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 1.5, 2, 5];

/** Exports how many metrics of each catalog match their stores, in the pod that compares them. */
export function exportCatalogCounts(
  registry: Registry | undefined,
  counts: () => readonly { readonly catalog: string; readonly status: string; readonly count: number }[],
): void {
  const help = "Metrics of a catalog by how they compare with their stores, in the pod that compares them";
  const { gauge } = instrumentsOf(registry, "heliograph_");
  gauge("catalog_metrics", help, ["catalog", "status"], {
    collect() {
      this.reset();
      for (const { catalog, status, count } of counts()) this.set({ catalog, status }, count);
    },
  });
}

/** Creates the instruments. @param registry undefined: the values are not exported */
export function createInstruments(registry: Registry | undefined): Instruments {
  const durations = createTracedHistogram(registry, {
    name: "heliograph_metrics_request_duration_seconds",
    help: "Duration of metrics requests",
    labelNames: ["route", "outcome"],
    buckets: durationBuckets,
  });
  const { counter } = instrumentsOf(registry, "heliograph_");
  const metrics = counter("metrics_queried_total", "Queries by metric", ["metric", "class"]);
  const costs = counter("metrics_cost_units_total", "Estimated cost of admitted queries", ["class"]);
  const charges = counter("cost_units_total", "Charged cost units by metric", ["metric", "class"]);
  const lost = counter("metrics_usage_lost_total", "Requests whose usage was lost in an outage of NATS");
  const compared = counter("catalog_check_requests_total", "Requests that compare the catalog with a store", [
    "outcome",
  ]);
  const chargedMetrics = new Set<string>();
  const parts = counter("store_reads_total", "Reads of one metric from one store by outcome", [
    "store",
    "region",
    "outcome",
  ]);
  const points = counter("metrics_cache_points_total", "Requested points by cache result", ["result"]);
  const refreshes = counter("metrics_cache_renewals_total", "Background refreshes of stale points by outcome", [
    "outcome",
  ]);
  const unshared = counter("metrics_cache_unshared_total", "Reads that could not get the extents of another pod");
  return {
    renewed: (outcome) => refreshes.inc({ outcome }),
    unshared: () => unshared.inc(),
    usageLost: (requests) => lost.inc(requests),
    catalogRead: (outcome) => compared.inc({ outcome }),
    countPoints({ hit, miss }) {
      points.inc({ result: "hit" }, hit);
      points.inc({ result: "miss" }, miss);
    },
    request: (route, outcome, durationMs, traceId) =>
      durations.observe({ route, outcome }, durationMs / 1_000, traceId),
    planned(plan, cost) {
      const { queryClass } = plan.query.quota;
      costs.inc({ class: queryClass }, cost);
      for (const { entry } of plan.query.metrics) metrics.inc({ metric: entry.metric.id, class: queryClass });
    },
    charged(metric, queryClass, cost) {
      if (cost === 0) return;
      chargedMetrics.add(metric);
      charges.inc({ metric, class: queryClass }, cost);
    },
    keepMetrics(isKnown) {
      for (const metric of chargedMetrics) {
        if (isKnown(metric)) continue;
        chargedMetrics.delete(metric);
        for (const queryClass of queryClasses) charges.remove({ metric, class: queryClass });
      }
    },
    countParts(outcomes) {
      for (const { part, outcome } of outcomes) {
        const { name, region } = part.store.config;
        parts.inc({ store: name, region, outcome: outcome.ok ? "ok" : outcome.error.kind });
      }
    },
  };
}

type Log = Pick<Logger, "warn">;

/** Counts the outcome of each part of a plan, and logs the parts that failed. */
export function observeParts(
  instruments: Instruments,
  log: Log,
  { correlationId }: RequestContext,
): (outcomes: readonly PartOutcome<unknown>[]) => void {
  return (outcomes) => {
    instruments.countParts(outcomes);
    for (const { part, outcome } of outcomes) {
      if (outcome.ok) continue;
      const { store, metric } = part;
      const ids = { correlationId, store: store.key, region: store.config.region, metric: metric.entry.metric.id };
      log.warn({ ...ids, outcome: outcome.error.kind, reason: outcome.error.message }, "store read failed");
    }
  };
}

/** Counts the outcome of work that no request waits for, and logs its failure. */
export function observeBackground(
  name: string,
  { log, count }: { readonly log: Log; readonly count: (outcome: "ok" | "failed") => void },
): (failure: unknown) => void {
  return (failure) => {
    count(failure === undefined ? "ok" : "failed");
    if (failure !== undefined) log.warn({ err: failure }, `${name} failed`);
  };
}

/**
 * The outcome of a request: `ok`, `partial` (206), `refused` (an error of the caller), `failed` (an error of this
 * runtime or its stores), `left` (the caller closed the connection).
 */
type RequestOutcome = "ok" | "partial" | "refused" | "failed" | "left";

/** The figures of the recent requests in the health response. */
export interface RequestFigures {
  readonly requests: number;
  /** Nearest-rank 95th percentile over the completed requests; 0 without any. */
  readonly latencyP95Ms: number;
  /** Share of failed requests; 0 without any. */
  readonly errorRate: number;
  /** Share of partial responses among the completed requests; 0 without any. */
  readonly partialRate: number;
}

/** The recent requests, in memory. */
interface RequestLog {
  add(outcome: RequestOutcome, durationMs: number): void;
  figures(): RequestFigures;
}

export const requestLogSeconds = 300;
/** Most requests in the log. Under a higher load the figures cover a shorter time. */
const requestsMax = 8_192;

interface RecentRequest {
  readonly atMs: number;
  readonly outcome: RequestOutcome;
  readonly durationMs: number;
}

/** Creates an empty log. New entries overwrite the oldest ones. @param now a monotonic clock, milliseconds */
export function createRequestLog(now: () => number): RequestLog {
  const ring: RecentRequest[] = [];
  let next = 0;
  return {
    add(outcome, durationMs) {
      ring[next] = { atMs: now(), outcome, durationMs };
      next = (next + 1) % requestsMax;
    },
    figures() {
      const sinceMs = now() - requestLogSeconds * 1_000;
      return figuresOf(ring.filter(({ atMs }) => atMs >= sinceMs));
    },
  };
}

function figuresOf(entries: readonly RecentRequest[]): RequestFigures {
  const succeeded = entries.filter(({ outcome }) => outcome === "ok" || outcome === "partial");
  const durations = succeeded.map(({ durationMs }) => durationMs);
  const count = (counted: RequestOutcome): number => entries.filter(({ outcome }) => outcome === counted).length;
  return {
    requests: entries.length,
    latencyP95Ms: percentileOf(durations, 0.95) ?? 0,
    errorRate: count("failed") / Math.max(1, entries.length),
    partialRate: count("partial") / Math.max(1, succeeded.length),
  };
}

/** Notes the duration and the outcome of requests, in the recent requests and in the Prometheus metrics. */
interface Measurement {
  /** Measures one request. `work` gets the context with the span of the request. @throws what `work` throws */
  request<Response extends Pick<MetricsResponse, "status" | "sent">>(
    route: MeasuredRoute,
    request: MeasuredRequest,
    work: (context: RequestContext) => Promise<Response>,
  ): Promise<Response>;
  /** Measures a repeat query, unless the query has to be handled like a new one: {@link request} measures that. */
  repeat(route: MeasuredRoute, revalidate: AgeHeaders): AgeHeaders;
}

interface MeasuredRequest {
  readonly signal: AbortSignal;
  readonly context: RequestContext;
}

interface MeasurementSinks {
  readonly instruments: Instruments;
  /** Receives requests and bytes of responses. */
  readonly usage: Pick<UsageCounts, "countRequest" | "countResponse">;
  /** Undefined: no spans. */
  readonly tracer: Tracer | undefined;
}

/** Creates the measurement of all requests of one API. */
export function createMeasurement(requests: RequestLog, { instruments, usage, tracer }: MeasurementSinks): Measurement {
  const note = (route: MeasuredRoute, outcome: RequestOutcome, startMs: number, traceId?: string): void => {
    const durationMs = performance.now() - startMs;
    requests.add(outcome, durationMs);
    usage.countRequest();
    instruments.request(route, outcome, durationMs, traceId);
  };
  const start = (route: MeasuredRoute, ids: RequestIds | undefined): ((outcome: RequestOutcome) => void) => {
    const startMs = performance.now();
    return (outcome) => {
      const context = ids?.span.context;
      note(route, outcome, startMs, context?.isSampled === true ? context.traceId : undefined);
      if (ids !== undefined) endSpan(ids, route, outcome);
    };
  };
  return {
    async request(route, { signal, context }, work) {
      const span = tracer && startSpan(tracer, "query", "server", context.traceparent);
      const end = start(route, span && { span, correlationId: context.correlationId });
      try {
        const response = await work(span === undefined ? context : { ...context, span });
        end(response.status === 206 ? "partial" : "ok");
        const sent = (bytes: number): void => {
          usage.countResponse(bytes);
          response.sent?.(bytes);
        };
        return { ...response, sent };
      } catch (error) {
        end(signal.aborted ? "left" : failureOf(error));
        throw error;
      }
    },
    repeat: (route, revalidate) => (nowMs) => {
      const startMs = performance.now();
      const headers = revalidate(nowMs);
      if (headers !== undefined) note(route, "ok", startMs);
      return headers;
    },
  };
}

interface RequestIds extends Pick<RequestContext, "correlationId"> {
  readonly span: StartedSpan;
}

function endSpan({ span, correlationId }: RequestIds, route: MeasuredRoute, outcome: RequestOutcome): void {
  const attributes = {
    "heliograph.route": route,
    "heliograph.correlation_id": correlationId,
    "heliograph.outcome": outcome,
  };
  span.end(attributes, outcome === "failed" || outcome === "refused" ? outcome : undefined);
}

function failureOf(error: unknown): RequestOutcome {
  return error instanceof ApiError && error.status < 500 ? "refused" : "failed";
}
