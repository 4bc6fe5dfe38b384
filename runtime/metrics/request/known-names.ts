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
 * @param value the first value of the parameter; empty for one that can be personal data
 */
export function adviceOnParameter(name: string, value: string, known: readonly string[], form: FilterForm): string {
  const label = labelNames.find((one) => one === name || one === bracket.exec(name)?.groups?.["label"]);
  if (label !== undefined && known.includes(form(label, "").replace(/=$/u, "")))
    return `write ${form(label, /^[\w.,:/-]{1,60}$/u.test(value) ? value : "VALUE")}`;
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

const shownLengthMax = 80;

/** Makes a caller's text safe for an error: bounded, without control characters and line breaks. */
export function shown(text: string): string {
  const printable = text.replaceAll(/[\p{C}\p{Z}]/gu, " ");
  return printable.length > shownLengthMax ? `${printable.slice(0, shownLengthMax)}…` : printable;
}

// Hints about filter values with commas. A filter has one exact value, so that a list with commas is one name.

/** Most values that a hint writes out. */
const valuesShownMax = 5;

/** How to write several values; undefined for a value without a comma. */
function severalAdvice(label: LabelName, value: string): string | undefined {
  const values = value.split(",").map((one) => one.trim());
  if (values.length < 2) return undefined;
  const written = values.slice(0, valuesShownMax).map((one) => `filter_in[${label}]=${shown(one)}`);
  return `${label}="${shown(value)}" is a single value; for several values write ${written.join("&")}`;
}

/** `"; …"` for an error about the values of a filter, or nothing when none has a comma. */
export function severalHint(label: LabelName, values: readonly string[]): string {
  const advice = values.map((value) => severalAdvice(label, value)).find((one) => one !== undefined);
  return advice === undefined ? "" : `; ${advice}`;
}

/** Hints for a response without series. Empty unless a filter has one value with a comma. */
export function commaHints(filters: ReadonlyMap<LabelName, readonly string[]>): readonly string[] {
  return [...filters].flatMap(([label, values]) =>
    values.flatMap((value) => {
      const advice = severalAdvice(label, value);
      return advice === undefined ? [] : [`no series has this ${label}: ${advice}`];
    }),
  );
}
