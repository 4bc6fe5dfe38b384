import { startPrometheus, type PrometheusHandle } from "../support/prometheus.ts";

const startMs = Date.UTC(2026, 0, 1);
const samples = 240;

/** Starts a Prometheus with one series of an hour: the metric that catalogs of tests have, every 15 s. */
export async function startCpuStore(): Promise<PrometheusHandle> {
  const lines = Array.from({ length: samples }, (_, index) => {
    return `cpu_utilization_ratio{tenant="lumen",service="api"} 0.5 ${startMs / 1000 + index * 15}`;
  });
  return startPrometheus({ openMetrics: ["# TYPE cpu_utilization_ratio gauge", ...lines, "# EOF", ""].join("\n") });
}

const at = (minutes: number): string => new Date(startMs + minutes * 60_000).toISOString();

/** A query of that hour. */
export const cpuQuery = `metric=cpu_util&from=${at(10)}&to=${at(40)}&step=5m`;
