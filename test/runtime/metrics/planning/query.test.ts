import { describe, expect, test } from "vitest";
import type { ClassLimits, MetricConfig } from "../../../../crds/config.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import { indexCatalogs } from "../../../../runtime/metrics/catalog-index.ts";
import { makeInstant, makeQuery, type Query, type QueryContext } from "../../../../runtime/metrics/planning/query.ts";
import { formatDuration } from "../../../../runtime/metrics/request/time.ts";
import {
  configOf,
  everyone,
  generatedMetrics,
  metricConfig,
  parameters,
  storeConfig,
  wideLimits,
} from "../oracle/universe.ts";
import { refusalOf, refused } from "../refused.ts";

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const stores = [storeConfig({ name: "eu", region: "eu", url: "http://127.0.0.1:9" })];
const reader: Caller = { ...everyone, tenants: ["brand-a"] };

function contextOf(metrics: readonly MetricConfig[] = [], limits: Partial<ClassLimits> = {}): QueryContext {
  const config = configOf(stores, [...generatedMetrics(stores), ...metrics]);
  const own = { ...wideLimits, ...limits };
  return { catalog: indexCatalogs(config.catalogs), quotas: { quotas: [], classDefaults: { A: own, B: own, C: own } } };
}

type Pairs = readonly (readonly [string, string])[];
function query(pairs: Pairs, { queryContext = contextOf(), caller = reader } = {}): Query {
  return makeQuery(parameters(pairs), caller, queryContext, nowMs);
}

const queueLag: Pairs = [["metric", "queue_lag"]];

describe("a query", () => {
  test("has the metric's aggregation, three hours, one series and the first page by default (wire, Metrics)", () => {
    const made = query(queueLag);
    expect(made.metrics.map(({ aggregation }) => aggregation)).toEqual(["avg"]);
    expect((made.window.toMs - made.window.fromMs) / 3_600_000).toBe(3);
    expect([made.groupBy, made.page, made.limit]).toEqual([[], 1, 50]);
  });

  test("has the default aggregation of each metric", () => {
    const p99 = metricConfig("p99", stores, {
      source: { kind: "histogram", type: "Classic", increase: "Extrapolated", name: "h", matchers: [] },
      aggregations: ["p99"],
      defaultAggregation: "p99",
    });
    const made = query([...queueLag, ["metric", "p99"]], { queryContext: contextOf([p99]) });
    expect(made.metrics.map(({ aggregation }) => aggregation)).toEqual(["p99", "avg"]);
  });

  test("accepts a served schema version", () => {
    expect(query([...queueLag, ["schema_version", "2026-01-01"]]).schemaVersion).toBe("2026-01-01");
  });

  const rows: readonly (readonly [sentence: string, pairs: Pairs, refusal: string])[] = [
    ["an unknown metric", [["metric", "nothing"]], "unknown_metric metric"],
    ["an unknown metric beside a known one", [...queueLag, ["metric", "x"]], "unknown_metric metric"],
    ["an aggregation that the metric does not offer", [...queueLag, ["agg", "p99"]], "invalid_aggregation agg"],
    [
      "an aggregation that one of two metrics does not offer",
      [...queueLag, ["metric", "payments_success"], ["agg", "sum"]],
      "invalid_aggregation agg",
    ],
    ["grouping by a label that the metric has not", [...queueLag, ["group_by", "psp"]], "invalid_group_by group_by"],
    [
      "one region of several that no store has",
      [...queueLag, ["filter_in[region]", "eu"], ["filter_in[region]", "mars"]],
      "invalid_filter filter_in[region]",
    ],
    ["a filter on a label that the metric has not", [...queueLag, ["filter[psp]", "x"]], "invalid_filter filter[psp]"],
    [
      "a schema version that is no longer served (§7, 409)",
      [...queueLag, ["schema_version", "1999-01-01"]],
      "schema_version_gone schema_version",
    ],
  ];
  test.each(rows)("is refused for %s", (_sentence, pairs, refusal) => {
    expect(refused(() => query(pairs))).toBe(refusal);
  });

  test("has a refusal without the stores and the source of the metric", () => {
    expect(refusalOf(() => query([...queueLag, ["agg", "p99"]])).message).toBe(
      "queue_lag has no aggregation p99; use one of avg, sum, min, max",
    );
  });

  test("can be filtered by the labels of the isolation, whatever labels the metric has", () => {
    const bare = metricConfig("bare", stores, { source: { kind: "gauge", name: "bare", matchers: [] }, labels: [] });
    const pairs: Pairs = [
      ["metric", "bare"],
      ["filter[tenant]", "brand-a"],
      ["filter[region]", "eu"],
      ["filter[environment]", "prod"],
    ];
    expect(query(pairs, { queryContext: contextOf([bare]) }).tenant).toBe("brand-a");
  });
});

describe("the limits of a query (Operational Metrics API §8)", () => {
  const bounded = (changes: Partial<MetricConfig>) =>
    contextOf([
      metricConfig("m", stores, { source: { kind: "gauge", name: "m", matchers: [] }, minStepSeconds: 10, ...changes }),
    ]);
  const pairs = (...more: Pairs): Pairs => [
    ["metric", "m"],
    ["from", "2026-01-01T11:30:00Z"],
    ["to", "2026-01-01T12:00:00Z"],
    ...more,
  ];
  const stepOf = (made: Query): string => formatDuration(made.window.stepSeconds);

  test("allow a step of 10 s, and of 1 min for public dashboards", () => {
    const queryContext = bounded({});
    const publicCaller = { ...reader, scopes: ["metrics:read.public"] };
    expect(stepOf(query(pairs(["step", "10s"]), { queryContext }))).toBe("10s");
    expect(stepOf(query(pairs(), { queryContext, caller: publicCaller }))).toBe("1m");
    expect(refused(() => query(pairs(["step", "9s"]), { queryContext }))).toBe("invalid_step step");
    expect(refused(() => query(pairs(["step", "30s"]), { queryContext, caller: publicCaller }))).toBe(
      "invalid_step step",
    );
  });

  test("allow no step below the minimum of the metric, the largest of several metrics", () => {
    const queryContext = bounded({ minStepSeconds: 120 });
    expect(refused(() => query(pairs(["step", "1m"]), { queryContext }))).toBe("invalid_step step");
    expect(stepOf(query(pairs(["metric", "queue_lag"]), { queryContext }))).toBe("2m");
  });

  test("are narrowed by a class: the smallest step, the series and the grouping", () => {
    const queryContext = contextOf([], { minStepSeconds: 300, maxSeries: 5, maxGroupBy: 1 });
    const lag: Pairs = [
      ["metric", "queue_lag"],
      ["from", "2026-01-01T11:00:00Z"],
      ["to", "2026-01-01T12:00:00Z"],
    ];
    expect(query(lag, { queryContext })).toMatchObject({ limit: 5, window: { stepSeconds: 300 } });
    expect(refused(() => query([...lag, ["limit", "6"]], { queryContext }))).toBe("invalid_limit limit");
    expect(refused(() => query([...lag, ["group_by", "service,environment"]], { queryContext }))).toBe(
      "invalid_group_by group_by",
    );
  });

  test("are narrowed by a metric: fewer labels of grouping than four", () => {
    const queryContext = bounded({ maxGroupBy: 1 });
    expect(refused(() => query(pairs(["group_by", "service,environment"]), { queryContext }))).toBe(
      "invalid_group_by group_by",
    );
    expect(query(pairs(["group_by", "service"]), { queryContext }).groupBy).toEqual(["service"]);
  });

  test("allow the labels of the class and of the metric, and never more than 50 series", () => {
    const queryContext = contextOf(
      [
        metricConfig("m", stores, {
          source: { kind: "gauge", name: "m", matchers: [] },
          maxGroupBy: 9,
          labels: ["region", "tenant", "environment", "service", "psp"],
        }),
      ],
      { maxGroupBy: 9, maxSeries: 500 },
    );
    const labels = ["region", "tenant", "environment", "service", "psp"];
    expect(query(pairs(["group_by", labels.join(",")]), { queryContext }).groupBy).toEqual(
      expect.arrayContaining(labels),
    );
    expect(query(pairs(), { queryContext }).limit).toBe(50);
  });
});

describe("an instant", () => {
  test("is a query of one point, as wide as the smallest step of the caller", () => {
    const made = makeInstant(parameters([["metric", "queue_lag"]]), reader, contextOf(), nowMs);
    const [fromMs, toMs] = [nowMs - 60_000, nowMs];
    expect(made.window).toEqual({ fromMs, toMs, stepSeconds: 60, widthSeconds: 60, downsample: undefined });
  });
});
