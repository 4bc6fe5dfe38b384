import type {
  MetricCatalogMetric,
  MetricCatalogMetricSource,
  MetricCatalogMetricSourceGaugeMatcher,
  MetricCatalogMetricSourceHistogram,
  MetricCatalogSpec,
} from "../types/metric-catalog.ts";
import { metricStoreRules } from "./metric-store.ts";
import { isRe2 } from "../re2.ts";
import { pageUrlRules } from "./url.ts";
import { type PlacedRule, rule, type Rule, rulesAt, unless } from "./cel-rule.ts";
import {
  correctionRules,
  cronRules,
  largestIntervalSeconds,
  sloOverRules,
  sloReferenceRules,
  sloRules,
  timeZoneRules,
} from "./slo.ts";

/** Time between deprecation and sunset, at least. */
export const gracePeriodMs = 180 * 86_400_000;

const histogramSuffix = /_(bucket|sum|count)$/u;
const percentiles: ReadonlySet<string> = new Set(["p50", "p95", "p99"]);
const extremes: ReadonlySet<string> = new Set(["min", "max"]);

/** Requires that every name in the metrics of a catalog exists in the catalog. */
const referenceRules: readonly Rule<MetricCatalogSpec>[] = [
  {
    message: "a metric's stores must be stores of this catalog",
    faults: ({ metrics, stores }) => {
      const names = new Set(stores.map(({ name }) => name));
      return metricFaults(metrics, "stores", (metric) => (metric.stores ?? []).every((store) => names.has(store)));
    },
  },
  {
    message: "storeIntervals must refer to stores of the metric",
    faults: ({ metrics, stores }) => {
      const names = stores.map(({ name }) => name);
      return metricFaults(metrics, "source.storeIntervals", (metric) => {
        const holders = new Set(metric.stores ?? names);
        return metric.source.storeIntervals.every(({ store }) => holders.has(store));
      });
    },
  },
  {
    message: "the regions of a complianceScope must be regions of this catalog's stores",
    faults: ({ metrics, stores }) => {
      const regions = new Set(stores.map(({ region }) => region));
      return metricFaults(metrics, "complianceScope.regions", ({ complianceScope }) =>
        (complianceScope?.regions ?? []).every((region) => regions.has(region)),
      );
    },
  },
  {
    message: "replacedBy must be another metric of this catalog",
    faults: ({ metrics }) => {
      const ids = new Set(metrics.map(({ id }) => id));
      return metricFaults(
        metrics,
        "replacedBy",
        ({ id, replacedBy }) => replacedBy === undefined || (replacedBy !== id && ids.has(replacedBy)),
      );
    },
  },
  {
    message: "VictoriaMetrics supports neither anchored increases nor native histograms",
    faults: ({ metrics, stores }) => {
      const names = stores.map(({ name }) => name);
      const plain = new Set(
        stores.filter(({ prometheus }) => prometheus?.flavour === "VictoriaMetrics").map(({ name }) => name),
      );
      return metricFaults(
        metrics,
        "source",
        ({ source, stores: holders = names }) => !needsPrometheus(source) || !holders.some((name) => plain.has(name)),
      );
    },
  },
  ...sloReferenceRules,
  {
    message: "a metric's unit and kind of source can only change together with schemaVersion",
    faults: ({ schemaVersion, metrics }, old) => {
      if (old === undefined || old.schemaVersion !== schemaVersion) return [];
      const former = new Map(old.metrics.map((metric) => [metric.id, metric]));
      return metrics.flatMap((metric, index) => {
        const before = former.get(metric.id);
        return unless(before === undefined || sameMeaning(before, metric), `.metrics[${index}]`);
      });
    },
  },
];

const metricRules: readonly Rule<MetricCatalogMetric>[] = [
  rule(
    "percentiles require a histogram",
    ({ source, aggregations }) => source.histogram !== undefined || !aggregations.some((name) => percentiles.has(name)),
    ".aggregations",
  ),
  rule(
    "a histogram supports neither min nor max",
    ({ source, aggregations }) => source.histogram === undefined || !aggregations.some((name) => extremes.has(name)),
    ".aggregations",
  ),
  rule(
    "a ratio supports only avg, because no other aggregation of a ratio composes",
    ({ source, aggregations }) => source.ratio === undefined || aggregations.every((name) => name === "avg"),
    ".aggregations",
  ),
  rule(
    "defaultAggregation must be one of the aggregations",
    ({ defaultAggregation, aggregations }) => aggregations.includes(defaultAggregation),
    ".defaultAggregation",
  ),
  rule(
    "minStepSeconds must be at least two intervals, because an increase needs two samples",
    ({ source, minStepSeconds }) =>
      source.gauge !== undefined ||
      minStepSeconds === undefined ||
      minStepSeconds >= 2 * largestIntervalSeconds(source),
    ".minStepSeconds",
  ),
  rule(
    "requiredRole must be set if, and only if, sensitivity is not none",
    ({ sensitivity, requiredRole }) => (sensitivity !== "none") === (requiredRole !== undefined),
    ".requiredRole",
  ),
  rule(
    "replacedBy, deprecatedAt and sunsetAt are allowed for deprecated metrics only",
    ({ state, replacedBy, deprecatedAt, sunsetAt }) =>
      state === "Deprecated" || (replacedBy ?? deprecatedAt ?? sunsetAt) === undefined,
    ".state",
  ),
  rule(
    "a deprecated metric requires deprecatedAt",
    ({ state, deprecatedAt }) => state !== "Deprecated" || deprecatedAt !== undefined,
    ".deprecatedAt",
  ),
  rule(
    "sunsetAt must be at least 180 days after deprecatedAt",
    ({ deprecatedAt, sunsetAt }) => hasGracePeriod(deprecatedAt, sunsetAt),
    ".sunsetAt",
  ),
];

const matcherPlaces = ["gauge", "counter", "ratio.numerator", "ratio.denominator", "histogram"].map(
  (kind) => `spec.metrics[].source.${kind}.matchers[]`,
);

/** The CEL rules of MetricCatalog. */
export const metricCatalogRules: readonly PlacedRule[] = [
  ...rulesAt("spec", referenceRules),
  ...metricStoreRules,
  ...rulesAt("spec.metrics[]", metricRules),
  ...rulesAt<MetricCatalogMetricSource>("spec.metrics[].source", [
    rule(
      "a source must have exactly one of gauge, counter, ratio and histogram",
      (source) => kindsOf(source).length === 1,
    ),
  ]),
  ...matcherPlaces.flatMap((place) => [
    ...rulesAt<MetricCatalogMetricSourceGaugeMatcher>(place, [
      rule(
        "the value of Matches and NotMatches must be an RE2 expression",
        ({ op, value }) => op === "Equal" || op === "NotEqual" || isRe2(value),
        ".value",
      ),
    ]),
    ...rulesAt<string>(`${place}.label`, [
      rule("no matcher can use le, which contains the bounds of histograms", (label) => label !== "le"),
    ]),
  ]),
  ...rulesAt<MetricCatalogMetricSourceHistogram>("spec.metrics[].source.histogram", [
    rule(
      "the increase of a native histogram must be Extrapolated",
      ({ type, increase }) => type !== "Native" || increase !== "Anchored",
      ".increase",
    ),
  ]),
  ...rulesAt<string>("spec.metrics[].source.histogram.name", [
    rule("a histogram's name must not end in _bucket, _sum or _count", (name) => !histogramSuffix.test(name)),
  ]),
  ...rulesAt("spec.slos[]", sloRules),
  ...rulesAt("spec.slos[].over", sloOverRules),
  ...rulesAt("spec.slos[].corrections[]", correctionRules),
  ...rulesAt("spec.slos[].corrections[].schedule.cron", cronRules),
  ...rulesAt("spec.slos[].corrections[].schedule.timeZone", timeZoneRules),
  ...rulesAt("spec.slos[].calendar.timeZone", timeZoneRules),
  ...["spec.runbookUrl", "spec.metrics[].runbookUrl"].flatMap((place) => rulesAt(place, pageUrlRules())),
];

function needsPrometheus({ counter, ratio, histogram }: MetricCatalogMetricSource): boolean {
  const increases = [counter, ratio, histogram].map((kind) => kind?.increase);
  return histogram?.type === "Native" || increases.includes("Anchored");
}

function metricFaults(
  metrics: readonly MetricCatalogMetric[],
  field: string,
  holds: (metric: MetricCatalogMetric) => boolean,
): readonly string[] {
  return metrics.flatMap((metric, index) => unless(holds(metric), `.metrics[${index}].${field}`));
}

function kindsOf(source: MetricCatalogMetricSource): readonly string[] {
  const { gauge, counter, ratio, histogram } = source;
  return Object.entries({ gauge, counter, ratio, histogram }).flatMap(([kind, value]) =>
    value === undefined ? [] : [kind],
  );
}

function sameMeaning(one: MetricCatalogMetric, other: MetricCatalogMetric): boolean {
  return one.unit === other.unit && kindsOf(one.source).join() === kindsOf(other.source).join();
}

function hasGracePeriod(deprecatedAt: string | undefined, sunsetAt: string | undefined): boolean {
  if (deprecatedAt === undefined || sunsetAt === undefined) return true;
  return Date.parse(sunsetAt) - Date.parse(deprecatedAt) >= gracePeriodMs;
}
