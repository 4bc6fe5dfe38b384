import { bulkIdLengthMax, bulkQueriesMax } from "../../../api/bulk.ts";
import { ApiError, invalidField } from "../../errors/api-error.ts";
import { resultOrError } from "../../errors/result-or-error.ts";
import { parseJson } from "../../json/json-body.ts";
import { isLabelName, shown } from "./known-names.ts";
import type { Parameters } from "./parameters.ts";

/** Most bytes of a bulk request. Every query may be as long as a URL may be. */
export const bulkBytesMax = 512 * 1024;

/** One query of a bulk, or its own error. */
export interface BulkItem {
  readonly id: string;
  readonly params: Parameters | ApiError;
}

/**
 * Parses the body of a bulk request. Each query becomes the parameters of a URL, so that one parser resolves both.
 * Source: seed "Operational Metrics API" §4.2.
 *
 * @throws ApiError for a body that is no bulk, has too many queries, or repeats an id
 */
export function readBulk(body: Uint8Array): readonly BulkItem[] {
  const value = parseJson(body);
  if (!isObject(value)) throw new ApiError("invalid_request", "the body is not a JSON object; send one");
  const { queries, ...others } = value as { readonly queries?: unknown };
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw invalidField("unknown_parameter", shown(unknown), `${shown(unknown)} is not a member of a bulk; remove it`);
  if (!Array.isArray(queries) || queries.length === 0 || queries.length > bulkQueriesMax) {
    throw invalidField(
      "invalid_request",
      "queries",
      `queries is not valid; use a list of 1 to ${bulkQueriesMax} queries`,
    );
  }
  const items = queries.map(readItem);
  const ids = items.map(({ id }) => id);
  const repeated = ids.find((id, index) => ids.indexOf(id) < index);
  if (repeated === undefined) return items;
  const detail = `queries has the id ${shown(repeated)} twice; use unique ids`;
  throw invalidField("invalid_request", "queries", detail);
}

function readItem(query: unknown, index: number): BulkItem {
  const field = `queries[${index}]`;
  if (!isObject(query)) throw invalidField("invalid_request", field, `${field} is not a JSON object; send one`);
  const { id, ...members } = query as { readonly id?: unknown };
  if (typeof id !== "string" || id === "" || Array.from(id).length > bulkIdLengthMax) {
    const detail = `${field}.id is not valid; use a string of 1 to ${bulkIdLengthMax} characters`;
    throw invalidField("invalid_request", `${field}.id`, detail);
  }
  return { id, params: resultOrError(() => paramsOf(members), ApiError) };
}

function paramsOf(members: object): Parameters {
  return new Map(Object.entries(members).flatMap(([name, value]) => memberParams(name, value)));
}

type Pair = readonly [name: string, values: readonly string[]];

/** Converts one member. Only filters have members of their own; lists are repeated or joined as in a URL. */
function memberParams(name: string, value: unknown): readonly Pair[] {
  if (!/^[a-z_]+$/u.test(name))
    throw invalidField("unknown_parameter", shown(name), `${shown(name)} is not a parameter; remove it`);
  if (name === "filter") return filterParams(value);
  if (name === "filter_in") return filterInParams(value);
  if (isLabelName(name))
    throw invalidField("unknown_parameter", name, `${name} is not a member of a query; move it into filter`);
  if (isTextList(value)) return listParams(name, value);
  if (isScalar(value)) return [[name, [String(value)]]];
  throw wrongType(name);
}

function listParams(name: string, values: readonly string[]): readonly Pair[] {
  if (name === "metric") return [[name, values]];
  if (name === "group_by") return values.length === 0 ? [] : [[name, [joined(values)]]];
  throw wrongType(name);
}

function wrongType(name: string): ApiError {
  return invalidField("invalid_request", name, `${name} has a value of the wrong type; see the OpenAPI document`);
}

function filterParams(value: unknown): readonly Pair[] {
  if (!isObject(value) || Array.isArray(value))
    throw invalidField("invalid_filter", "filter", "filter is not valid; use an object that maps labels to values");
  return Object.entries(value).map(([label, wanted]): Pair => {
    const name = `filter[${label}]`;
    if (typeof wanted === "string") return [name, [wanted]];
    const advice = isTextList(wanted) ? "use filter_in for several values" : "use a text";
    throw invalidField("invalid_filter", shown(name), `${shown(name)} is not valid; ${advice}`);
  });
}

function filterInParams(value: unknown): readonly Pair[] {
  if (!isObject(value) || Array.isArray(value)) {
    throw invalidField(
      "invalid_filter",
      "filter_in",
      "filter_in is not valid; use an object that maps labels to lists of values",
    );
  }
  return Object.entries(value).map(([label, wanted]): Pair => {
    const name = `filter_in[${label}]`;
    if (isTextList(wanted) && wanted.length > 0) return [name, wanted];
    throw invalidField("invalid_filter", shown(name), `${shown(name)} is not valid; use a list of strings`);
  });
}

function joined(labels: readonly string[]): string {
  const odd = labels.find((label) => label.includes(","));
  if (odd !== undefined) throw invalidField("invalid_group_by", "group_by", `${shown(odd)} is not a label; remove it`);
  return labels.join(",");
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
