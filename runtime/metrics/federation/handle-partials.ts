import { refuseField } from "../../errors/refusal.ts";
import type { HistogramSeries } from "../../stores/prometheus/histogram-matrix.ts";
import type { PointGrid, StoreSeries } from "../../stores/prometheus/matrix.ts";
import { warningHeader } from "../../stores/peer/peer-http.ts";
import { traitsOf } from "../../stores/prometheus/flavours.ts";
import type { Stores } from "../../stores/store-set.ts";
import type { WarningClass } from "../../stores/prometheus/warnings.ts";
import { accessOf } from "../authorization/access.ts";
import { encodeExtents, unpackedBytesMax } from "../cache/extent-encoding.ts";
import { nativeHistograms, numbers, type SeriesKind } from "../cache/series-kind.ts";
import type { Caller } from "../authorization/caller.ts";
import type { PartialsResponse, PartialsRequest } from "../metrics-api.ts";
import { allows } from "../authorization/names.ts";
import { shown } from "../request/parameters.ts";
import type { Plan } from "../planning/plan.ts";
import { printExemplified, printVector, type Vector } from "../promql/promql.ts";
import type { QueriedMetric } from "../planning/query.ts";
import type { PartOutcome } from "../execution/read-stores.ts";
import { exemplarsOfSeries } from "./exemplars-of-series.ts";
import { grantPartials, type PartialsContext } from "./authorize-partials.ts";
import {
  gatherLabelled,
  gatherNative,
  mergeBuckets,
  mergeStatistic,
  type OwnSeries,
  type PartialShape,
} from "./merge-partials.ts";
import {
  exemplarsPart,
  newestPart,
  questionKey,
  type AskedTimes,
  type PartialQuestion,
} from "../promql/partial-question.ts";
import { exemplarsOrNone } from "../execution/read-part.ts";
import { readOwnStores, type OwnStore } from "./read-local-stores.ts";
import { readQuestion } from "./parse-question.ts";

/** What it is answered from. */
interface PartialsSources extends PartialsContext {
  readonly stores: Stores;
  /** Bound on all stores together. */
  readonly deadlineMs: number;
  readonly observe: (outcomes: readonly PartOutcome<unknown>[]) => void;
}

/** Media type of packed partials. */
const partialsMediaType = "application/vnd.heliograph.partials";
/** What the way back takes, so that a peer hears of what is late instead of giving up itself. */
const returnMs = 50;
/** Bytes of the numbers of one answer; labels need room besides them. */
const seriesBytesMax = unpackedBytesMax / 2;

/**
 * Answers a question of another region's runtime out of the own stores of one region: sums, counts, extremes and
 * buckets by group, never a series and never a label that was not grouped by. Source: seed "Operational Metrics API"
 * §8, "Data residency".
 *
 * @throws Refusal for what may not be asked, and when no store answered; the signal's reason
 */
export async function handlePartials(request: PartialsRequest, sources: PartialsSources): Promise<PartialsResponse> {
  const question = readQuestion(request.body);
  if (question.kind === "probe")
    return told({ increases: increasesIn(question.region, request.caller, sources) }, "none");
  const { ask, over } = question;
  const { plan, metric } = grantPartials(ask, over, request.caller, sources);
  const { deadlineMs, stores, observe } = sources;
  const leftMs = Math.max(1, Math.min(deadlineMs, (request.remainingMs ?? deadlineMs) - returnMs));
  const own: OwnRead = (read) =>
    readOwnStores(plan, read, { stores, observe, deadlineMs: leftMs, signal: request.signal });
  const asked: Asked = { ask, over, plan, metric, own };
  if (ask.part === exemplarsPart) return handleExemplars(asked);
  if (ask.part === newestPart) return handleNewest(asked);
  if (ask.quantile !== undefined) return handleQuantile(asked, ask.quantile);
  return handleSeries(asked, questionKey(request.body));
}

type OwnRead = <Answer extends { readonly warning: WarningClass }>(
  read: (store: OwnStore) => Promise<Answer>,
) => ReturnType<typeof readOwnStores<Answer>>;

interface Asked {
  readonly ask: PartialQuestion;
  readonly over: AskedTimes;
  readonly plan: Plan;
  readonly metric: QueriedMetric;
  readonly own: OwnRead;
}

async function handleSeries(asked: Asked, key: string): Promise<PartialsResponse> {
  const { plan, metric } = asked;
  const { recipe } = metric;
  if (recipe.kind === "quantile" && recipe.histogram === "Native") {
    const { answers, warning } = await readSeries<HistogramSeries>(asked, (store, text, grid) =>
      store.client.histograms(text, grid, store.call),
    );
    return packed(nativeHistograms, gatherNative(answers, shapeOf(asked)), { grid: plan.grid, key, warning });
  }
  const { answers, warning } = await readSeries<StoreSeries>(asked, (store, text, grid) =>
    store.client.range(text, grid, store.call),
  );
  const [statistic] = recipe.kind === "scalar" ? recipe.statistics : [];
  const series =
    statistic === undefined
      ? mergeBuckets(answers, shapeOf(asked))
      : mergeStatistic(answers, statistic, shapeOf(asked));
  return packed(numbers, series, { grid: plan.grid, key, warning });
}

type ReadSeries<Series> = (
  store: OwnStore,
  text: string,
  grid: PointGrid & { readonly rangeMs: number },
) => Promise<{ readonly series: readonly Series[]; readonly warning: WarningClass }>;

async function readSeries<Series>(
  { plan, own }: Asked,
  read: ReadSeries<Series>,
): Promise<{ readonly answers: readonly OwnSeries<Series>[]; readonly warning: WarningClass }> {
  const grid = { ...plan.grid, rangeMs: plan.query.window.stepSeconds * 1_000 };
  const { answers, warning } = await own((store) => read(store, printVector(firstRange(store), store.boundary), grid));
  return { answers: answers.map(({ part, answer }) => ({ part, series: answer.series })), warning };
}

function firstRange({ part: { ranges } }: OwnStore): Vector {
  const [range] = ranges;
  if (range === undefined) throw new Error("a part of one statistic has no range");
  return range;
}

async function handleNewest({ plan, own }: Asked): Promise<PartialsResponse> {
  const { answers, warning } = await own(async ({ part, client, boundary, call }) => {
    const value =
      part.newest && (await client.single(printVector(part.newest, boundary), plan.query.window.toMs, call));
    return { value, warning: "none" as const };
  });
  const seconds = answers.flatMap(({ answer }) => answer.value ?? []).filter(Number.isFinite);
  return told({ samples: seconds.length === 0 ? [] : [{ labels: {}, value: Math.max(...seconds) }] }, warning);
}

/** One quantile at one time, by which the asker sees how native histograms are laid out; it is merged with nothing. */
async function handleQuantile(asked: Asked, quantile: number): Promise<PartialsResponse> {
  const { plan, metric, own } = asked;
  if (metric.recipe.kind !== "quantile" || metric.recipe.histogram !== "Native") {
    throw refuseField("invalid_aggregation", "ask.quantile", "only native histograms leave open how they are laid out");
  }
  const { answers, warning } = await own(async (store) => {
    const text = printVector({ kind: "quantile", quantile, of: firstRange(store) }, store.boundary);
    return { samples: await store.client.vector(text, plan.query.window.toMs, store.call), warning: "none" as const };
  });
  const samples = gatherLabelled(
    answers.map(({ part, answer }) => ({ part, series: answer.samples })),
    shapeOf(asked),
  );
  return told({ samples: samples.filter(({ value }) => Number.isFinite(value)) }, warning);
}

async function handleExemplars({ plan, own }: Asked): Promise<PartialsResponse> {
  const { fromMs, toMs } = plan.query.window;
  const { answers, warning } = await own(async ({ part, client, call }) => {
    const of = part.exemplars;
    const found = of && (await exemplarsOrNone(() => client.exemplars(printExemplified(of), fromMs, toMs, call)));
    return { exemplars: found ?? [], warning: "none" as const };
  });
  const exemplars = answers.flatMap(({ part, answer }) =>
    exemplarsOfSeries(part, plan.query.groupBy, answer.exemplars),
  );
  return told({ exemplars }, warning);
}

function shapeOf({ ask, plan }: Asked): PartialShape {
  return { groupBy: ask.group_by, count: plan.grid.count, intervalSeconds: ask.points?.interval_seconds ?? 1 };
}

interface Packing {
  readonly grid: PointGrid;
  /** Binds the answer to its question. */
  readonly key: string;
  readonly warning: WarningClass;
}

async function packed<Series>(
  kind: SeriesKind<Series>,
  series: readonly Series[],
  { grid, key, warning }: Packing,
): Promise<PartialsResponse> {
  const size = series.reduce((sum, one) => sum + kind.bytes(one), 0);
  if (size > seriesBytesMax)
    throw refuseField("result_too_large", "ask.points", `the partial has more than ${seriesBytesMax} bytes`);
  // Who asks reads the times of the request itself.
  const bytes = await encodeExtents(kind, key, [{ ...grid, series, readAtMs: 0, settledUntilMs: 0 }]);
  return { status: 200, headers: { [warningHeader]: warning, "content-type": partialsMediaType }, body: bytes };
}

function told(body: object, warning: WarningClass): PartialsResponse {
  return { status: 200, headers: { [warningHeader]: warning }, body };
}

/** How the stores of a region compute increases. @throws Refusal `region_forbidden` without any */
function increasesIn(region: string, caller: Caller, { queryContext }: PartialsSources): readonly string[] {
  const stores = [...queryContext.catalog.values()].flatMap((entry) => entry.stores.map(({ config: store }) => store));
  const own = stores.filter((store) => store.prometheus !== undefined && store.region === region);
  if (own.length === 0 || !allows(accessOf(caller, queryContext.quotas).regions, region)) {
    throw refuseField(
      "region_forbidden",
      "probe.region",
      `the region ${shown(region)} is not answered for to this caller`,
    );
  }
  return [...new Set(own.map((store) => traitsOf(store).increases))].sort();
}
