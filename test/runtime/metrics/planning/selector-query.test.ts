import { describe, expect, test } from "vitest";
import type { MetricConfig, SloConfig, SourceConfig } from "../../../../crds/config.ts";
import { accessOf } from "../../../../runtime/metrics/authorization/access.ts";
import { grant, type GrantedMetric } from "../../../../runtime/metrics/authorization/policy.ts";
import { indexCatalogs } from "../../../../runtime/metrics/catalog-index.ts";
import { makePlan, type Plan } from "../../../../runtime/metrics/planning/plan.ts";
import { makeQuery, measureName, type Query } from "../../../../runtime/metrics/planning/query.ts";
import { queriedSelector } from "../../../../runtime/metrics/planning/selector-query.ts";
import { printVector } from "../../../../runtime/metrics/promql/promql.ts";
import { metricIdentityOf } from "../../../../runtime/metrics/reads/finish-metric.ts";
import type { Measure } from "../../../../runtime/metrics/request/selector.ts";
import { identityOf } from "../../../../runtime/metrics/response/snapshots.ts";
import {
  configOf,
  everyone,
  metricConfig,
  parameters,
  peerStore,
  storeConfig,
  wideLimits,
} from "../oracle/universe.ts";
import { refusalOf } from "../refused.ts";

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const stores = [storeConfig({ name: "eu", region: "eu", url: "http://127.0.0.1:9" }), peerStore];
const series = { name: "ms", matchers: [] };
const classic: SourceConfig = { kind: "histogram", type: "Classic", increase: "Extrapolated", ...series };
const ratio: SourceConfig = { kind: "ratio", increase: "Extrapolated", numerator: series, denominator: series };
const histogram = (id: string, aggregations: MetricConfig["aggregations"]): MetricConfig =>
  metricConfig(id, stores, { source: classic, aggregations, defaultAggregation: aggregations[0] ?? "avg" });
const metrics = [
  histogram("ms", ["avg", "p95"]),
  histogram("only_p95", ["p95"]),
  histogram("without_slo", ["p95"]),
  metricConfig("success", stores, { source: ratio, aggregations: ["avg"] }),
];
const slo = (name: string, metric: string, threshold: number): SloConfig => ({
  name,
  domain: "payments",
  metric,
  objective: 0.99,
  counts: "Good",
  threshold,
  windowDays: 30,
  minimumEvents: 0,
  burnRates: [14.4, 6, 3, 1],
  public: false,
});
const slos = [slo("a-slow", "ms", 300), slo("b-slower", "ms", 1_000), slo("fast", "only_p95", 50)];
const config = configOf(stores, metrics);
const queryContext = {
  catalog: indexCatalogs(config.catalogs.map((catalog) => ({ ...catalog, slos }))),
  quotas: { quotas: [], classDefaults: { A: wideLimits, B: wideLimits, C: wideLimits } },
};
const caller = { ...everyone, tenants: ["brand-a"] };

function granted(id: string): GrantedMetric {
  const entry = queryContext.catalog.get(id);
  const [one] =
    entry === undefined ? [] : grant([entry], new Map(), caller, accessOf(caller, queryContext.quotas)).metrics;
  if (one === undefined) throw new Error(id);
  return one;
}

/** The native query of the metric, with a measure in place of its aggregation. */
function queryOf(id: string, measure: Measure): Query {
  const query = makeQuery(parameters([["metric", id]]), caller, queryContext, nowMs);
  return { ...query, metrics: [queriedSelector(granted(id), measure)] };
}

const count: Measure = { kind: "count" };
const fraction = (threshold: number): Measure => ({ kind: "fraction", threshold });
const average: Measure = { kind: "aggregation", aggregation: "avg" };

describe("a metric with a measure", () => {
  const rows: readonly (readonly [id: string, measure: Measure, why: string])[] = [
    ["ms", fraction(299), "ms: no objective has the threshold 299; use 300 or 1000"],
    ["without_slo", fraction(300), "it has none, so use a percentile"],
    ["without_slo", count, "it has neither avg nor an objective, so its events are not counted; use p95"],
    ["only_p95", average, "only_p95 has no aggregation avg; use one of p95"],
  ];
  test.each(rows)("is refused: %s with %j", (id, measure, why) => {
    const { code, message } = refusalOf(() => queriedSelector(granted(id), measure));
    expect([code, message]).toEqual(["invalid_aggregation", expect.stringContaining(why)]);
  });

  test("has a name of its own for each measure", () => {
    const names = [average, count, fraction(300), fraction(1_000)].map((measure) =>
      measureName(queriedSelector(granted("ms"), measure)),
    );
    expect(names).toEqual(["avg", "count", "fraction 300", "fraction 1000"]);
  });

  test("shares no identity with another measure", () => {
    const queries = [average, count, fraction(300), fraction(1_000)].map((measure) => queryOf("ms", measure));
    expect(new Set(queries.map(identityOf)).size).toBe(4);
    const ofMetrics = queries.flatMap((query) => query.metrics.map((metric) => metricIdentityOf(query, metric, [])));
    expect(new Set(ofMetrics).size).toBe(4);
  });
});

describe("the question to a peer", () => {
  const askedOf = ({ parts }: Plan): readonly unknown[] =>
    parts
      .filter(({ store }) => store.config.peer !== undefined)
      .flatMap(({ ranges }) => ranges.map((range) => JSON.parse(printVector(range, "LeftOpen")) as object))
      .map((asked) => asked as Readonly<Record<string, unknown>>)
      .map(({ agg, part, slo: named }) => [agg, part, named]);

  const rows: readonly (readonly [id: string, measure: Measure, asked: readonly unknown[]])[] = [
    ["ms", count, [["avg", "count", undefined]]],
    ["success", count, [["avg", "denominator", undefined]]],
    ["only_p95", count, [["avg", "count", "fast"]]],
    [
      "ms",
      fraction(1_000),
      [
        ["avg", "up to the threshold", "b-slower"],
        ["avg", "count", "b-slower"],
      ],
    ],
  ];
  test.each(rows)("about %s with %j is one that runtimes know", (id, measure, asked) => {
    expect(askedOf(makePlan(queryOf(id, measure), nowMs))).toEqual(asked);
  });
});
