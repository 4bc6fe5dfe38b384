import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keyOf, kinds, type AnsweredGrid, type AskedSeries, type MetricId, type SeriesPoints } from "./oracle/asked.ts";
import { differences, exactly } from "./oracle/differences.ts";
import { askDirectly } from "./oracle/direct.ts";
import { layouts, nowMs, startLayouts, type Layout, type RunningLayouts } from "./oracle/layouts.ts";
import { pairsOf, randomQuery, type RandomQuery } from "./oracle/random-query.ts";
import { recompute } from "./oracle/recompute.ts";
import { everyone, parameters } from "./oracle/universe.ts";

/** Fixed, so that a run can be repeated; fast-check prints the path of what it shrank to. */
const seed = 20_260_101;
const metrics = Object.keys(kinds) as readonly MetricId[];
/** Whose bounds are the same in every store. */
const evenMetrics = metrics.filter((metric) => metric !== "uneven_ms");

let running: RunningLayouts;
beforeAll(async () => {
  running = await startLayouts();
});
afterAll(async () => running?.stop());

interface QueryBody {
  readonly data: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly points: readonly (readonly [string, number])[];
  }[];
  readonly meta: { readonly from: string; readonly to: string; readonly step: string; readonly has_more: boolean };
}

interface Asked {
  readonly points: SeriesPoints<number>;
  readonly grid: AnsweredGrid;
}

async function ask(layout: Layout, query: RandomQuery): Promise<Asked> {
  const context = { correlationId: "test", nowMs };
  const { api } = running.layout(layout);
  const answer = await api.query(parameters(pairsOf(query)), everyone, AbortSignal.timeout(30_000), context);
  const { data, meta } = answer.body as QueryBody;
  expect({ status: answer.status, more: meta.has_more }).toEqual({ status: 200, more: false });
  const series = data.map(({ labels, points }) => {
    const times = points.map(([time, value]) => [Date.parse(time), value] as const);
    return [keyOf(query.groupBy, (label) => labels[label]), new Map(times)] as const;
  });
  const grid = { fromMs: Date.parse(meta.from), toMs: Date.parse(meta.to), stepSeconds: secondsOf(meta.step) };
  return { points: new Map(series), grid };
}

function secondsOf(step: string): number {
  return Number.parseInt(step, 10) * ({ s: 1, m: 60, h: 3_600, d: 86_400 }[step.at(-1) ?? ""] ?? Number.NaN);
}

/** The least and the most of samples are samples: nothing may be lost. */
function isExact({ metric, agg }: AskedSeries): boolean {
  return kinds[metric].kind === "gauge" && (agg === "min" || agg === "max");
}

/** A percentile whose rank falls on the edge of a bucket is right on both sides of it; the recomputation knows both. */
function isPercentile({ agg }: AskedSeries): boolean {
  return agg.startsWith("p");
}

describe("an answer", () => {
  test("equals Prometheus and a recomputation from raw samples, over 600 random queries to one to three stores", { timeout: 240_000 }, async () => {
    let points = 0;
    const queries = fc.tuple(fc.constantFrom(...layouts), randomQuery(evenMetrics));
    await fc.assert(
      fc.asyncProperty(queries, async ([layout, query]) => {
        const actual = await ask(layout, query);
        const exact = isExact(query);
        const recomputed = recompute(query, actual.grid, running.layout(layout).raw);
        const direct = await askDirectly(running.wholeUrl, query, actual.grid);
        points += actual.points.values().reduce((sum, own) => sum + own.size, 0);
        expect([
          ...differences(actual.points, recomputed, { oracle: "recomputed", exact }),
          ...(isPercentile(query)
            ? differences(direct, recomputed, { oracle: "recomputed against direct" })
            : differences(actual.points, exactly(direct), { oracle: "direct", exact })),
        ]).toEqual([]);
      }),
      { seed, numRuns: 600 },
    );
    expect(points).toBeGreaterThan(20_000);
  });

  test("of three stores equals that of one store with the same data, over 100 random queries", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(randomQuery(evenMetrics.filter((metric) => !metric.endsWith("_ms"))), async (query) => {
        const [one, three] = await Promise.all([ask("one store", query), ask("three stores of two regions", query)]);
        expect(three.grid).toEqual(one.grid);
        expect(differences(three.points, exactly(one.points), { oracle: "one store" })).toEqual([]);
      }),
      { seed, numRuns: 100 },
    );
  });

  test("grouped by region has the region of the store, over 100 random queries", { timeout: 120_000 }, async () => {
    const layout = "three stores of two regions";
    await fc.assert(
      fc.asyncProperty(randomQuery(evenMetrics, ["region"]), async (query) => {
        const groupBy = [...new Set([...query.groupBy.slice(0, 3), "region"])];
        const actual = await ask(layout, { ...query, groupBy });
        const recomputed = recompute({ ...query, groupBy }, actual.grid, running.layout(layout).raw);
        expect(differences(actual.points, recomputed, { oracle: "recomputed", exact: isExact(query) })).toEqual([]);
      }),
      { seed, numRuns: 100 },
    );
  });

  test("over unequal bucket layouts is that of the bounds they share, over 60 random queries", { timeout: 120_000 }, async () => {
    const queries = fc.tuple(fc.constantFrom(...layouts.slice(1)), randomQuery(["uneven_ms"]));
    await fc.assert(
      fc.asyncProperty(queries, async ([layout, query]) => {
        const actual = await ask(layout, query);
        const recomputed = recompute(query, actual.grid, running.layout(layout).raw);
        expect(differences(actual.points, recomputed, { oracle: "recomputed" })).toEqual([]);
      }),
      { seed, numRuns: 60 },
    );
  });
});
