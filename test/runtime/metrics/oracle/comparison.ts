import * as fc from "fast-check";
import { expect } from "vitest";
import { ask, isExact, isPercentile } from "./ask.ts";
import { keyOf, kinds, type AskedSeries, type MetricId, type SeriesPoints } from "./asked.ts";
import { differences, exactly } from "./differences.ts";
import { askDirectly } from "./direct.ts";
import { nowMs, type RunningLayout, type RunningLayouts } from "./layouts.ts";
import { pairsOf, type RandomQuery, randomQuery } from "./random-query.ts";
import { everyone, parameters } from "./universe.ts";

/** Series that are compared with each other and with an earlier window, against a brute force over all of them. */

interface Item {
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [string, number])[];
  readonly rank?: number;
  readonly other?: number;
  readonly previous?: Item["points"];
  readonly change?: readonly (readonly [number | null, number | null])[];
}

/** A query with many series: grouped by services at least, and not filtered. */
export function groupedQuery(metrics: readonly MetricId[]): fc.Arbitrary<RandomQuery> {
  return randomQuery(metrics).map((query) => ({
    ...query,
    filters: {},
    groupBy: [...new Set(["environment", "service", ...query.groupBy])].slice(0, 4),
  }));
}

const valuesOf = {
  max: (values: readonly number[]) => Math.max(...values),
  avg: (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length,
  last: (values: readonly number[]) => values.at(-1) ?? Number.NaN,
};

interface Ranking {
  readonly top: number;
  readonly by: keyof typeof valuesOf;
  readonly order: "desc" | "asc";
}

export const randomRanking: fc.Arbitrary<Ranking> = fc.record({
  top: fc.integer({ min: 1, max: 5 }),
  by: fc.constantFrom("max", "avg", "last"),
  order: fc.constantFrom("desc", "asc"),
});

const responseMsMax = 30_000;

async function request(
  { api }: Pick<RunningLayout, "api">,
  query: RandomQuery,
  more: Readonly<Record<string, string>>,
): Promise<readonly Item[]> {
  const pairs = [...pairsOf(query), ...Object.entries(more)];
  const context = { correlationId: "test", nowMs };
  const answer = await api.query(parameters(pairs), everyone, AbortSignal.timeout(responseMsMax), context);
  expect(answer.status).toBe(200);
  // A client gets these bytes, not the members of the body.
  const bytes = (await answer.json?.()) ?? new Uint8Array();
  expect(Buffer.from(bytes).toString()).toBe(JSON.stringify(answer.body));
  return (answer.body as { readonly data: readonly Item[] }).data;
}

function pointsOf(points: Item["points"]): ReadonlyMap<number, number> {
  return new Map(points.map(([time, value]) => [Date.parse(time), value]));
}

/** The keys of the top series, by a sort of all of them. */
function bruteForce(points: SeriesPoints<number>, { top, by, order }: Ranking): readonly string[] {
  const all = [...points].map(([key, own]) => ({ key, value: valuesOf[by]([...own.values()]) }));
  const sign = order === "desc" ? -1 : 1;
  return all
    .sort((a, b) => sign * (a.value - b.value) || (a.key < b.key ? -1 : 1))
    .slice(0, top)
    .map(({ key }) => key);
}

/** Whether the values of two groups add up to those of both. */
function addsUp({ metric, agg }: Pick<AskedSeries, "metric" | "agg">): boolean {
  const { kind } = kinds[metric];
  return agg === "sum" || (agg === "avg" && (kind === "counter" || kind === "anchored"));
}

function sumOf(series: readonly ReadonlyMap<number, number>[]): ReadonlyMap<number, number> {
  const sum = new Map<number, number>();
  for (const [ms, value] of series.flatMap((own) => [...own])) sum.set(ms, (sum.get(ms) ?? 0) + value);
  return sum;
}

/** The sum of the others. Where one of them is infinite, which only this gauge is, neither has a point. */
function sumWith(other: Item, { metric }: RandomQuery, rest: Parameters<typeof sumOf>[0]) {
  const [sum, own] = [sumOf(rest), pointsOf(other.points)];
  return metric === "flappy" ? new Map([...sum].filter(([ms]) => own.has(ms))) : sum;
}

/** The differences of one series from what it should be. */
function unlike(actual: ReadonlyMap<number, number>, wanted: ReadonlyMap<number, number>, name: string) {
  return differences(new Map([[name, actual]]), exactly(new Map([[name, wanted]])), { oracle: name });
}

/** All series of a query, which one Prometheus with all samples has too. */
async function allOf(running: RunningLayouts, layout: RunningLayout, query: RandomQuery) {
  const all = await ask(layout, query);
  if (isPercentile(query)) return all;
  const direct = await askDirectly(running.wholeUrl, query, all.grid);
  expect(differences(all.points, exactly(direct), { oracle: "direct", exact: isExact(query) })).toEqual([]);
  return all;
}

/** Compares a ranking with the brute force. Returns the number of ranked series, and whether there was another. */
export async function expectRanking(
  running: RunningLayouts,
  layout: RunningLayout,
  query: RandomQuery,
  ranking: Ranking,
): Promise<{ readonly ranked: number; readonly isSummed: boolean }> {
  const all = await allOf(running, layout, query);
  const { top, by, order } = ranking;
  const data = await request(layout, query, { top: String(top), by, order });
  const chosen = bruteForce(all.points, ranking);
  const ranked = data.filter(({ rank }) => rank !== undefined);
  expect(ranked.map(({ labels }) => keyOf(query.groupBy, (label) => labels[label]))).toEqual(chosen);
  expect(ranked.map(({ rank }) => rank)).toEqual(chosen.map((_, index) => index + 1));
  expect(ranked.map(({ points }) => pointsOf(points))).toEqual(chosen.map((key) => all.points.get(key)));
  const rest = [...all.points].filter(([key]) => !chosen.includes(key)).map(([, points]) => points);
  const [other] = data.filter((item) => item.other !== undefined);
  expect(other?.other).toBe(addsUp(query) && rest.length > 0 ? rest.length : undefined);
  if (other !== undefined) expect(unlike(pointsOf(other.points), sumWith(other, query, rest), "other")).toEqual([]);
  return { ranked: ranked.length, isSummed: other !== undefined };
}

/** The points of a window at the times of a later one. */
function moved(points: SeriesPoints<number>, ms: number): SeriesPoints<number> {
  return new Map([...points].map(([key, own]) => [key, new Map([...own].map(([at, value]) => [at + ms, value]))]));
}

/**
 * Compares a comparison with both windows alone, each of which one Prometheus with all samples has too. Returns the
 * number of points with a change.
 */
export async function expectComparison(
  running: RunningLayouts,
  layout: RunningLayout,
  query: RandomQuery,
  steps: number,
): Promise<number> {
  const current = await allOf(running, layout, query);
  const { stepSeconds, fromMs, toMs } = current.grid;
  const seconds = stepSeconds * steps;
  const window = { fromMs: fromMs - seconds * 1_000, seconds: (toMs - fromMs) / 1_000 };
  const before = await allOf(running, layout, { ...query, ...window, step: `${stepSeconds}s`, downsample: undefined });
  const earlier = moved(before.points, seconds * 1_000);
  const data = await request(layout, query, { compare: `${seconds}s` });
  const byKey = new Map(data.map((item) => [keyOf(query.groupBy, (label) => item.labels[label]), item]));
  expect(new Set(byKey.keys())).toEqual(new Set([...current.points.keys(), ...earlier.keys()]));
  const changes = [...byKey].map(([key, { points, previous = [], change }]) => {
    const base = earlier.get(key) ?? new Map<number, number>();
    expect(pointsOf(points)).toEqual(current.points.get(key) ?? new Map());
    expect(pointsOf(previous)).toEqual(base);
    const wanted = points.map(([time, value]) => changeFrom(base.get(Date.parse(time)), value));
    expect(change).toEqual(wanted);
    return wanted.filter(([absolute]) => absolute !== null).length;
  });
  return changes.reduce((sum, own) => sum + own, 0);
}

function changeFrom(base: number | undefined, value: number): readonly [number | null, number | null] {
  if (base === undefined) return [null, null];
  return [value - base, base === 0 ? null : (value - base) / Math.abs(base)];
}
