// Values of the parameters of a metrics request: how they are parsed, which are refused. The catalog and the caller's
// rights are checked elsewhere.
import { filterValuesMax, textLengthMax } from "../../../api/queries.ts";
import { type LabelName, labelNames } from "../../../crds/config.ts";
import { refuseField } from "../../errors/refusal.ts";
import type { ErrorCode } from "../../errors/table.ts";
import {
  adviceOnLabel,
  adviceOnParameter,
  bracketForm,
  type FilterForm,
  forbiddenValue,
  isForbiddenLabel,
  type KnownNames,
} from "./known-names.ts";
import { parseTime } from "./time.ts";

/** Decoded query parameters: every name with its values in the order of the URL. */
export type Parameters = ReadonlyMap<string, readonly string[]>;

/** Most metrics of one look-up of labels. */
export const lookUpMetricsMax = 10;
/** Most characters of all values of all filters. */
export const filterTextMax = 8_000;
const shownLengthMax = 80;

/**
 * The values that each label may have: sorted, without duplicates. The tenant has one. The empty value is that of
 * series without the label, and an empty list is any value but that one; only PromQL writes these two.
 */
export type Filters = ReadonlyMap<LabelName, readonly string[]>;

/**
 * Refuses the first unknown parameter.
 *
 * @param known names for the advice. @default no name is advised
 * @param form how the route writes a filter. @default `filter[region]=eu`
 * @throws Refusal `unknown_parameter` that names it
 */
export function refuseUnknown(
  params: Parameters,
  isKnown: (name: string) => boolean,
  known: readonly string[] = [],
  form: FilterForm = bracketForm,
): void {
  const unknown = params.keys().find((name) => !isKnown(name));
  if (unknown === undefined) return;
  const advice = adviceOnParameter(unknown, params.get(unknown)?.[0] ?? "", known, form);
  throw refuseField(
    "unknown_parameter",
    shown(unknown),
    `${shown(unknown)} is not a parameter of this route; ${advice}`,
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
 * @param longest characters of a value. @default those of a name
 * @throws Refusal for too many values, and for an empty or too long one
 */
export function readMany(
  params: Parameters,
  name: string,
  most: number,
  longest: number = textLengthMax,
): readonly string[] | undefined {
  const values = params.get(name);
  if (values === undefined) return undefined;
  if (values.length > most) {
    throw refuseField(
      "invalid_request",
      name,
      `${name} is given ${values.length} times; give it at most ${most} times`,
    );
  }
  for (const value of values) requireLength(value, name, "invalid_request", longest);
  return values;
}

/** @throws Refusal for an empty and for a too long text */
export function requireLength(
  text: string | undefined,
  name: string,
  code: ErrorCode,
  longest: number = textLengthMax,
): void {
  if (text === "") throw refuseField(code, name, `${shown(name)} is empty; give it a value or leave it out`);
  if (text === undefined || Array.from(text).length <= longest) return;
  throw refuseField(code, shown(name), `${shown(name)} has ${text.length} characters; it may have at most ${longest}`);
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

/** Checks the values of a matcher of PromQL like {@link filterValues}, but allows none of them and the empty one. */
export function matchedValues(values: readonly string[], field: string): readonly string[] {
  const named = values.filter((value) => value !== "");
  if (named.length === 0) return values.slice(0, 1);
  return [...(named.length < values.length ? [""] : []), ...filterValues(named, field)];
}

/**
 * Checks a label of the closed list.
 *
 * @param known the labels that an error lists. @default all of them
 * @throws Refusal `forbidden_label`, or `code` for a name that is not a label
 */
export function readLabel(
  name: string,
  field: string,
  code: ErrorCode,
  known: () => KnownNames | undefined = () => undefined,
): LabelName {
  if (isForbiddenLabel(name)) {
    throw refuseField(
      "forbidden_label",
      shown(field),
      `the label ${shown(name)} is personal data and forbidden; remove it`,
    );
  }
  const label = labelNames.find((candidate) => candidate === name);
  if (label === undefined) {
    throw refuseField(code, shown(field), `${shown(name)} ${adviceOnLabel(name, known())}`);
  }
  return label;
}

/** Parses an absolute time in UTC into Unix milliseconds; undefined without one. @throws Refusal `invalid_time` */
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

/** Parses a whole number from 1; undefined without one. @throws Refusal `invalid_limit`, `invalid_page` */
export function readCount(params: Parameters, name: "limit" | "page", max: number): number | undefined {
  const code = name === "limit" ? "invalid_limit" : "invalid_page";
  const text = readOne(params, name, code);
  if (text === undefined) return undefined;
  const count = /^[1-9]\d{0,8}$/u.test(text) ? Number(text) : Number.NaN;
  if (count <= max) return count;
  throw refuseField(code, name, `${name}=${shown(text)} is not valid; use a whole number from 1 to ${max}`);
}

// Hints about filter values with commas. A filter has one exact value, so that a list with commas is one name.

/** Most values that a hint writes out. */
const valuesShownMax = 5;

/** How to write several values; undefined for a value without a comma. */
function severalAdvice(label: LabelName, value: string): string | undefined {
  const values = value.split(",").map((one) => one.trim());
  if (values.length < 2) return undefined;
  const written = values.slice(0, valuesShownMax).map((one) => `filter_in[${label}]=${shown(one)}`);
  return `${label}="${shown(value)}" is one value; for several write ${written.join("&")}`;
}

/** `"; …"` for an error about the values of a filter, or nothing when none has a comma. */
export function severalHint(label: LabelName, values: readonly string[]): string {
  const advice = values.map((value) => severalAdvice(label, value)).find((one) => one !== undefined);
  return advice === undefined ? "" : `; ${advice}`;
}

/** Hints for a response without series. Empty unless a filter has one value with a comma. */
export function commaHints(filters: Filters): readonly string[] {
  return [...filters].flatMap(([label, values]) =>
    values.flatMap((value) => {
      const advice = severalAdvice(label, value);
      return advice === undefined ? [] : [`no series has this ${label}: ${advice}`];
    }),
  );
}
