// Values of the parameters of a metrics request: how they are parsed, which are rejected. The catalog and the caller's
// rights are checked elsewhere.
import { filterValuesMax, metricsMax, seriesMax, seriesPagesMax, textLengthMax } from "../../../api/queries.ts";
import { type LabelName, labelNames } from "../../../crds/config.ts";
import { invalidField } from "../../errors/api-error.ts";
import type { ErrorCode } from "../../errors/table.ts";
import {
  adviceOnLabel,
  adviceOnParameter,
  bracketForm,
  type FilterForm,
  type KnownNames,
  shown,
} from "./known-names.ts";

/** Decoded query parameters: every name with its values in the order of the URL. */
export type Parameters = ReadonlyMap<string, readonly string[]>;

/** Limits on the parameters of one query. */
export const queryLimits = {
  metricsMax,
  seriesMax,
  filterValuesMax,
  seriesPagesMax,
  /** Characters of all values of all filters. */
  filterTextMax: 8_000,
} as const;

/**
 * The values that each label may have: sorted, without duplicates. The tenant has one. The empty value is that of
 * series without the label, and an empty list is any value but that one; only PromQL writes these two.
 */
export type Filters = ReadonlyMap<LabelName, readonly string[]>;

/**
 * Rejects the first unknown parameter.
 *
 * @param known names for the advice. @default no name is advised
 * @param form how the route writes a filter. @default `filter[region]=eu`
 * @throws ApiError `unknown_parameter` that names it
 */
export function rejectUnknown(
  params: Parameters,
  isKnown: (name: string) => boolean,
  known: readonly string[] = [],
  form: FilterForm = bracketForm,
): void {
  const unknown = params.keys().find((name) => !isKnown(name));
  if (unknown === undefined) return;
  const [value = ""] = params.get(unknown) ?? [];
  const advice = adviceOnParameter(unknown, forbiddenValue(value) === undefined ? value : "", known, form);
  const name = shown(unknown);
  throw invalidField("unknown_parameter", name, `${name} is not a parameter of this route; ${advice}`);
}

/** The value of a parameter; undefined without one. @throws ApiError when it is repeated, empty or too long */
export function readOne(params: Parameters, name: string, code: ErrorCode = "invalid_request"): string | undefined {
  const values = params.get(name) ?? [];
  if (values.length > 1) throw invalidField(code, name, `${shown(name)} is given ${values.length} times; send it once`);
  requireLength(values[0], name, code);
  return values[0];
}

/**
 * The values of a repeatable parameter; undefined without any.
 *
 * @param longest characters of a value. @default those of a name
 * @throws ApiError for too many values, and for an empty or too long one
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
    throw invalidField(
      "invalid_request",
      name,
      `${name} is given ${values.length} times; send it at most ${most} times`,
    );
  }
  for (const value of values) requireLength(value, name, "invalid_request", longest);
  return values;
}

/** @throws ApiError for an empty and for a too long text */
export function requireLength(
  text: string | undefined,
  name: string,
  code: ErrorCode,
  longest: number = textLengthMax,
): void {
  if (text === "") throw invalidField(code, name, `${shown(name)} is empty; set a value or remove it`);
  if (text === undefined || Array.from(text).length <= longest) return;
  throw invalidField(code, shown(name), `${shown(name)} has ${text.length} characters; the limit is ${longest}`);
}

/** The value of a parameter with a closed list of words; undefined without one. @throws ApiError that lists them */
export function readWord<Word extends string>(
  params: Parameters,
  name: string,
  words: readonly Word[],
  code: ErrorCode = "invalid_request",
): Word | undefined {
  const text = readOne(params, name, code);
  const word = words.find((candidate) => candidate === text);
  if (text !== undefined && word === undefined)
    throw invalidField(code, name, `${name}=${shown(text)} is not known; use one of ${words.join(", ")}`);
  return word;
}

/**
 * Checks the values of one filter and brings them into their one form: sorted, without duplicates.
 *
 * @throws ApiError `invalid_filter` that names the field
 */
export function filterValues(values: readonly string[], field: string): readonly string[] {
  // The message leaves out the value, because it can be personal data.
  const fault = values.map(forbiddenValue).find((one) => one !== undefined);
  if (fault !== undefined) throw invalidField("invalid_filter", field, `the value of ${field} ${fault}`);
  const distinct = [...new Set(values)].sort();
  if (distinct.length > 0 && distinct.length <= queryLimits.filterValuesMax) return distinct;
  const detail = `${field} has ${distinct.length} values; give it 1 to ${queryLimits.filterValuesMax}`;
  throw invalidField("invalid_filter", field, detail);
}

const labelsByName: ReadonlyMap<string, LabelName> = new Map(labelNames.map((label) => [label, label]));

/**
 * Checks a label of the closed list.
 *
 * @param known the labels that an error lists. @default all of them
 * @throws ApiError `forbidden_label`, or `code` for a name that is not a label
 */
export function readLabel(
  name: string,
  field: string,
  code: ErrorCode,
  known: () => KnownNames | undefined = () => undefined,
): LabelName {
  if (isForbiddenLabel(name)) {
    throw invalidField(
      "forbidden_label",
      shown(field),
      `the label ${shown(name)} is forbidden because it is personal data; remove it`,
    );
  }
  const label = labelsByName.get(name);
  if (label === undefined) throw invalidField(code, shown(field), `${shown(name)} ${adviceOnLabel(name, known())}`);
  return label;
}

/** Labels of the isolation, which every metric can be filtered by. Source: seed "Operational Metrics API" §1. */
export const isolationLabels: readonly LabelName[] = ["tenant", "region", "environment"];

/**
 * The filters as identities and partial requests to peers hold them: the value itself where there is one, else the
 * list. A filter with one value keeps the form that it had before filters could have several.
 */
export function writtenFilters(filters: Filters): readonly (readonly [LabelName, string | readonly string[]])[] {
  return filters
    .entries()
    .map(([label, values]) => [label, values.length === 1 ? (values[0] ?? "") : values] as const)
    .toArray();
}

/**
 * Labels and filter values that no request may name, because they are personal data. Source: seed "Operational Metrics
 * API" §2.3.
 */

/** Persons and sessions in any spelling, compared without case and without `_`, `-`, `.` and spaces. */
const forbiddenNames = /^(?:raw)?(?:user|player|customer|client|session)(?:s|id|ids|uuid|key|name|number|no)?$/u;
/** Cards and documents: every name with such a prefix. */
const forbiddenPrefixes =
  /^(?:raw|full|bank|credit|debit|payment|identity|id)?(?:card|pan$|document|doc(?:id|no|num)|passport)/u;

const filterValueLengthMax = 200;
const cardDigitsMin = 12;
const cardDigitsMax = 19;

/** True for a label name that the seed forbids, in any spelling. */
export function isForbiddenLabel(name: string): boolean {
  const bare = name
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
  return forbiddenNames.test(bare) || forbiddenPrefixes.test(bare);
}

/** The reason for which a filter value is rejected, as a predicate; undefined when the value is allowed. */
export function forbiddenValue(value: string): string | undefined {
  if (value === "") return "is empty; remove the filter or add a value";
  if (value.length > filterValueLengthMax)
    return `has ${value.length} characters, more than ${filterValueLengthMax}; use a shorter value`;
  if (!value.isWellFormed()) return "is not valid Unicode; encode it as UTF-8";
  if (value.includes("\0")) return "contains a NUL character; remove it";
  if (looksLikeCard(value)) return "looks like a card number; filter by data that is not personal";
  return looksLikeDocument(value) ? "looks like a document number; filter by data that is not personal" : undefined;
}

/**
 * Recognizes document numbers of a known form: passports (one or two letters, six to nine digits), IBANs (check digits
 * of ISO 7064), social security numbers in groups, and the Brazilian CPF.
 */
function looksLikeDocument(value: string): boolean {
  const bare = value.normalize("NFKC").trim();
  if (/^[A-Z]{1,2}\d{6,9}$/u.test(bare) || /^\d{3}-\d{2}-\d{4}$/u.test(bare)) return true;
  return isCpf(bare) || isIban(bare.replaceAll(" ", "").toUpperCase());
}

function isIban(text: string): boolean {
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/u.test(text)) return false;
  const digits = Array.from(text.slice(4) + text.slice(0, 4), (character) => Number.parseInt(character, 36)).join("");
  return BigInt(digits) % 97n === 1n;
}

function isCpf(text: string): boolean {
  if (!/^(?:\d{11}|\d{3}\.\d{3}\.\d{3}-\d{2})$/u.test(text)) return false;
  const digits = Array.from(text.replaceAll(/\D/gu, ""), Number);
  if (digits.every((digit) => digit === digits[0])) return false;
  const check = (length: number): number => {
    const sum = digits.slice(0, length).reduce((total, digit, place) => total + digit * (length + 1 - place), 0);
    return ((sum * 10) % 11) % 10;
  };
  return check(9) === digits[9] && check(10) === digits[10];
}

/** True when a run of 12 to 19 digits, alone or in groups, passes the check of ISO/IEC 7812-1. */
function looksLikeCard(value: string): boolean {
  const runs = value.normalize("NFKC").match(/\d(?:[\s.\-_]?\d)*/gu) ?? [];
  return runs.map((run) => run.replaceAll(/\D/gu, "")).some(isCardNumber);
}

function isCardNumber(digits: string): boolean {
  if (digits.length < cardDigitsMin || digits.length > cardDigitsMax || /^0+$/u.test(digits)) return false;
  const sum = Array.from(digits)
    .reverse()
    .reduce((total, digit, position) => {
      const doubled = Number(digit) * (position % 2 === 0 ? 1 : 2);
      return total + (doubled > 9 ? doubled - 9 : doubled);
    }, 0);
  return sum % 10 === 0;
}
