import { expect } from "vitest";
import { kinds, keyOf, type ResponseGrid, type AskedSeries, type MetricId, type SeriesPoints } from "./asked.ts";
import { nowMs, type RunningLayout } from "./layouts.ts";
import { pairsOf, type RandomQuery } from "./random-query.ts";
import { everyone, parameters } from "./universe.ts";

/** Every metric of the oracles. */
export const metricIds = Object.keys(kinds) as readonly MetricId[];

/** What was answered to a query. */
export interface Answered {
  readonly points: SeriesPoints<number>;
  /** For percentiles: where each point surely lies, infinite where nothing bounds it. */
  readonly bounds: SeriesPoints<readonly [low: number, high: number]>;
  readonly grid: ResponseGrid;
  /** Where it is from: `X-Query-Cache`. */
  readonly cache: string;
}

interface QueryBody {
  readonly data: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly points: readonly (readonly [string, number])[];
    readonly error_bounds?: readonly (readonly [low: number | null, high: number | null])[];
  }[];
  readonly meta: { readonly from: string; readonly to: string; readonly step: string; readonly has_more: boolean };
}

const responseMsMax = 30_000;

/** Asks the API as any caller would. Fails when the answer is not whole. */
export async function ask({ api }: Pick<RunningLayout, "api">, query: RandomQuery): Promise<Answered> {
  const context = { correlationId: "test", nowMs };
  const answer = await api.query(parameters(pairsOf(query)), everyone, AbortSignal.timeout(responseMsMax), context);
  const { data, meta } = answer.body as QueryBody;
  expect({ status: answer.status, more: meta.has_more }).toEqual({ status: 200, more: false });
  const series = data.map(({ labels, points, error_bounds: bounds = [] }) => {
    const times = points.map(([time]) => Date.parse(time));
    return {
      key: keyOf(query.groupBy, (label) => labels[label]),
      points: new Map(points.map(([, value], index) => [times[index] ?? Number.NaN, value])),
      bounds: new Map(
        bounds.map(([low, high], index) => [times[index] ?? Number.NaN, [low ?? -Infinity, high ?? Infinity] as const]),
      ),
    };
  });
  return {
    points: new Map(series.map(({ key, points }) => [key, points])),
    bounds: new Map(series.map(({ key, bounds }) => [key, bounds])),
    grid: { fromMs: Date.parse(meta.from), toMs: Date.parse(meta.to), stepSeconds: secondsOf(meta.step) },
    cache: answer.headers["X-Query-Cache"] ?? "",
  };
}

function secondsOf(step: string): number {
  return Number.parseInt(step, 10) * ({ s: 1, m: 60, h: 3_600, d: 86_400 }[step.at(-1) ?? ""] ?? Number.NaN);
}

/** The least and the most of samples are samples: nothing may be lost. */
export function isExact({ metric, agg }: AskedSeries): boolean {
  return kinds[metric].kind === "gauge" && (agg === "min" || agg === "max");
}

/** Whether a query is for a percentile. */
export function isPercentile({ agg }: AskedSeries): boolean {
  return agg.startsWith("p");
}

/** How many points an answer has. */
export function countPoints({ points }: Pick<Answered, "points">): number {
  return points.values().reduce((sum, own) => sum + own.size, 0);
}

/** Points of a percentile that have no bounds, or lie outside of them. */
export function unbounded({ points, bounds }: Answered): readonly string[] {
  return [...points].flatMap(([key, own]) =>
    [...own].flatMap(([ms, value]) => {
      const [low, high] = bounds.get(key)?.get(ms) ?? [Number.NaN, Number.NaN];
      const slack = 1e-12 * Math.abs(value);
      return value >= low - slack && value <= high + slack
        ? []
        : [`${key} ${ms}: ${value} is not in [${low}, ${high}]`];
    }),
  );
}
