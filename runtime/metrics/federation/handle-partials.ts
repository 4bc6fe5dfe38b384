import { exemplarsPart, newestPart, type PartialAsk, type PartialTimes } from "../../../api/peers.ts";
import { invalidField } from "../../errors/api-error.ts";
import { warningHeader } from "../../stores/peer/peer-http.ts";
import type { HistogramSeries, PointGrid, StoreSeries, WarningClass } from "../../stores/prometheus/matrix.ts";
import { alignmentOf, type RangeGrid, traitsOf } from "../../stores/prometheus/prometheus-client.ts";
import type { Stores } from "../../stores/store.ts";
import { accessOf, allows, type Caller } from "../authorization/access.ts";
import { encodeExtents, unpackedBytesMax } from "../cache/encode-extents.ts";
import { histogramSeries, numberSeries, type SeriesKind } from "../cache/series-kind.ts";
import type { PartialsRequest, PartialsResponse } from "../metrics-api.ts";
import { partialRequestKey } from "../planning/plan-peer.ts";
import type { Plan } from "../planning/plan.ts";
import type { QueriedMetric } from "../planning/query.ts";
import { printExemplified, printVector, type Vector } from "../promql/promql.ts";
import { exemplarsOrNone } from "../reads/exemplars.ts";
import type { PartOutcome } from "../reads/read-part.ts";
import type { ClassBulkheads } from "../reads/store-middleware.ts";
import { shown } from "../request/known-names.ts";
import { grantPartials, type PartialsContext } from "./authorize-partials.ts";
import {
  exemplarsOfSeries,
  gatherLabelled,
  gatherNative,
  gatherStatistic,
  mergeBuckets,
  mergeStatistic,
  type OwnSeries,
  type PartialShape,
} from "./merge-partials.ts";
import { parsePartialRequest } from "./parse-partial-request.ts";
import { type OwnStore, readOwnStores } from "./read-local-stores.ts";

interface PartialsSources extends PartialsContext {
  readonly stores: Stores;
  readonly bulkheads: ClassBulkheads;
  /** Bound on all stores together. */
  readonly deadlineMs: number;
  readonly observe: (outcomes: readonly PartOutcome<unknown>[]) => void;
}

/** Media type of packed partials. */
const partialsMediaType = "application/vnd.heliograph.partials";
/** Time that the response needs, so that a late read reaches the peer as an error before the peer gives up. */
const returnMs = 50;
/** Most bytes of the numbers in one response; the other half is for labels. */
const seriesBytesMax = unpackedBytesMax / 2;

/**
 * Handles a partial request of a runtime in another region from the own stores of one region. The response holds sums,
 * counts, extremes and buckets by group; it holds no single series and no label outside of the grouping. Source: seed
 * "Operational Metrics API" §8, "Data residency".
 *
 * @throws ApiError for a partial that is not allowed, and when every store failed; the signal's reason
 */
export async function handlePartials(request: PartialsRequest, sources: PartialsSources): Promise<PartialsResponse> {
  const partial = parsePartialRequest(request.body);
  if (partial.kind === "probe")
    return jsonResponse({ increases: increasesIn(partial.region, request.caller, sources) }, "none");
  const { ask, over } = partial;
  const { plan, metric, isOneOfSeveral } = grantPartials(ask, over, request.caller, sources);
  const { deadlineMs, bulkheads, observe } = sources;
  const stores = bulkheads.of(plan.query.quota.queryClass, sources.stores);
  const leftMs = Math.max(1, Math.min(deadlineMs, (request.remainingMs ?? deadlineMs) - returnMs));
  const own: OwnRead = (read) =>
    readOwnStores(plan, read, { stores, observe, deadlineMs: leftMs, signal: request.signal });
  const planned: PlannedPartial = { ask, over, plan, metric, isOneOfSeveral, own };
  if (ask.part === exemplarsPart) return handleExemplars(planned);
  if (ask.part === newestPart) return handleNewest(planned);
  if (ask.quantile !== undefined) return handleQuantile(planned, ask.quantile);
  return handleSeries(planned, partialRequestKey(request.body));
}

type OwnRead = <Result extends { readonly warning: WarningClass }>(
  read: (store: OwnStore) => Promise<Result>,
) => ReturnType<typeof readOwnStores<Result>>;

interface PlannedPartial {
  readonly ask: PartialAsk;
  readonly over: PartialTimes;
  readonly plan: Plan;
  readonly metric: QueriedMetric;
  readonly isOneOfSeveral: boolean;
  readonly own: OwnRead;
}

async function handleSeries(planned: PlannedPartial, key: string): Promise<PartialsResponse> {
  const { plan, metric } = planned;
  const { recipe } = metric;
  if (recipe.kind === "quantile" && recipe.histogram === "Native") {
    const { results, warning } = await readSeries<HistogramSeries>(planned, (store, text, grid) =>
      store.client.histograms(text, grid, store.call),
    );
    return packedResponse(histogramSeries, gatherNative(results, shapeOf(planned)), { grid: plan.grid, key, warning });
  }
  const { results, warning } = await readSeries<StoreSeries>(planned, (store, text, grid) =>
    store.client.range(text, grid, store.call),
  );
  const [statistic] = recipe.kind === "scalar" ? recipe.statistics : [];
  const merge = planned.isOneOfSeveral ? gatherStatistic : mergeStatistic;
  const series =
    statistic === undefined ? mergeBuckets(results, shapeOf(planned)) : merge(results, statistic, shapeOf(planned));
  return packedResponse(numberSeries, series, { grid: plan.grid, key, warning });
}

type ReadSeries<Series> = (
  store: OwnStore,
  text: string,
  grid: RangeGrid,
) => Promise<{ readonly series: readonly Series[]; readonly warning: WarningClass }>;

async function readSeries<Series>(
  { ask, plan, own }: PlannedPartial,
  read: ReadSeries<Series>,
): Promise<{ readonly results: readonly OwnSeries<Series>[]; readonly warning: WarningClass }> {
  const wide = { ...plan.grid, rangeMs: plan.query.window.widthSeconds * 1_000 };
  // An objective reads the same samples in every region.
  const grid = ask.slo === undefined ? { ...wide, alignedMs: alignmentOf(wide) } : wide;
  const { results, warning } = await own((store) => read(store, printVector(firstRange(store), store.boundary), grid));
  return { results: results.map(({ part, result }) => ({ part, series: result.series })), warning };
}

function firstRange({ part: { ranges } }: OwnStore): Vector {
  const [range] = ranges;
  if (range === undefined) throw new Error("a part of one statistic has no range");
  return range;
}

async function handleNewest({ plan, own }: PlannedPartial): Promise<PartialsResponse> {
  const { results, warning } = await own(async ({ part, client, boundary, call }) => {
    const value = await client.single(printVector(part.newest, boundary), plan.query.window.toMs, call);
    return { value, warning: "none" as const };
  });
  const seconds = results.flatMap(({ result }) => result.value ?? []).filter(Number.isFinite);
  return jsonResponse({ samples: seconds.length === 0 ? [] : [{ labels: {}, value: Math.max(...seconds) }] }, warning);
}

/** Reads one quantile at one time, unmerged; it shows the asking runtime the layout of native histograms. */
async function handleQuantile(planned: PlannedPartial, quantile: number): Promise<PartialsResponse> {
  const { plan, metric, own } = planned;
  if (metric.recipe.kind !== "quantile" || metric.recipe.histogram !== "Native") {
    const detail = `ask.quantile=${quantile} is for native histograms only; remove it`;
    throw invalidField("invalid_aggregation", "ask.quantile", detail);
  }
  const { results, warning } = await own(async (store) => {
    const text = printVector({ kind: "quantile", quantile, of: firstRange(store) }, store.boundary);
    return { samples: await store.client.vector(text, plan.query.window.toMs, store.call), warning: "none" as const };
  });
  const samples = gatherLabelled(
    results.map(({ part, result }) => ({ part, series: result.samples })),
    shapeOf(planned),
  );
  return jsonResponse({ samples: samples.filter(({ value }) => Number.isFinite(value)) }, warning);
}

async function handleExemplars({ plan, own }: PlannedPartial): Promise<PartialsResponse> {
  const { fromMs, toMs } = plan.query.window;
  const { results, warning } = await own(async ({ part, client, call }) => {
    const of = part.exemplars;
    const found = of && (await exemplarsOrNone(() => client.exemplars(printExemplified(of), fromMs, toMs, call)));
    return { exemplars: found ?? [], warning: "none" as const };
  });
  const exemplars = results.flatMap(({ part, result }) =>
    exemplarsOfSeries(part, plan.query.groupBy, result.exemplars),
  );
  return jsonResponse({ exemplars }, warning);
}

function shapeOf({ ask, plan }: PlannedPartial): PartialShape {
  return { groupBy: ask.group_by, count: plan.grid.count, intervalSeconds: ask.points?.interval_seconds ?? 1 };
}

interface Packing {
  readonly grid: PointGrid;
  /** Binds the response to its partial request. */
  readonly key: string;
  readonly warning: WarningClass;
}

async function packedResponse<Series>(
  kind: SeriesKind<Series>,
  series: readonly Series[],
  { grid, key, warning }: Packing,
): Promise<PartialsResponse> {
  const size = series.reduce((sum, one) => sum + kind.bytes(one), 0);
  if (size > seriesBytesMax) {
    const detail = `the partial has ${size} bytes, more than ${seriesBytesMax}; request fewer points or groups`;
    throw invalidField("result_too_large", "ask.points", detail);
  }
  // The asking runtime sets both times itself.
  const bytes = await encodeExtents(kind, key, [{ ...grid, series, readAtMs: 0, settledUntilMs: 0 }]);
  return { status: 200, headers: { [warningHeader]: warning, "content-type": partialsMediaType }, body: bytes };
}

function jsonResponse(body: object, warning: WarningClass): PartialsResponse {
  return { status: 200, headers: { [warningHeader]: warning }, body };
}

/** The rules by which the stores of a region compute increases. @throws ApiError `region_forbidden` without a store */
function increasesIn(region: string, caller: Caller, { queryContext }: PartialsSources): readonly string[] {
  const stores = [...queryContext.catalog.values()].flatMap((entry) => entry.stores.map(({ config: store }) => store));
  const own = stores.filter((store) => store.prometheus !== undefined && store.region === region);
  if (own.length === 0 || !allows(accessOf(caller, queryContext.quotas).regions, region)) {
    const detail = `this caller is not allowed to read ${shown(region)} here; query the runtime of that region`;
    throw invalidField("region_forbidden", "probe.region", detail);
  }
  return [...new Set(own.map((store) => traitsOf(store).increases))].sort();
}
