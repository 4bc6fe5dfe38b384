import type { Registry } from "prom-client";

/** The latest traced value of a bucket. `timestamp` is Unix seconds. */
interface Exemplar {
  readonly labelSet: Readonly<Record<string, string>>;
  readonly value: number;
  readonly timestamp: number;
}

type MetricsSource = Pick<Registry, "getMetricsAsJSON">;
type Metric = Awaited<ReturnType<MetricsSource["getMetricsAsJSON"]>>[number];
/** A value of a metric. The types of prom-client have no exemplars. */
type Value = Metric["values"][number] & { readonly metricName?: string; readonly exemplar?: Exemplar | null };

/** Media type of {@link openMetricsText}. */
export const openMetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/** Whether a scraper accepts OpenMetrics. Prometheus names it in `Accept` when it keeps exemplars. */
export function acceptsOpenMetrics(accept: string | undefined): boolean {
  return (accept ?? "").includes("application/openmetrics-text");
}

/** Metrics as text for Prometheus, without exemplars. */
export async function plainText(registry: MetricsSource): Promise<string> {
  const metrics = await registry.getMetricsAsJSON();
  const lines = metrics.flatMap(({ name, help, type, values }) => [
    `# HELP ${name} ${escaped(help)}`,
    `# TYPE ${name} ${String(type)}`,
    ...values.map((value: Value) => `${value.metricName ?? name}${sampleOf(value)}`),
    "",
  ]);
  return lines.join("\n");
}

/** Metrics as text for Prometheus, with exemplars. Source: OpenMetrics 1.0. */
export async function openMetricsText(registry: MetricsSource): Promise<string> {
  const metrics = await registry.getMetricsAsJSON();
  const lines = metrics.flatMap(({ name, help, type, values }) => {
    const kind = String(type);
    // The name of a counter has no suffix; the name of its sample has one.
    const family = kind === "counter" ? name.replace(/_total$/u, "") : name;
    const suffix = kind === "counter" ? "_total" : "";
    const head = [`# HELP ${family} ${escaped(help)}`, `# TYPE ${family} ${kind}`];
    const lineOf = (value: Value): string => `${value.metricName ?? `${family}${suffix}`}${sampleOf(value)}`;
    return [...head, ...values.map((value: Value) => lineOf(value) + exemplarOf(value))];
  });
  return [...lines, "# EOF", ""].join("\n");
}

function sampleOf({ labels, value }: Value): string {
  return `${labelsOf(labels)} ${numberOf(value)}`;
}

function exemplarOf({ exemplar }: Value): string {
  if (exemplar === undefined || exemplar === null) return "";
  const { labelSet, value, timestamp } = exemplar;
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
