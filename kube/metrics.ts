import { Counter, Gauge, Histogram, type Registry } from "prom-client";

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
  const registers = [registry];
  const labelNames = ["name", "controller"] as const;
  return {
    queueDepth: new Gauge({
      registers,
      name: "workqueue_depth",
      help: "Keys that wait for a worker",
      labelNames: ["name", "controller", "priority"] as const,
    }),
    queueAdds: new Counter({ registers, labelNames, name: "workqueue_adds_total", help: "Keys added to the queue" }),
    queueRetries: new Counter({
      registers,
      labelNames,
      name: "workqueue_retries_total",
      help: "Keys added again after a failure",
    }),
    queueDropped: new Counter({
      registers,
      labelNames,
      name: "heliograph_workqueue_dropped_total",
      help: "Keys refused by a full queue",
    }),
    queueDuration: new Histogram({
      registers,
      labelNames,
      name: "workqueue_queue_duration_seconds",
      help: "Time that a key waited for a worker",
      buckets: [...workBuckets],
    }),
    workDuration: new Histogram({
      registers,
      labelNames,
      name: "workqueue_work_duration_seconds",
      help: "Time that a worker held a key",
      buckets: [...workBuckets],
    }),
    unfinishedWork: new Gauge({
      registers,
      labelNames,
      name: "workqueue_unfinished_work_seconds",
      help: "Time spent so far on the keys that workers hold, summed",
      collect: () => refresh(ages),
    }),
    longestRunning: new Gauge({
      registers,
      labelNames,
      name: "workqueue_longest_running_processor_seconds",
      help: "Time spent so far on the key that a worker holds longest",
      collect: () => refresh(ages),
    }),
  };
}

function controllerMetrics(registry: Registry) {
  const registers = [registry];
  const labelNames = ["controller"] as const;
  return {
    reconciles: new Counter({
      registers,
      name: "controller_runtime_reconcile_total",
      help: "Reconciles by outcome",
      labelNames: ["controller", "result"] as const,
    }),
    reconcileErrors: new Counter({
      registers,
      labelNames,
      name: "controller_runtime_reconcile_errors_total",
      help: "Reconciles that failed, retried or not",
    }),
    terminalErrors: new Counter({
      registers,
      labelNames,
      name: "controller_runtime_terminal_reconcile_errors_total",
      help: "Reconciles that failed and are not retried",
    }),
    reconcileTime: new Histogram({
      registers,
      labelNames,
      name: "controller_runtime_reconcile_time_seconds",
      help: "Duration of a reconcile",
      buckets: [...workBuckets],
    }),
    activeWorkers: new Gauge({
      registers,
      labelNames,
      name: "controller_runtime_active_workers",
      help: "Workers that hold a key",
    }),
    workersMax: new Gauge({
      registers,
      labelNames,
      name: "controller_runtime_max_concurrent_reconciles",
      help: "Workers of the controller",
    }),
    leader: new Gauge({
      registers,
      name: "leader_election_master_status",
      help: "1 while this process leads",
      labelNames: ["name"] as const,
    }),
  };
}

function informerMetrics(registry: Registry, ages: ReadonlySet<() => void>) {
  const registers = [registry];
  const labelNames = ["informer"] as const;
  return {
    cachedObjects: new Gauge({
      registers,
      labelNames,
      name: "heliograph_informer_objects",
      help: "Objects in the cache",
    }),
    lastEventAge: new Gauge({
      registers,
      labelNames,
      name: "heliograph_informer_last_event_age_seconds",
      help: "Time since the last data from the API server; grows while a watch is dead",
      collect: () => refresh(ages),
    }),
    lists: new Counter({ registers, labelNames, name: "heliograph_informer_lists_total", help: "Whole lists read" }),
    watchEnds: new Counter({
      registers,
      name: "heliograph_informer_watch_ends_total",
      help: "Watches that ended, by reason",
      labelNames: ["informer", "reason"] as const,
    }),
    staleEvents: new Counter({
      registers,
      labelNames,
      name: "heliograph_informer_stale_events_total",
      help: "Events that were not newer than the cached state",
    }),
    handlerErrors: new Counter({
      registers,
      labelNames,
      name: "heliograph_informer_handler_errors_total",
      help: "Changes whose handler failed",
    }),
  };
}

function clientMetrics(registry: Registry) {
  const registers = [registry];
  return {
    requests: new Counter({
      registers,
      name: "rest_client_requests_total",
      help: "Requests to the API server; code is <error> without a response",
      labelNames: ["code", "method", "host"] as const,
    }),
    events: new Counter({
      registers,
      name: "heliograph_kube_events_total",
      help: "Occurrences by outcome (new, repeated, capped, dropped), and events written or failed",
      labelNames: ["result"] as const,
    }),
  };
}
