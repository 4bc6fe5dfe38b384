// The catalog against its stores: what the stores contain of each metric, and whether it is as declared. It reads no
// values of metrics, and no query waits for it.
import type { MetricConfig, SeriesConfig, SloConfig } from "../../../crds/config.ts";
import { decodeVector } from "../../stores/prometheus/matrix.ts";
import type { RangeBoundary } from "../../stores/prometheus/probe-store.ts";
import type { ApiResponse } from "../../stores/prometheus/api-response.ts";
import { StoreError } from "../../stores/store-error.ts";
import { coverageOf } from "../promql/event-recipes.ts";
import {
  fixedMatcher,
  type Matcher,
  oneOf,
  printName,
  printSelector,
  printVector,
  type Selector,
} from "../promql/promql.ts";
import { isForbiddenLabel } from "../request/parameters.ts";
import { labelledParts, type MetricInStore, partsOf, storedLabels } from "./metric-in-store.ts";

/** The requests about a metric in a store, in order: names of labels come before their values. */
export const factSteps = ["samples", "type", "labels", "values"] as const;
export type FactStep = (typeof factSteps)[number];

/** What a store contains of a metric. Numbers have names such as `series denominator`. */
export interface MetricFacts {
  readonly samples?: ReadonlyMap<string, number>;
  /** Types of the metadata by name; empty if the store has none. */
  readonly type?: ReadonlyMap<string, readonly string[]>;
  readonly labels?: readonly string[];
  readonly values?: ValueFacts;
}

interface ValueFacts {
  /** Live series by `label NAME` and `forbidden NAME`, with the names of the store. */
  readonly counts: ReadonlyMap<string, number>;
  /** Values by label that may be personal data. They are never shown. */
  readonly suspects: ReadonlyMap<string, readonly string[]>;
}

/** Requests to one store. Each rejects with an error of the store. */
export interface BackgroundReads {
  readonly post: (path: string, form: Readonly<Record<string, string>>) => Promise<ApiResponse>;
  readonly get: (path: string, form: Readonly<Record<string, string>>) => Promise<ApiResponse>;
  readonly boundary: RangeBoundary;
}

/** Intervals in which a series without a sample is still live. */
const liveIntervals = 4;
/** Time after which a series without a sample is no longer live, at least: below the usual look-back of stores. */
const liveMsMin = 240_000;
/** Look-back of instant queries, as stores have it by default. */
const lookbackMs = 300_000;
/** Intervals over which samples are counted. */
export const countedIntervals = 20;
/** Forbidden names of labels of one query, and suspect values of each label. */
const forbiddenMax = 10;
const suspectsMax = 50;
/** Metadata entries of one name: one for each different text of the targets. */
const metadataMax = 10;

/** Numbers that an RE2 expression can find; the same code as for filters then decides. */
const suspectPattern = String.raw`.*([0-9][ .-]?){9,}.*|[A-Z]{1,2}[0-9]{6,9}|[A-Z]{2}[0-9]{2}.*`;

/** Reads one kind of facts. @throws StoreError */
export async function readFacts(
  step: FactStep,
  pair: MetricInStore,
  facts: MetricFacts,
  reads: BackgroundReads,
  nowMs: number,
): Promise<MetricFacts> {
  switch (step) {
    case "samples":
      return { ...facts, samples: await readSamples(pair, reads, nowMs) };
    case "type":
      return { ...facts, type: await readTypes(pair.entry, facts.type ?? new Map(), reads) };
    case "labels":
      return { ...facts, labels: await readLabels(pair, reads, nowMs) };
    case "values":
      return { ...facts, values: await readValues(pair, facts.labels ?? [], reads, nowMs) };
  }
}

/** The time of queries: now, or the age at which samples of a slow store are there. */
function timeOf({ store }: MetricInStore, nowMs: number): number {
  const settleMs = store.config.settleSeconds * 1_000;
  return nowMs - (settleMs > lookbackMs ? settleMs : 0);
}

function liveMs({ store }: MetricInStore): number {
  return Math.max(liveMsMin, liveIntervals * store.intervalSeconds * 1_000);
}

/** The live series: cheap where the look-back of an instant query is long enough. */
function live(selector: Selector, pair: MetricInStore): string {
  const text = printSelector(selector);
  return liveMs(pair) < lookbackMs ? text : `count_over_time(${text}[${liveMs(pair)}ms])`;
}

/** Names a number of a query with several. */
function named(name: string, term: string): string {
  return `label_replace(${term}, "fact", ${JSON.stringify(name.replaceAll("$", "$$$$"))}, "", "")`;
}

async function readSamples(pair: MetricInStore, reads: BackgroundReads, nowMs: number) {
  const { entry, store } = pair;
  const { source } = entry.metric;
  const rangeMs = countedIntervals * store.intervalSeconds * 1_000;
  const isCounter = source.kind === "counter" || source.kind === "ratio";
  const parts = partsOf(entry.metric).flatMap(({ name, selector }) => {
    const text = printSelector(selector);
    // Series that are younger than the range have fewer samples.
    const older = `count_over_time(${text}[${liveMs(pair)}ms] offset ${rangeMs}ms)`;
    return [
      named(`series ${name}`, `count(${live(selector, pair)})`),
      named(`samples ${name}`, `quantile(0.5, count_over_time(${text}[${rangeMs}ms]) and ${older})`),
      ...(isCounter ? [named(`resets ${name}`, `quantile(0.5, resets(${text}[${rangeMs}ms]) and ${older})`)] : []),
    ];
  });
  const [first] = partsOf(entry.metric);
  const native =
    source.kind === "histogram" && source.type === "Native" && first !== undefined
      ? [named("native", `count(histogram_count(${printSelector(first.selector)}))`)]
      : [];
  const bounds = entry.slos.flatMap((slo) => boundQuery(pair, slo, reads.boundary));
  return numbersOf(await query([...parts, ...native, ...bounds], reads, timeOf(pair, nowMs)));
}

/** The share of samples with the bucket of the threshold of an objective. */
function boundQuery({ entry, store }: MetricInStore, slo: SloConfig, boundary: RangeBoundary): readonly string[] {
  const { source } = entry.metric;
  if (slo.threshold === undefined || source.kind !== "histogram" || source.type === "Native") return [];
  const scope = {
    by: [],
    rangeMs: countedIntervals * store.intervalSeconds * 1_000,
    select: (series: SeriesConfig, suffix = "") => ({
      name: `${series.name}${suffix}`,
      matchers: series.matchers.map(fixedMatcher),
    }),
  };
  const { part, whole } = coverageOf(entry.metric, slo.threshold, scope);
  const share = `(${printVector(part, boundary)} or vector(0)) / ${printVector(whole, boundary)}`;
  return [named(`bound ${slo.name}`, share)];
}

async function query(terms: readonly string[], reads: BackgroundReads, timeMs: number) {
  const form = { query: terms.join(" or "), time: (timeMs / 1_000).toFixed(3) };
  return decodeVector((await reads.post("query", form)).data);
}

type Samples = ReturnType<typeof decodeVector>;

function numbersOf(samples: Samples): ReadonlyMap<string, number> {
  return new Map(samples.map(({ labels, value }) => [labels["fact"] ?? "", value]));
}

/** Names of which metadata is read. That of a ratio has two, which take turns. */
function familyNames({ source }: MetricConfig): readonly string[] {
  const series = source.kind === "ratio" ? [source.numerator, source.denominator] : [source];
  return [...new Set(series.map(({ name }) => name))];
}

async function readTypes(
  { metric }: MetricInStore["entry"],
  known: NonNullable<MetricFacts["type"]>,
  reads: BackgroundReads,
): Promise<NonNullable<MetricFacts["type"]>> {
  const names = familyNames(metric);
  // The one that was read first is the oldest.
  const name = names.find((one) => !known.has(one)) ?? [...known.keys()].find((one) => names.includes(one)) ?? "";
  const { data } = await reads.get("metadata", { metric: name, limit: String(metadataMax) });
  if (typeof data !== "object" || data === null) throw new StoreError("malformed", "the metadata are no object");
  const entries = (data as Readonly<Record<string, unknown>>)[name];
  const types = (Array.isArray(entries) ? entries : []).map((entry) => {
    return String((entry as { readonly type?: unknown } | null)?.type);
  });
  const others = [...known].filter(([one]) => one !== name);
  return new Map([...others, [name, [...new Set(types)].slice(0, metadataMax).sort()]]);
}

async function readLabels(pair: MetricInStore, reads: BackgroundReads, nowMs: number): Promise<readonly string[]> {
  const endMs = timeOf(pair, nowMs);
  // A form has one value for each name, so that the series of a ratio are one selector.
  const form = {
    "match[]": unionOf(labelledParts(pair.entry).map(({ selector }) => selector)),
    start: ((endMs - liveMs(pair)) / 1_000).toFixed(3),
    end: (endMs / 1_000).toFixed(3),
  };
  const { data } = await reads.post("labels", form);
  if (!Array.isArray(data)) throw new StoreError("malformed", "the labels are no list");
  return data.filter((name): name is string => typeof name === "string");
}

/** One selector of all series, with the matchers that all of them have. It may have more series. */
function unionOf(selectors: readonly Selector[]): string {
  const [first, ...others] = selectors;
  if (first === undefined) return "{}";
  const isShared = (matcher: Matcher): boolean =>
    others.every(({ matchers }) => matchers.some((one) => JSON.stringify(one) === JSON.stringify(matcher)));
  const matchers = first.matchers.filter(isShared);
  const names = new Set(selectors.map(({ name }) => name));
  if (names.size === 1) return printSelector({ ...first, matchers });
  return printSelector({ matchers: [oneOf("__name__", [...names]), ...matchers] });
}

async function readValues(
  pair: MetricInStore,
  names: readonly string[],
  reads: BackgroundReads,
  nowMs: number,
): Promise<ValueFacts> {
  const listed = [...storedLabels(pair).values()];
  const forbidden = names.filter(isForbiddenLabel).slice(0, forbiddenMax);
  const terms = labelledParts(pair.entry).flatMap(({ name: part, selector }) => {
    const having = (label: string, op: "!=" | "=~", value: string): string =>
      live({ ...selector, matchers: [...selector.matchers, { label, op, value }] }, pair);
    return [
      ...listed.map((label) => named(`label ${label} ${part}`, `count(${having(label, "!=", "")})`)),
      ...forbidden.map((label) => named(`forbidden ${label} ${part}`, `count(${having(label, "!=", "")})`)),
      ...listed.map((label) =>
        named(
          `suspects ${label}`,
          `topk(${suspectsMax}, count by(${printName(label)})(${having(label, "=~", suspectPattern)}))`,
        ),
      ),
    ];
  });
  if (terms.length === 0) return { counts: new Map(), suspects: new Map() };
  const samples = await query(terms, reads, timeOf(pair, nowMs));
  const suspects = samples.filter(({ labels }) => labels["fact"]?.startsWith("suspects ") === true);
  const valuesOf = (label: string): readonly string[] =>
    suspects.flatMap(({ labels }) => (labels["fact"] === `suspects ${label}` ? (labels[label] ?? []) : []));
  return {
    counts: numbersOf(samples),
    suspects: new Map(
      listed.map((label) => [label, valuesOf(label)] as const).filter(([, values]) => values.length > 0),
    ),
  };
}
