import type { Registry } from "prom-client";
import { instrumentsOf } from "../limits/instruments.ts";

/** Upper bounds in seconds for the wait and the duration of a reconcile. */
const workBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300] as const;

/**
 * The metrics of this folder. Queue, controller, client and leader metrics have the names of controller-runtime and
 * client-go, so that public dashboards work.
 */
export type KubeMetrics = ReturnType<typeof createKubeMetrics>;

/** Registers the metrics; once per registry. */
export function createKubeMetrics(registry: Registry) {
  const ages = new Set<() => void>();
  return {
    /** Functions that set the gauges of ages; called before each scrape. */
    ages,
    ...queueMetrics(registry, ages),
    ...controllerMetrics(registry),
    ...informerMetrics(registry, ages),
    ...clientMetrics(registry),
  };
}

function refresh(ages: ReadonlySet<() => void>): void {
  for (const set of ages) set();
}

function queueMetrics(registry: Registry, ages: ReadonlySet<() => void>) {
  const { counter, gauge, histogram } = instrumentsOf(registry);
  const labels = ["name", "controller"] as const;
  return {
    queueDepth: gauge("workqueue_depth", "Keys waiting for a worker", ["name", "controller", "priority"]),
    queueAdds: counter("workqueue_adds_total", "Keys added to the queue", labels),
    queueRetries: counter("workqueue_retries_total", "Keys retried after a failure", labels),
    queueDropped: counter("heliograph_workqueue_dropped_total", "Keys rejected by a full queue", labels),
    queueDuration: histogram(
      "workqueue_queue_duration_seconds",
      "Time that a key waited for a worker",
      workBuckets,
      labels,
    ),
    workDuration: histogram(
      "workqueue_work_duration_seconds",
      "Time that a worker processed a key",
      workBuckets,
      labels,
    ),
    unfinishedWork: gauge("workqueue_unfinished_work_seconds", "Total time spent so far on keys in progress", labels, {
      collect: () => refresh(ages),
    }),
    longestRunning: gauge(
      "workqueue_longest_running_processor_seconds",
      "Time spent so far on the key in progress for the longest time",
      labels,
      { collect: () => refresh(ages) },
    ),
  };
}

function controllerMetrics(registry: Registry) {
  const { counter, gauge, histogram } = instrumentsOf(registry);
  const labels = ["controller"] as const;
  return {
    reconciles: counter("controller_runtime_reconcile_total", "Reconciles by outcome", ["controller", "result"]),
    reconcileErrors: counter("controller_runtime_reconcile_errors_total", "Failed reconciles, retried or not", labels),
    terminalErrors: counter(
      "controller_runtime_terminal_reconcile_errors_total",
      "Failed reconciles that are not retried",
      labels,
    ),
    reconcileTime: histogram(
      "controller_runtime_reconcile_time_seconds",
      "Duration of a reconcile",
      workBuckets,
      labels,
    ),
    activeWorkers: gauge("controller_runtime_active_workers", "Workers that are processing a key", labels),
    workersMax: gauge("controller_runtime_max_concurrent_reconciles", "Workers of the controller", labels),
    leader: gauge("leader_election_master_status", "1 if this process is the leader", ["name"]),
  };
}

function informerMetrics(registry: Registry, ages: ReadonlySet<() => void>) {
  const { counter, gauge } = instrumentsOf(registry);
  const labels = ["informer"] as const;
  return {
    cachedObjects: gauge("heliograph_informer_objects", "Objects in the cache", labels),
    lastEventAge: gauge(
      "heliograph_informer_last_event_age_seconds",
      "Time since the last data from the API server; grows if a watch is stuck",
      labels,
      { collect: () => refresh(ages) },
    ),
    lists: counter("heliograph_informer_lists_total", "Full lists read", labels),
    watchEnds: counter("heliograph_informer_watch_ends_total", "Watches that ended, by reason", ["informer", "reason"]),
    staleEvents: counter(
      "heliograph_informer_stale_events_total",
      "Events that were not newer than the cached state",
      labels,
    ),
    handlerErrors: counter("heliograph_informer_handler_errors_total", "Changes whose handler failed", labels),
  };
}

function clientMetrics(registry: Registry) {
  const { counter } = instrumentsOf(registry);
  return {
    requests: counter("rest_client_requests_total", "Requests to the API server; code is <error> without a response", [
      "code",
      "method",
      "host",
    ]),
    events: counter(
      "heliograph_kube_events_total",
      "Occurrences by outcome (new, repeated, capped, dropped), and events written or failed",
      ["result"],
    ),
  };
}
