// What errors say about names that no route, label or aggregation has.
import { type Aggregation, type LabelName, labelNames } from "../../../crds/config.ts";
import { didYouMean } from "../../errors/near-names.ts";

/** The labels and aggregations that all metrics of a request have, for errors. */
export interface KnownNames {
  /** The metrics, as a sentence names them. */
  readonly of: string;
  readonly labels: readonly LabelName[];
  readonly aggregations: readonly Aggregation[];
}

/** Names that other APIs use, with those of this one. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  start: ["from"],
  begin: ["from"],
  since: ["from"],
  end: ["to"],
  until: ["to"],
  time: ["ts"],
  at: ["ts"],
  by: ["group_by"],
  groupBy: ["group_by"],
  aggregation: ["agg"],
  aggregate: ["agg"],
  interval: ["step"],
  resolution: ["step"],
  window: ["last"],
  range: ["last"],
  duration: ["last"],
  query: ["metric"],
  name: ["metric"],
  match: ["metric"],
  "match[]": ["metric"],
  metrics: ["metric"],
};

const aggregationSynonyms: Readonly<Record<string, Aggregation>> = {
  mean: "avg",
  average: "avg",
  rate: "avg",
  total: "sum",
  increase: "sum",
  minimum: "min",
  maximum: "max",
  median: "p50",
};

/** True for the name of a label. */
export function isLabelName(name: string): boolean {
  return labelNames.some((label) => label === name);
}

/** A form of a filter: how a route writes one label with a value. */
export type FilterForm = (label: string, value: string) => string;

/** `filter[region]=eu`, the form of most routes. */
export const bracketForm: FilterForm = (label, value) => `filter[${label}]=${value}`;

const bracket = /^filter(?:_in)?\[(?<label>[a-z_]+)\]$/u;

/**
 * What to write in the place of an unknown parameter.
 *
 * @param known the parameters of the route
 * @param value the first value of the parameter; a value that can be personal data is left out
 */
export function adviceOnParameter(name: string, value: string, known: readonly string[], form: FilterForm): string {
  const label = labelNames.find((one) => one === name || one === bracket.exec(name)?.groups?.["label"]);
  if (label !== undefined && known.includes(form(label, "").replace(/=$/u, ""))) {
    const isShown = forbiddenValue(value) === undefined && /^[\w.,:/-]{1,60}$/u.test(value);
    return `write ${form(label, isShown ? value : "VALUE")}`;
  }
  const other = (synonyms[name] ?? []).find((one) => known.includes(one));
  if (other !== undefined) return `write ${other}`;
  const near = didYouMean(name, known).trimEnd();
  return near === "" ? "remove it" : near;
}

/** What to write in the place of an unknown label. */
export function adviceOnLabel(name: string, known: KnownNames | undefined): string {
  const labels: readonly string[] = known?.labels ?? labelNames;
  const whose = known === undefined ? "" : ` of ${known.of}`;
  if (labels.length === 0) return `is not a label${whose}, which has none`;
  return `is not a label${whose}; ${didYouMean(name, labels)}use one of ${labels.join(", ")}`;
}

/** What to write in the place of an unknown aggregation. */
export function adviceOnAggregation(name: string, all: readonly Aggregation[], known: KnownNames | undefined): string {
  const own = known?.aggregations ?? all;
  const whose = known === undefined ? "" : ` of ${known.of}`;
  const synonym = aggregationSynonyms[name.toLowerCase()];
  const meant = synonym !== undefined && own.includes(synonym) ? `did you mean ${synonym}? ` : didYouMean(name, own);
  return `is not an aggregation${whose}; ${meant}use one of ${own.join(", ")}`;
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

/** The reason for which a filter value is refused, as a predicate; undefined when the value is allowed. */
export function forbiddenValue(value: string): string | undefined {
  if (value === "") return "is empty; leave the filter out or name a value";
  if (value.length > filterValueLengthMax)
    return `has ${value.length} characters, more than ${filterValueLengthMax}; name a shorter value`;
  if (!value.isWellFormed()) return "is not valid Unicode; encode it as UTF-8";
  if (value.includes("\0")) return "holds a NUL character; remove it";
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
