import { Counter, type Registry } from "prom-client";
import { createTracedHistogram } from "../../tracing/traced-histogram.ts";
import type { PointCounts } from "../cache/cache-status.ts";
import type { Plan } from "../planning/plan.ts";
import type { RequestOutcome } from "./recent-requests.ts";
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
