import { Histogram, Registry, type HistogramConfiguration, type OpenMetricsContentType } from "prom-client";

/** A histogram whose buckets keep the trace id of their latest traced value. */
export interface TracedHistogram<Label extends string> {
  /** @param traceId of a sampled trace; undefined for a value without one */
  observe(labels: Readonly<Partial<Record<Label, string>>>, value: number, traceId?: string): void;
}

/**
 * A registry of the metrics of a program. With exemplars it must be read by `plainText` and `openMetricsText` only:
 * prom-client renames counters when it writes OpenMetrics.
 */
export function createRegistry(hasExemplars: boolean): Registry {
  if (!hasExemplars) return new Registry();
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  // The type of a registry names its content type, which metrics do not depend on.
  return registry as unknown as Registry;
}

/** True for a registry of {@link createRegistry} with exemplars. */
function keepsExemplars(registry: Registry | undefined): boolean {
  return (registry?.contentType as string | undefined) === Registry.OPENMETRICS_CONTENT_TYPE;
}

/** Registers a histogram. @param registry undefined: the values are not exported */
export function createTracedHistogram<Label extends string>(
  registry: Registry | undefined,
  configuration: Omit<HistogramConfiguration<Label>, "registers" | "enableExemplars">,
): TracedHistogram<Label> {
  const registers = registry === undefined ? [] : [registry];
  if (!keepsExemplars(registry)) return new Histogram<Label>({ ...configuration, registers });
  const histogram = new Histogram<string>({ ...configuration, registers, enableExemplars: true });
  return {
    observe: (labels, value, traceId) =>
      histogram.observe({ labels, value, exemplarLabels: traceId === undefined ? {} : { trace_id: traceId } }),
  };
}
