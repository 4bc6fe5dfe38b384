import { counter, histogram, over, ratio, slo } from "./catalog-changes.ts";
import { rowsOf, type RuleRow } from "./rows.ts";

const uncounted = "an SLO's metric must be a ratio, a histogram or a gauge, because a counter has no bad events";
const conditioned = "an SLO must have over if, and only if, its metric is a gauge";
const tooShort = "sliceSeconds must be at least the metric's minStepSeconds, which defaults to four intervals";
const unreachable =
  "every burn rate must be below 1 / (1 - objective), the burn rate if nothing succeeds; the default of 14.4 " +
  "requires an objective of at least 0.9306";

const fixed = { reason: "backup", from: "2026-11-27T02:00:00Z", to: "2026-11-27T03:00:00Z" };
const scheduled = {
  reason: "backup",
  schedule: { cron: "0 2 * * SUN", durationMinutes: 60, timeZone: "Europe/Berlin" },
};
const inZone = (timeZone: string): object => ({ ...scheduled, schedule: { ...scheduled.schedule, timeZone } });
const at = (cron: string): object => ({ ...scheduled, schedule: { ...scheduled.schedule, cron } });

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
    says: "has an SLO of a gauge without a condition",
    set: { slos: [slo] },
    field: "spec.slos[0].over",
    message: conditioned,
  },
  {
    says: "has an SLO of a ratio with a condition over time",
    set: { ...ratio, slos: [{ ...slo, over }] },
    field: "spec.slos[0].over",
    message: conditioned,
  },
  {
    says: "has slices that do not divide a day",
    set: { slos: [{ ...slo, over: { ...over, sliceSeconds: 420 } }] },
    field: "spec.slos[0].over.sliceSeconds",
    message: "a day must be a whole number of slices",
  },
  {
    says: "has slices shorter than the smallest step of the gauge",
    set: { "metrics[0].minStepSeconds": 301, slos: [{ ...slo, over }] },
    field: "spec.slos[0].over.sliceSeconds",
    message: tooShort,
  },
  {
    says: "has slices shorter than four intervals of the gauge",
    set: { "metrics[0].source.intervalSeconds": 76, slos: [{ ...slo, over }] },
    field: "spec.slos[0].over.sliceSeconds",
    message: tooShort,
  },
  {
    says: "has slices shorter than four intervals of one store",
    set: { "metrics[0].source.storeIntervals": [{ store: "eu", intervalSeconds: 76 }], slos: [{ ...slo, over }] },
    field: "spec.slos[0].over.sliceSeconds",
    message: tooShort,
  },
  {
    says: "has one slice too many in the window of an SLO",
    set: { slos: [{ ...slo, windowDays: 35, over: { ...over, sliceSeconds: 60 } }] },
    field: "spec.slos[0].over.sliceSeconds",
    message: "the window of an SLO must have at most 50000 slices",
  },
  ...[
    { period: "Quarter", sliceSeconds: 150 },
    { period: "Quarter", sliceSeconds: 144 },
  ].map(({ period, sliceSeconds }) => ({
    says: `has slices of ${sliceSeconds} s, too many in a ${period}`,
    set: {
      "metrics[0].minStepSeconds": 60,
      slos: [{ ...slo, calendar: { period, timeZone: "UTC" }, over: { ...over, sliceSeconds } }],
    },
    field: "spec.slos[0].over.sliceSeconds",
    message: "the window of an SLO must have at most 50000 slices",
  })),
  {
    says: "has a calendar window and the days of a rolling one",
    set: { ...ratio, slos: [{ ...slo, windowDays: 90, calendar: { period: "Quarter", timeZone: "UTC" } }] },
    field: "spec.slos[0].windowDays",
    message: "windowDays is for rolling windows; with calendar, leave it out",
  },
  ...["Europe/Berlim", "Etc/GMT+13"].map((timeZone) => ({
    says: `has a calendar window in the zone ${timeZone}, which does not exist`,
    set: { ...ratio, slos: [{ ...slo, calendar: { period: "Month", timeZone } }] },
    field: "spec.slos[0].calendar.timeZone",
    message: "the zone must be in the IANA time zone database",
  })),
  {
    says: "counts bad slices",
    set: { slos: [{ ...slo, over, counts: "Bad" }] },
    field: "spec.slos[0].counts",
    message: "counts is for events; with over, a slice is good if it meets the threshold",
  },
  {
    says: "has an SLO of a counter, which has no bad events",
    set: { ...counter, slos: [slo] },
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
  {
    says: "corrects neither an interval nor a schedule",
    set: { ...ratio, slos: [{ ...slo, corrections: [{ reason: "backup" }] }] },
    field: "spec.slos[0].corrections[0]",
    message: "a correction must have either from and to, or a schedule",
  },
  {
    says: "corrects an interval without an end",
    set: { ...ratio, slos: [{ ...slo, corrections: [{ reason: "backup", from: fixed.from }] }] },
    field: "spec.slos[0].corrections[0]",
    message: "a correction must have either from and to, or a schedule",
  },
  {
    says: "corrects an interval and a schedule",
    set: { ...ratio, slos: [{ ...slo, corrections: [{ ...fixed, ...scheduled }] }] },
    field: "spec.slos[0].corrections[0]",
    message: "a correction must have either from and to, or a schedule",
  },
  {
    says: "corrects an interval that ends as it begins",
    set: { ...ratio, slos: [{ ...slo, corrections: [{ ...fixed, to: fixed.from }] }] },
    field: "spec.slos[0].corrections[0].to",
    message: "to must be after from",
  },
  ...["0 2 30 2 *", "0 2 30-31 FEB *", "0 2 31 FEB,4,JUN-6,09,NOV *", "0 2 31,31-31 11-NOV *"].map((cron) => ({
    says: `corrects by the schedule ${cron}, which never starts`,
    set: { ...ratio, slos: [{ ...slo, corrections: [at(cron)] }] },
    field: "spec.slos[0].corrections[0].schedule.cron",
    message: "a day must exist in one of the months, or the schedule never starts",
  })),
  ...["Europe/Berlim", "Etc/GMT+13", "Etc/GMT-15"].map((zone) => ({
    says: `corrects by a schedule of the zone ${zone}, which does not exist`,
    set: { ...ratio, slos: [{ ...slo, corrections: [inZone(zone)] }] },
    field: "spec.slos[0].corrections[0].schedule.timeZone",
    message: "the zone must be in the IANA time zone database",
  })),
]);
