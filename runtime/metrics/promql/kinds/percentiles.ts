/** The quantile of each percentile. Source: seed "Operational Metrics API" §4.1. */
export const quantiles = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;
