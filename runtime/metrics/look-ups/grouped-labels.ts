import type { LabelName } from "../../../crds/config.ts";
import { classOf } from "../authorization/access.ts";
import type { Labels } from "../planning/labels.ts";
import type { LookUpContext, SelectedMetric } from "./selected-metrics.ts";

/** The labels of the series of one metric. */
interface GroupedLabels {
  /** Labels that stores are asked for. */
  readonly groupBy: readonly LabelName[];
  /** Labels with one value, which a filter or the tenant decides. */
  readonly fixed: Labels;
  /** The metric has more labels than this caller may group by. */
  readonly isNarrowed: boolean;
}

/** Divides the labels of a metric. Above the limit on grouping, the last ones of the catalog are left out. */
export function groupedLabels(
  { entry: { metric }, filters, grants, tenants }: SelectedMetric,
  { caller, queryContext }: LookUpContext,
): GroupedLabels {
  const { limits } = classOf(caller, [metric], queryContext.quotas);
  const hasTenant = grants.every(({ metrics }) =>
    metrics.every(({ stores }) => stores.every(({ config }) => config.tenancy !== "Platform")),
  );
  const known = new Map([...filters, ...(hasTenant ? [["tenant", tenants] as const] : [])]);
  const fixed = metric.labels.flatMap((label) => {
    const values = label === "tenant" && !hasTenant ? [] : (known.get(label) ?? []);
    return values.length === 1 ? [[label, values[0]] as const] : [];
  });
  const open = metric.labels.filter((label) => !fixed.some(([name]) => name === label));
  const groupBy = open.slice(0, Math.min(metric.maxGroupBy, limits.maxGroupBy));
  return { groupBy, fixed: Object.fromEntries(fixed) as Labels, isNarrowed: groupBy.length < open.length };
}
