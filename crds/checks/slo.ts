import type { MetricCatalogMetric, MetricCatalogSlo, MetricCatalogSpec } from "../types/metric-catalog.ts";
import { rule, type Rule, unless } from "./cel-rule.ts";

/** Requires that the metric of an objective is in the catalog and counts events. */
export const sloReferenceRules: readonly Rule<MetricCatalogSpec>[] = [
  {
    message: "an SLO's metric is a metric of this catalog",
    faults: ({ metrics, slos }) => {
      const ids = idsOf(metrics, () => true);
      return sloFaults(slos, "metric", ({ metric }) => ids.has(metric));
    },
  },
  {
    message: "an SLO's metric is a ratio or a classic histogram, since only those count events exactly",
    faults: ({ metrics, slos }) => {
      const counts = ({ source }: MetricCatalogMetric) =>
        source.ratio !== undefined || source.histogram?.type === "Classic";
      const others = idsOf(metrics, (metric) => !counts(metric));
      return sloFaults(slos, "metric", ({ metric }) => !others.has(metric));
    },
  },
  {
    message: "an SLO has a threshold when, and only when, its metric is a histogram",
    faults: ({ metrics, slos }) => {
      const histograms = idsOf(metrics, ({ source }) => source.histogram !== undefined);
      return sloFaults(slos, "threshold", (slo) => (slo.threshold !== undefined) === histograms.has(slo.metric));
    },
  },
  {
    message: "a public SLO's metric is not sensitive",
    faults: ({ metrics, slos }) => {
      const sensitive = idsOf(metrics, ({ sensitivity }) => sensitivity !== "none");
      return sloFaults(slos, "public", (slo) => !slo.public || !sensitive.has(slo.metric));
    },
  },
];

/** Rules of one objective alone. */
export const sloRules: readonly Rule<MetricCatalogSlo>[] = [
  rule("an objective is more than 0 and less than 1", ({ objective }) => objective > 0 && objective < 1, ".objective"),
  rule(
    "every burn rate is below 1 / (1 - objective), since errors burn no faster even when " +
      "nothing succeeds; the default of 14.4 needs an objective of at least 0.9306",
    ({ burnRates, objective }) => burnRates.every((rate) => rate * (1 - objective) < 1),
    ".burnRates",
  ),
  rule(
    "no burn rate is above the one before it",
    ({ burnRates }) => burnRates.every((rate, tier) => tier === 0 || (burnRates[tier - 1] ?? rate) >= rate),
    ".burnRates",
  ),
  rule("publicTenants are for a public SLO", (slo) => slo.public || slo.publicTenants === undefined, ".publicTenants"),
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
