import type { LabelName } from "../../../crds/config.ts";
import { type ApiError, invalidField } from "../../errors/api-error.ts";
import type { DescribedMetric, MetricsApi } from "../../metrics/metrics-api.ts";
import { shown } from "../../metrics/request/known-names.ts";
import { type Parameters, readLabel, readMany } from "../../metrics/request/parameters.ts";
import { matchedValues } from "../../metrics/request/selector.ts";
import { compileText } from "../compile/compile.ts";
import { valuesOf } from "../compile/forms.ts";
import type { CompiledExpression, KnownMetric } from "../compile/program.ts";
import { type Expression, ExpressionError, type LabelMatcher, type Selector } from "../language/expression.ts";
import { charactersMax, parseExpression } from "../language/parse-expression.ts";
import type { PrometheusRequest } from "../prometheus-api.ts";
import { firstOf } from "./read-parameters.ts";

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
 * @throws ApiError `invalid_expression`, `unknown_metric`, `metric_forbidden`, `invalid_filter` …
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
  // The look-up rejects a metric that exists and is not allowed.
  const known = lookUp(selector.metric) === undefined ? undefined : readable.get(selector.metric);
  if (known === undefined) {
    const detail = `the metric ${shown(selector.metric)} is not in the catalog`;
    throw invalidField("unknown_metric", "match[]", `${detail}; /prometheus/api/v1/metadata lists the metrics`);
  }
  return { ...known, filters: teaching("match[]", () => filtersOf(selector.matchers)) };
}

function selectorOf(text: string): Selector {
  const expression = teaching("match[]", () => parseExpression(text));
  if (expression.kind === "selector" && expression.rangeMs === undefined) return expression;
  const detail = 'invalid parameter "match[]": 1:1: use a metric with matchers, such as cpu_util{region="eu"}';
  throw invalidField("invalid_expression", "match[]", detail);
}

function filtersOf(matchers: readonly LabelMatcher[]): SelectedMetric["filters"] {
  const filters = new Map<LabelName, readonly string[]>();
  for (const matcher of matchers) {
    const name = readLabel(matcher.label, "match[]", "invalid_filter");
    const values = valuesOf(matcher);
    if (filters.has(name))
      throw invalidField("invalid_filter", "match[]", `match[] contains ${name} twice; remove one`);
    if (values !== undefined) filters.set(name, matchedValues(values, "match[]"));
  }
  return filters;
}

/** The catalog as a caller sees it. */
export interface CallerCatalog {
  /** One metric; undefined when no catalog has it. @throws ApiError when the caller may not read it */
  readonly lookUp: (metric: string) => KnownMetric | undefined;
  /** Ids that the caller may read. */
  readonly names: () => Iterable<string>;
}

/** Parses the expression of the parameter `query`. @throws ApiError `invalid_expression` */
export function readExpression(params: Parameters): Expression {
  const text = requireText(params);
  return teaching("query", () => parseExpression(text));
}

/** Compiles the expression of the parameter `query`. @throws ApiError `invalid_expression`, `metric_forbidden` … */
export function compileFor({ lookUp, names }: CallerCatalog, params: Parameters): CompiledExpression {
  const text = requireText(params);
  return teaching("query", () => compileText(text, lookUp, names));
}

function requireText(params: Parameters): string {
  const text = firstOf(params, "query");
  if (text !== undefined) return text;
  throw invalidField("invalid_expression", "query", 'invalid parameter "query": the request has no expression');
}

/** Runs a step over a text of a parameter. @throws ApiError `invalid_expression` that names the column and a rewrite */
export function teaching<Result>(parameter: string, step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    if (error instanceof ExpressionError) throw apiErrorOf(parameter, error);
    throw error;
  }
}

function apiErrorOf(parameter: string, { message, column, rewrite }: ExpressionError): ApiError {
  const instead = rewrite === undefined ? "" : `; write ${rewrite}`;
  const detail = `invalid parameter "${parameter}": 1:${column}: ${message}${instead}`;
  return invalidField("invalid_expression", parameter, detail);
}

type Catalog = Pick<MetricsApi, "describe" | "readable">;

/** The catalog as the caller of a request sees it. */
export function callerCatalog(metrics: Catalog, request: PrometheusRequest): CallerCatalog {
  return {
    lookUp: (id) => metrics.describe(id, request.caller),
    names: () => readableOf(metrics, request).keys(),
  };
}

/** The metrics that the caller of a request may read, by id. @throws ApiError `tenant_forbidden`, `tenant_required` */
export function readableOf(
  { readable }: Pick<Catalog, "readable">,
  { caller, tenant, context: { nowMs } }: PrometheusRequest,
): ReadonlyMap<string, DescribedMetric> {
  return readable({ caller, tenant, nowMs });
}
