// Several governed queries as one request: one tenant, one class, one admission, one deadline. Each selector is read,
// merged and cached like a native query.
import { type AdmitQueries, runAdmitted } from "../admission/admission.ts";
import type { Caller } from "../authorization/access.ts";
import type { QuerySources } from "../handle-query.ts";
import type { AgeHeaders, RequestContext } from "../metrics-api.ts";
import { makePlan } from "../planning/plan.ts";
import type { Query } from "../planning/query.ts";
import { makeSelectorQueries, type SelectorQuery } from "../planning/selector-query.ts";
import type { QueryReads } from "../reads/store-middleware.ts";
import type { Parameters } from "../request/parameters.ts";
import { stampsAt } from "../request/selector-window.ts";
import type { MetricSelector, SelectorsRequest, SelectorsResult } from "../request/selector.ts";
import { formatDuration, formatTime } from "../request/time.ts";
import { readSelectors, type ReadSelectors } from "./read-selectors.ts";
import { type CachedSelectors, selectorsResult } from "./selectors-result.ts";

/** One request for selectors, of one caller. */
interface SelectorsRun {
  readonly request: SelectorsRequest;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly context: RequestContext;
}

interface SelectorsSources extends QuerySources {
  readonly admitSelectors: AdmitQueries;
  /** Makes a cached response repeatable without parsing. */
  readonly rememberSelectors: (cached: CachedSelectors) => AgeHeaders;
}

/**
 * Handles selectors, step by step: authorize, plan, admit, then read each from the caches or the stores.
 *
 * @throws ApiError when a selector, or all of them together, would be rejected as a native query; the signal's reason
 */
export async function handleSelectors(run: SelectorsRun, sources: SelectorsSources): Promise<SelectorsResult> {
  const startMs = performance.now();
  const { request, caller, context } = run;
  const selectors = resolve(run, sources);
  const plans = selectors.map(({ query }) => makePlan(query, context.nowMs));
  const admitted = await sources.admitSelectors(plans, caller);
  const reads: (QueryReads | undefined)[] = plans.map(() => undefined);
  const noteReads = (index: number, own: QueryReads): void => void (reads[index] = own);
  const stamps = stampsAt(request.times, context.nowMs);
  return runAdmitted(admitted, async () => {
    const read = await readSelectors({ ...run, plans, stamps: stamps.count, sources, noteReads }).finally(() =>
      admitted.charge(reads),
    );
    const durationMs = performance.now() - startMs;
    const revalidate = repeatable({ plans, caller, times: request.times, stamps }, read, sources);
    return { ...selectorsResult({ ...read, stamps, selectors, durationMs }), revalidate };
  });
}

/** Resolves the selectors against the rights of the caller, and records them as native queries. */
function resolve(
  { request, caller, context }: SelectorsRun,
  { queryContext, record }: SelectorsSources,
): readonly SelectorQuery[] {
  let made: readonly SelectorQuery[] = [];
  try {
    made = makeSelectorQueries(request, caller, queryContext, context.nowMs);
    return made;
  } finally {
    for (const [index, selector] of request.selectors.entries()) {
      const query = made[index]?.query;
      const form = nativeForm(selector, request, query);
      record.add({ ...form, caller, nowMs: context.nowMs, query }, queryContext);
    }
  }
}

function repeatable(
  parts: Omit<CachedSelectors, "found">,
  { responses }: ReadSelectors,
  { rememberSelectors }: SelectorsSources,
): AgeHeaders | undefined {
  const found = responses.flatMap((response) => response.found ?? []);
  return found.length === responses.length ? rememberSelectors({ ...parts, found }) : undefined;
}

/** The nearest native query of a selector, for the record of queries. */
interface NativeForm {
  readonly route: "query" | "instant";
  readonly params: Parameters;
}

/**
 * The native query with the same metric, labels, window and step as a selector. The record has no form for a width
 * apart from the step, and none for counts and fractions; these have the default aggregation there. It keeps names of
 * filters and no values, so that any value stands for series with or without a label.
 *
 * @param query undefined when the selector was rejected
 */
function nativeForm(
  selector: MetricSelector,
  { times, tenant }: SelectorsRequest,
  query: Query | undefined,
): NativeForm {
  const { metric, measure, groupBy } = selector;
  const filters = new Map([...(tenant === undefined ? [] : [["tenant", [tenant]] as const]), ...selector.filters]);
  const selection: readonly Pair[] = [
    ["metric", [metric]],
    ...(measure.kind === "aggregation" ? [["agg", [measure.aggregation]] as const] : []),
    ...[...filters].map(([label, values]) => [`filter[${label}]`, [values.find(isNamed) ?? "any"]] as const),
    ...(groupBy.length === 0 ? [] : [["group_by", [groupBy.join(",")]] as const]),
  ];
  if ("timeMs" in times) return { route: "instant", params: new Map(selection) };
  const widthMs = (selector.widthSeconds ?? 0) * 1_000;
  const window = query?.window ?? { fromMs: Math.max(0, times.startMs - widthMs), toMs: times.endMs };
  const range: readonly Pair[] = [
    ["from", [formatTime(window.fromMs)]],
    ["to", [formatTime(window.toMs)]],
    ...(query === undefined ? [] : [["step", [formatDuration(query.window.stepSeconds)]] as const]),
  ];
  return { route: "query", params: new Map([...selection, ...range]) };
}

const isNamed = (value: string): boolean => value !== "";

type Pair = readonly [name: string, values: readonly string[]];
