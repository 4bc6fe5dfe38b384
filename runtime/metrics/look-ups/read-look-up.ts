// Looks up the labels of series within the rights of a caller. Each metric is read by one closed query of one point.
import type { LabelName } from "../../../crds/config.ts";
import { Refusal } from "../../errors/refusal.ts";
import type { LeavesRequest, LeavesResult } from "../leaves/leaf.ts";
import type { LabelValues, LookUp, SeriesLabels } from "../metrics-api.ts";
import { compareLabels, type Labels } from "../planning/labels.ts";
import { configuredValues } from "./configured-values.ts";
import { groupedLabels } from "./grouped-labels.ts";
import { presenceRequest, requireFew, selectMetrics, type LookUpContext } from "./selected-metrics.ts";

/** Most values, and most series, of one response. */
const foundMax = 10_000;

export interface LookUpSources extends LookUpContext {
  /** Handles leaves: it admits, charges, reads and caches them. */
  readonly leaves: (request: LeavesRequest) => Promise<LeavesResult>;
  /** Admits a look-up that reads no store. Returns the headers of the quotas. */
  readonly admitEmpty: () => Promise<Readonly<Record<string, string>>>;
}

/**
 * The values of a label, sorted. Metrics without the label have none.
 *
 * @throws Refusal as a query of each metric does; `result_too_large`; of a store when every metric fails
 */
export async function readLabelValues(
  request: LookUp & { readonly label: LabelName },
  sources: LookUpSources,
): Promise<LabelValues> {
  const { label } = request;
  const selected = selectMetrics(request, label, sources);
  const configured = selected.map((one) => configuredValues(label, one));
  const asked = selected.filter((_, index) => configured[index] === undefined);
  requireFew(asked);
  const read = await readAll(
    asked.map((one) => presenceRequest(one, [label], request, sources)),
    sources,
  );
  const found = read.found.flatMap((series) => series.map((labels) => labels[label] ?? ""));
  const values = [...new Set([...configured.flatMap((own) => own ?? []), ...found])].filter((value) => value !== "");
  requireBound(values.length);
  return { values: values.sort(), isPartial: read.isPartial, headers: read.headers };
}

/**
 * The labels of the series of metrics, by metric and labels.
 *
 * @throws Refusal as {@link readLabelValues}
 */
export async function readSeriesLabels(request: LookUp, sources: LookUpSources): Promise<SeriesLabels> {
  const selected = selectMetrics(request, undefined, sources);
  requireFew(selected);
  const groups = selected.map((one) => groupedLabels(one, sources));
  const read = await readAll(
    selected.map((one, index) => presenceRequest(one, groups[index]?.groupBy ?? [], request, sources)),
    sources,
  );
  const series = selected.flatMap(({ entry }, index) =>
    (read.found[index] ?? []).map((labels) => ({
      metric: entry.metric.id,
      labels: { ...labels, ...groups[index]?.fixed },
    })),
  );
  requireBound(series.length);
  return {
    series: series.sort((a, b) => compareText(a.metric, b.metric) || compareLabels(a.labels, b.labels)),
    isPartial: read.isPartial,
    isNarrowed: groups.some(({ isNarrowed }) => isNarrowed),
    headers: read.headers,
  };
}

interface Read extends Pick<LabelValues, "isPartial" | "headers"> {
  /** The labels of the groups with a value; for each request. */
  readonly found: readonly (readonly Labels[])[];
}

/** Reads every metric. One that its stores fail is missing from the response, unless all are. */
async function readAll(requests: readonly LeavesRequest[], sources: LookUpSources): Promise<Read> {
  if (requests.length === 0) return { found: [], isPartial: false, headers: await sources.admitEmpty() };
  const settled = await Promise.allSettled(requests.map((request) => sources.leaves(request)));
  const failures = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  const refused = failures.find((failure) => !isOfStore(failure)) ?? failures[0];
  const isLost = failures.length === requests.length || !failures.every(isOfStore);
  if (refused !== undefined && isLost) throw refused;
  const results = settled.map((one) => (one.status === "fulfilled" ? one.value : undefined));
  return {
    found: results.map((result) => presentLabels(result)),
    isPartial: failures.length > 0 || results.some((result) => result?.isPartial === true),
    headers: headersOf(results.flatMap((result) => (result === undefined ? [] : [result.headers]))),
  };
}

function isOfStore(failure: unknown): boolean {
  return failure instanceof Refusal && failure.status >= 500 && failure.code !== "internal";
}

function presentLabels(result: LeavesResult | undefined): readonly Labels[] {
  const series = result?.leaves[0]?.series ?? [];
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
  const detail = `the look-up finds ${count} of them; narrow it to at most ${foundMax} with matchers`;
  throw new Refusal("result_too_large", detail);
}

function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
