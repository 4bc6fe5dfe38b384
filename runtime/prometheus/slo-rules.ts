// Alert rules from the objectives of a catalog, for programs that evaluate them over the Prometheus API of the runtime.
import { classDefaults } from "../../crds/compile/class-defaults.ts";
import type { CatalogConfig, MetricConfig, QuotaConfig, SliceCondition, SloConfig } from "../../crds/config.ts";
import { ApiError } from "../errors/api-error.ts";
import { type Caller, classOf, readScope } from "../metrics/authorization/access.ts";
import { indexCatalogs, objectivesOf } from "../metrics/catalog-index.ts";
import { formatWithLimit } from "../metrics/request/time.ts";
import { indexSlos, selectSlos, type SloView } from "../metrics/slo/slo-selection.ts";
import { type BurnTier, burnTiers, errorBudget, minimumOf } from "../metrics/slo/slo-status.ts";
import { slicesText } from "./compile/judged-slices.ts";
import { formatExpression } from "./language/format-expression.ts";
import { calendarNotes, literal, ruleAnnotations } from "./rule-annotations.ts";
import { silencedUntil, silenceNotes, silenceText } from "./silence-text.ts";

/** An alert in the form of Prometheus. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The alerts of one objective for one tenant. */
export interface RuleGroup {
  /** Unique: `NAMESPACE/CATALOG/OBJECTIVE`, and the tenant. */
  readonly name: string;
  /** Undefined when no tenant was named. */
  readonly tenant: string | undefined;
  readonly rules: readonly AlertRule[];
}

/** The rules of one catalog. */
export interface CatalogRules {
  readonly namespace: string;
  readonly name: string;
  readonly groups: readonly RuleGroup[];
  /** What the rules need of their client. */
  readonly notes: readonly string[];
  /** When the first objective has no more silenced intervals, in Unix milliseconds; undefined if none expire. */
  readonly silencedUntilMs: number | undefined;
}

/** Choices of one set of rules. */
export interface RuleOptions {
  /** One group for each objective and tenant; without tenants, the token of the evaluating program decides. */
  readonly tenants: readonly string[];
  /** True when the selectors name the tenant, false when the evaluating program sends it in a header. */
  readonly isTenantMatched: boolean;
  /** Labels of every rule. @default none */
  readonly labels?: Readonly<Record<string, string>>;
  /** When the rules are printed, in Unix milliseconds: corrections are silenced from then on. */
  readonly nowMs: number;
  readonly quotas: readonly QuotaConfig[];
}

/** No request may name the tenant; the message states why. */
export class TenantError extends Error {
  override readonly name = "TenantError";
}

const alertNames = { page: "SloBurnsFast", ticket: "SloBurnsSlow" } as const;
const severities = ["page", "ticket"] as const;
/** Labels that only the rules themselves set. */
export const ruleLabels: readonly string[] = ["alertname", "severity", "slo", "domain", "tenant", "region"];

/** True when rules of the catalog need a tenant: one of its objectives is over series of several tenants. */
export function needsTenant(catalog: CatalogConfig): boolean {
  const metrics = new Set(objectivesOf(catalog).map(({ metric }) => metric));
  const stores = catalog.metrics
    .filter(({ id }) => metrics.has(id))
    .flatMap((metric) => Object.keys(metric.intervalSeconds));
  return catalog.stores.some(({ name, tenancy }) => tenancy !== "Platform" && stores.includes(name));
}

/**
 * The rules of a catalog, in a fixed order. An objective has the views that `GET /v1/metrics/slo` shows to a caller
 * with every right: one over all regions if the catalog permits it, else one for each region.
 *
 * @throws TenantError
 */
export function sloRules(catalog: CatalogConfig, options: RuleOptions): CatalogRules {
  const tenants = options.tenants.length === 0 ? [undefined] : options.tenants;
  const viewed = tenants.map((tenant) => ({ tenant, views: viewsOf(catalog, tenant) }));
  const groups = viewed.flatMap(({ tenant, views }) => {
    const byName = Map.groupBy(views, ({ slo }) => slo.name);
    return [...byName].map(([slo, own]): RuleGroup => {
      const path = [catalog.namespace, catalog.name, slo, ...(tenant === undefined ? [] : [tenant])];
      return { name: path.join("/"), tenant, rules: own.flatMap((view) => rulesOf(view, tenant, options)) };
    });
  });
  const views = viewed[0]?.views ?? [];
  const wide = views.flatMap((view) => tooWide(view, options.quotas));
  const silent = views.flatMap((view) => [...calendarNotes(view), ...silenceNotes(view, options.nowMs)]);
  const ends = views.flatMap((view) => silencedUntil(view, options.nowMs) ?? []);
  const open = options.tenants.length === 0 && groups.length > 0 ? [withoutTenant(catalog)] : [];
  return {
    namespace: catalog.namespace,
    name: catalog.name,
    groups,
    notes: [...open, ...new Set([...wide, ...silent])],
    silencedUntilMs: ends.length === 0 ? undefined : Math.min(...ends),
  };
}

/** The views of a caller with every right over this catalog. Nothing depends on the time. */
function viewsOf(catalog: CatalogConfig, tenant: string | undefined): readonly SloView[] {
  const all = { regions: ["*"], environments: ["*"], metrics: ["*"] };
  const roles = catalog.metrics.flatMap(({ requiredRole }) => requiredRole ?? []);
  // Without a tenant, any name stands for the one of the token: it is in none of the rules.
  const caller: Caller = { client: "rules", tenants: [tenant ?? "any"], ...all, roles, scopes: [readScope] };
  const params = new Map<string, readonly string[]>(tenant === undefined ? [] : [["tenant", [tenant]]]);
  const context = { slos: indexSlos([catalog], indexCatalogs([catalog])), quotas: { quotas: [], classDefaults } };
  try {
    return selectSlos(params, caller, context, 0).views;
  } catch (error) {
    if (error instanceof ApiError) throw new TenantError(error.message, { cause: error });
    throw error;
  }
}

function rulesOf(view: SloView, tenant: string | undefined, options: RuleOptions): readonly AlertRule[] {
  const { isTenantMatched, labels, nowMs } = options;
  const { slo, entry } = view;
  const { owner } = entry.metric;
  const place = { ...(tenant === undefined ? {} : { tenant }), ...regionOf(view) };
  const { tenant: named, ...region } = place;
  const matchers: Matchers = isTenantMatched && named !== undefined ? { tenant: named, ...region } : region;
  const all = burnTiers(slo, entry.metric.minStepSeconds);
  return severities.map((severity) => {
    const tiers = all.filter((tier) => tier.severity === severity);
    return {
      alert: alertNames[severity],
      expr: burnExpression({ slo, metric: entry.metric, matchers, nowMs }, tiers),
      labels: literal({ ...(owner && { owner }), ...labels, severity, slo: slo.name, domain: slo.domain, ...place }),
      annotations: ruleAnnotations(view, severity, tiers),
    };
  });
}

/** The region of a view of one region, where the metric has several. */
function regionOf({ entry, grant }: SloView): Matchers {
  const [region, ...others] = grant.regions;
  const isOnly = entry.stores.every(({ config }) => config.region === region);
  return region === undefined || others.length > 0 || isOnly ? {} : { region };
}

function withoutTenant({ namespace, name }: CatalogConfig): string {
  return (
    `the rules of ${namespace}/${name} have no tenant, because its series belong to none; ` +
    "their client needs a token with exactly one tenant"
  );
}

function tooWide({ slo, entry }: SloView, quotas: readonly QuotaConfig[]): readonly string[] {
  const nobody: Caller = { client: "", tenants: [], regions: [], environments: [], metrics: [], roles: [], scopes: [] };
  const { queryClass, limits } = classOf(nobody, [entry.metric], { quotas, classDefaults });
  const widest = Math.max(...burnTiers(slo, entry.metric.minStepSeconds).map(({ longSeconds }) => longSeconds));
  if (widest <= limits.maxWindowSeconds) return [];
  const [own, limit] = formatWithLimit(widest, limits.maxWindowSeconds);
  return [
    `the alerts of the objective ${slo.name} read ${own}, more than the ${limit} of class ${queryClass}; ` +
      "give their client a class with a wider window",
  ];
}

/** A made selector has no place in a text. */
const nowhere = { start: 0, end: 0 };

/** Labels and values that every selector of an expression names. */
type Matchers = Readonly<Record<string, string>>;

/** The events of an objective over one window, as text in PromQL. */
interface Window {
  /** The share of bad events. */
  readonly bad: string;
  /** The number of events. */
  readonly total: string;
}

/** An objective, its metric and the matchers of its view. */
interface BurnSource {
  readonly slo: SloConfig;
  readonly metric: MetricConfig;
  readonly matchers: Matchers;
  /** As in {@link RuleOptions}. */
  readonly nowMs: number;
}

/**
 * An expression in the PromQL subset of the API. It has a value exactly when one of the tiers fires as in
 * `GET /v1/metrics/slo`: the burn rate of the long window. Two tiers have at most ten selectors.
 */
export function burnExpression(source: BurnSource, tiers: readonly BurnTier[]): string {
  return tiers.map((tier) => tierExpression(source, tier)).join("\nor\n");
}

/** As in the assessment of an objective, only the long window needs the minimum of events. */
function tierExpression(source: BurnSource, { longSeconds, shortSeconds, factor }: BurnTier): string {
  const { slo } = source;
  const [long, short] = [windowOf(source, longSeconds), windowOf(source, shortSeconds)];
  return [
    "(",
    `  ${long.bad} / ${errorBudget(slo)} > ${factor}`,
    `  and ${short.bad} / ${errorBudget(slo)} > ${factor}${silenceText(source, shortSeconds)}`,
    `  and ${long.total} >= ${minimumOf(slo)}`,
    ")",
  ].join("\n");
}

function windowOf(source: BurnSource, seconds: number): Window {
  const { metric, slo } = source;
  if (slo.over !== undefined) return slicesWindow(source, slo.over, seconds);
  if (metric.source.kind === "ratio") return ratioWindow(source, seconds);
  const selected = selector(source, seconds);
  const fraction = `histogram_fraction(0, ${source.slo.threshold}, sum by (le) (rate(${selected})))`;
  return { bad: badShare(source.slo, fraction), total: `histogram_count(sum(increase(${selected})))` };
}

function slicesWindow(source: BurnSource, condition: SliceCondition, seconds: number): Window {
  const [{ metric }, window] = [source, { condition, windowSeconds: seconds }];
  const slices = slicesText(metric.defaultAggregation, selector(source, condition.sliceSeconds), window);
  return { bad: `(1 - avg_over_time(${slices}))`, total: `count_over_time(${slices})` };
}

function ratioWindow(source: BurnSource, seconds: number): Window {
  return {
    bad: badShare(source.slo, `avg(avg_over_time(${selector(source, seconds)}))`),
    total: `sum(increase(${selector(source, seconds, ":total")}))`,
  };
}

function badShare({ counts }: SloConfig, singledOut: string): string {
  return counts === "Good" ? `(1 - ${singledOut})` : singledOut;
}

function selector({ metric, matchers }: BurnSource, seconds: number, suffix = ""): string {
  return formatExpression({
    kind: "selector",
    metric: `${metric.id}${suffix}`,
    matchers: Object.entries(matchers).map(([label, value]) => ({ label, op: "=", values: [value], span: nowhere })),
    rangeMs: seconds * 1_000,
    span: nowhere,
  });
}
