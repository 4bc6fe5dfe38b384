import type { ResourceOrigin, SourceConfig } from "../../../crds/config.ts";
import type { CatalogCheck, CheckStatus, ConfigzObserved } from "../../../crds/configz.ts";
import { type ObservedReason, reasons } from "../../../crds/reasons.ts";
import { forbiddenValue } from "../request/parameters.ts";
import { countedIntervals, type FactStep, type MetricFacts } from "./metric-facts.ts";
import { type MetricInStore, partsOf, storedLabels } from "./metric-in-store.ts";

/** What is checked of a metric in a store. */
export const checkNames = ["forbidden", "series", "kind", "labels", "interval", "bounds", "values"] as const;
export type CheckName = (typeof checkNames)[number];

/** The result of one check of a metric in a store. */
export interface CheckResult {
  readonly check: CheckName;
  readonly status: CheckStatus;
  /** A sentence without a full stop; empty for `True`. It contains no values of labels. */
  readonly message: string;
}

/** Requests in a row for one kind of facts that failed. */
export interface StepFault {
  readonly count: number;
}

/** The facts of a metric in a store. */
export interface KnownFacts {
  readonly facts: MetricFacts;
  readonly faults: ReadonlyMap<FactStep, StepFault>;
}

/** Share of the expected samples below which an interval does not fit. */
const samplesShareMin = 0.6;
/** Resets in the same range beyond which a series is no counter. */
const resetsMax = 4;
/** Suffixes of series that only increase. */
const counterSuffix = /_(?:total|bucket)$/u;

const stepOf: Readonly<Record<CheckName, FactStep>> = {
  forbidden: "values",
  series: "samples",
  kind: "type",
  labels: "values",
  interval: "samples",
  bounds: "samples",
  values: "values",
};

const noResponse = "the store does not respond";

/**
 * Decides all checks of a metric in a store. A store that does not respond has `Unknown`, never `False`; what was right
 * before stays so for one failed request.
 */
export function decideChecks(pair: MetricInStore, { facts, faults }: KnownFacts): readonly CheckResult[] {
  return checkNames.map((check): CheckResult => {
    const step = stepOf[check];
    const failed = failuresOf(step, faults);
    if (facts[step] === undefined) return unknown(check, failed > 0 ? noResponse : "not read yet");
    const message = deciders[check](pair, facts);
    const isKnown = message === "" ? failed < 2 : failed === 0;
    if (!isKnown) return unknown(check, noResponse);
    return { check, status: message === "" ? "True" : "False", message };
  });
}

const unknown = (check: CheckName, message: string): CheckResult => ({ check, status: "Unknown", message });

/** Values are not read without the names of labels. */
function failuresOf(step: FactStep, faults: KnownFacts["faults"]): number {
  const before = step === "values" ? faults.get("labels")?.count : undefined;
  return faults.get(step)?.count ?? before ?? 0;
}

/** Each decider returns what is wrong; empty if nothing is. */
const deciders: Readonly<Record<CheckName, (pair: MetricInStore, facts: MetricFacts) => string>> = {
  forbidden(_pair, { values }) {
    const names = countedNames(values?.counts, "forbidden");
    return names.length === 0 ? "" : `the series have the forbidden label ${names.join(", ")}`;
  },
  series({ entry }, { samples }) {
    const missing = partsOf(entry.metric).filter(({ name }) => !((samples?.get(`series ${name}`) ?? 0) > 0));
    const texts = missing.map(({ selector }) => selector.name);
    return texts.length === 0 ? "" : `no series ${[...new Set(texts)].join(" and ")} with these matchers`;
  },
  kind: (pair, facts) => wrongKind(pair, facts),
  labels(pair, { samples, values }) {
    if (!hasSeries(pair, samples)) return "";
    const missing = [...storedLabels(pair)].filter(([, stored]) => !isCounted(values?.counts, stored));
    const texts = missing.map(([label, stored]) => (label === stored ? label : `${label} (${stored})`));
    return texts.length === 0 ? "" : `no series has the label ${texts.join(", ")}`;
  },
  interval({ entry, store }, { samples }) {
    const counts = partsOf(entry.metric).flatMap(({ name }) => samples?.get(`samples ${name}`) ?? []);
    const fewest = Math.min(...counts);
    if (counts.length === 0 || fewest >= samplesShareMin * countedIntervals) return "";
    const seconds = Math.round((countedIntervals * store.intervalSeconds) / Math.max(fewest, 1));
    return `samples come about every ${seconds} s, but intervalSeconds is ${store.intervalSeconds}`;
  },
  bounds({ entry }, { samples }) {
    const missing = entry.slos.filter(({ name }) => (samples?.get(`bound ${name}`) ?? 1) < 1);
    const texts = missing.map(({ name, threshold }) => `${threshold} of the objective ${name}`);
    return texts.length === 0 ? "" : `not all series have the bucket ${texts.join(", ")}`;
  },
  values(pair, { values }) {
    const isPersonal = (stored: string): boolean =>
      (values?.suspects.get(stored) ?? []).some((value) => forbiddenValue(value)?.startsWith("looks like") === true);
    const labels = [...storedLabels(pair)].filter(([, stored]) => isPersonal(stored)).map(([label]) => label);
    return labels.length === 0
      ? ""
      : `the label ${labels.join(", ")} has values that look like numbers of cards or documents`;
  },
};

function hasSeries({ entry }: MetricInStore, samples: MetricFacts["samples"]): boolean {
  return partsOf(entry.metric).some(({ name }) => (samples?.get(`series ${name}`) ?? 0) > 0);
}

/** Names of live labels, once for all parts of a metric. */
function countedNames(counts: ReadonlyMap<string, number> | undefined, kind: "forbidden"): readonly string[] {
  const names = [...(counts ?? [])].flatMap(([fact, count]) => {
    const [own, name = ""] = fact.split(" ");
    return own === kind && count > 0 ? name : [];
  });
  return [...new Set(names)].sort();
}

function isCounted(counts: ReadonlyMap<string, number> | undefined, stored: string): boolean {
  return [...(counts ?? [])].some(([fact, count]) => fact.startsWith(`label ${stored} `) && count > 0);
}

const unknownTypes: readonly string[] = ["unknown", "untyped"];
/** Types of the metadata that a source can have. Counts and sums of a distribution are counters. */
const typesOf: Readonly<Record<SourceConfig["kind"], readonly string[]>> = {
  gauge: ["gauge"],
  counter: ["counter", "histogram", "summary"],
  ratio: ["counter", "histogram", "summary"],
  histogram: ["histogram"],
};

/** By the metadata of the store; without any, by names and by what the samples do. */
function wrongKind({ entry }: MetricInStore, { type, samples }: MetricFacts): string {
  const { source } = entry.metric;
  if (isNative(source) && samples?.has("series series") === true && !samples.has("native"))
    return "the samples are no native histograms";
  const known = [...(type?.values() ?? [])]
    .map((found) => found.filter((one) => !unknownTypes.includes(one)))
    .filter((found) => found.length > 0);
  const other = known.find((found) => !found.some((one) => typesOf[source.kind].includes(one)));
  if (other !== undefined) return `the store has a ${other[0] ?? ""}, but the source is a ${source.kind}`;
  return known.length > 0 ? "" : wrongShape(source, samples);
}

function isNative(source: SourceConfig): boolean {
  return source.kind === "histogram" && source.type === "Native";
}

function wrongShape(source: SourceConfig, samples: MetricFacts["samples"]): string {
  if (source.kind === "gauge" && counterSuffix.test(source.name)) return `${source.name} is the name of a counter`;
  const falls = [...(samples ?? [])].some(([fact, count]) => fact.startsWith("resets ") && count > resetsMax);
  return falls ? "the values fall too often for a counter" : "";
}

/** The checks of a metric in one store as one result. */
export interface StoreResult extends Omit<CatalogCheck, "metric"> {
  /** Name of the store in its catalog. */
  readonly store: string;
}

/** The checks of a metric in one store as one result: what differs, else what is unknown. */
export function storeResult(store: string, results: readonly CheckResult[]): StoreResult {
  const status = worstOf(results);
  const found = results.filter((one) => one.status === status && status !== "True");
  const check = status === "False" ? found[0]?.check : undefined;
  const message = [...new Set(found.map((one) => one.message))].join("; ");
  return { store, status, ...(check === undefined ? {} : { check }), message };
}

/** The results of a metric in all of its stores as one. */
export function metricCheck(id: string, stores: readonly StoreResult[]): CatalogCheck {
  const compared = stores.filter(({ status }) => status !== "NotChecked");
  if (compared.length === 0)
    return { metric: id, status: "NotChecked", message: "no store of the metric can be checked from here" };
  const status = worstOf(compared);
  if (status === "True") return { metric: id, status, message: "" };
  const found = compared.filter((one) => one.status === status);
  const check = found[0]?.check;
  return {
    metric: id,
    status,
    ...(check === undefined ? {} : { check }),
    message: found.map(({ store, message }) => `${store}: ${message}`).join(". "),
  };
}

function worstOf(all: readonly { readonly status: CheckStatus }[]): "True" | "False" | "Unknown" {
  return (["False", "Unknown"] as const).find((status) => all.some((one) => one.status === status)) ?? "True";
}

const textMax = 200;

/** The result of a catalog, of which `metrics` has those that are not `True`. */
export function observedOf(catalog: ResourceOrigin, checks: readonly CatalogCheck[]): ConfigzObserved {
  const { namespace, name, uid, generation } = catalog;
  const others = checks.filter(({ status }) => status !== "True");
  const reason = reasonOf(checks);
  const { status, meaning } = reasons.Observed[reason];
  const atFault = others
    .filter((one) => one.status === status)
    .toSorted((one, other) => Number(other.check === "forbidden") - Number(one.check === "forbidden"));
  const more = atFault.length > 1 ? ` ${atFault.length - 1} more of ${checks.length} metrics are alike.` : "";
  const first = atFault[0];
  const message = first === undefined ? meaning : `${first.metric}: ${first.message}.${more}`;
  const metrics = others.map((one) => ({ ...one, message: one.message.slice(0, textMax) }));
  return { kind: "MetricCatalog", namespace, name, uid, generation, status, reason, message, metrics };
}

function reasonOf(checks: readonly CatalogCheck[]): ObservedReason {
  if (checks.some(({ check }) => check === "forbidden")) return "ForbiddenLabel";
  if (checks.some(({ status }) => status === "False")) return "Mismatch";
  if (checks.some(({ status }) => status === "Unknown")) return "StoreUnavailable";
  return checks.some(({ status }) => status === "True") ? "MatchesStores" : "NotChecked";
}
