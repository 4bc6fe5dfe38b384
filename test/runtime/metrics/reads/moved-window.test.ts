import { array, assert, asyncProperty, boolean, constantFrom, integer, oneof, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { usualCaches } from "../../../../limits/memory-plan.ts";
import { createTimeSlices } from "../../../../limits/clock.ts";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { cachedStores } from "../../../../runtime/metrics/cache/cached-stores.ts";
import { createReadCache } from "../../../../runtime/metrics/cache/read-cache.ts";
import { indexCatalogs } from "../../../../runtime/metrics/catalog-index.ts";
import { makePlan } from "../../../../runtime/metrics/planning/plan.ts";
import { makeQuery } from "../../../../runtime/metrics/planning/query.ts";
import { createFinishedMetrics, type FinishedMetrics } from "../../../../runtime/metrics/reads/finish-metric.ts";
import { runPlan } from "../../../../runtime/metrics/reads/run-plan.ts";
import { queryResponse } from "../../../../runtime/metrics/response/query-response.ts";
import { snapshotOf } from "../../../../runtime/metrics/response/snapshots.ts";
import { runsOf } from "../../../support/soak.ts";
import { configOf, everyone, metricConfig, parameters, wideLimits } from "../oracle/universe.ts";
import { changingStores, configs, type Situation } from "./changing-stores.ts";

/** The answer to a window that moves has the bytes of an answer that nothing went before. */

const noonMs = Date.parse("2026-01-01T12:00:00Z");
const lifetimes = { settledMs: 60_000, tailMs: 15_000 };
const metrics = [
  metricConfig("lag", configs, { source: { kind: "gauge", name: "lag", matchers: [] } }),
  // The samples of one region count twice in averages.
  metricConfig("uneven", configs, {
    source: { kind: "gauge", name: "uneven", matchers: [] },
    intervalSeconds: { eu: 15, us: 30 },
    minStepSeconds: 60,
  }),
  metricConfig("latency", configs, {
    source: { kind: "histogram", type: "Classic", increase: "Extrapolated", name: "latency", matchers: [] },
    aggregations: ["avg", "p95"],
    defaultAggregation: "p95",
  }),
];
const queryContext = {
  catalog: indexCatalogs(configOf(configs, metrics).catalogs),
  quotas: { quotas: [], classDefaults: { A: wideLimits, B: wideLimits, C: wideLimits } },
};

interface Asked {
  readonly metric: string;
  readonly aggregation: string;
  readonly isGrouped: boolean;
  readonly isNarrow: boolean;
  readonly exemplars: boolean;
  readonly limit: number;
  readonly step: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly nowMs: number;
}

function planOf({ metric, aggregation, isGrouped, isNarrow, exemplars, limit, step, ...times }: Asked) {
  const { fromMs, toMs, nowMs } = times;
  const params = parameters([
    ...metric.split(",").map((id) => ["metric", id] as const),
    ["agg", aggregation],
    ...(isGrouped ? ([["group_by", "service"]] as const) : []),
    ...(isNarrow ? ([["filter[region]", "us"]] as const) : []),
    ["exemplars", String(exemplars)],
    ["limit", String(limit)],
    ["step", step],
    ["from", new Date(fromMs).toISOString()],
    ["to", new Date(toMs).toISOString()],
    ["filter[tenant]", "brand-a"],
  ]);
  return makePlan(makeQuery(params, everyone, queryContext, nowMs), nowMs);
}

/** An installation with one cache, and what it answers with and without its finished metrics. */
function installation(situation: Situation) {
  const [stores, cache, slices] = [changingStores(situation), createReadCache(64 * 1024 * 1024), createTimeSlices()];
  return async (asked: Asked, finished: FinishedMetrics): Promise<string> => {
    const plan = planOf(asked);
    const { stores: cached } = cachedStores(stores, cache, { lifetimes, nowMs: asked.nowMs });
    const result = await runPlan(plan, cached, {
      deadlineMs: 10_000,
      signal: new AbortController().signal,
      nowMs: asked.nowMs,
      slices,
      finished,
      correlationId: "test",
      showsMessages: false,
      observe: () => undefined,
    });
    const response = queryResponse(plan, result, { snapshot: snapshotOf(result, plan.query), slices, cache: "" });
    const written = Buffer.from((await response.json?.()) ?? []).toString();
    expect(written).toBe(JSON.stringify(response.body));
    return written;
  };
}

/** The histograms of two stores can have too few bounds in common at one point. */
async function bytesOrCode(answer: Promise<string>): Promise<string> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    throw error;
  }
}

const step = record({
  waitMs: constantFrom(0, 0, 0, 16_000, 31_000, 31_000, 61_000),
  move: oneof(constantFrom(1, 1, 1, 0, -1), integer({ min: -30, max: 30 })),
  grow: constantFrom(0, 0, 0, 0, 1, -1, 20),
  edit: constantFrom("none", "none", "none", "late", "old"),
  failing: constantFrom(undefined, undefined, undefined, undefined, "us"),
  // Reads one store at another time than the other.
  isNarrow: constantFrom(false, false, true),
});
const sequence = record({
  steps: array(step, { minLength: 2, maxLength: 20 }),
  metric: constantFrom("lag", "uneven", "latency", "latency", "lag,uneven"),
  isAverage: boolean(),
  isGrouped: boolean(),
  exemplars: constantFrom(false, false, true),
  limit: constantFrom(50, 2),
  points: constantFrom<number>(50, 8),
  step: constantFrom("1m", "5m"),
});

describe("a window that moves over points that change late, come and go", () => {
  test("is answered with the bytes of an answer made afresh", async () => {
    await assert(
      asyncProperty(sequence, async ({ steps, metric, isAverage, points: first, ...asked }) => {
        const situation: Situation = { edits: [], failing: undefined };
        const [answer, finished] = [installation(situation), createFinishedMetrics(usualCaches.finished)];
        const aggregation = isAverage ? "avg" : metric === "latency" ? "p95" : "max";
        const stepMs = asked.step === "1m" ? 60_000 : 300_000;
        let [nowMs, endMs, points] = [noonMs, noonMs - 40 * stepMs, first];
        for (const { waitMs, move, grow, edit, failing, isNarrow } of steps) {
          [nowMs, endMs, points] = [nowMs + waitMs, Math.min(nowMs, endMs + move * stepMs), Math.max(2, points + grow)];
          if (edit !== "none") situation.edits.push({ afterMs: edit === "late" ? endMs - 3 * stepMs : 0 });
          situation.failing = failing;
          const window = { fromMs: endMs - points * stepMs, toMs: endMs, nowMs };
          const query = { ...asked, ...window, metric, aggregation, isNarrow };
          expect(await bytesOrCode(answer(query, finished))).toBe(
            await bytesOrCode(answer(query, createFinishedMetrics(usualCaches.finished))),
          );
        }
      }),
      { seed: 146, numRuns: runsOf(200) },
    );
  }, 120_000);
});
