import { describe, expect, test } from "vitest";
import type { MetricConfig, SourceConfig } from "../../../../crds/config.ts";
import { eventCountRecipe, eventFractionRecipe } from "../../../../runtime/metrics/promql/event-recipes.ts";
import { printVector } from "../../../../runtime/metrics/promql/promql.ts";
import type { Recipe, ScalarRecipe } from "../../../../runtime/metrics/promql/recipe.ts";
import { metricConfig } from "../oracle/universe.ts";
import { refusalOf } from "../refused.ts";

const ok = { label: "result", op: "Equal", value: "ok" } as const;
const sources = {
  gauge: { kind: "gauge", name: "lag", matchers: [] },
  counter: { kind: "counter", increase: "Extrapolated", name: "paid_total", matchers: [] },
  ratio: {
    kind: "ratio",
    increase: "Extrapolated",
    numerator: { name: "paid_total", matchers: [ok] },
    denominator: { name: "paid_total", matchers: [] },
  },
  classic: { kind: "histogram", type: "Classic", increase: "Extrapolated", name: "ms", matchers: [ok] },
  anchored: { kind: "histogram", type: "Classic", increase: "Anchored", name: "ms", matchers: [] },
  native: { kind: "histogram", type: "Native", increase: "Extrapolated", name: "ms", matchers: [] },
} as const satisfies Readonly<Record<string, SourceConfig>>;
type Kind = keyof typeof sources;

const metricOf = (kind: Kind): MetricConfig => metricConfig("m", [], { source: sources[kind] });

/** The name and the query of each statistic. */
function statisticsOf({ statistics }: Recipe & ScalarRecipe): Readonly<Record<string, string>> {
  const scope = {
    select: (series: { readonly name: string; readonly matchers: readonly object[] }, suffix = "") => ({
      name: `${series.name}${suffix}`,
      matchers: series.matchers.map((matcher) => {
        const { label, value, op } = matcher as { label: string; value: string; op: string };
        return { label, value, op: op === "Equal" ? ("=" as const) : ("=~" as const) };
      }),
    }),
    by: ["g"],
    rangeMs: 60_000,
  };
  return Object.fromEntries(statistics.map(({ name, expr }) => [name, printVector(expr(scope), "LeftOpen")]));
}

describe("the number of events", () => {
  const rows: readonly (readonly [kind: Kind, statistics: Readonly<Record<string, string>>])[] = [
    ["ratio", { denominator: 'sum by(g)(increase({__name__="paid_total"}[60000ms]))' }],
    ["classic", { count: 'sum by(g)(increase({__name__="ms_count",result="ok"}[60000ms]))' }],
    ["anchored", { count: 'sum by(g)(increase({__name__="ms_count"}[60000ms] anchored))' }],
    ["native", { count: 'histogram_count(sum by(g)(increase({__name__="ms"}[60000ms])))' }],
  ];
  test.each(rows)("of a %s is the last partial of its average", (kind, statistics) => {
    const recipe = eventCountRecipe(metricOf(kind));
    expect(statisticsOf(recipe)).toEqual(statistics);
    expect(recipe.finish([7], 60)).toBe(7);
    expect(recipe.finish([], 60)).toBeNaN();
  });
});

describe("the share of observations", () => {
  test("divides those up to the bound, in any spelling, by all", () => {
    const recipe = eventFractionRecipe(metricOf("classic"), 300);
    expect(statisticsOf(recipe)).toEqual({
      "up to the threshold":
        'sum by(g)(increase({__name__="ms_bucket",result="ok",le=~"300|300\\\\.0|3e\\\\+02|3\\\\.0E2"}[60000ms])) unless abs(sum by(g)(count_over_time({__name__="ms_bucket",result="ok",le=~"300|300\\\\.0|3e\\\\+02|3\\\\.0E2"}[60000ms])) / sum by(g)(count_over_time({__name__="ms_count",result="ok"}[60000ms])) - 1) > 0.0001',
      count: 'sum by(g)(increase({__name__="ms_count",result="ok"}[60000ms]))',
    });
    expect(recipe.finish([3, 4], 60)).toBe(0.75);
    expect(recipe.finish([0, 0], 60)).toBeNaN();
  });

  test("of a native histogram is interpolated by the store, and none of no observations", () => {
    const recipe = eventFractionRecipe(metricOf("native"), 0.25);
    const histogram = 'sum by(g)(increase({__name__="ms"}[60000ms]))';
    expect(statisticsOf(recipe)).toEqual({
      "up to the threshold": `histogram_fraction(-Inf,0.25,${histogram})*histogram_count(${histogram})>=0`,
      count: `histogram_count(${histogram})`,
    });
    expect(recipe.finish([3, 4], 60)).toBe(0.75);
    expect(recipe.finish([0, 0], 60)).toBeNaN();
  });
});

describe("a metric without the measure is refused with what to use", () => {
  const rows: readonly (readonly [sentence: string, work: () => unknown, advice: string])[] = [
    ["the count of a gauge", () => eventCountRecipe(metricOf("gauge")), "use avg, sum, min or max"],
    ["the count of a counter", () => eventCountRecipe(metricOf("counter")), "use sum"],
    ["the share of a gauge", () => eventFractionRecipe(metricOf("gauge"), 1), "use avg, sum, min or max"],
    ["the share of a counter", () => eventFractionRecipe(metricOf("counter"), 1), "use sum"],
    ["the share of a ratio", () => eventFractionRecipe(metricOf("ratio"), 1), "use avg"],
  ];
  test.each(rows)("%s", (_sentence, work, advice) => {
    const { code, message } = refusalOf(work);
    expect([code, message.startsWith("m: "), message.endsWith(advice)]).toEqual(["invalid_aggregation", true, true]);
  });
});
