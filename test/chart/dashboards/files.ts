import { grafanaDashboard } from "./grafana.ts";
import { dashboardPlans } from "./plans.ts";

/** The files of the chart's dashboards: name and text. */
export function dashboardTexts(): ReadonlyMap<string, string> {
  return new Map(
    dashboardPlans.map((plan) => [`${plan.name}.json`, `${JSON.stringify(grafanaDashboard(plan), undefined, 1)}\n`]),
  );
}
