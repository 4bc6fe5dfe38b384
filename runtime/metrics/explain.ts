import { Refusal } from "../errors/refusal.ts";
import { aroundReads, type AroundRead, type StoreRead } from "../stores/around-reads.ts";
import { StoreError } from "../stores/store-error.ts";
import type { StoreSet } from "../stores/store-set.ts";
import { explainScope, type Caller } from "./caller.ts";
import type { Parameters } from "./metrics-api.ts";
import { readWord } from "./parameters.ts";
import type { PlannedPart, Plan } from "./plan.ts";
import type { QueriedMetric } from "./query.ts";
import { formatTime } from "./time.ts";

/** Where the data of an answer came from. */
export type DataSource = "store" | "snapshot";

/** A read that was sent, and what became of it. */
export interface RecordedRead extends StoreRead {
  readonly durationMs: number;
  /** `ok`, or why the store gave no answer. */
  readonly outcome: string;
  readonly series: number;
}

/** Stores whose reads are written down. */
export interface RecordedStores {
  readonly stores: StoreSet;
  readonly reads: readonly RecordedRead[];
}

/**
 * Takes `explain` out of the parameters: it changes what is said of an answer, never the answer.
 *
 * @throws Refusal `invalid_request` for another word than `true` and `false`, `scope_missing`
 */
export function takeExplain(params: Parameters, caller: Caller): { readonly params: Parameters; readonly explain: boolean } {
  const explain = readWord(params, "explain", ["true", "false"]) === "true";
  if (explain && !caller.scopes.includes(explainScope)) {
    throw new Refusal("scope_missing", `explain=true needs the scope ${explainScope}`);
  }
  return { params: new Map([...params].filter(([name]) => name !== "explain")), explain };
}

/** Writes down every read in the order in which they end. */
export function recordReads(stores: StoreSet): RecordedStores {
  const reads: RecordedRead[] = [];
  const around: AroundRead = async (read, send) => {
    const startMs = performance.now();
    const note = (outcome: string, series: number): void => {
      reads.push({ ...read, durationMs: performance.now() - startMs, outcome, series });
    };
    try {
      const answer = await send();
      note("ok", seriesIn(answer));
      return answer;
    } catch (error) {
      note(error instanceof StoreError ? error.kind : "left", 0);
      throw error;
    }
  };
  return { stores: aroundReads(stores, around), reads };
}

/** Everything that explains an answer: the plan, what each store was asked in its own words, and why. */
export function explanationOf(
  plan: Plan,
  { stores, reads }: RecordedStores,
  { source, nowMs, costEstimate }: { readonly source: DataSource; readonly nowMs: number; readonly costEstimate: number },
): object {
  const { query } = plan;
  const byStore = Map.groupBy(plan.parts, ({ held }) => held.key);
  return {
    class: query.quota.queryClass,
    tenant: query.tenant,
    environments: query.environments === "every" ? "every" : [...query.environments].sort(),
    regions: query.regions,
    cost_estimate: costEstimate,
    metrics: query.metrics.map(explainMetric),
    stores: [...byStore].map(([key, parts]) => ({
      ...explainStore(parts, plan, { source, nowMs }),
      ...explainCapabilities(key, stores),
      reads: reads.filter((read) => read.store === key).map(explainRead),
    })),
  };
}

function explainMetric({ entry, aggregation, recipe }: QueriedMetric): object {
  return {
    metric: entry.metric.id,
    aggregation,
    kind: entry.metric.source.kind,
    partials:
      "statistics" in recipe
        ? recipe.statistics.map(({ name, merge }) => ({ name, merge }))
        : [{ name: "buckets", merge: "sum" }],
  };
}

function explainCapabilities(key: string, stores: StoreSet): object {
  // A store that the configuration has lost since is not there any more.
  const known = stores.list().find(([name]) => name === key)?.[1].knownCapabilities();
  return known === undefined ? {} : { boundary: known.boundary, anchored: known.anchored };
}

interface ExtentContext {
  readonly source: DataSource;
  readonly nowMs: number;
}

function explainStore(parts: readonly PlannedPart[], plan: Plan, context: ExtentContext): object {
  const [first] = parts;
  if (first === undefined) return {};
  const { name, region, residency, settleSeconds } = first.held.store;
  return { store: name, region, residency, extents: extentsOf(plan, settleSeconds, context) };
}

const reasons: Readonly<Record<DataSource, string>> = {
  store: "no cache is in use, so the store was asked",
  snapshot: "cut from the data that an earlier page was cut from",
};

/** What had settled when the data was read, and what could still change. */
function extentsOf({ query: { window } }: Plan, settleSeconds: number, { source, nowMs }: ExtentContext): readonly object[] {
  const stepMs = window.stepSeconds * 1_000;
  const settledMs = Math.floor((nowMs - settleSeconds * 1_000) / stepMs) * stepMs;
  const seamMs = Math.min(window.toMs, Math.max(window.fromMs, settledMs));
  const extents = [
    { state: "settled", fromMs: window.fromMs, toMs: seamMs },
    { state: "hot", fromMs: seamMs, toMs: window.toMs },
  ];
  return extents
    .filter(({ fromMs, toMs }) => fromMs < toMs)
    .map(({ state, fromMs, toMs }) => ({
      from: formatTime(fromMs),
      to: formatTime(toMs),
      state,
      source,
      reason: reasons[source],
    }));
}

function explainRead({ api, promql, durationMs, outcome, series }: RecordedRead): object {
  return { api, promql, duration_ms: Math.round(durationMs * 10) / 10, outcome, series };
}

function seriesIn(answer: unknown): number {
  const series: unknown = (answer as { readonly series?: unknown } | undefined)?.series;
  return Array.isArray(series) ? series.length : 0;
}
