import type { MetricCatalogMetric, MetricCatalogSlo, MetricCatalogSpec } from "../types/metric-catalog.ts";
import { rule, type Rule, unless } from "./cel-rule.ts";

/** Requires that the metric of an objective is in the catalog and counts events. */
export const sloReferenceRules: readonly Rule<MetricCatalogSpec>[] = [
  {
    message: "an SLO's metric must be a metric of this catalog",
    faults: ({ metrics, slos }) => {
      const ids = idsOf(metrics, () => true);
      return sloFaults(slos, "metric", ({ metric }) => ids.has(metric));
    },
  },
  {
    message: "an SLO's metric must be a ratio or a classic histogram, because only those count events exactly",
    faults: ({ metrics, slos }) => {
      const counts = ({ source }: MetricCatalogMetric) =>
        source.ratio !== undefined || source.histogram?.type === "Classic";
      const others = idsOf(metrics, (metric) => !counts(metric));
      return sloFaults(slos, "metric", ({ metric }) => !others.has(metric));
    },
  },
  {
    message: "an SLO must have a threshold if, and only if, its metric is a histogram",
    faults: ({ metrics, slos }) => {
      const histograms = idsOf(metrics, ({ source }) => source.histogram !== undefined);
      return sloFaults(slos, "threshold", (slo) => (slo.threshold !== undefined) === histograms.has(slo.metric));
    },
  },
  {
    message: "a public SLO's metric must not be sensitive",
    faults: ({ metrics, slos }) => {
      const sensitive = idsOf(metrics, ({ sensitivity }) => sensitivity !== "none");
      return sloFaults(slos, "public", (slo) => !slo.public || !sensitive.has(slo.metric));
    },
  },
];

/** Rules of one objective alone. */
export const sloRules: readonly Rule<MetricCatalogSlo>[] = [
  rule(
    "an objective must be greater than 0 and less than 1",
    ({ objective }) => objective > 0 && objective < 1,
    ".objective",
  ),
  rule(
    "every burn rate must be below 1 / (1 - objective), the burn rate if nothing succeeds; the default of 14.4 " +
      "requires an objective of at least 0.9306",
    ({ burnRates, objective }) => burnRates.every((rate) => rate * (1 - objective) < 1),
    ".burnRates",
  ),
  rule(
    "burn rates must not increase",
    ({ burnRates }) => burnRates.every((rate, tier) => tier === 0 || (burnRates[tier - 1] ?? rate) >= rate),
    ".burnRates",
  ),
  rule("publicTenants requires a public SLO", (slo) => slo.public || slo.publicTenants === undefined, ".publicTenants"),
];

function idsOf(
  metrics: readonly MetricCatalogMetric[],
  isOne: (metric: MetricCatalogMetric) => boolean,
): ReadonlySet<string> {
  return new Set(metrics.filter(isOne).map(({ id }) => id));
}

function sloFaults(
  slos: readonly MetricCatalogSlo[],
  field: string,
  holds: (slo: MetricCatalogSlo) => boolean,
): readonly string[] {
  return slos.flatMap((slo, index) => unless(holds(slo), `.slos[${index}].${field}`));
}
