// Looks up the labels of series within the rights of a caller. Each metric is read by one closed query of one point.
import type { LabelName, MetricConfig } from "../../../crds/config.ts";
import { ApiError } from "../../errors/api-error.ts";
import { runBounded } from "../../stores/limits/fan-out.ts";
import type { Caller } from "../authorization/access.ts";
import type { LabelValues, LookUp, MetricsApi, RequestContext, SeriesLabels } from "../metrics-api.ts";
import { missingLabel } from "../planning/catalog-entry.ts";
import { compareLabels, type Labels } from "../planning/plan.ts";
import type { QueryContext } from "../planning/query.ts";
import { isolationLabels } from "../request/parameters.ts";
import type { SelectorsRequest, SelectorsResult } from "../request/selector.ts";
import {
  configuredValues,
  groupedLabels,
  type LookUpContext,
  presenceRequest,
  type SelectedMetric,
  selectMetrics,
} from "./selected-metrics.ts";
import { unitedRegions } from "./selectors-result.ts";

/** Most values, and most series, of one response. */
const foundMax = 10_000;

/** Most metrics that one look-up reads. */
const readsMax = 50;
/** Reads at the same time. */
const concurrency = 10;

/** A look-up that has its request token. */
interface AdmittedLookUp {
  headers(): Readonly<Record<string, string>>;
  end(): void;
}

interface LookUpSources extends LookUpContext {
  /** Handles selectors: it charges, reads and caches them. */
  readonly selectors: (request: SelectorsRequest) => Promise<SelectorsResult>;
  /** Admits the look-up before its first read. @throws ApiError */
  readonly admit: (metrics: readonly MetricConfig[]) => Promise<AdmittedLookUp>;
}

/**
 * The values of a label, sorted. Metrics without the label have none.
 *
 * @throws ApiError as a query of each metric does; `result_too_large`; of a store when every metric fails
 */
async function readLabelValues(
  request: LookUp & { readonly label: LabelName },
  sources: LookUpSources,
): Promise<LabelValues> {
  const { label } = request;
  const selected = selectMetrics(request, label, sources);
  const configured = selected.map((one) => configuredValues(label, one));
  const unconfigured = readable(selected.filter((_, index) => configured[index] === undefined));
  const read = await readAll(
    unconfigured.metrics.map((one) => presenceRequest(one, [label], request, sources)),
    selected,
    sources,
  );
  const found = read.found.flatMap((series) => series.map((labels) => labels[label] ?? ""));
  const values = [...new Set([...configured.flatMap((own) => own ?? []), ...found])].filter((value) => value !== "");
  requireBound(values.length);
  const { leftOut, unread } = unconfigured;
  const { found: _found, ...about } = read;
  return { values: values.sort(), ...about, leftOut, unread, unlabelled: unlabelledOf(label, selected) };
}

/** Labels of the isolation are those of stores too, so that every metric may have them. */
function unlabelledOf(label: LabelName, selected: readonly SelectedMetric[]): readonly string[] {
  if (isolationLabels.includes(label)) return [];
  const lacking = selected.filter(({ entry, isOfAll }) => !isOfAll && !entry.metric.labels.includes(label));
  return [...new Set(lacking.map(({ entry }) => missingLabel(entry.metric, label)))];
}

/**
 * The labels of the series of metrics, by metric and labels.
 *
 * @throws ApiError as {@link readLabelValues}
 */
async function readSeriesLabels(request: LookUp, sources: LookUpSources): Promise<SeriesLabels> {
  const selected = selectMetrics(request, undefined, sources);
  const { metrics, leftOut, unread } = readable(selected);
  const groups = metrics.map((one) => groupedLabels(one, sources));
  const read = await readAll(
    metrics.map((one, index) => presenceRequest(one, groups[index]?.groupBy ?? [], request, sources)),
    selected,
    sources,
  );
  const series = metrics.flatMap(({ entry }, index) =>
    (read.found[index] ?? []).map((labels) => ({
      metric: entry.metric.id,
      labels: { ...labels, ...groups[index]?.fixed },
    })),
  );
  requireBound(series.length);
  return {
    series: series.sort((a, b) => compareText(a.metric, b.metric) || compareLabels(a.labels, b.labels)),
    isPartial: read.isPartial,
    regions: read.regions,
    failures: read.failures,
    isNarrowed: groups.some(({ isNarrowed }) => isNarrowed),
    headers: read.headers,
    leftOut,
    unread,
  };
}

/** The metrics that one look-up reads. @throws ApiError `region_forbidden` when none may be read over its regions */
function readable(selected: readonly SelectedMetric[]): Pick<LabelValues, "leftOut" | "unread"> & {
  readonly metrics: readonly SelectedMetric[];
} {
  const [first] = selected;
  const together = selected.filter(({ apart }) => apart === undefined);
  if (first?.apart !== undefined && together.length === 0 && !first.isOfAll) throw first.apart;
  const metrics = together.slice(0, readsMax);
  const leftOut = selected.filter(({ apart }) => apart !== undefined).map(({ entry }) => entry.metric.id);
  return { metrics, leftOut: [...new Set(leftOut)].sort(), unread: together.length - metrics.length };
}

interface Read extends Pick<LabelValues, "isPartial" | "regions" | "failures" | "headers"> {
  /** The labels of the groups with a value; for each request. */
  readonly found: readonly (readonly Labels[])[];
}

/** Reads every metric. One that its stores or its quota fail is missing from the response, unless all are. */
async function readAll(
  requests: readonly SelectorsRequest[],
  selected: readonly SelectedMetric[],
  sources: LookUpSources,
): Promise<Read> {
  const admitted = await sources.admit(requests.length === 0 ? [] : selected.map(({ entry }) => entry.metric));
  try {
    if (requests.length === 0)
      return { found: [], isPartial: false, regions: [], failures: [], headers: admitted.headers() };
    const settled = await runBounded(requests, concurrency, async (request) =>
      Promise.allSettled([sources.selectors(request)]).then(([one]) => one),
    );
    return readOf(settled);
  } finally {
    admitted.end();
  }
}

function readOf(settled: readonly PromiseSettledResult<SelectorsResult>[]): Read {
  const failures = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  const failure = failures.find((one) => !isOfOne(one)) ?? failures[0];
  const isLost = failures.length === settled.length || !failures.every(isOfOne);
  if (failure !== undefined && isLost) throw failure;
  const results = settled.map((one) => (one.status === "fulfilled" ? one.value : undefined));
  return {
    found: results.map((result) => presentLabels(result)),
    isPartial: failures.length > 0 || results.some((result) => result?.isPartial === true),
    regions: unitedRegions(results.flatMap((result) => result?.regions ?? [])),
    failures: [...new Set(failures.map((one) => (one as ApiError).message))],
    headers: headersOf(results.flatMap((result) => (result === undefined ? [] : [result.headers]))),
  };
}

/** True for a failure of the stores of one metric, or of its quota. */
function isOfOne(failure: unknown): boolean {
  if (!(failure instanceof ApiError)) return false;
  return failure.status === 429 || (failure.status >= 500 && failure.code !== "internal");
}

function presentLabels(result: SelectorsResult | undefined): readonly Labels[] {
  const series = result?.selectors[0]?.series ?? [];
  return series.filter(({ values }) => values.some((value) => !Number.isNaN(value))).map(({ labels }) => labels);
}

const summed = ["X-Query-Cost-Estimate", "X-Query-Cost"] as const;

/** The headers of the last metric, with the cost of all. */
function headersOf(all: readonly Readonly<Record<string, string>>[]): Readonly<Record<string, string>> {
  const last = all.at(-1) ?? {};
  const costs = summed
    .filter((name) => last[name] !== undefined)
    .map((name) => [name, String(all.reduce((sum, headers) => sum + Number(headers[name] ?? 0), 0))] as const);
  return { ...last, ...Object.fromEntries(costs) };
}

function requireBound(count: number): void {
  if (count <= foundMax) return;
  const detail = `the lookup finds ${count} of them; narrow it to at most ${foundMax} with matchers`;
  throw new ApiError("result_too_large", detail);
}

function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

interface LookUpsOptions {
  /** Handles selectors of a look-up, which took its request token. */
  readonly selectors: MetricsApi["selectors"];
  /** Admits a look-up of metrics: one request token. @throws ApiError */
  readonly admit: (caller: Caller, metrics: readonly MetricConfig[]) => Promise<AdmittedLookUp>;
  /** The configuration that applies. */
  readonly queryContext: () => QueryContext;
}

/** Creates the look-ups of the metrics API over its own selectors. */
export function createMetadataReads({
  selectors,
  admit,
  queryContext,
}: LookUpsOptions): Pick<MetricsApi, "labelValues" | "seriesLabels"> {
  const sourcesOf = (caller: Caller, signal: AbortSignal, context: RequestContext): LookUpSources => ({
    caller,
    queryContext: queryContext(),
    nowMs: context.nowMs,
    selectors: (request) => selectors(request, caller, signal, context),
    admit: (metrics) => admit(caller, metrics),
  });
  return {
    labelValues: (request, ...run) => readLabelValues(request, sourcesOf(...run)),
    seriesLabels: (request, ...run) => readSeriesLabels(request, sourcesOf(...run)),
  };
}
