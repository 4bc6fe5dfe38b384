// The parameters of queries and instants as one closed form. The values of single parameters are in `parameters.ts`.
import { type Downsample, downsamples } from "../../../api/queries.ts";
import { type Aggregation, aggregations, type LabelName, labelNames } from "../../../crds/config.ts";
import { ApiError, invalidField, renameFields } from "../../errors/api-error.ts";
import { adviceOnAggregation, type KnownNames, shown } from "./known-names.ts";
import {
  type Filters,
  filterValues,
  type Parameters,
  queryLimits,
  readLabel,
  readMany,
  readOne,
  readWord,
  rejectUnknown,
  requireLength,
} from "./parameters.ts";
import { type Comparison, comparisonNames, readComparison } from "./read-comparison.ts";
import { parseRequestedTime, type RequestedTime, type RequestedTimes, wrongTime, readDuration } from "./time.ts";

/** The words of the parameters that have a closed list. */
const words = {
  agg: aggregations,
  downsample: downsamples,
  exemplars: ["true", "false"],
  complete: ["required"],
} as const;

/** The parameters of a request besides its times. Every name is well formed; none is checked against a catalog. */
export interface Selection extends Comparison {
  /** Sorted, without duplicates. */
  readonly metrics: readonly string[];
  readonly aggregation: Aggregation | undefined;
  readonly filters: Filters;
  /** Sorted, without duplicates. */
  readonly groupBy: readonly LabelName[];
  readonly downsample: Downsample | undefined;
  readonly exemplars: boolean;
  /** Makes a response with missing data an error. */
  readonly isCompleteRequired: boolean;
  readonly limit: number | undefined;
  readonly page: number;
  /** `meta.snapshot` of an earlier page: the response must be cut from the same data. */
  readonly snapshot: string | undefined;
  /** `meta.schema_version` that the client was written for. */
  readonly schemaVersion: string | undefined;
}

const selectionNames = [
  "metric",
  "agg",
  "group_by",
  "downsample",
  "exemplars",
  "complete",
  "limit",
  "page",
  "snapshot",
  "schema_version",
];

/** Finds the names that metrics of a request have, for errors. @default errors list those of every metric */
export type FindNames = (metrics: readonly string[]) => KnownNames | undefined;

const noNames: FindNames = () => undefined;
const queryNames = ["from", "to", "last", "step", ...comparisonNames, ...selectionNames];
const filterNames = labelNames.flatMap((label) => [`filter[${label}]`, `filter_in[${label}]`]);

/** Parses the parameters of `GET /v1/metrics/query`. @throws ApiError 400 that names the invalid parameter */
export function readQuery(
  params: Parameters,
  findNames: FindNames = noNames,
): { readonly selection: Selection; readonly window: RequestedTimes } {
  rejectOthers(params, queryNames);
  const window = { ...readSpan(params), stepSeconds: readDuration(params, "step", "invalid_step", "10s, 1m or 1h") };
  const comparison = comparisonNames.some((name) => params.has(name)) ? readComparison(params) : {};
  return { selection: { ...readSelection(params, findNames), ...comparison }, window };
}

/** Parses the parameters of `GET /v1/metrics/instant`. @throws ApiError 400 that names the invalid parameter */
export function readInstant(
  params: Parameters,
  findNames: FindNames = noNames,
): { readonly selection: Selection; readonly ts: RequestedTime | undefined } {
  rejectOthers(params, ["ts", ...selectionNames]);
  return { selection: readSelection(params, findNames), ts: readRequestedTime(params, "ts") };
}

/** Rejects the first parameter that is neither a filter nor known. @throws ApiError `unknown_parameter` */
export function rejectOthers(params: Parameters, known: readonly string[]): void {
  rejectUnknown(params, (name) => isFilter(name) || known.includes(name), [...known, ...filterNames]);
}

function readSelection(params: Parameters, findNames: FindNames): Selection {
  const metrics = readMetrics(params);
  const known = once(() => findNames(metrics));
  return {
    metrics,
    aggregation: readAggregation(params, known),
    filters: readFilters(params, known),
    groupBy: readGroupBy(params, known),
    downsample: readWord(params, "downsample", words.downsample, "invalid_downsample"),
    exemplars: readWord(params, "exemplars", words.exemplars) === "true",
    isCompleteRequired: readWord(params, "complete", words.complete) === "required",
    limit: readCount(params, "limit", queryLimits.seriesMax),
    page: readCount(params, "page", queryLimits.seriesPagesMax) ?? 1,
    snapshot: readOne(params, "snapshot"),
    schemaVersion: readOne(params, "schema_version"),
  };
}

type Known = () => KnownNames | undefined;

function once(find: Known): Known {
  let found: { readonly names: KnownNames | undefined } | undefined;
  return () => (found ??= { names: find() }).names;
}

function readMetrics(params: Parameters): readonly string[] {
  const metrics = [...new Set(readMany(params, "metric", queryLimits.metricsMax))].sort();
  if (metrics.length === 0) throw invalidField("invalid_request", "metric", "the request has no metric; add metric=");
  return metrics;
}

function readAggregation(params: Parameters, known: Known): Aggregation | undefined {
  const text = readOne(params, "agg", "invalid_aggregation");
  const aggregation = words.agg.find((one) => one === text);
  if (text === undefined || aggregation !== undefined) return aggregation;
  const advice = adviceOnAggregation(text, words.agg, known());
  throw invalidField("invalid_aggregation", "agg", `agg=${shown(text)} ${advice}`);
}

/**
 * Parses the filters: `filter[label]` has one exact value, `filter_in[label]` is repeated for several.
 *
 * @throws ApiError `forbidden_label`, `invalid_filter`
 */
export function readFilters(params: Parameters, known: Known = () => undefined): Filters {
  const filters = new Map<LabelName, readonly string[]>();
  for (const name of [...params.keys()].sort()) {
    const label = filterLabel(name);
    if (label === undefined) continue;
    const governed = readLabel(label, name, "invalid_filter", () => filterable(known()));
    if (filters.has(governed)) {
      const detail = `${governed} has filter[${governed}] and filter_in[${governed}]; use one of them`;
      throw invalidField("invalid_filter", name, detail);
    }
    const values = name.startsWith("filter_in[") ? readListed(params, name) : [readFilterValue(params, name)];
    filters.set(governed, filterValues(values, name));
  }
  return new Map([...filters].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Names the field of an error about a filter as the request does: `filter_in[region]`, and `tenant` if the route has
 * this parameter. The rights and the catalog know values only.
 */
export function withFieldsOf(params: Parameters, error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  return renameFields(error, (field) => {
    const listed = field.replace("filter[", "filter_in[");
    if (params.has(field)) return field;
    if (params.has(listed)) return listed;
    return field === "filter[tenant]" && params.has("tenant") ? "tenant" : field;
  });
}

/** Every metric can be filtered by the labels of the isolation. Source: seed "Operational Metrics API" §1. */
function filterable(known: KnownNames | undefined): KnownNames | undefined {
  return known && { ...known, labels: [...new Set([...known.labels, "tenant", "region", "environment"] as const)] };
}

function readListed(params: Parameters, name: string): readonly string[] {
  const values = params.get(name) ?? [];
  if (values.length > queryLimits.filterValuesMax) {
    const detail = `${shown(name)} has ${values.length} values; give it 1 to ${queryLimits.filterValuesMax}`;
    throw invalidField("invalid_filter", name, detail);
  }
  for (const value of values) requireLength(value, name, "invalid_filter");
  return values;
}

function readFilterValue(params: Parameters, name: string): string {
  const given = params.get(name)?.length ?? 0;
  if (given > 1) {
    const several = shown(name.replace("filter[", "filter_in["));
    const detail = `${shown(name)} is given ${given} times; send it once, or use ${several} for several values`;
    throw invalidField("invalid_filter", name, detail);
  }
  const value = readOne(params, name, "invalid_filter");
  if (value === undefined) throw invalidField("invalid_filter", name, `${name} has no value; set one`);
  return value;
}

function readGroupBy(params: Parameters, known: Known): readonly LabelName[] {
  const text = readOne(params, "group_by", "invalid_group_by");
  if (text === undefined) return [];
  const labels = text.split(",").map((name) => readLabel(name.trim(), "group_by", "invalid_group_by", known));
  if (new Set(labels).size < labels.length)
    throw invalidField("invalid_group_by", "group_by", `group_by=${shown(text)} contains a label twice; remove one`);
  return labels.sort();
}

/** The start and the end of a window. @throws ApiError `invalid_time`, `invalid_window` */
export function readSpan(params: Parameters): Pick<RequestedTimes, "from" | "to"> {
  const times = { from: readRequestedTime(params, "from"), to: readRequestedTime(params, "to") };
  const last = readDuration(params, "last", "invalid_window", "30m, 6h or 7d");
  if (last === undefined) return times;
  if (times.from !== undefined || times.to !== undefined)
    throw invalidField("invalid_window", "last", "last cannot be combined with from or to; use one of them");
  return { from: { agoMs: last * 1_000 }, to: undefined };
}

/** Parses a time of any form; undefined without one. @throws ApiError `invalid_time` */
function readRequestedTime(params: Parameters, name: string): RequestedTime | undefined {
  const text = readOne(params, name, "invalid_time");
  if (text === undefined) return undefined;
  const time = parseRequestedTime(text);
  if (time === undefined) throw wrongTime(name, text, shown(text));
  return time;
}

function isFilter(parameter: string): boolean {
  return filterLabel(parameter) !== undefined;
}

function filterLabel(parameter: string): string | undefined {
  return /^filter(?:_in)?\[(.*)\]$/su.exec(parameter)?.[1];
}

/** Parses a whole number from 1; undefined without one. @throws ApiError `invalid_limit`, `invalid_page` */
export function readCount(params: Parameters, name: "limit" | "page", max: number): number | undefined {
  const code = name === "limit" ? "invalid_limit" : "invalid_page";
  const text = readOne(params, name, code);
  if (text === undefined) return undefined;
  const count = /^[1-9]\d{0,8}$/u.test(text) ? Number(text) : Number.NaN;
  if (count <= max) return count;
  throw invalidField(code, name, `${name}=${shown(text)} is not valid; use an integer from 1 to ${max}`);
}
