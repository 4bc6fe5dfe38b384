import { describe, expect, test } from "vitest";
import type { Aggregation, SeriesConfig, SourceConfig } from "../../../../crds/config.ts";
import { fixedMatcher, printExemplified, printVector } from "../../../../runtime/metrics/promql/promql.ts";
import { recipeOf } from "../../../../runtime/metrics/promql/recipe-of.ts";
import type { Recipe } from "../../../../runtime/metrics/promql/recipe.ts";
import { metricConfig } from "../oracle/universe.ts";
import { refusalOf } from "../refused.ts";

const ok = { label: "result", op: "Equal", value: "ok" } as const;
const sources = {
  gauge: { kind: "gauge", name: "lag", matchers: [] },
  counter: { kind: "counter", increase: "Extrapolated", name: "paid_total", matchers: [] },
  anchored: { kind: "counter", increase: "Anchored", name: "paid_total", matchers: [] },
  ratio: {
    kind: "ratio",
    increase: "Extrapolated",
    numerator: { name: "paid_total", matchers: [ok] },
    denominator: { name: "paid_total", matchers: [] },
  },
  histogram: { kind: "histogram", type: "Classic", increase: "Extrapolated", name: "ms", matchers: [] },
} as const satisfies Readonly<Record<string, SourceConfig>>;

const scope = {
  select: ({ name, matchers = [] }: Partial<SeriesConfig>, suffix = "") => ({
    name: `${name}${suffix}`,
    matchers: matchers.filter(({ label }) => label === "le").map(fixedMatcher),
  }),
  by: ["service"],
  rangeMs: 60_000,
};

const recipe = (source: keyof typeof sources, aggregation: Aggregation): Recipe =>
  recipeOf(metricConfig("m", [], { source: sources[source] }), aggregation);

function queries(made: Recipe): readonly string[] {
  const vectors = made.kind === "quantile" ? [made.buckets(scope)] : made.statistics.map(({ expr }) => expr(scope));
  return vectors.map((vector) => printVector(vector, "LeftOpen"));
}

describe("the query to a store for", () => {
  const rows: readonly (readonly [keyof typeof sources, Aggregation, readonly string[]])[] = [
    [
      "gauge",
      "avg",
      [
        'sum by(service)(sum_over_time({__name__="lag"}[60000ms]))',
        'sum by(service)(count_over_time({__name__="lag"}[60000ms]))',
      ],
    ],
    ["gauge", "sum", ['sum by(service)(avg_over_time({__name__="lag"}[60000ms]))']],
    ["gauge", "min", ['min by(service)(min_over_time({__name__="lag"}[60000ms]))']],
    ["gauge", "max", ['max by(service)(max_over_time({__name__="lag"}[60000ms]))']],
    ["counter", "sum", ['sum by(service)(increase({__name__="paid_total"}[60000ms]))']],
    ["counter", "avg", ['sum by(service)(increase({__name__="paid_total"}[60000ms]))']],
    ["counter", "min", ['min by(service)(increase({__name__="paid_total"}[60000ms]))']],
    ["counter", "max", ['max by(service)(increase({__name__="paid_total"}[60000ms]))']],
    ["anchored", "sum", ['sum by(service)(increase({__name__="paid_total"}[60000ms] anchored))']],
    [
      "histogram",
      "p95",
      [
        'sum by(service,heliograph_le)(label_replace(increase({__name__="ms_bucket"}[60000ms]),' +
          '"heliograph_le","$1","le","(.+?)([.]0)?")) unless abs(' +
          'sum by(service,heliograph_le)(label_replace(count_over_time({__name__="ms_bucket"}[60000ms]),' +
          '"heliograph_le","$1","le","(.+?)([.]0)?")) / on(service) group_left() ' +
          'sum by(service)(count_over_time({__name__="ms_bucket",le="+Inf"}[60000ms])) - 1) > 0.0001',
      ],
    ],
    [
      "histogram",
      "avg",
      [
        'sum by(service)(increase({__name__="ms_sum"}[60000ms])) unless abs(' +
          'sum by(service)(count_over_time({__name__="ms_sum"}[60000ms])) / ' +
          'sum by(service)(count_over_time({__name__="ms_count"}[60000ms])) - 1) > 0.0001',
        'sum by(service)(increase({__name__="ms_count"}[60000ms]))',
      ],
    ],
    ["histogram", "sum", ['sum by(service)(increase({__name__="ms_sum"}[60000ms]))']],
  ];
  test.each(rows)("a %s's %s", (source, aggregation, expected) => {
    expect(queries(recipe(source, aggregation))).toEqual(expected);
  });
});

describe("a point is computed from", () => {
  const rows: readonly (readonly [keyof typeof sources, Aggregation, readonly number[], number])[] = [
    ["gauge", "avg", [10, 4], 2.5],
    ["counter", "sum", [120], 120],
    ["counter", "avg", [120], 2],
    ["ratio", "avg", [3, 4], 0.75],
    ["ratio", "avg", [0, 0], Number.NaN],
    ["histogram", "avg", [30, 4], 7.5],
  ];
  test.each(rows)("a %s's %s of %j: %d", (source, aggregation, values, expected) => {
    const made = recipe(source, aggregation);
    if (made.kind !== "scalar") throw new Error("it is no scalar");
    expect(made.finish(values, 60)).toBe(expected);
  });
});

describe("an aggregation that does not compose is refused with an alternative", () => {
  const rows: readonly (readonly [keyof typeof sources, Aggregation, string])[] = [
    ["gauge", "p99", "m: a gauge has no p99, because a percentile needs a histogram; use avg, sum, min or max"],
    ["counter", "p50", "m: a counter has no p50, because a percentile needs a histogram; use sum, avg, min or max"],
    ["ratio", "sum", "m: a ratio has no sum, because ratios do not add up; use avg"],
    ["ratio", "p95", "m: a ratio has no p95, because ratios do not add up; use avg"],
    ["histogram", "max", "m: a histogram has no max; use p50, p95, p99, avg or sum"],
  ];
  test.each(rows)("a %s's %s", (source, aggregation, detail) => {
    const refusal = refusalOf(() => recipe(source, aggregation));
    expect([refusal.status, refusal.code, refusal.message]).toEqual([400, "invalid_aggregation", detail]);
  });
});

test("a metric is dated by its own series, which also have its exemplars", () => {
  const series = (source: keyof typeof sources, aggregation: Aggregation) => {
    const made = recipe(source, aggregation);
    return [printExemplified(made.dated(scope)), printExemplified(made.exemplified(scope))];
  };
  expect(series("histogram", "p95")).toEqual(['{__name__="ms_count"}', '{__name__="ms_bucket"}']);
  expect(series("ratio", "avg")).toEqual(['{__name__="paid_total"}', '{__name__="paid_total"}']);
});
