import {
  keyOf,
  type ResponseGrid,
  type AskedSeries,
  type MetricId,
  type SeriesPoints,
} from "../../runtime/metrics/oracle/asked.ts";
import { differences } from "../../runtime/metrics/oracle/differences.ts";
import { recompute, type Expected, type RawSeries } from "../../runtime/metrics/oracle/recompute.ts";
import type { ResponseBody } from "../responses.ts";
import { isInCatalog, type Region } from "../catalog.ts";
import { regionsOf, type Panel } from "../panels.ts";
import { possibleStates, type States } from "./possible-states.ts";
import { narrowed, rawOf, sourceOf, type RawSource } from "./raw-sources.ts";
import type { StoreRecord } from "../store-record.ts";
import { tornPoint } from "./torn-averages.ts";

/** When each point of a response was read, at the earliest and at the latest, Unix milliseconds. */
export type ReadTimes = (pointMs: number) => readonly [fromMs: number, toMs: number];

/** Result of comparing one response with its stores. */
interface ValueResult {
  /** Points that were compared, absent ones included. */
  points: number;
  /** Of those, the ones that more than one state of the stores explains. */
  open: number;
  /** Of those, averages whose two parts were read one after the other. */
  torn: number;
  /** Points that were too many states to try. */
  undecided: number;
  readonly wrong: string[];
}

interface ValueQuestion {
  readonly panel: Panel;
  readonly body: ResponseBody;
  /** Version of the catalog that the response names. */
  readonly version: number;
  readonly readTimes: ReadTimes;
}

/** Compares every point of a response with the contents of its stores at the possible times of the read. */
export function compareValues(question: ValueQuestion, records: readonly StoreRecord[]): ValueResult {
  const result: ValueResult = { points: 0, open: 0, torn: 0, undecided: 0, wrong: [] };
  const { panel, body } = question;
  // The response does not name the metric that a region lacks.
  if (body.partial && panel.metrics.length > 1) return result;
  const whole = regionsOf(panel).filter((region) =>
    body.regions.some((own) => own.region === region && own.state === "ok"),
  );
  for (const metric of panel.metrics) {
    for (const part of partsOf(panel, whole)) {
      comparePart(
        { question, metric, part, asked: askedOf(panel, metric) },
        records.filter(({ region }) => part.includes(region)),
        result,
      );
    }
  }
  return result;
}

/** Regions whose points no other region adds to. */
function partsOf({ groupBy }: Panel, whole: readonly Region[]): readonly (readonly Region[])[] {
  return groupBy.includes("region") ? whole.map((region) => [region]) : whole.length === 0 ? [] : [whole];
}

function askedOf({ agg, tenant, filters, groupBy }: Panel, metric: MetricId): AskedSeries {
  return { metric, agg, tenant, filters, groupBy };
}

interface Part {
  readonly question: ValueQuestion;
  readonly metric: MetricId;
  readonly part: readonly Region[];
  readonly asked: AskedSeries;
}

function comparePart(
  { question, metric, part, asked }: Part,
  records: readonly StoreRecord[],
  result: ValueResult,
): void {
  const { grid } = question.body;
  const actual = actualPoints(question, metric, part);
  const keep = (series: RawSeries): boolean => isInCatalog(question.version, metric, series.labels);
  const sources = records.map((record) => sourceOf(record, asked, grid));
  const firm: number[] = [];
  const open: (readonly [number, States])[] = [];
  for (let ms = grid.fromMs + grid.stepSeconds * 1_000; ms <= grid.toMs; ms += grid.stepSeconds * 1_000) {
    const states = possibleStates(
      sources.map((source) => narrowed(source, ms, grid)),
      question.readTimes(ms),
    );
    if (states.all.every((own) => own.length === 1)) firm.push(ms);
    else open.push([ms, states]);
  }
  result.points += firm.length + open.length;
  result.open += open.length;
  compareFirm({ asked, actual, firm, keep }, sources, question, result);
  for (const [ms, states] of open) compareOpen({ asked, actual, ms, states, keep }, sources, grid, result);
}

interface Compared {
  readonly asked: AskedSeries;
  readonly actual: SeriesPoints<number>;
  readonly keep: (series: RawSeries) => boolean;
}

/** Points that only one state of the stores explains. */
function compareFirm(
  { asked, actual, firm, keep }: Compared & { readonly firm: readonly number[] },
  sources: readonly RawSource[],
  { body: { grid }, readTimes }: ValueQuestion,
  result: ValueResult,
): void {
  for (const ms of firm) {
    const states = sources.map(({ record }) => record.states(...readTimes(ms))[0]);
    const wanted = pointAt(
      asked,
      rawOf(
        sources.map((source) => narrowed(source, ms, grid)),
        states,
        keep,
      ),
      ms,
      grid,
    );
    result.wrong.push(...differencesAt(asked, actual, wanted, ms));
  }
}

interface OpenPoint extends Compared {
  readonly ms: number;
  readonly states: States;
}

function compareOpen(
  { asked, actual, keep, ms, states }: OpenPoint,
  sources: readonly RawSource[],
  grid: ResponseGrid,
  result: ValueResult,
): void {
  const own = sources.map((source) => narrowed(source, ms, grid));
  let nearest: readonly string[] | undefined;
  for (const combination of states.combinations()) {
    const found = differencesAt(asked, actual, pointAt(asked, rawOf(own, combination, keep), ms, grid), ms);
    if (found.length === 0) return;
    if (nearest === undefined || found.length < nearest.length) nearest = found;
  }
  const torn = tornPoint({ asked, sources: own, states, keep, ms, grid });
  if (torn.some((wanted) => differencesAt(asked, actual, wanted, ms).length === 0)) {
    result.torn += 1;
    return;
  }
  if (states.isCutShort) result.undecided += 1;
  else {
    result.wrong.push(
      ...(nearest ?? []).map(
        (text) => `${text} (the nearest of ${states.all.map((all) => all.length).join("*")} states)`,
      ),
    );
  }
}

function actualPoints({ panel, body }: ValueQuestion, metric: MetricId, part: readonly Region[]): SeriesPoints<number> {
  const isOwn = (labels: Readonly<Record<string, string>>): boolean =>
    !panel.groupBy.includes("region") || part.some((region) => region === labels["region"]);
  const own = body.series.filter((series) => series.metric === metric && isOwn(series.labels));
  return new Map(own.map(({ labels, points }) => [keyOf(panel.groupBy, (label) => labels[label]), points]));
}

function pointAt(
  asked: AskedSeries,
  raw: (name: string) => readonly RawSeries[],
  ms: number,
  { stepSeconds }: ResponseGrid,
): SeriesPoints<Expected> {
  return recompute(asked, { fromMs: ms - stepSeconds * 1_000, toMs: ms, stepSeconds }, raw);
}

function differencesAt(
  { metric, agg }: AskedSeries,
  actual: SeriesPoints<number>,
  wanted: SeriesPoints<Expected>,
  ms: number,
): readonly string[] {
  const own = [...actual].flatMap(([key, points]) => {
    const value = points.get(ms);
    return value === undefined ? [] : [[key, new Map([[ms, value]])] as const];
  });
  return differences(new Map(own), wanted, { oracle: `${metric} ${agg}` });
}
