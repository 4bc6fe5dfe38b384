import { type ByteBudget, type ReadOutcome, runBounded } from "../../stores/limits/fan-out.ts";
import {
  gravest,
  type HistogramSeries,
  type PointGrid,
  type StoreSeries,
  type WarningClass,
} from "../../stores/prometheus/matrix.ts";
import type { StoreCapabilities } from "../../stores/prometheus/probe-store.ts";
import {
  alignmentOf,
  flavours,
  type Narrower,
  type RangeAsk,
  type RangeGrid,
  type RangeResult,
  type StoreExemplar,
} from "../../stores/prometheus/prometheus-client.ts";
import type { CallOrigin, StoreCall } from "../../stores/prometheus/store-http.ts";
import { StoreError } from "../../stores/store-error.ts";
import type { Store } from "../../stores/store.ts";
import { joinHistograms, joinSeries, joinSplits, type SplitResponse } from "../cache/series-kind.ts";
import { layoutOf, type NativeLayout, tellingPoint, toldLayout } from "../merge/native-layout.ts";
import type { Plan, PlannedPart } from "../planning/plan.ts";
import { printExemplified, printVector, type Vector, withRanges } from "../promql/promql.ts";
import type { StoreNeeds } from "../promql/recipe.ts";
import { exemplarsOrNone } from "./exemplars.ts";
import { findNewest, type PartRead, readNewest, type SampledPart } from "./read-newest.ts";

/** The result of one part: one metric from one store. */
export interface PartResult extends SampledPart {
  /** The gravest warning of the store's responses. */
  readonly warning: WarningClass;
  readonly exemplars: readonly StoreExemplar[];
}

/** Maximum concurrent requests of one part, so that one query never takes all connections of a store. */
const requestsMax = 4;

/**
 * Reads one part from its store. The first failed request aborts the others, since one statistic without the other
 * would give a wrong value.
 *
 * @throws StoreError; the signal's reason when it is aborted
 */
export function readPart(
  { plan, part, store }: { readonly plan: Plan; readonly part: PlannedPart; readonly store: Store },
  {
    signal,
    bytes,
    origin,
  }: { readonly signal: AbortSignal; readonly bytes: ByteBudget; readonly origin?: CallOrigin | undefined },
): Promise<PartResult> {
  return store.run(async () => {
    const capabilities = await store.capabilities(part.tenant);
    requireNeeds(part.metric.recipe.needs, capabilities);
    const failure = new AbortController();
    const call = { signal: AbortSignal.any([signal, failure.signal]), tenant: part.tenant, bytes, origin };
    try {
      return await readAll({ plan, part, client: store.client, call, boundary: capabilities.boundary });
    } catch (error) {
      failure.abort(error);
      throw error;
    }
  });
}

async function readAll(reading: PartRead): Promise<PartResult> {
  const { part } = reading;
  const [newest, exemplars, ranges] = await Promise.all([
    readNewest(reading),
    readExemplars(reading),
    part.metric.recipe.kind === "quantile" && part.metric.recipe.histogram === "Native"
      ? readNative(reading)
      : readRanges(reading),
  ]);
  return { part, ...ranges, newestMs: newest ?? (await findNewest(reading, ranges)), exemplars };
}

type RangesResult = Pick<PartResult, "ranges" | "histograms" | "layout" | "warning">;

async function readRanges(reading: PartRead): Promise<RangesResult> {
  const read =
    reading.part.ranges.length > 1
      ? readTogether(reading)
      : readSplits(reading, (...args) => reading.client.range(...args), joinSeries);
  const results = await read;
  return {
    ranges: results,
    histograms: [],
    layout: undefined,
    warning: gravest(results.map(({ warning }) => warning)),
  };
}

/** Reads range queries that give a value only together, such as a sum and a count, with one call for each split. */
async function readTogether({
  plan,
  part,
  client,
  call,
  boundary,
}: PartRead): Promise<readonly RangeResult<StoreSeries>[]> {
  const rangeMs = plan.query.window.widthSeconds * 1_000;
  const read = (asks: readonly RangeAsk[]): Promise<readonly RangeResult<StoreSeries>[]> =>
    client.ranges?.(asks, call) ?? Promise.all(asks.map(({ query, grid }) => client.range(query, grid, call)));
  const splits = await runBounded(
    part.splits,
    Math.max(1, Math.floor(requestsMax / part.ranges.length)),
    async (split) => ({
      split,
      results: await read(
        part.ranges.map((range) => ({
          query: printVector(range, boundary),
          grid: { ...split.grid, rangeMs, narrower: narrowerOf(part, range, { plan, boundary }) },
        })),
      ),
    }),
  );
  return part.ranges.map((_, place) => {
    const own = splits.map(({ split, results }) => ({ split, result: results[place] ?? nothing }));
    return joinSplits(own, (all) => joinSeries(all, plan.grid));
  });
}

const nothing: RangeResult<StoreSeries> = { series: [], warning: "none" };

async function readNative(reading: PartRead): Promise<RangesResult> {
  const [result] = await readSplits(reading, (...args) => reading.client.histograms(...args), joinHistograms);
  const { series = [], warning = "none" } = result ?? {};
  return { ranges: [], histograms: series, layout: await settledLayout(reading, series), warning };
}

/** The layout of the histograms. Where their bounds do not show it, a quantile of the store does. */
async function settledLayout(
  { plan, part, client, call, boundary }: PartRead,
  series: readonly HistogramSeries[],
): Promise<NativeLayout> {
  const layout = layoutOf(series);
  const point = layout === "either" ? tellingPoint(series) : undefined;
  const [of] = part.ranges;
  if (point === undefined || of === undefined) return layout;
  const query = printVector({ kind: "quantile", quantile: point.quantile, of }, boundary);
  const samples = await client.vector(query, plan.grid.startMs + point.index * plan.grid.stepMs, call);
  const own = samples.find(({ labels }) => hasLabels(labels, point.series.labels));
  return own === undefined ? layout : toldLayout(point, own.value);
}

function hasLabels(labels: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(wanted);
  return names.length === Object.keys(labels).length && names.every((name) => labels[name] === wanted[name]);
}

type ReadRange<Series> = (query: string, grid: RangeGrid, call: StoreCall) => Promise<RangeResult<Series>>;
type Join<Series> = (results: readonly SplitResponse<Series>[], grid: PointGrid) => readonly Series[];

/** Reads every range query of a part over all splits, in the order of the plan. */
async function readSplits<Series extends StoreSeries | HistogramSeries>(
  { plan, part, call, boundary }: PartRead,
  read: ReadRange<Series>,
  join: Join<Series>,
): Promise<readonly RangeResult<Series>[]> {
  const rangeMs = plan.query.window.widthSeconds * 1_000;
  const requests = part.ranges.flatMap((range) => part.splits.map((split) => ({ range, split })));
  const results = await runBounded(requests, requestsMax, async ({ range, split }) => ({
    range,
    split,
    result: await read(
      printVector(range, boundary),
      { ...split.grid, rangeMs, narrower: narrowerOf(part, range, { plan, boundary }) },
      call,
    ),
  }));
  return part.ranges.map((own) =>
    joinSplits(
      results.filter(({ range }) => range === own),
      (all) => join(all, plan.grid),
    ),
  );
}

/**
 * Prints a range query for narrower points that merge to its own; undefined if kind, aggregation or store exclude
 * that. A store that reads narrow points from finer data than wide ones is excluded. Points whose width is not their
 * step are too: adjacent narrow points would not tile them.
 */
function narrowerOf(
  { metric: { recipe }, ranges, store }: PlannedPart,
  range: Vector,
  { plan, boundary }: Pick<PartRead, "plan" | "boundary">,
): Narrower | undefined {
  const { grid, query } = plan;
  const { widthSeconds, stepSeconds } = query.window;
  if (widthSeconds !== stepSeconds || range.kind === "points") return undefined;
  const statistic = recipe.kind === "scalar" ? recipe.statistics[ranges.indexOf(range)] : undefined;
  const { prometheus } = store.config;
  // This runtime does not know the stores of a peer.
  if (prometheus === undefined) return undefined;
  const { isCuttable, parameters } = flavours[prometheus.flavour];
  if (statistic?.isAdditiveOverTime !== true || !isCuttable) return undefined;
  const parametersOf = (widthMs: number): string =>
    JSON.stringify(parameters(alignmentOf({ ...grid, stepMs: widthMs, rangeMs: widthMs }), prometheus));
  const own = parametersOf(grid.stepMs);
  return {
    merge: statistic.merge,
    print: (widthMs) =>
      parametersOf(widthMs) === own ? printVector(withRanges(range, { rangeMs: widthMs }), boundary) : undefined,
  };
}

function readExemplars({
  plan,
  part,
  client,
  call,
}: PartRead): readonly StoreExemplar[] | Promise<readonly StoreExemplar[]> {
  const { exemplars } = part;
  if (exemplars === undefined) return [];
  const { fromMs } = plan.query.window;
  const { exemplarsToMs: toMs = plan.query.window.toMs } = plan.query;
  return exemplarsOrNone(() => client.exemplars(printExemplified(exemplars), fromMs, toMs, call));
}

/** Requires the capabilities of a recipe, except increases: the probe checks those. @throws StoreError `unsupported` */
export function requireNeeds(needs: StoreNeeds, { anchored, native }: StoreCapabilities): void {
  if (needs.anchored && !anchored) throw lacking("anchored ranges");
  if (needs.native && !native) throw lacking("native histograms");
}

function lacking(what: string): StoreError {
  const publicDetail = `the store does not support ${what}, which the metric requires; upgrade it or remove the metric`;
  return new StoreError("unsupported", publicDetail, { publicDetail });
}

/** The outcome of one part of a plan. */
export interface PartOutcome<Value = PartResult> {
  readonly part: PlannedPart;
  readonly outcome: ReadOutcome<Value>;
}
