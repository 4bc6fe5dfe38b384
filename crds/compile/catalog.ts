import { gracePeriodMs } from "../checks/metric-catalog.ts";
import type { StoreEntry } from "../checks/store-references.ts";
import type { CatalogConfig, MetricConfig, MetricOwnership, SeriesConfig, SloConfig, SourceConfig } from "../config.ts";
import type { MetricCatalog } from "../resource.ts";
import type {
  MetricCatalogMetric,
  MetricCatalogMetricSource,
  MetricCatalogMetricSourceGauge,
  MetricCatalogSlo,
  MetricCatalogSloCorrection,
  MetricCatalogSpec,
  MetricCatalogStore,
} from "../types/metric-catalog.ts";
import { byText } from "./canonical-json.ts";
import { originOf } from "./origin.ts";
import { compileStore, storeWarnings } from "./store.ts";

/** Smallest step of any metric. Source: seed "Operational Metrics API" §8. */
const stepSecondsMin = 10;

/** Intervals in one point; the metric may set another number. */
const intervalsPerPoint = 4;

/** Intervals until a store's newest sample is sure to be there. */
const intervalsToSettle = 2;

/** One catalog. `entries` are the credentials and certificates that were found for its stores. */
export function compileCatalog(resource: MetricCatalog, entries: readonly StoreEntry[]): CatalogConfig {
  const { schemaVersion, stores, metrics } = resource.spec;
  return {
    ...originOf(resource),
    schemaVersion,
    stores: stores
      .map((store, index) =>
        compileStore(
          store,
          entries.filter((entry) => entry.store === index),
        ),
      )
      .sort((one, other) => byText(one.name, other.name)),
    metrics: metrics
      .map((metric) => compileMetric(metric, resource.spec))
      .sort((one, other) => byText(one.id, other.id)),
    ...compileSlos(resource.spec),
  };
}

/**
 * The objectives, without those that earlier versions cannot count: over time slices, fractions of native histograms
 * and calendar windows.
 */
function compileSlos({ metrics, slos }: MetricCatalogSpec): Pick<CatalogConfig, "slos" | "newerSlos"> {
  const native = new Set(metrics.flatMap(({ id, source }) => (source.histogram?.type === "Native" ? [id] : [])));
  const isNewer = ({ over, calendar, metric }: SloConfig): boolean =>
    over !== undefined || calendar !== undefined || native.has(metric);
  const all = slos.map(compileSlo).sort((one, other) => byText(one.name, other.name));
  const newer = all.filter(isNewer);
  return { slos: all.filter((slo) => !isNewer(slo)), ...(newer.length === 0 ? {} : { newerSlos: newer }) };
}

/** Warnings for valid values that are probably mistakes. */
export function catalogWarnings({ spec }: MetricCatalog): readonly string[] {
  return [
    ...spec.stores.flatMap((store) => {
      const intervals = spec.metrics.map((metric) => intervalsOf(metric, spec.stores)[store.name] ?? 0);
      return storeWarnings(store, intervalsToSettle * Math.max(...intervals));
    }),
    ...spec.metrics.flatMap((metric) => mixedIncreases(metric, spec.stores)),
    ...spec.slos
      .filter((slo) => slo.public && slo.publicTenants === undefined)
      .map(({ name }) => `the SLO ${name} is public but has no publicTenants, so it is not available without a token`),
  ];
}

/** Increases that are extrapolated and increases that are not cannot be added. */
function mixedIncreases(
  { id, source, stores: holders }: MetricCatalogMetric,
  stores: readonly MetricCatalogStore[],
): readonly string[] {
  const own = stores.filter(({ name }) => holders?.includes(name) ?? true);
  const plain = own.filter(
    ({ prometheus, peer }) => prometheus?.flavour === "VictoriaMetrics" || peer?.increases === "Plain",
  );
  if (source.gauge !== undefined || plain.length === 0 || plain.length === own.length) return [];
  const names = plain.map(({ name }) => name).join(", ");
  return [
    `the metric ${id} cannot be combined across ${names} and its other stores, because VictoriaMetrics computes ` +
      "increases differently",
  ];
}

function compileMetric(metric: MetricCatalogMetric, spec: MetricCatalogSpec): MetricConfig {
  const { stores, slos } = spec;
  const { id, category, unit, description, defaultAggregation, maxGroupBy, sensitivity, requiredRole, queryClass } =
    metric;
  return {
    id,
    category,
    unit,
    description,
    ...ownershipOf(metric, spec),
    source: compileSource(metric.source),
    intervalSeconds: intervalsOf(metric, stores),
    minStepSeconds: metric.minStepSeconds ?? minStepSecondsOf(metric, stores),
    labels: metric.labels.toSorted(byText),
    aggregations: metric.aggregations.toSorted(byText),
    defaultAggregation,
    maxGroupBy,
    sensitivity,
    ...(requiredRole === undefined ? {} : { requiredRole }),
    ...scopeOf(metric),
    queryClass,
    ...lifecycleOf(metric),
    slos: slos
      .filter((slo) => slo.metric === id)
      .map(({ name, objective }) => ({ name, objective }))
      .sort((one, other) => byText(one.name, other.name)),
  };
}

/** What a metric does not name is that of its catalog. */
function ownershipOf(metric: MetricCatalogMetric, spec: MetricCatalogSpec): MetricOwnership {
  const named = (["owner", "contact", "runbookUrl", "domain"] as const).flatMap((name) => {
    const value = metric[name] ?? spec[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(named);
}

function scopeOf({ complianceScope }: MetricCatalogMetric): Pick<MetricConfig, "complianceScope"> {
  return complianceScope === undefined
    ? {}
    : { complianceScope: { regions: complianceScope.regions.toSorted(byText) } };
}

function lifecycleOf(
  metric: MetricCatalogMetric,
): Pick<MetricConfig, "state" | "replacedBy" | "deprecatedAtMs" | "sunsetAtMs"> {
  const { state, replacedBy, deprecatedAt, sunsetAt } = metric;
  if (deprecatedAt === undefined) return { state };
  const deprecatedAtMs = Date.parse(deprecatedAt);
  return {
    state,
    ...(replacedBy === undefined ? {} : { replacedBy }),
    deprecatedAtMs,
    sunsetAtMs: sunsetAt === undefined ? deprecatedAtMs + gracePeriodMs : Date.parse(sunsetAt),
  };
}

/** Seconds between samples by the name of each store that holds the metric. */
function intervalsOf(
  metric: MetricCatalogMetric,
  stores: readonly MetricCatalogStore[],
): Readonly<Record<string, number>> {
  const { intervalSeconds, storeIntervals } = metric.source;
  const own = new Map(storeIntervals.map((row) => [row.store, row.intervalSeconds]));
  const holders = metric.stores ?? stores.map(({ name }) => name);
  return Object.fromEntries(holders.toSorted(byText).map((store) => [store, own.get(store) ?? intervalSeconds]));
}

function minStepSecondsOf(metric: MetricCatalogMetric, stores: readonly MetricCatalogStore[]): number {
  return Math.max(stepSecondsMin, intervalsPerPoint * Math.max(...Object.values(intervalsOf(metric, stores))));
}

/** Only for a source that the rules accept, so exactly one kind is there. */
function compileSource({ gauge, counter, ratio, histogram }: MetricCatalogMetricSource): SourceConfig {
  if (gauge !== undefined) return { kind: "gauge", ...compileSeries(gauge) };
  if (counter !== undefined) return { kind: "counter", increase: counter.increase, ...compileSeries(counter) };
  if (histogram !== undefined)
    return { kind: "histogram", type: histogram.type, increase: histogram.increase, ...compileSeries(histogram) };
  if (ratio === undefined) throw new TypeError("a source without a kind was not rejected");
  return {
    kind: "ratio",
    increase: ratio.increase,
    numerator: compileSeries(ratio.numerator),
    denominator: compileSeries(ratio.denominator),
  };
}

/** Matchers in one order, so that the order they are written in makes no other query. */
function compileSeries({ name, matchers }: MetricCatalogMetricSourceGauge): SeriesConfig {
  const sorted = matchers.map(({ label, op, value }) => ({ label, op, value }));
  return {
    name,
    matchers: sorted.sort((one, other) => byText(Object.values(one).join("\n"), Object.values(other).join("\n"))),
  };
}

/** Days of the rolling windows that burn rates of a calendar window are proportional to. */
export const nominalDays = { Month: 30, Quarter: 90 } as const;

/** One objective. */
function compileSlo(slo: MetricCatalogSlo): SloConfig {
  const { name, title, domain, metric, objective, counts, threshold, over, calendar, corrections } = slo;
  const { publicTenants } = slo;
  return {
    name,
    ...(title === undefined ? {} : { title }),
    domain,
    metric,
    objective,
    counts,
    ...(threshold === undefined ? {} : { threshold }),
    ...(over === undefined
      ? {}
      : { over: { operator: over.operator, threshold: over.threshold, sliceSeconds: over.sliceSeconds } }),
    windowDays: calendar === undefined ? slo.windowDays : nominalDays[calendar.period],
    ...(calendar && { calendar: { period: calendar.period, timeZone: calendar.timeZone } }),
    minimumEvents: slo.minimumEvents,
    burnRates: slo.burnRates,
    ...(corrections === undefined ? {} : { corrections: corrections.map(compileCorrection) }),
    public: slo.public,
    ...(publicTenants === undefined ? {} : { publicTenants: publicTenants.toSorted(byText) }),
  };
}

function compileCorrection({ reason, from, to, schedule }: MetricCatalogSloCorrection): MetricCatalogSloCorrection {
  if (schedule === undefined) return { reason, ...(from && { from }), ...(to && { to }) };
  const { cron, durationMinutes, timeZone } = schedule;
  return { reason, schedule: { cron, durationMinutes, timeZone } };
}
