import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { meaningsOf } from "../../../../runtime/metrics/promql/meaning.ts";
import { semanticsPage, semanticsText } from "../../../tools/semantics-page.ts";
import { metricConfig } from "../oracle/universe.ts";

describe("the meaning of an aggregation", () => {
  test("equals its page in the docs (npm run generate)", () => {
    expect(readFileSync(semanticsPage, "utf8")).toBe(semanticsText());
  });

  test("leaves out the names and matchers of the metric in its stores", () => {
    const secret = { name: "internal_series", matchers: [{ label: "job", op: "Equal", value: "hidden" }] } as const;
    const metric = metricConfig("m", [], {
      source: { kind: "ratio", increase: "Extrapolated", numerator: secret, denominator: secret },
      aggregations: ["avg"],
      defaultAggregation: "avg",
    });
    expect(JSON.stringify(meaningsOf(metric))).not.toMatch(/internal_series|hidden|job/u);
  });

  test("has the value and the query of each store", () => {
    const metric = metricConfig("lag", [], {
      source: { kind: "gauge", name: "lag", matchers: [] },
      aggregations: ["avg", "sum"],
      defaultAggregation: "avg",
    });
    expect(meaningsOf(metric)).toMatchObject({
      avg: {
        value: "sum_over_time / count_over_time: all samples have equal weight across series, stores and time",
        partials: [{ of_store: "sum by(g)(sum_over_time(m[w]))" }, { of_store: "sum by(g)(count_over_time(m[w]))" }],
      },
      sum: {
        value: "the sum of each series' own average over the point",
        partials: [{ of_store: "sum by(g)(avg_over_time(m[w]))", over_stores: "sum" }],
      },
    });
  });
});
