/**
 * What a store's warnings say of its answer, from the least to the gravest:
 *
 * | Class | Means | Whole | Cacheable |
 * | --- | --- | --- | --- |
 * | `none` | nothing, or something about the query that changes no value | yes | yes |
 * | `dropped` | samples of a kind that the query cannot take were left out: so it will be next time | no | yes |
 * | `incomplete` | data was not read, which may be otherwise a moment later | no | no |
 */
export const warningClasses = ["none", "dropped", "incomplete"] as const;
export type WarningClass = (typeof warningClasses)[number];

/** Annotations of PromQL that take samples out of the answer. Source: Prometheus, `util/annotations`. */
const dropping = [
  "encountered a mix of histograms and floats",
  "vector contains a mix of",
  "ignored histogram",
  "incompatible bucket layout",
  "incompatible sample types",
];

/** What says that there is nothing rather than that something is missing. Source: Thanos, `pkg/store/proxy.go`. */
const harmless = ["No StoreAPIs matched for this query"];

/** The gravest class among the `warnings` of an answer. */
export function classifyWarnings(warnings: unknown): WarningClass {
  if (!Array.isArray(warnings)) return "none";
  const classes = warnings.map((warning) => classOf(String(warning)));
  return gravest(classes);
}

/** The gravest of some classes. */
export function gravest(classes: readonly WarningClass[]): WarningClass {
  return warningClasses.findLast((one) => classes.includes(one)) ?? "none";
}

function classOf(warning: string): WarningClass {
  if (harmless.some((text) => warning.includes(text))) return "none";
  if (!/^PromQL (?:info|warning): /u.test(warning)) return "incomplete";
  return dropping.some((text) => warning.includes(text)) ? "dropped" : "none";
}
