/**
 * The classes of the warnings in a store's response, from the mildest to the gravest:
 *
 * | Class | Means | Whole | Cacheable |
 * | --- | --- | --- | --- |
 * | `none` | no warning, or one that concerns no value | yes | yes |
 * | `dropped` | the query left out samples of another kind; a repeated query does too | no | yes |
 * | `incomplete` | the store did not read some data; a repeated query can | no | no |
 */
export const warningClasses = ["none", "dropped", "incomplete"] as const;
export type WarningClass = (typeof warningClasses)[number];

/** Annotations of PromQL about samples that are left out. Source: Prometheus, `util/annotations`. */
const dropping = [
  "encountered a mix of histograms and floats",
  "vector contains a mix of",
  "ignored histogram",
  "incompatible bucket layout",
  "incompatible sample types",
];

/** Warnings about an empty result with no missing data. Source: Thanos, `pkg/store/proxy.go`. */
const harmless = ["No StoreAPIs matched for this query"];

/** The gravest class of the `warnings` in a response. */
export function classifyWarnings(warnings: unknown): WarningClass {
  if (!Array.isArray(warnings)) return "none";
  const classes = warnings.map((warning) => classOf(String(warning)));
  return gravest(classes);
}

/** The gravest of several classes; `none` without any. */
export function gravest(classes: readonly WarningClass[]): WarningClass {
  return warningClasses.findLast((one) => classes.includes(one)) ?? "none";
}

function classOf(warning: string): WarningClass {
  if (harmless.some((text) => warning.includes(text))) return "none";
  if (!/^PromQL (?:info|warning): /u.test(warning)) return "incomplete";
  return dropping.some((text) => warning.includes(text)) ? "dropped" : "none";
}
