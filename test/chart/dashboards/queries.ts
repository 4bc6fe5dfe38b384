import type { PanelQuery } from "./grafana.ts";

const window = "[$__rate_interval]";

/** Rate of a counter of the chosen installation. @param labels further matchers, with a comma before each */
export const rate = (metric: string, labels = ""): string => `rate(${metric}{SELECTED${labels}}${window})`;

/** Rates by labels. */
export const rates = (by: string, metric: string, labels = ""): PanelQuery => [
  `sum by (${by}) (${rate(metric, labels)})`,
  by
    .split(", ")
    .map((label) => `{{${label}}}`)
    .join(" "),
];

/** p50, p95 and p99 of a histogram. */
export const quantiles = (metric: string, labels = ""): readonly PanelQuery[] =>
  [0.5, 0.95, 0.99].map((share) => [
    `histogram_quantile(${share}, sum by (le) (${rate(`${metric}_bucket`, labels)}))`,
    `p${share * 100}`,
  ]);

/** The largest value of a gauge by a label. */
export const largest = (by: string, metric: string, labels = ""): PanelQuery => [
  `max by (${by}) (${metric}{SELECTED${labels}})`,
  `{{${by}}}`,
];

/** The largest quotient of two gauges by a label. */
export const share = (by: string, part: string, whole: string): PanelQuery => [
  `max by (${by}) (${part}{SELECTED} / ${whole}{SELECTED})`,
  `{{${by}}}`,
];

/** The share of observations of a histogram up to a bound. @param labels further matchers, with a comma before each */
export const within = (metric: string, bound: string, labels = ""): PanelQuery => {
  const [inTime, all] = [rate(`${metric}_bucket`, `${labels}, le=~"${bound}"`), rate(`${metric}_count`, labels)];
  return [`sum(${inTime}) / sum(${all})`, "in time"];
};
