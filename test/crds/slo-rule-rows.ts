import { counter, histogram, ratio, slo } from "./catalog-changes.ts";
import { rowsOf, type RuleRow } from "./rows.ts";

const uncounted = "an SLO's metric must be a ratio or a classic histogram, because only those count events exactly";
const unreachable =
  "every burn rate must be below 1 / (1 - objective), the burn rate if nothing succeeds; the default of 14.4 " +
  "requires an objective of at least 0.9306";

/** Catalogs whose objectives break one rule each. */
export const sloRuleRows: readonly RuleRow[] = rowsOf<RuleRow>("MetricCatalog", [
  {
    says: "has an SLO of an unknown metric",
    set: { slos: [{ ...slo, metric: "auth_success_rate" }] },
    field: "spec.slos[0].metric",
    message: "an SLO's metric must be a metric of this catalog",
  },
  {
    says: "promises everything",
    set: { ...ratio, slos: [{ ...slo, objective: 1 }] },
    field: "spec.slos[0].objective",
    message: "an objective must be greater than 0 and less than 1",
  },
  {
    says: "has an SLO of a gauge, which counts nothing",
    set: { slos: [slo] },
    field: "spec.slos[0].metric",
    message: uncounted,
  },
  {
    says: "has an SLO of a counter, which has no bad events",
    set: { ...counter, slos: [slo] },
    field: "spec.slos[0].metric",
    message: uncounted,
  },
  {
    says: "has an SLO of a native histogram, whose threshold would be interpolated",
    set: { ...histogram, "metrics[0].source.histogram.type": "Native", slos: [{ ...slo, threshold: 100 }] },
    field: "spec.slos[0].metric",
    message: uncounted,
  },
  {
    says: "has an SLO of a histogram without a threshold",
    set: { ...histogram, slos: [slo] },
    field: "spec.slos[0].threshold",
    message: "an SLO must have a threshold if, and only if, its metric is a histogram",
  },
  {
    says: "has an SLO of a ratio with a threshold",
    set: { ...ratio, slos: [{ ...slo, threshold: 100 }] },
    field: "spec.slos[0].threshold",
    message: "an SLO must have a threshold if, and only if, its metric is a histogram",
  },
  {
    says: "shows a sensitive metric to everybody (Operational Metrics API §5)",
    set: {
      ...ratio,
      "metrics[0].sensitivity": "finance",
      "metrics[0].requiredRole": "finance",
      slos: [{ ...slo, public: true }],
    },
    field: "spec.slos[0].public",
    message: "a public SLO's metric must not be sensitive",
  },
  {
    says: "promises just too little for the default burn rates",
    set: { ...ratio, slos: [{ ...slo, objective: 0.9305 }] },
    field: "spec.slos[0].burnRates",
    message: unreachable,
  },
  {
    says: "has a burn rate that is exactly out of reach",
    set: { ...ratio, slos: [{ ...slo, objective: 0.5, burnRates: [2, 1, 1, 1] }] },
    field: "spec.slos[0].burnRates",
    message: unreachable,
  },
  {
    says: "has a slow tier that burns faster than the fast one",
    set: { ...ratio, slos: [{ ...slo, burnRates: [14.4, 6, 7, 1] }] },
    field: "spec.slos[0].burnRates",
    message: "burn rates must not increase",
  },
  {
    says: "names public tenants of an SLO that is not public",
    set: { ...ratio, slos: [{ ...slo, publicTenants: ["lumen"] }] },
    field: "spec.slos[0].publicTenants",
    message: "publicTenants requires a public SLO",
  },
]);
