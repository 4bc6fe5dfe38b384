import type { LabelName } from "../../../crds/config.ts";
import { refuseField } from "../../errors/refusal.ts";
import type { DescribedMetric } from "../../metrics/metrics-api.ts";
import { filterValues, readLabel, readMany, shown, type Parameters } from "../../metrics/request/parameters.ts";
import type { LabelMatcher, Selector } from "../language/expression.ts";
import { charactersMax, parseExpression } from "../language/parse-expression.ts";
import { teaching, type CallerCatalog } from "./read-expression.ts";

/** Most selectors of one request. */
const selectorsMax = 10;
/** Selectors that name every metric, as Grafana writes them. */
const everyMetric = /^\s*\{\s*(?:__name__\s*(?:!=\s*""|=~\s*"\.[+*]")\s*,?\s*)?\}\s*$/u;

/** The metrics of a look-up. */
export interface SelectedMetrics {
  readonly metrics: readonly SelectedMetric[];
  /** The request names no metric and means all. */
  readonly isOfAll: boolean;
}

/** Metrics with the conditions on their labels. */
export interface SelectedMetric extends DescribedMetric {
  /** Sorted values of each label, without duplicates. */
  readonly filters: ReadonlyMap<LabelName, readonly string[]>;
}

/**
 * The metrics that the parameters `match[]` select; without the parameter, all that the caller may read.
 *
 * @throws Refusal `invalid_expression`, `unknown_metric`, `metric_forbidden`, `invalid_filter` …
 */
export function readSelected(
  params: Parameters,
  catalog: Pick<CallerCatalog, "lookUp">,
  readable: ReadonlyMap<string, DescribedMetric>,
): SelectedMetrics {
  const texts = readMany(params, "match[]", selectorsMax, charactersMax);
  const all = [...readable.values()].map((known) => ({ ...known, filters: new Map() }));
  if (texts === undefined) return { metrics: all, isOfAll: true };
  const metrics = texts.flatMap((text) => (everyMetric.test(text) ? all : [selectedBy(text, catalog, readable)]));
  return { metrics, isOfAll: texts.some((text) => everyMetric.test(text)) };
}

function selectedBy(
  text: string,
  { lookUp }: Pick<CallerCatalog, "lookUp">,
  readable: ReadonlyMap<string, DescribedMetric>,
): SelectedMetric {
  const selector = selectorOf(text);
  // The look-up refuses a metric that exists and is not allowed.
  const known = lookUp(selector.metric) === undefined ? undefined : readable.get(selector.metric);
  if (known === undefined) {
    const detail = `the metric ${shown(selector.metric)} is not in the catalog`;
    throw refuseField("unknown_metric", "match[]", `${detail}; /prometheus/api/v1/metadata lists the metrics`);
  }
  return { ...known, filters: filtersOf(selector.matchers) };
}

function selectorOf(text: string): Selector {
  const expression = teaching("match[]", () => parseExpression(text));
  if (expression.kind === "selector" && expression.rangeMs === undefined) return expression;
  const detail = 'invalid parameter "match[]": 1:1: write a metric with matchers, such as cpu_util{region="eu"}';
  throw refuseField("invalid_expression", "match[]", detail);
}

function filtersOf(matchers: readonly LabelMatcher[]): SelectedMetric["filters"] {
  const filters = new Map<LabelName, readonly string[]>();
  for (const { label, values } of matchers) {
    const name = readLabel(label, "match[]", "invalid_filter");
    if (filters.has(name)) throw refuseField("invalid_filter", "match[]", `match[] names ${name} twice; name it once`);
    filters.set(name, filterValues(values, "match[]"));
  }
  return filters;
}
