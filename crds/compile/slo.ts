import type { SloConfig } from "../config.ts";
import type { MetricCatalogSlo } from "../types/metric-catalog.ts";
import { byText } from "./canonical-json.ts";

/** One objective. */
export function compileSlo(slo: MetricCatalogSlo): SloConfig {
  const { name, title, domain, metric, objective, counts, threshold, publicTenants } = slo;
  return {
    name,
    ...(title === undefined ? {} : { title }),
    domain,
    metric,
    objective,
    counts,
    ...(threshold === undefined ? {} : { threshold }),
    windowDays: slo.windowDays,
    minimumEvents: slo.minimumEvents,
    burnRates: slo.burnRates,
    public: slo.public,
    ...(publicTenants === undefined ? {} : { publicTenants: publicTenants.toSorted(byText) }),
  };
}
