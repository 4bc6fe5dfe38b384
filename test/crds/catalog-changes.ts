/** The metric as a histogram. */
export const histogram = {
  "metrics[0].source.gauge": undefined,
  "metrics[0].source.histogram": { name: "settle_milliseconds" },
};
/** A series of a counter. */
export const series = { name: "deposits_total" };
/** The metric as a ratio. */
export const ratio = {
  "metrics[0].source.gauge": undefined,
  "metrics[0].source.ratio": { numerator: series, denominator: series },
};
/** The metric as a counter. */
export const counter = { "metrics[0].source.gauge": undefined, "metrics[0].source.counter": series };
/** The metric as a deprecated one. */
export const deprecated = { "metrics[0].state": "Deprecated", "metrics[0].deprecatedAt": "2026-01-01T00:00:00Z" };
/** An SLO of the metric, which is a ratio. */
export const slo = { name: "cpu", domain: "platform", metric: "cpu_util", objective: 0.99 };
/** The condition of an SLO of a gauge. */
export const over = { operator: "AtMost", threshold: 0.8, sliceSeconds: 300 };
