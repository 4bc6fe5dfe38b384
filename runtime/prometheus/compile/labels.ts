import { labelNames, type LabelName } from "../../../crds/config.ts";
import type { Leaf } from "../../metrics/leaves/leaf.ts";
import { isolationLabels } from "../../metrics/planning/labels.ts";
import { ExpressionError, type LabelMatcher } from "../language/expression.ts";
import type { KnownMetric } from "./look-up.ts";

type Metric = KnownMetric["metric"];

/** True when series of a metric can be grouped by a label. */
export function isGroupLabel({ labels }: Metric, label: string): label is LabelName {
  return (labels as readonly string[]).includes(label);
}

/** True when series of a metric can be filtered by a label. */
export function isFilterLabel(metric: Metric, label: string): label is LabelName {
  return isGroupLabel(metric, label) || (isolationLabels as readonly string[]).includes(label);
}

/** The labels to group by, in the form of a leaf. */
export function groupByOf(metric: Metric, by: readonly string[]): Leaf["groupBy"] {
  return [...new Set(by.filter((label) => isGroupLabel(metric, label)))].sort();
}

/**
 * The filters of a selector. The parser has refused empty values and several matchers of one label.
 *
 * @throws ExpressionError for a label that the metric does not have, and for several tenants
 */
export function filtersOf(metric: Metric, matchers: readonly LabelMatcher[]): Leaf["filters"] {
  const filters = new Map<LabelName, readonly string[]>();
  for (const matcher of matchers) {
    const { label } = matcher;
    if (!isFilterLabel(metric, label)) throw refuse(matcher, unknownLabel(metric, label, isolationLabels));
    const values = [...new Set(matcher.values)].sort();
    if (label === "tenant" && values.length > 1) throw refuse(matcher, "name one tenant only");
    filters.set(label, values);
  }
  return new Map([...filters].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The sentence on a label that a metric does not have. */
export function unknownLabel({ id, labels }: Metric, label: string, more: readonly LabelName[] = []): string {
  const known = labelNames.filter((name) => labels.includes(name) || more.includes(name));
  return `${id} has no label ${label}; ${known.length === 0 ? "it has no labels" : `it has ${known.join(", ")}`}`;
}

function refuse({ span }: LabelMatcher, message: string): ExpressionError {
  return new ExpressionError(message, span.start + 1);
}
