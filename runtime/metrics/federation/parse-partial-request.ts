import { memberNames } from "../../../api/schema.ts";
import {
  PartialAsk,
  increaseRules,
  intervalSecondsMax,
  namesMax,
  type PartialPoints,
  partialPoints,
  type PartialTimes,
  pointsMax,
  partialRequestVersion,
  timeMsMax,
  widthMsMax,
} from "../../../api/peers.ts";
import { aggregations, filterValuesMax, textLengthMax } from "../../../api/queries.ts";
import type { LabelName } from "../../../crds/config.ts";
import { invalidField } from "../../errors/api-error.ts";
import type { ErrorCode } from "../../errors/table.ts";
import { parseJson } from "../../json/json-body.ts";
import { shown } from "../request/known-names.ts";
import { readLabel } from "../request/parameters.ts";
import { matchedValues } from "../request/selector.ts";

/** Largest body of a partial request, in bytes: names and filters of one metric. */
export const partialRequestBytesMax = 64 * 1024;

/** The partial request of a peer: for its capabilities in a region, or for one partial. */
type ParsedPartialRequest =
  | { readonly kind: "probe"; readonly region: string }
  | { readonly kind: "partial"; readonly ask: PartialAsk; readonly over: PartialTimes };

/**
 * Parses the body of `POST /v1/metrics/partials`; each of its objects is closed. @throws ApiError for a wrong member
 */
export function parsePartialRequest(body: Uint8Array): ParsedPartialRequest {
  const request = members(parseJson(body), "the body", ["version", "probe", "ask", "over"]);
  if (request["version"] !== partialRequestVersion) {
    const version = shown(JSON.stringify(request["version"]) ?? "none");
    const detail = `the request has version ${version}; this runtime supports version ${partialRequestVersion}`;
    throw invalidField("schema_version_gone", "version", detail);
  }
  if (request["probe"] !== undefined) {
    const besides = ["ask", "over"].find((name) => request[name] !== undefined);
    if (besides !== undefined)
      throw invalidField("invalid_request", besides, `${besides} cannot be combined with probe; send only one of them`);
    const probe = members(request["probe"], "probe", ["region"]);
    return { kind: "probe", region: text(probe["region"], "probe.region") };
  }
  return { kind: "partial", ask: readAsk(request["ask"]), over: readTimes(request["over"]) };
}

function readAsk(value: unknown): PartialAsk {
  const ask = members(value, "ask", memberNames(PartialAsk));
  const named = (name: string): string => text(ask[name], `ask.${name}`);
  const { slo, environments, points, quantile } = ask;
  const agg = aggregations.find((one) => one === ask["agg"]);
  if (agg === undefined)
    throw invalidField("invalid_aggregation", "ask.agg", `ask.agg is not known; use one of ${aggregations.join(", ")}`);
  return {
    schema_version: named("schema_version"),
    region: named("region"),
    regions: texts(ask["regions"], "ask.regions"),
    metric: named("metric"),
    agg,
    ...(slo === undefined ? {} : { slo: named("slo") }),
    part: named("part"),
    tenant: named("tenant"),
    ...(environments === undefined ? {} : { environments: texts(environments, "ask.environments", [""]) }),
    filters: readFilters(ask["filters"]),
    group_by: texts(ask["group_by"], "ask.group_by").map((name) => readLabel(name, "ask.group_by", "invalid_group_by")),
    ...(points === undefined ? {} : { points: readPoints(points) }),
    ...(quantile === undefined ? {} : { quantile: number(quantile, "ask.quantile", { min: 0, max: 1 }) }),
  };
}

function readPoints(value: unknown): PartialPoints {
  const points = members(value, "ask.points", memberNames(partialPoints));
  const increases = increaseRules.find((one) => one === points["increases"]);
  if (increases === undefined) {
    throw invalidField(
      "incompatible_increases",
      "ask.points.increases",
      `ask.points.increases is not known; use ${increaseRules.join(" or ")}`,
    );
  }
  const ms = (name: string): number => whole(points[name], `ask.points.${name}`, { min: 1_000, max: widthMsMax });
  return {
    width_ms: ms("width_ms"),
    ...(points["step_ms"] === undefined ? {} : { step_ms: ms("step_ms") }),
    interval_seconds: number(points["interval_seconds"], "ask.points.interval_seconds", {
      min: 1,
      max: intervalSecondsMax,
    }),
    increases,
  };
}

function readFilters(value: unknown): PartialAsk["filters"] {
  const filters = Object.entries(members(value, "ask.filters", undefined)).map(([name, wanted]) => {
    const field = `ask.filters.${name}`;
    const label: LabelName = readLabel(name, field, "invalid_filter");
    const listed: readonly unknown[] = Array.isArray(wanted) && wanted.length <= filterValuesMax ? wanted : [wanted];
    const values = matchedValues(
      listed.map((one) => (one === "" ? one : text(one, field, "invalid_filter"))),
      field,
    );
    return [label, values.length === 1 ? (values[0] ?? "") : values] as const;
  });
  return Object.fromEntries(filters);
}

function readTimes(value: unknown): PartialTimes {
  const over = members(value, "over", ["start_ms", "count", "time_ms", "from_ms", "to_ms"]);
  const time = (name: string): number => whole(over[name], `over.${name}`, { min: 0, max: timeMsMax });
  switch (Object.keys(over).sort().join()) {
    case "count,start_ms":
      return { start_ms: time("start_ms"), count: whole(over["count"], "over.count", { min: 1, max: pointsMax }) };
    case "time_ms":
      return { time_ms: time("time_ms") };
    case "from_ms,to_ms":
      return { from_ms: time("from_ms"), to_ms: time("to_ms") };
    default:
      throw invalidField(
        "invalid_time",
        "over",
        "over has invalid members; use start_ms and count, or time_ms, or from_ms and to_ms",
      );
  }
}

/** @param known names of the allowed members; undefined allows any */
function members(
  value: unknown,
  field: string,
  known: readonly string[] | undefined,
): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidField("invalid_request", field, `${field} is not a JSON object; send one`);
  const odd = Object.keys(value).find((name) => known?.includes(name) === false);
  if (odd !== undefined)
    throw invalidField("unknown_parameter", shown(odd), `${shown(odd)} is not a member of ${field}; remove it`);
  return value as Readonly<Record<string, unknown>>;
}

function text(value: unknown, field: string, code: ErrorCode = "invalid_request"): string {
  if (typeof value === "string" && value !== "" && value.length <= textLengthMax && value.isWellFormed()) return value;
  throw invalidField(
    code,
    shown(field),
    `${shown(field)} is not valid; use a string of 1 to ${textLengthMax} characters`,
  );
}

/**
 * Parses a list of names. It sorts them and drops duplicates, so that equal partial requests have equal bytes.
 *
 * @param more texts that are no names. @default none is accepted
 */
function texts(value: unknown, field: string, more: readonly string[] = []): readonly string[] {
  if (!Array.isArray(value) || value.length > namesMax)
    throw invalidField("invalid_request", field, `${field} is not valid; use a list of at most ${namesMax} names`);
  return [...new Set(value.map((one) => more.find((other) => other === one) ?? text(one, field)))].sort();
}

interface Bounds {
  readonly min: number;
  readonly max: number;
}

function number(value: unknown, field: string, { min, max }: Bounds): number {
  if (typeof value === "number" && value >= min && value <= max) return value;
  throw invalidField("invalid_request", field, `${field} is not valid; use a number from ${min} to ${max}`);
}

function whole(value: unknown, field: string, bounds: Bounds): number {
  const own = number(value, field, bounds);
  if (Number.isSafeInteger(own)) return own;
  throw invalidField("invalid_request", field, `${field}=${own} is not valid; use an integer`);
}
