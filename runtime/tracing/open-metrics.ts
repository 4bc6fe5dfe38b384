import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from "prom-client";

/** The latest traced value of a bucket. `timestamp` is Unix seconds. */
interface Exemplar {
  readonly labelSet: Readonly<Record<string, string>>;
  readonly value: number;
  readonly timestamp: number;
}

/** A value of a metric as `Registry.getMetricsAsJSON` returns it. The types of prom-client have no exemplars. */
type Value = MetricValue<string> & { readonly metricName?: string; readonly exemplar?: Exemplar | null | undefined };

/** Metrics of one process, in a form that can be sent. */
export type ProcessMetrics = readonly (Pick<
  MetricObjectWithValues<MetricValue<string>>,
  "name" | "help" | "type" | "aggregator"
> & { readonly values: readonly Value[] })[];

/** The metrics of a registry in a form that can be sent. */
export async function metricsOf(registry: Pick<Registry, "getMetricsAsJSON">): Promise<ProcessMetrics> {
  const metrics = await registry.getMetricsAsJSON();
  return metrics.map(({ name, help, type, aggregator, values }) => ({ name, help, type, aggregator, values }));
}

/** Puts the latest exemplar of each bucket into joined metrics, which have none. */
export function withExemplars(joined: ProcessMetrics, processes: readonly ProcessMetrics[]): ProcessMetrics {
  const latest = latestExemplars(processes);
  if (latest.size === 0) return joined;
  return joined.map((metric) => ({
    ...metric,
    values: metric.values.map((value) => ({ ...value, exemplar: latest.get(keyOf(metric.name, value)) })),
  }));
}

function latestExemplars(processes: readonly ProcessMetrics[]): ReadonlyMap<string, Exemplar> {
  const latest = new Map<string, Exemplar>();
  for (const { name, values } of processes.flat()) {
    for (const value of values.filter(({ exemplar }) => exemplar)) {
      const { exemplar } = value;
      const key = keyOf(name, value);
      if (exemplar && exemplar.timestamp > (latest.get(key)?.timestamp ?? 0)) latest.set(key, exemplar);
    }
  }
  return latest;
}

function keyOf(name: string, { metricName = name, labels }: Value): string {
  return JSON.stringify([metricName, Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}

/** Media type of {@link openMetricsText}. */
export const openMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/** Whether a scraper accepts OpenMetrics. Prometheus names it in `Accept` when it keeps exemplars. */
export function acceptsOpenMetrics(accept: string | undefined): boolean {
  return (accept ?? "").includes("application/openmetrics-text");
}

/** Metrics as text for Prometheus. */
export function plainText(metrics: ProcessMetrics): Promise<string> {
  return AggregatorRegistry.aggregate([[...metrics]]).metrics();
}

/** Metrics as text for Prometheus, with exemplars. Source: OpenMetrics 1.0. */
export function openMetricsText(metrics: ProcessMetrics): string {
  const lines = metrics.flatMap(({ name, help, type, values }) => {
    const kind = String(type);
    // The name of a counter has no suffix; the name of its sample has one.
    const family = kind === "counter" ? name.replace(/_total$/u, "") : name;
    const suffix = kind === "counter" ? "_total" : "";
    const head = [`# HELP ${family} ${escaped(help)}`, `# TYPE ${family} ${kind}`];
    return [...head, ...values.map((value) => `${value.metricName ?? `${family}${suffix}`}${sampleOf(value)}`)];
  });
  return [...lines, "# EOF", ""].join("\n");
}

function sampleOf({ labels, value, exemplar }: Value): string {
  const traced = exemplar === undefined || exemplar === null ? "" : exemplarOf(exemplar);
  return `${labelsOf(labels)} ${numberOf(value)}${traced}`;
}

function exemplarOf({ labelSet, value, timestamp }: Exemplar): string {
  return ` # ${labelsOf(labelSet) || "{}"} ${numberOf(value)} ${timestamp}`;
}

function labelsOf(labels: Readonly<Partial<Record<string, string | number>>>): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${escaped(String(value)).replaceAll('"', '\\"')}"`,
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function numberOf(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return Number.isFinite(value) ? String(value) : `${value > 0 ? "+" : "-"}Inf`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
