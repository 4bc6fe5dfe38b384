import type { Logger } from "pino";
import { Counter, type Registry } from "prom-client";
import { percentileOf } from "../../../limits/percentile.ts";
import { createTracedHistogram } from "../../tracing/traced-histogram.ts";
import type { PointCounts } from "../cache/cache-status.ts";
import type { RequestContext } from "../metrics-api.ts";
import type { Plan } from "../planning/plan.ts";
import type { PartOutcome } from "../reads/read-stores.ts";

/** Routes whose duration depends on the stores. */
export type MeasuredRoute = "query" | "instant" | "bulk-query" | "slo" | "partials" | "prometheus";

/** The Prometheus metrics of the metrics API. Source: seed "Operational Metrics API" §2.2. */
export interface Instruments {
  /** @param traceId of a sampled trace */
  request(route: MeasuredRoute, outcome: RequestOutcome, durationMs: number, traceId: string | undefined): void;
  /** Counts an admitted query with its expected cost in cost units. */
  planned(plan: Plan, cost: number): void;
  countParts(outcomes: readonly PartOutcome<unknown>[]): void;
  countPoints(counts: PointCounts): void;
  /** Counts a background refresh. */
  readonly renewed: (outcome: "ok" | "failed") => void;
  /** Counts reads that could not get the extents of another pod. */
  readonly unshared: () => void;
}

const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 1.5, 2, 5];

/** Creates the instruments. @param registry undefined: the values are not exported */
export function createInstruments(registry: Registry | undefined): Instruments {
  const registers = registry === undefined ? [] : [registry];
  const durations = createTracedHistogram(registry, {
    name: "heliograph_metrics_request_duration_seconds",
    help: "Duration of metrics requests",
    labelNames: ["route", "outcome"],
    buckets: durationBuckets,
  });
  const metrics = new Counter({
    name: "heliograph_metrics_queried_total",
    help: "Queries by metric",
    labelNames: ["metric", "class"],
    registers,
  });
  const costs = new Counter({
    name: "heliograph_metrics_cost_units_total",
    help: "Estimated cost of admitted queries",
    labelNames: ["class"],
    registers,
  });
  const parts = new Counter({
    name: "heliograph_store_reads_total",
    help: "Reads of one metric from one store by outcome",
    labelNames: ["store", "region", "outcome"],
    registers,
  });
  const points = new Counter({
    name: "heliograph_metrics_cache_points_total",
    help: "Requested points by cache result",
    labelNames: ["result"],
    registers,
  });
  const refreshes = new Counter({
    name: "heliograph_metrics_cache_renewals_total",
    help: "Background refreshes of stale points by outcome",
    labelNames: ["outcome"],
    registers,
  });
  const unshared = new Counter({
    name: "heliograph_metrics_cache_unshared_total",
    help: "Reads that could not get the extents of another pod",
    registers,
  });
  return {
    renewed: (outcome) => refreshes.inc({ outcome }),
    unshared: () => unshared.inc(),
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
export type RequestOutcome = "ok" | "partial" | "refused" | "failed" | "left";

/** The figures of the recent requests in the health response. */
export interface RequestFigures {
  readonly requests: number;
  /** Nearest-rank 95th percentile over the answered requests; 0 without any. */
  readonly latencyP95Ms: number;
  /** Share of failed requests; 0 without any. */
  readonly errorRate: number;
  /** Share of partial responses among the answered requests; 0 without any. */
  readonly partialRate: number;
}

/** The recent requests, in memory. */
export interface RequestLog {
  add(outcome: RequestOutcome, durationMs: number): void;
  figures(): RequestFigures;
}

export const requestLogSeconds = 300;
/** Most requests in the log. Under a higher load the figures cover a shorter time. */
const requestsMax = 8_192;

interface Entry {
  readonly atMs: number;
  readonly outcome: RequestOutcome;
  readonly durationMs: number;
}

/** Creates an empty log. New entries overwrite the oldest ones. @param now a monotonic clock, milliseconds */
export function createRequestLog(now: () => number): RequestLog {
  const ring: Entry[] = [];
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

function figuresOf(entries: readonly Entry[]): RequestFigures {
  const answered = entries.filter(({ outcome }) => outcome === "ok" || outcome === "partial");
  const failed = entries.filter(({ outcome }) => outcome === "failed");
  return {
    requests: entries.length,
    latencyP95Ms:
      percentileOf(
        answered.map(({ durationMs }) => durationMs),
        0.95,
      ) ?? 0,
    errorRate: share(failed.length, entries.length),
    partialRate: share(answered.filter(({ outcome }) => outcome === "partial").length, answered.length),
  };
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
