import { isTimeZone } from "../time-zone.ts";
import type {
  MetricCatalogMetric,
  MetricCatalogMetricSource,
  MetricCatalogSlo,
  MetricCatalogSloCorrection,
  MetricCatalogSloOver,
  MetricCatalogSpec,
} from "../types/metric-catalog.ts";
import { rule, type Rule, unless } from "./cel-rule.ts";

const daySeconds = 86_400;
/** Most slices in the window of an objective: 30 days of minutes. */
const slicesMax = 50_000;
/** Days of the longest period of a calendar. */
const longestDays = { Month: 31, Quarter: 92 } as const;
/** Default of the definition. */
const windowDaysDefault = 30;

/** Requires that the metric of an objective is in the catalog, and that the objective fits its kind. */
export const sloReferenceRules: readonly Rule<MetricCatalogSpec>[] = [
  {
    message: "an SLO's metric must be a metric of this catalog",
    faults: ({ metrics, slos }) => {
      const ids = idsOf(metrics, () => true);
      return sloFaults(slos, "metric", ({ metric }) => ids.has(metric));
    },
  },
  {
    message: "an SLO's metric must be a ratio, a histogram or a gauge, because a counter has no bad events",
    faults: ({ metrics, slos }) => {
      const counters = idsOf(metrics, ({ source }) => source.counter !== undefined);
      return sloFaults(slos, "metric", ({ metric }) => !counters.has(metric));
    },
  },
  {
    message: "an SLO must have over if, and only if, its metric is a gauge",
    faults: ({ metrics, slos }) => {
      const gauges = idsOf(metrics, ({ source }) => source.gauge !== undefined);
      return sloFaults(slos, "over", (slo) => (slo.over !== undefined) === gauges.has(slo.metric));
    },
  },
  {
    message: "sliceSeconds must be at least the metric's minStepSeconds, which defaults to four intervals",
    faults: ({ metrics, slos }) => {
      const smallest = new Map(metrics.map((metric) => [metric.id, smallestSlice(metric)]));
      const fits = ({ over, metric }: MetricCatalogSlo) =>
        over === undefined || over.sliceSeconds >= (smallest.get(metric) ?? 0);
      return sloFaults(slos, "over.sliceSeconds", fits);
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
  rule(
    "counts is for events; with over, a slice is good if it meets the threshold",
    ({ over, counts }) => over === undefined || counts === "Good",
    ".counts",
  ),
  rule(
    `the window of an SLO must have at most ${slicesMax} slices`,
    ({ over, windowDays, calendar }) =>
      over === undefined ||
      (calendar === undefined ? windowDays : longestDays[calendar.period]) * daySeconds <=
        slicesMax * over.sliceSeconds,
    ".over.sliceSeconds",
  ),
  rule(
    "windowDays is for rolling windows; with calendar, leave it out",
    ({ calendar, windowDays }) => calendar === undefined || windowDays === windowDaysDefault,
    ".windowDays",
  ),
];

/** Rules of the condition on a gauge. */
export const sloOverRules: readonly Rule<MetricCatalogSloOver>[] = [
  rule(
    "a day must be a whole number of slices",
    ({ sliceSeconds }) => daySeconds % sliceSeconds === 0,
    ".sliceSeconds",
  ),
];

/** Intervals in the smallest step of a metric that sets none. */
const intervalsPerPoint = 4;

function smallestSlice({ minStepSeconds, source }: MetricCatalogMetric): number {
  return minStepSeconds ?? intervalsPerPoint * largestIntervalSeconds(source);
}

/** The largest interval of a metric over the stores that hold it, in seconds. */
export function largestIntervalSeconds(source: MetricCatalogMetricSource): number {
  return Math.max(source.intervalSeconds, ...source.storeIntervals.map(({ intervalSeconds }) => intervalSeconds));
}

/** Rules of one correction. */
export const correctionRules: readonly Rule<MetricCatalogSloCorrection>[] = [
  rule(
    "a correction must have either from and to, or a schedule",
    ({ from, to, schedule }) =>
      (from === undefined) === (to === undefined) && (from === undefined) !== (schedule === undefined),
  ),
  rule(
    "to must be after from",
    ({ from, to }) => from === undefined || to === undefined || Date.parse(from) < Date.parse(to),
    ".to",
  ),
];

const [february, shortMonths] = ["0?2|FEB", "0?2|FEB 0?4|APR 0?6|JUN 0?9|SEP 11|NOV"].map((months) =>
  listOf(...months.split(" ").map((month) => `(${month})(-(${month}))?`)),
);
/** Days that none of the months has. No two months without a 31st are neighbours, so that no longer range is one. */
const neverStarts = new RegExp(
  `^[^ ]+ [^ ]+ (${listOf("30(-3[01])?", "31(-31)?")} ${february}|${listOf("31(-31)?")} ${shortMonths}) [*]$`,
  "u",
);

function listOf(...items: readonly string[]): string {
  return `(${items.join("|")})(,(${items.join("|")}))*`;
}

/** Rules of the start of a schedule. */
export const cronRules: readonly Rule<string>[] = [
  rule("a day must exist in one of the months, or the schedule never starts", (cron) => !neverStarts.test(cron)),
];

/** The definition looks a zone up in the database of the API server, and this rule in that of the program. */
export const timeZoneRules: readonly Rule<string>[] = [
  rule("the zone must be in the IANA time zone database", isTimeZone),
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
