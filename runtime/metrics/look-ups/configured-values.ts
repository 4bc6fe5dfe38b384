import type { LabelName } from "../../../crds/config.ts";
import { isolationLabels } from "../planning/labels.ts";
import type { SelectedMetric } from "./selected-metrics.ts";

/**
 * The values of a label that the configuration and the rights decide without a store: those of the isolation, unless
 * filters of other labels narrow the series. A value can be of no series. Undefined: stores have to be asked.
 */
export function configuredValues(label: LabelName, selected: SelectedMetric): readonly string[] | undefined {
  const { entry, filters, grants, tenants } = selected;
  const hasLabel = entry.metric.labels.includes(label);
  if (!isolationLabels.includes(label)) return hasLabel ? undefined : [];
  if (hasLabel && filters.keys().some((name) => !isolationLabels.includes(name))) return undefined;
  if (label === "region") return grants.flatMap(({ regions }) => regions);
  if (label === "tenant") return storesOf(selected).some(({ tenancy }) => tenancy !== "Platform") ? tenants : [];
  return environmentsOf(selected, hasLabel);
}

function environmentsOf(selected: SelectedMetric, hasLabel: boolean): readonly string[] | undefined {
  const own = storesOf(selected).map(({ environment }) => environment);
  const imposed = own.filter((environment) => environment !== undefined);
  if (imposed.length === own.length) return imposed;
  if (hasLabel) return undefined;
  const { environments } = selected.access;
  const named = selected.filters.get("environment");
  if (named !== undefined) return named;
  return environments === "every" ? imposed : [...environments];
}

function storesOf({ grants }: SelectedMetric) {
  return grants.flatMap(({ metrics }) => metrics.flatMap(({ stores }) => stores.map(({ config }) => config)));
}
