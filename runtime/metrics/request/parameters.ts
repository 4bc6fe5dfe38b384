// Parameters of a metrics request: what they are called, how they are parsed, which are refused. The catalog and the
// caller's rights are checked elsewhere.
import { aggregations, labelNames, type Aggregation, type LabelName } from "../../../crds/config.ts";
import type { ErrorCode } from "../../errors/table.ts";
import { refuseField } from "../../errors/refusal.ts";
import { parseDuration } from "./duration.ts";
import { forbiddenValue, isForbiddenLabel } from "./forbidden-labels.ts";
import { parseTime } from "./time.ts";

/** Decoded query parameters: every name with its values in the order of the URL. */
export type Parameters = ReadonlyMap<string, readonly string[]>;

/** Source: seed "Operational Metrics API" §8. */
export const seriesMax = 50;
export const metricsMax = 50;
/** Most metrics of one look-up of labels. */
export const lookUpMetricsMax = 10;
/** Longest name and longest value of a parameter, in characters. */
export const textLengthMax = 200;
/** Most values of one filter. */
export const filterValuesMax = 50;
/** Most characters of all values of all filters. */
export const filterTextMax = 8_000;
const pageMax = 1_000_000;
const shownLengthMax = 80;

/** Source: seed "Operational Metrics API" §4.1. */
export const downsamples = ["1m", "5m", "1h"] as const;
export type Downsample = (typeof downsamples)[number];

/**
 * The values that each label may have: sorted, without duplicates, at least one. The tenant has one.
 */
export type Filters = ReadonlyMap<LabelName, readonly string[]>;

/** The parameters of a request besides its times. Every name is well formed; none is checked against a catalog. */
export interface Selection {
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

/** Times of a query as the request names them. */
export interface RequestedWindow {
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  readonly stepSeconds: number | undefined;
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

/** Parses the parameters of `GET /v1/metrics/query`. @throws Refusal 400 that names the invalid parameter */
export function readQuery(params: Parameters): { readonly selection: Selection; readonly window: RequestedWindow } {
  refuseUnknown(params, (name) => isFilter(name) || ["from", "to", "step", ...selectionNames].includes(name));
  const window = {
    fromMs: readTime(params, "from"),
    toMs: readTime(params, "to"),
    stepSeconds: readStep(params),
  };
  return { selection: readSelection(params), window };
}

/** Parses the parameters of `GET /v1/metrics/instant`. @throws Refusal 400 that names the invalid parameter */
export function readInstant(params: Parameters): { readonly selection: Selection; readonly tsMs: number | undefined } {
  refuseUnknown(params, (name) => isFilter(name) || ["ts", ...selectionNames].includes(name));
  return { selection: readSelection(params), tsMs: readTime(params, "ts") };
}

/** Refuses the first unknown parameter. @throws Refusal `unknown_parameter` that names it */
export function refuseUnknown(params: Parameters, isKnown: (name: string) => boolean): void {
  const unknown = params.keys().find((name) => !isKnown(name));
  if (unknown === undefined) return;
  throw refuseField(
    "unknown_parameter",
    shown(unknown),
    `${shown(unknown)} is not a parameter of this route; remove it`,
  );
}

/** The value of a parameter; undefined without one. @throws Refusal when it is repeated, empty or too long */
export function readOne(params: Parameters, name: string, code: ErrorCode = "invalid_request"): string | undefined {
  const values = params.get(name) ?? [];
  if (values.length > 1) throw refuseField(code, name, `${shown(name)} is given ${values.length} times; give it once`);
  requireLength(values[0], name, code);
  return values[0];
}

/**
 * The values of a repeatable parameter; undefined without any.
 *
 * @throws Refusal for too many values, and for an empty or too long one
 */
export function readMany(params: Parameters, name: string, most: number): readonly string[] | undefined {
  const values = params.get(name);
  if (values === undefined) return undefined;
  if (values.length > most) {
    throw refuseField(
      "invalid_request",
      name,
      `${name} is given ${values.length} times; give it at most ${most} times`,
    );
  }
  for (const value of values) requireLength(value, name, "invalid_request");
  return values;
}

function requireLength(text: string | undefined, name: string, code: ErrorCode): void {
  if (text === "") throw refuseField(code, name, `${shown(name)} is empty; give it a value or leave it out`);
  if (text === undefined || text.length <= textLengthMax) return;
  throw refuseField(
    code,
    shown(name),
    `${shown(name)} has ${text.length} characters; it may have at most ${textLengthMax}`,
  );
}

/** The value of a parameter with a closed list of words; undefined without one. @throws Refusal that lists them */
export function readWord<Word extends string>(
  params: Parameters,
  name: string,
  words: readonly Word[],
  code: ErrorCode = "invalid_request",
): Word | undefined {
  const text = readOne(params, name, code);
  const word = words.find((candidate) => candidate === text);
  if (text !== undefined && word === undefined) {
    throw refuseField(code, name, `${name}=${shown(text)} is not known; use one of ${words.join(", ")}`);
  }
  return word;
}

/** Makes a caller's text safe for an error: bounded, without control characters and line breaks. */
export function shown(text: string): string {
  const printable = text.replaceAll(/[\p{C}\p{Z}]/gu, " ");
  return printable.length > shownLengthMax ? `${printable.slice(0, shownLengthMax)}…` : printable;
}

function readSelection(params: Parameters): Selection {
  return {
    metrics: readMetrics(params),
    aggregation: readWord(params, "agg", aggregations, "invalid_aggregation"),
    filters: readFilters(params),
    groupBy: readGroupBy(params),
    downsample: readWord(params, "downsample", downsamples, "invalid_downsample"),
    exemplars: readWord(params, "exemplars", ["true", "false"]) === "true",
    isCompleteRequired: readWord(params, "complete", ["required"]) === "required",
    limit: readCount(params, "limit", seriesMax),
    page: readCount(params, "page", pageMax) ?? 1,
    snapshot: readOne(params, "snapshot"),
    schemaVersion: readOne(params, "schema_version"),
  };
}

function readMetrics(params: Parameters): readonly string[] {
  const metrics = [...new Set(readMany(params, "metric", metricsMax))].sort();
  if (metrics.length === 0)
    throw refuseField("invalid_request", "metric", "the request names no metric; name one with metric=");
  return metrics;
}

/** Parses the filters. @throws Refusal `forbidden_label`, `invalid_filter` */
export function readFilters(params: Parameters): Filters {
  const filters = new Map<LabelName, readonly string[]>();
  for (const name of [...params.keys()].sort()) {
    const label = filterLabel(name);
    if (label === undefined) continue;
    const governed = readLabel(label, name, "invalid_filter");
    filters.set(governed, filterValues([readFilterValue(params, name)], name));
  }
  return filters;
}

function readFilterValue(params: Parameters, name: string): string {
  const value = readOne(params, name, "invalid_filter");
  if (value === undefined) throw refuseField("invalid_filter", name, `${name} has no value; give it one`);
  return value;
}

/**
 * Checks the values of one filter and brings them into their one form: sorted, without duplicates.
 *
 * @throws Refusal `invalid_filter` that names the field
 */
export function filterValues(values: readonly string[], field: string): readonly string[] {
  // The message leaves out the value, because it can be personal data.
  const fault = values.map(forbiddenValue).find((one) => one !== undefined);
  if (fault !== undefined) throw refuseField("invalid_filter", field, `the value of ${field} ${fault}`);
  const distinct = [...new Set(values)].sort();
  if (distinct.length > 0 && distinct.length <= filterValuesMax) return distinct;
  const detail = `${field} has ${distinct.length} values; give it 1 to ${filterValuesMax}`;
  throw refuseField("invalid_filter", field, detail);
}

function readGroupBy(params: Parameters): readonly LabelName[] {
  const text = readOne(params, "group_by", "invalid_group_by");
  if (text === undefined) return [];
  const labels = text.split(",").map((name) => readLabel(name.trim(), "group_by", "invalid_group_by"));
  if (new Set(labels).size < labels.length) {
    throw refuseField("invalid_group_by", "group_by", `group_by=${shown(text)} names a label twice; name it once`);
  }
  return labels.sort();
}

/** Checks a label of the closed list. @throws Refusal `forbidden_label`, or `code` for a name that is not a label */
export function readLabel(name: string, field: string, code: ErrorCode): LabelName {
  if (isForbiddenLabel(name)) {
    throw refuseField(
      "forbidden_label",
      shown(field),
      `the label ${shown(name)} is personal data and forbidden; remove it`,
    );
  }
  const label = labelNames.find((candidate) => candidate === name);
  if (label === undefined) {
    throw refuseField(code, shown(field), `${shown(name)} is not a label; use one of ${labelNames.join(", ")}`);
  }
  return label;
}

/** Parses a time into Unix milliseconds; undefined without one. @throws Refusal `invalid_time` */
export function readTime(params: Parameters, name: string): number | undefined {
  const text = readOne(params, name, "invalid_time");
  if (text === undefined) return undefined;
  const ms = parseTime(text);
  if (ms !== undefined) return ms;
  throw refuseField(
    "invalid_time",
    name,
    `${name}=${shown(text)} is not a time; use ISO 8601 UTC such as 2026-01-01T00:00:00Z`,
  );
}

function readStep(params: Parameters): number | undefined {
  const text = readOne(params, "step", "invalid_step");
  if (text === undefined) return undefined;
  const seconds = parseDuration(text);
  if (seconds !== undefined) return seconds;
  throw refuseField("invalid_step", "step", `step=${shown(text)} is not a duration; use one such as 10s, 1m or 1h`);
}

/** Parses a whole number from 1; undefined without one. @throws Refusal `invalid_limit`, `invalid_page` */
export function readCount(params: Parameters, name: "limit" | "page", max: number): number | undefined {
  const code = name === "limit" ? "invalid_limit" : "invalid_page";
  const text = readOne(params, name, code);
  if (text === undefined) return undefined;
  const count = /^[1-9]\d{0,8}$/u.test(text) ? Number(text) : Number.NaN;
  if (count <= max) return count;
  throw refuseField(code, name, `${name}=${shown(text)} is not valid; use a whole number from 1 to ${max}`);
}

function isFilter(parameter: string): boolean {
  return filterLabel(parameter) !== undefined;
}

function filterLabel(parameter: string): string | undefined {
  return /^filter\[(.*)\]$/su.exec(parameter)?.[1];
}
