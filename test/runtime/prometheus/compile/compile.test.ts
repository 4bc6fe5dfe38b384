import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { MetricSelector } from "../../../../runtime/metrics/request/selector.ts";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { compileExpression, compileText } from "../../../../runtime/prometheus/compile/compile.ts";
import type { CompiledExpression, LookUp } from "../../../../runtime/prometheus/compile/program.ts";
import { ExpressionError } from "../../../../runtime/prometheus/language/expression.ts";
import { parseExpression } from "../../../../runtime/prometheus/language/parse-expression.ts";
import { runsOf } from "../../../support/soak.ts";
import { knownMetrics } from "../known-metrics.ts";

function compile(text: string): CompiledExpression {
  return compileExpression(
    parseExpression(text),
    (id) => knownMetrics.get(id),
    () => knownMetrics.keys(),
  );
}

/** `metric measure by(…) {filters} width`, of the only leaf. */
function leafText(text: string): string {
  const { selectors, program } = compile(text);
  expect(program).toEqual({ kind: "leaf", index: 0 });
  expect(selectors).toHaveLength(1);
  return selectors.map(describeLeaf).join("");
}

function describeLeaf({ metric, measure, filters, groupBy, widthSeconds }: MetricSelector): string {
  const kind = measure.kind === "aggregation" ? measure.aggregation : measure.kind;
  const threshold = measure.kind === "fraction" ? ` ${measure.threshold}` : "";
  const filtered = [...filters].map(([label, values]) => ` ${label}=${values.join("|")}`).join("");
  const grouped = groupBy.length === 0 ? "" : ` by ${groupBy.join(",")}`;
  return `${metric} ${kind}${threshold}${grouped}${filtered} ${widthSeconds ?? "short"}`;
}

describe("a query in PromQL is one leaf:", () => {
  test.each([
    ["avg(avg_over_time(queue_consumer_lag[5m]))", "queue_consumer_lag avg 300"],
    ["sum(avg_over_time(queue_consumer_lag[1m]))", "queue_consumer_lag sum 60"],
    ["min(min_over_time(queue_consumer_lag[1h]))", "queue_consumer_lag min 3600"],
    ["max(max_over_time(queue_consumer_lag[1h]))", "queue_consumer_lag max 3600"],
    ["avg(queue_consumer_lag)", "queue_consumer_lag avg short"],
    ["avg by (service, component) (queue_consumer_lag)", "queue_consumer_lag avg by component,service short"],
    ["avg by (service, service) (queue_consumer_lag)", "queue_consumer_lag avg by service short"],
    ["avg(avg_over_time(success_rate[5m]))", "success_rate avg 300"],
    ["sum(increase(success_rate:total[5m]))", "success_rate count 300"],
    ["sum(rate(requests[5m]))", "requests avg 300"],
    ["sum(increase(requests[5m]))", "requests sum 300"],
    ["min(increase(requests[5m]))", "requests min 300"],
    ["max by (component) (increase(requests[5m]))", "requests max by component 300"],
    ["histogram_quantile(0.5, sum(rate(latency[5m])))", "latency p50 300"],
    ["histogram_quantile(0.95, sum by (le) (rate(latency[5m])))", "latency p95 300"],
    ["histogram_quantile(0.99, sum by (le, service) (increase(latency[5m])))", "latency p99 by service 300"],
    ["histogram_quantile(0.99, sum by (service) (rate(native_latency[5m])))", "native_latency p99 by service 300"],
    ["histogram_quantile(.95, sum by (le) (rate(latency_bucket[5m])))", "latency p95 300"],
    ["histogram_fraction(0, 0.3, sum by (le) (rate(latency_bucket[5m])))", "latency fraction 0.3 300"],
    ["histogram_avg(sum(rate(latency[5m])))", "latency avg 300"],
    ["histogram_sum(sum(increase(latency[5m])))", "latency sum 300"],
    ["histogram_count(sum(increase(latency[5m])))", "latency count 300"],
    ["histogram_count(sum(increase(native_latency[5m])))", "native_latency count 300"],
    ["histogram_fraction(0, 1.5, sum by (component) (rate(latency[5m])))", "latency fraction 1.5 by component 300"],
    ["((sum((rate((requests[5m]))))))", "requests avg 300"],
    [
      'sum(rate(requests{service="b",component=~"y|x|y",tenant="t"}[5m]))',
      "requests avg component=x|y service=b tenant=t 300",
    ],
  ])("%s", (text, selector) => {
    expect(leafText(text)).toBe(selector);
  });
});

describe("a subquery", () => {
  const slices = (text: string): MetricSelector["slices"] => compile(text).selectors[0]?.slices;

  test("of a gauge is the share or the number of slices that meet a condition", () => {
    const inside = "(max(max_over_time(queue_consumer_lag[5m])) <= bool 10)[1h:5m]";
    const condition = { operator: "AtMost", threshold: 10, sliceSeconds: 300 };
    const share = `avg_over_time(${inside})`;
    expect(slices(share)).toEqual({ condition, windowSeconds: 3_600, result: "share" });
    expect(slices(`count_over_time(${inside})`)).toEqual({ condition, windowSeconds: 3_600, result: "count" });
    expect(leafText(share)).toBe("queue_consumer_lag max 300");
    expect(compile(`${share} / avg_over_time(${inside.replace("10", "11")})`).selectors).toHaveLength(2);
  });

  test.each([
    ["avg_over_time((sum(rate(requests[5m])) < bool 1)[1h:5m])", "a subquery compares a gauge with a number"],
    ["max_over_time((avg(avg_over_time(queue_consumer_lag[5m])) < bool 1)[1h:5m])", "a subquery compares a gauge"],
    ["avg_over_time((avg(avg_over_time(queue_consumer_lag[5m])) < 1)[1h:5m])", "a subquery compares a gauge"],
    ["avg_over_time((avg(avg_over_time(queue_consumer_lag[5m])) == bool 1)[1h:5m])", "a subquery compares a gauge"],
    ["avg_over_time((avg(avg_over_time(queue_consumer_lag[5m])) < bool Inf)[1h:5m])", "a subquery compares a gauge"],
    ["avg_over_time((avg(queue_consumer_lag) < bool 1)[1h:5m])", "the range of the metric and the step"],
    ["avg_over_time((avg(avg_over_time(queue_consumer_lag[1m])) < bool 1)[1h:5m])", "the range of the metric and"],
    ["avg_over_time((avg(avg_over_time(queue_consumer_lag[7m])) < bool 1)[1h:7m])", "must be a multiple of its step"],
    [
      "avg(count_over_time(queue_consumer_lag[5m]))",
      "queue_consumer_lag is a gauge, to which count_over_time does not",
    ],
  ])("is rejected: %s", (text, message) => {
    expect(() => compile(text)).toThrow(message);
  });
});

describe("a part that is no governed query is refused with what to write:", () => {
  test.each([
    ["queue_consumer_lag", 1, "must be aggregated", "avg by (component) (queue_consumer_lag)"],
    ["1 + queue_consumer_lag", 5, "must be aggregated", "1 + avg by (component) (queue_consumer_lag)"],
    ["queue_consumer_lag[10m]", 1, "must be aggregated", "avg by (component) (avg_over_time(queue_consumer_lag[10m]))"],
    [
      "max_over_time(queue_consumer_lag[5m])",
      1,
      "must be aggregated",
      "avg by (component) (avg_over_time(queue_consumer_lag[5m]))",
    ],
    [
      "sum by (service) (queue_consumer_lag)",
      1,
      "form of query",
      "sum by (service) (avg_over_time(queue_consumer_lag[5m]))",
    ],
    ["max(avg_over_time(queue_consumer_lag[5m]))", 1, "form of query", "max(max_over_time(queue_consumer_lag[5m]))"],
    ["sum(rate(queue_consumer_lag[5m]))", 1, "rate does not apply", "sum(avg_over_time(queue_consumer_lag[5m]))"],
    ["avg(rate(queue_consumer_lag[5m]))", 1, "rate does not apply", "avg(avg_over_time(queue_consumer_lag[5m]))"],
    [
      'avg(rate(queue_consumer_lag{service="a"}[5m]))',
      1,
      "rate does",
      'avg(avg_over_time(queue_consumer_lag{service="a"}[5m]))',
    ],
    [
      "histogram_quantile(0.95, sum by (le) (rate(queue_consumer_lag[5m])))",
      1,
      "histogram_quantile requires a histogram",
      "sum(avg_over_time(queue_consumer_lag[5m]))",
    ],
    ["pool_size_peak", 1, "must be aggregated", "max(max_over_time(pool_size_peak[5m]))"],
    ["avg(pool_size_peak)", 1, "it has max", "max(max_over_time(pool_size_peak[5m]))"],
    ["requests", 1, "must be aggregated", "sum by (component) (rate(requests[5m]))"],
    ["sum(requests)", 1, "form of query", "sum(rate(requests[5m]))"],
    ["sum(rate(requests))", 1, "form of query", "sum(rate(requests[5m]))"],
    ["rate(requests[1m])", 1, "must be aggregated", "sum by (component) (rate(requests[1m]))"],
    ["avg(rate(requests[1m]))", 1, "form of query", "sum(rate(requests[1m]))"],
    ["max(rate(requests[1m]))", 1, "form of query", "max(increase(requests[1m]))"],
    ["avg(avg_over_time(requests[1m]))", 1, "does not apply", "sum(rate(requests[1m]))"],
    ["sum(slow_counter)", 1, "form of query", "sum(increase(slow_counter[1h]))"],
    ["sum(rate(slow_counter[2h]))", 1, "it has sum", "sum(increase(slow_counter[2h]))"],
    ["slow_counter", 1, "must be aggregated", "sum(increase(slow_counter[1h]))"],
    ["success_rate", 1, "must be aggregated", "avg by (component) (avg_over_time(success_rate[5m]))"],
    ["avg by (service) (success_rate)", 1, "form of query", "avg by (service) (avg_over_time(success_rate[5m]))"],
    ["sum(rate(success_rate:total[5m]))", 1, "rate does not apply", "sum(increase(success_rate:total[5m]))"],
    ["sum(rate(latency[5m]))", 1, "read it with a function", "histogram_quantile(0.95, sum(rate(latency[5m])))"],
    ["avg(rate(latency[5m]))", 1, "read it with a function", "histogram_avg(sum(rate(latency[5m])))"],
    [
      "histogram_quantile(0.9, sum(rate(latency[5m])))",
      1,
      "0.5, 0.95, 0.99",
      "histogram_quantile(0.95, sum(rate(latency[5m])))",
    ],
    [
      "histogram_quantile(0.6, sum(rate(latency[5m])))",
      1,
      "0.5, 0.95, 0.99",
      "histogram_quantile(0.5, sum(rate(latency[5m])))",
    ],
    [
      "histogram_quantile(0.5, sum(rate(native_latency[5m])))",
      1,
      "it has avg, p99",
      "histogram_quantile(0.99, sum(rate(native_latency[5m])))",
    ],
    [
      "histogram_sum(sum(increase(native_latency[5m])))",
      1,
      "it has avg, p99",
      "histogram_quantile(0.99, sum(rate(native_latency[5m])))",
    ],
    [
      "sum by (le) (rate(latency_bucket[5m]))",
      1,
      "part of the histogram",
      "histogram_quantile(0.95, sum by (le) (rate(latency_bucket[5m])))",
    ],
    [
      "histogram_quantile(0.95, sum(rate(latency_bucket[5m])))",
      1,
      "grouped by le",
      "histogram_quantile(0.95, sum by (le) (rate(latency_bucket[5m])))",
    ],
    [
      "sum by (service) (increase(latency_count[5m]))",
      1,
      "part of the histogram",
      "histogram_count(sum by (service) (increase(latency[5m])))",
    ],
    [
      "sum(rate(latency_sum[5m])) / sum(rate(latency_count[5m]))",
      1,
      "part of",
      "histogram_sum(sum(increase(latency[5m]))) / histogram_count(sum(increase(latency[5m])))",
    ],
    [
      "histogram_quantile(0.99, sum by (le) (rate(native_latency_bucket[5m])))",
      1,
      "part of",
      "histogram_quantile(0.99, sum(rate(native_latency[5m])))",
    ],
    [
      "histogram_fraction(0, 0.2, sum(rate(latency[5m])))",
      1,
      "are 0.3, 1.5",
      "histogram_fraction(0, 0.3, sum(rate(latency[5m])))",
    ],
    [
      "histogram_fraction(0.1, 0.3, sum(rate(latency[5m])))",
      1,
      "from 0 to",
      "histogram_fraction(0, 0.3, sum(rate(latency[5m])))",
    ],
    [
      "histogram_fraction(0, 1, sum(rate(native_latency[5m])))",
      1,
      "no SLO",
      "histogram_quantile(0.99, sum(rate(native_latency[5m])))",
    ],
    ["sum by (le) (rate(requests[5m]))", 1, "le is allowed only inside", "sum(rate(requests[5m]))"],
    [
      "sum by (pod, service) (rate(requests[5m]))",
      1,
      "requests has no label pod; it has region, service, component",
      "sum by (service) (rate(requests[5m]))",
    ],
    ["sum(rate(requests[1500ms]))", 1, "whole number of seconds", "sum(rate(requests[2s]))"],
    [
      'queue_consumer_lag{service="x y"}',
      1,
      "must be aggregated",
      'avg by (component) (queue_consumer_lag{service="x y"})',
    ],
    [
      "queue_consumer_lag == 1 + 1 == 2",
      1,
      "must be aggregated",
      "avg by (component) (queue_consumer_lag) == 1 + 1 == 2",
    ],
  ] as const)("%s", (text, column, message, rewrite) => {
    const refused = refusal(text);
    expect(refused).toMatchObject({ column, rewrite });
    expect(refused.message).toContain(message);
    expect(compile(rewrite).selectors).not.toEqual([]);
  });
});

interface Refused {
  readonly message: string;
  readonly column: number;
  readonly rewrite: string | undefined;
}

/** The refusal of a text; undefined when it compiles. */
function triedRefusal(text: string): Refused | undefined {
  try {
    compile(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return { message: error.message, column: error.column, rewrite: error.rewrite };
  }
}

function refusal(text: string): Refused {
  const refused = triedRefusal(text);
  if (refused === undefined) throw new Error(`${text} was compiled`);
  return refused;
}

describe("what has no remedy is refused without one:", () => {
  test.each([
    [
      'avg(queue_consumer_lag{pod="a"})',
      24,
      "queue_consumer_lag has no label pod; it has region, tenant, environment, service, component",
    ],
    ['avg(queue_consumer_lag{userId="a"})', 24, "queue_consumer_lag has no label userId"],
    ['avg(queue_consumer_lag{tenant=~"a|b"})', 24, "select one tenant only"],
    [
      "avg(queue_consumer_lga)",
      5,
      "the metric queue_consumer_lga is not in the catalog; did you mean queue_consumer_lag",
    ],
    ["avg(nothing_like_it)", 5, "the metric nothing_like_it is not in the catalog; see /v1/metrics/catalog"],
    ["sum(increase(requests:total[5m]))", 14, "the metric requests:total is not in the catalog"],
    ["1 + avg(max(queue_consumer_lag))", 5, "functions and aggregations take a single metric"],
  ])("%s", (text, column, message) => {
    const refused = refusal(text);
    expect(refused).toMatchObject({ column, rewrite: undefined });
    expect(refused.message).toContain(message);
  });

  test("types of operators, after the queries", () => {
    expect(refusal("avg(queue_consumer_lag) and 1").column).toBe(29);
    expect(refusal("1 < 2")).toMatchObject({ rewrite: "1 < bool 2" });
  });
});

describe("a text outside of the language is refused with a text that compiles:", () => {
  test.each([
    ["irate(queue_consumer_lag[5m])", "avg by (component) (avg_over_time(queue_consumer_lag[5m]))"],
    ["topk(3, requests)", "topk(3, sum by (component) (rate(requests[5m])))"],
    ["bottomk(3, rate(requests[5m] offset 1d))", "bottomk(3, sum by (component) (rate(requests[5m] offset 1d)))"],
    ["sum(irate(requests[5m]))", "sum(rate(requests[5m]))"],
    ["sum(irate(nothing[5m]))", undefined],
    ["sum(irate(hidden[5m]))", undefined],
    ["sum(irate(requests[5m])", undefined],
    ["queue_consumer_lag / on() requests", "avg(queue_consumer_lag) / sum(rate(requests[5m]))"],
    [
      "sum by (service) (rate(requests[5m])) / on () avg(queue_consumer_lag)",
      "sum(rate(requests[5m])) / avg(queue_consumer_lag)",
    ],
    [
      "sum by (service) (rate(requests[5m])) / on (service) queue_consumer_lag",
      "sum by (service) (rate(requests[5m])) / avg by (service) (queue_consumer_lag)",
    ],
    [
      "sum by (service, component) (rate(requests[5m])) / ignoring (component) avg by (service) (queue_consumer_lag)",
      "sum by (service) (rate(requests[5m])) / avg by (service) (queue_consumer_lag)",
    ],
    [
      "histogram_quantile(0.95, sum by (le, service) (rate(latency_bucket[5m]))) / on () requests",
      "histogram_quantile(0.95, sum by (le) (rate(latency_bucket[5m]))) / sum(rate(requests[5m]))",
    ],
    [
      "1 - (sum by (service) (rate(requests[5m])) / on () queue_consumer_lag)",
      "1 - (sum(rate(requests[5m])) / avg(queue_consumer_lag))",
    ],
    ["queue_consumer_lag / on (service) pool_size_peak", undefined],
    ["avg by (service) (queue_consumer_lag) / on () group_left () sum(rate(requests[5m]))", undefined],
    ['avg(queue_consumer_lag{service="a"}) / on (service) sum(rate(requests{service="b"}[5m]))', undefined],
    ["irate(queue_consumer_lag[5m]) / pool_size_peak", undefined],
  ])("%s", (text, rewrite) => {
    const lookUp: LookUp = (id) => {
      if (id === "hidden") throw new ApiError("metric_forbidden", "hidden");
      return knownMetrics.get(id);
    };
    expect(() => compileText(text, lookUp, () => [])).toThrow(
      expect.objectContaining({ name: "ExpressionError", rewrite }),
    );
  });

  test("but an error of the look-up stays what it is", () => {
    const forbidden = new ApiError("metric_forbidden", "hidden");
    const lookUp: LookUp = () => {
      throw forbidden;
    };
    expect(() => compileText("avg(hidden)", lookUp, () => [])).toThrow(forbidden);
  });
});

test("a refused shape of any metric has a text that compiles", () => {
  const suffixes = ["", "", "", "_bucket", "_sum", "_count", ":total"];
  const selector = fc
    .tuple(fc.constantFrom(...knownMetrics.keys()), fc.constantFrom(...suffixes))
    .chain(([id, suffix]) => fc.constantFrom("", "[5m]", '{tenant="a"}[90s]').map((rest) => `${id}${suffix}${rest}`));
  const wrapped = (names: readonly string[], of: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc.oneof(
      of,
      fc.tuple(fc.constantFrom(...names), of).map(([name, inside]) => `${name}(${inside})`),
    );
  const inner = wrapped(["rate", "increase", "avg_over_time", "min_over_time", "max_over_time"], selector);
  const grouped = ["", " by (service) ", " by (le) ", " by (pod, le, component) "];
  const aggregates = ["avg", "sum", "min", "max"].flatMap((op) => grouped.map((by) => `${op}${by}`));
  const outer = ["quantile(0.95, ", "quantile(0.2, ", "fraction(0, 1.5, ", "fraction(1, 2, ", "avg(", "sum(", "count("];
  const shape = fc.oneof(
    wrapped(aggregates, inner),
    fc.tuple(fc.constantFrom(...outer), wrapped(aggregates, inner)).map(([fn, of]) => `histogram_${fn}${of})`),
  );
  let proposed = 0;
  fc.assert(
    fc.property(shape, fc.constantFrom("", "1 - ", "2 < "), (text, before) => {
      const rewrite = triedRefusal(`${before}${text}`)?.rewrite;
      if (rewrite !== undefined) proposed += compile(rewrite).selectors.length;
    }),
    { seed: 19, numRuns: runsOf(5_000) },
  );
  expect(proposed).toBeGreaterThan(runsOf(2_000));
});

describe("several queries", () => {
  test("that are equal are one leaf, whatever their text", () => {
    const { selectors, program } = compile(
      'avg(queue_consumer_lag{service=~"b|a"}) / (avg by () (queue_consumer_lag{service=~"a|b|a"}) - -avg(queue_consumer_lag{service=~"b|a"})) > bool 0.5',
    );
    expect(selectors.map(describeLeaf)).toEqual(["queue_consumer_lag avg service=a|b short"]);
    expect(program).toEqual({
      kind: "binary",
      op: ">",
      isBool: true,
      left: {
        kind: "binary",
        op: "/",
        isBool: false,
        left: { kind: "leaf", index: 0 },
        right: {
          kind: "binary",
          op: "-",
          isBool: false,
          left: { kind: "leaf", index: 0 },
          right: { kind: "negate", of: { kind: "leaf", index: 0 } },
        },
      },
      right: { kind: "number", value: 0.5 },
    });
  });

  test("are at most ten", () => {
    const query = (minutes: number): string => `sum(rate(requests[${minutes}m]))`;
    const texts = Array.from({ length: 10 }, (_, index) => query(index + 1));
    expect(compile([...texts, query(3)].join(" + ")).selectors).toHaveLength(10);
    const eleven = [...texts, query(11)].join(" + ");
    expect(refusal(eleven)).toMatchObject({
      column: eleven.length - query(11).length + 1,
      message: "an expression can have at most 10 different selectors",
    });
  });

  test("are none in an expression of numbers", () => {
    expect(compile("1 + 1")).toEqual({
      selectors: [],
      program: {
        kind: "binary",
        op: "+",
        isBool: false,
        left: { kind: "number", value: 1 },
        right: { kind: "number", value: 1 },
      },
    });
  });
});
