import { AggregatorRegistry, Registry } from "prom-client";
import { metricsOf, openMetricsText, withExemplars, type ProcessMetrics } from "../tracing/open-metrics.ts";

/** Metrics of Node whose own aggregator hides the process that is worst off, or that a sum would make wrong. */
const aggregators: ReadonlyMap<string, ProcessMetrics[number]["aggregator"]> = new Map([
  ["process_start_time_seconds", "min"],
  ["nodejs_eventloop_lag_seconds", "max"],
  ["nodejs_eventloop_lag_mean_seconds", "max"],
  ["nodejs_eventloop_lag_stddev_seconds", "max"],
  ["nodejs_eventloop_lag_p50_seconds", "max"],
  ["nodejs_eventloop_lag_p90_seconds", "max"],
  ["nodejs_eventloop_lag_p99_seconds", "max"],
]);

/**
 * Metrics of all processes as those of one pod: each metric by its aggregator, which is the sum without one. The counts
 * of ended processes stay in the sums, because a sum that falls looks like a restart of the whole pod.
 */
export class JoinedMetrics {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  readonly #read: () => ReadonlyMap<number, Promise<ProcessMetrics | undefined>>;
  readonly #own: Registry;
  readonly #last = new Map<number, ProcessMetrics>();
  #ended: ProcessMetrics = [];

  /**
   * @param own metrics of the supervisor
   * @param read metrics of each process by its index; undefined when it does not respond in time
   */
  constructor(own: Registry, read: () => ReadonlyMap<number, Promise<ProcessMetrics | undefined>>) {
    this.#own = own;
    this.#read = read;
  }

  /** The text for Prometheus. A process that does not respond counts with its last metrics. */
  async metrics(): Promise<string> {
    return joined(await this.#all()).metrics();
  }

  /** The same as OpenMetrics, where a bucket has the latest exemplar of all processes. */
  async openMetrics(): Promise<string> {
    const all = await this.#all();
    return openMetricsText(withExemplars(await metricsOf(joined(all)), all));
  }

  async #all(): Promise<readonly ProcessMetrics[]> {
    const read = await Promise.all([...this.#read()].map(async ([index, metrics]) => [index, await metrics] as const));
    for (const [index, metrics] of read) if (metrics !== undefined) this.#last.set(index, metrics);
    return [await metricsOf(this.#own), this.#ended, ...this.#last.values()];
  }

  /** Keeps the counts of a process that has ended, as they were read last. */
  async processEnded(index: number): Promise<void> {
    const last = this.#last.get(index);
    if (last === undefined) return;
    this.#last.delete(index);
    this.#ended = await metricsOf(joined([this.#ended, last.filter(({ type }) => isCount(type))]));
  }
}

function joined(all: readonly ProcessMetrics[]): Registry {
  const lists = all.map((list) =>
    list.map((metric) => ({ ...metric, aggregator: aggregators.get(metric.name) ?? metric.aggregator })),
  );
  return AggregatorRegistry.aggregate(lists);
}

/** `getMetricsAsJSON` returns types as words, not as members of the enumeration. */
function isCount(type: unknown): boolean {
  return type === "counter" || type === "histogram";
}
