import type { LabelName, MetricConfig } from "../../../crds/config.ts";
import { didYouMean } from "../../errors/near-names.ts";
import { refuseField } from "../../errors/refusal.ts";
import { filterTextMax, type Filters } from "../request/parameters.ts";
import type { Selection } from "../request/read-query.ts";
import { isolationLabels } from "./labels.ts";

/** Requires that each metric has the labels of a request. @throws Refusal `invalid_group_by`, `invalid_filter` */
export function requireLabels(
  selection: Pick<Selection, "groupBy" | "filters">,
  metrics: readonly MetricConfig[],
  groupByClassMax: number,
): void {
  requireShortFilters(selection.filters);
  for (const metric of metrics) {
    const most = Math.min(metric.maxGroupBy, groupByClassMax);
    if (selection.groupBy.length > most) {
      const detail = `group_by names ${selection.groupBy.length} labels; ${metric.id} allows at most ${most}`;
      throw refuseField("invalid_group_by", "group_by", detail);
    }
    for (const label of selection.groupBy) requireLabel(metric, label, "group_by", "invalid_group_by");
    for (const label of selection.filters.keys()) {
      if (!isolationLabels.includes(label)) requireLabel(metric, label, `filter[${label}]`, "invalid_filter");
    }
  }
}

function requireShortFilters(filters: Filters): void {
  const length = filters.values().reduce((sum, values) => sum + values.join("").length, 0);
  if (length <= filterTextMax) return;
  const detail = `the filters have ${length} characters; use at most ${filterTextMax}, or send several requests`;
  throw refuseField("invalid_filter", "filter", detail);
}

function requireLabel(
  metric: MetricConfig,
  label: LabelName,
  field: string,
  code: "invalid_group_by" | "invalid_filter",
): void {
  if (!metric.labels.includes(label)) throw refuseField(code, field, missingLabel(metric, label));
}

/** The sentence about a label that a metric lacks, with those that it has. */
export function missingLabel({ id, labels }: Pick<MetricConfig, "id" | "labels">, label: LabelName): string {
  const advice =
    labels.length === 0 ? "it has no labels" : `${didYouMean(label, labels)}use one of ${labels.join(", ")}`;
  return `${id} has no label ${label}; ${advice}`;
}
