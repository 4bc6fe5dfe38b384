import { expect, test } from "vitest";
import { classifyWarnings, gravest, type WarningClass } from "../../../../runtime/stores/prometheus/matrix.ts";

const rows: readonly (readonly [sentence: string, warnings: unknown, expected: WarningClass])[] = [
  ["none at all", undefined, "none"],
  ["an empty list", [], "none"],
  [
    "a name that does not look like a counter's",
    ['PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "x" (1:10)'],
    "none",
  ],
  [
    "buckets that had to be made monotone",
    ["PromQL info: input to histogram_quantile needed to be fixed for monotonicity"],
    "none",
  ],
  ["a store that knows of no other one (thanos#3742)", ["No StoreAPIs matched for this query"], "none"],
  [
    "numbers and histograms under one name",
    ["PromQL warning: encountered a mix of histograms and floats for aggregation (1:1)"],
    "dropped",
  ],
  [
    "exponential and custom buckets under one name",
    [
      "PromQL warning: vector contains a mix of histograms with exponential and custom buckets schemas for " +
        "metric name x",
    ],
    "dropped",
  ],
  ["histograms that were left out", ["PromQL info: ignored histogram in sum aggregation (1:1)"], "dropped"],
  ["a store behind it that is gone", ["fetch series for {region=eu}: rpc error: connection refused"], "incomplete"],
  ["a remote read that failed", ["remote_read: connection refused"], "incomplete"],
  ["anything that is not known", ["something new"], "incomplete"],
  [
    "several, of which the gravest counts",
    ["PromQL info: metric might not be a counter", "lost a shard", "PromQL warning: vector contains a mix of x"],
    "incomplete",
  ],
];
test.each(rows)("warnings about %s are classed", (_sentence, warnings, expected) => {
  expect(classifyWarnings(warnings)).toBe(expected);
});

test("the gravest class is the last one of the table", () => {
  expect([gravest([]), gravest(["none", "dropped"]), gravest(["incomplete", "dropped"])]).toEqual([
    "none",
    "dropped",
    "incomplete",
  ]);
});
