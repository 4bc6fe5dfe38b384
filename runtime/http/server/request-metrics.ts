import { Counter, Histogram, type Registry } from "prom-client";

/** Outcome of one request. */
export interface RequestOutcome {
  readonly method: string;
  /** The route's pattern, never the target: a label must not grow with what callers send. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
}

/** Spread around the bars of seed "Operational Metrics API" §8: 300 ms cached, 1.5 s cold. */
const durationBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.3, 0.6, 1.5, 3, 6, 15, 30];

/** Counts and times requests under `heliograph_http_…`. */
export function createRequestMetrics(registry: Registry): (outcome: RequestOutcome) => void {
  const registers = [registry];
  const requests = new Counter({
    name: "heliograph_http_requests_total",
    help: "Requests answered, by route and status.",
    labelNames: ["method", "route", "status"],
    registers,
  });
  const duration = new Histogram({
    name: "heliograph_http_request_duration_seconds",
    help: "Time from a request to the end of its response.",
    labelNames: ["route"],
    buckets: durationBucketsSeconds,
    registers,
  });
  return ({ method, route, status, durationMs }) => {
    requests.inc({ method, route, status: String(status) });
    duration.observe({ route }, durationMs / 1000);
  };
}
