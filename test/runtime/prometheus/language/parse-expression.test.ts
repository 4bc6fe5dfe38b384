import { describe, expect, test } from "vitest";
import { ExpressionError, type Expression } from "../../../../runtime/prometheus/language/expression.ts";
import { formatExpression } from "../../../../runtime/prometheus/language/format-expression.ts";
import { parseExpression, typeOf } from "../../../../runtime/prometheus/language/parse-expression.ts";

/** The refusal of a text, by the parser or for its types. */
function refusalOf(text: string): ExpressionError {
  try {
    typeOf(parseExpression(text));
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
  throw new Error(`accepted: ${text}`);
}

const values = (text: string): readonly string[] => {
  const expression = parseExpression(text);
  return expression.kind === "selector" ? (expression.matchers[0]?.values ?? []) : [];
};

describe("a tree", () => {
  test("holds the parts with their positions", () => {
    const text = 'sum by (a) (rate(m{b="c"}[5m])) > 1';
    const expression = parseExpression(text);
    const selector = {
      kind: "selector",
      metric: "m",
      matchers: [{ label: "b", op: "=", values: ["c"], span: { start: 19, end: 24 } }],
      rangeMs: 300_000,
      span: { start: 17, end: 29 },
    };
    const of = { kind: "call", fn: "rate", args: [selector], span: { start: 12, end: 30 } };
    const left = { kind: "aggregate", op: "sum", by: ["a"], of, span: { start: 0, end: 31 } };
    const right = { kind: "number", value: 1, span: { start: 34, end: 35 } };
    const span = { start: 0, end: text.length };
    expect(expression).toEqual({ kind: "binary", op: ">", isBool: false, left, right, span });
  });

  test.each([
    ["a - b - c", "(a - b) - c"],
    ["a + b * c", "a + (b * c)"],
    ["a or b and c", "a or (b and c)"],
    ["a unless b and c", "(a unless b) and c"],
    ["a and b > c + d / e", "a and (b > (c + (d / e)))"],
    ["-a * b", "(-a) * b"],
    ["a == b != c", "(a == b) != c"],
  ])("%s binds as %s", (text, grouped) => {
    expect(shapeOf(parseExpression(text))).toBe(shapeOf(parseExpression(grouped)));
  });

  test.each([
    ["sum(m) by (a)", "sum by (a) (m)"],
    ["SUM(m)", "sum(m)"],
    ["sum by () (m)", "sum by () (m)"],
    ["{__name__='m', a=`b`}", 'm{a="b"}'],
    ['{"m"}', "m"],
    ['{"a.b"}', '{__name__="a.b"}'],
    ['{"sum", "x y"="\\u00e9\\n"}', '{__name__="sum", "x y"="é\\u000a"}'],
    ["m[90m]", "m[1h30m]"],
    ["m[1209600]", "m[2w]"],
    ["m[8d]", "m[8d]"],
    ["m[1e-3]", "m[1ms]"],
    ["- -1 + 1h", "1 + 3600"],
    ["-0 -1", "-0 - 1"],
    ["-Inf / nan # of anything", "-Inf / NaN"],
    ["a==bool(b)", "a == bool (b)"],
    ['m{a=~"(a\\\\.b|c)"}', 'm{a=~"a\\\\.b|c"}'],
    ['sum by ("without") (m)', 'sum by ("without") (m)'],
  ])("of %s is written %s", (text, canonical) => {
    expect(formatExpression(parseExpression(text))).toBe(canonical);
    expect(formatExpression(parseExpression(canonical))).toBe(canonical);
  });

  test.each([
    ["1", "scalar"],
    ["-(1 < bool 2)", "scalar"],
    ["m > 1", "vector"],
    ["1 + m", "vector"],
    ["(m[5m])", "range"],
    ["sum(m) or m", "vector"],
    ["histogram_quantile(0.9, sum by (le) (rate(m[5m])))", "vector"],
  ])("of %s is a %s", (text, type) => {
    expect(typeOf(parseExpression(text))).toBe(type);
  });
});

/** An expression of metrics and operators without groups, each part in brackets. */
function shapeOf(expression: Expression): string {
  if (expression.kind === "group") return shapeOf(expression.of);
  if (expression.kind === "negate") return `[-${shapeOf(expression.of)}]`;
  if (expression.kind !== "binary") return formatExpression(expression);
  return `[${shapeOf(expression.left)} ${expression.op} ${shapeOf(expression.right)}]`;
}

describe("values of a matcher", () => {
  test.each([
    ['m{a="x|y"}', ["x|y"]],
    ['m{a=~"x|y"}', ["x", "y"]],
    ["m{a=~`(x\\.y|z\\|)`}", ["x.y", "z|"]],
    ["m{a=~'\\\\('}", ["("]],
    ["m{a='\\x41\\102\\u0043'}", ["ABC"]],
  ])("in %s are literals", (text, expected) => {
    expect(values(text)).toEqual(expected);
  });
});

describe("a refusal", () => {
  test.each<[text: string, column: number, message: string, rewrite?: string]>([
    ["", 1, "the expression is empty"],
    ["m +", 4, "unexpected end of expression, expected a metric, a number or a function"],
    ["(m", 3, 'unexpected end of expression, expected an operator or ")"'],
    ["m)", 2, "unexpected ), expected an operator"],
    ["m m", 3, "unexpected m, expected an operator"],
    ["é", 1, 'unexpected character "é"'],
    ["m\u0000", 2, 'unexpected character "\\u0000"'],
    ["m\u00a0", 2, 'unexpected character "\u00a0"'],
    ['m{a="😀"} ?', 11, 'unexpected character "?"'],
    ["+m", 1, "unary plus has no effect; remove it", "m"],
    ["(m) offset 5m", 5, "offset is only allowed directly after a metric or its range"],
    ["sum(m) offset 5m", 8, "offset is only allowed directly after a metric or its range"],
    ["m offset 5m offset 5m", 13, "offset is only allowed directly after a metric or its range"],
    ["m offset -5m", 10, "a negative offset reads the future, which is not supported"],
    ["m offset 1500ms", 10, "the offset 1500ms is not a whole number of seconds"],
    ["m offset", 9, "unexpected end of expression, expected a duration such as 1d"],
    ["m @ 5", 3, "@ is not supported; set other times in the request"],
    ["a % b", 3, "the operator % is not supported"],
    ["a atan2 b", 3, "the operator atan2 is not supported"],
    ["m[5m:1m]", 5, "a subquery of a metric is not supported; remove the step", "m[5m]"],
    ["sum(m)[5m:]", 11, "a subquery requires a step in whole units, such as [1h:5m]"],
    ["sum(m)[5m]", 10, "a range is allowed only on a metric; a subquery has a step, such as [1h:5m]"],
    ["sum(m)[5m:x]", 11, "a subquery requires a step in whole units, such as [1h:5m]"],
    ["sum(m)[5m:0.5]", 11, "a subquery requires a step in whole units, such as [1h:5m]"],
    ["sum without (a) (m)", 5, "without is not supported; list the labels to keep, as in by (component)"],
    ["topk by (a) (5, m)", 1, "topk by (…) is not supported; topk ranks all series of its argument"],
    ["bottomk(5, m) by (a)", 1, "bottomk by (…) is not supported; bottomk ranks all series of its argument"],
    [
      "limitk(5, sum by (a) (m))",
      1,
      "limitk is not supported; a response always contains all series of the expression",
      "sum by (a) (m)",
    ],
    ["irate(m[5m])", 1, "irate is not supported; use rate", "rate(m[5m])"],
    [
      "sort(topk(3, irate(m)))",
      1,
      "sort is not supported; series in a response are always sorted by labels",
      "topk(3, rate(m[5m]))",
    ],
    [
      "quantile(0.9, m)",
      1,
      "quantile is not supported; quantiles are computed from histograms with histogram_quantile",
    ],
    ["m > vector(1)", 5, "vector is not supported; use the number directly", "m > 1"],
    [
      "a + on (x) b",
      5,
      "on is not supported, because both sides match on all labels; aggregate both sides by the same labels",
      "avg by (x) (a) + avg by (x) (b)",
    ],
    [
      "a + on (x) group_left () b",
      5,
      "on is not supported, because both sides match on all labels; aggregate both sides by the same labels",
    ],
    ["a and bool b", 7, "bool is only allowed after comparison operators, not after and", "a and b"],
    ["count", 1, "count is a keyword; write a metric with this name in braces", '{__name__="count"}'],
    ['{a="b"}', 1, "the selector has no metric name"],
    ['m{__name__="m"}', 3, "the selector has the metric name twice"],
    ['{__name__=~"m"}', 2, "a selector must select a metric by name with =", "m"],
    ['m{a="b",a="c"}', 9, "the label a has two matchers; use one"],
    ['m{a!="b"}', 4, 'the matcher != is not supported; list the values to keep, as in =~"a|b"'],
    ['m{a!~""}', 4, 'the matcher !~ is not supported; list the values to keep, as in =~"a|b"'],
    ['{__name__=""}', 11, "an empty string is no name"],
    ['m{a=~".*"}', 6, '=~".*" matches every value; remove the matcher of a', "m"],
    [
      'm{a=~"^(?:a|b)$"}',
      6,
      '"^(?:a|b)$" is not a list of values; write it as "a|b" with a backslash before special characters',
      'm{a=~"a|b"}',
    ],
    [
      'm{a=~"10.0.0.1"}',
      6,
      '"10.0.0.1" is not a list of values; write it as "a|b" with a backslash before special characters',
      'm{a=~"10\\\\.0\\\\.0\\\\.1"}',
    ],
    ['m{a=~"a.*"}', 6, '"a.*" is not a list of values; write it as "a|b" with a backslash before special characters'],
    ['m{a="b}', 5, "unterminated string"],
    ["m{a=`b}", 5, "unterminated string"],
    ['m{a="\\q"}', 6, "\\q is not a valid escape sequence; write \\\\ for a backslash"],
    ['m{a="\\xff"}', 6, "\\xff is not a valid character; write the character itself"],
    ['m{a="\\ud800"}', 6, "\\ud800 is not a valid character; write the character itself"],
    ['m{a="\ud800"}', 6, "the string contains an invalid character"],
    ["m[0]", 3, "the range 0 is not a whole number of milliseconds from 1ms to 292y"],
    ["m[0.0001]", 3, "the range 0.0001 is not a whole number of milliseconds from 1ms to 292y"],
    ["m[300y]", 3, "the duration 300y is too long; the maximum is 292y"],
    ["m[ # no comment\n5m]", 4, 'unexpected character "#"'],
    ["017", 1, "017 is neither a decimal number nor a duration such as 5m"],
    ["0x1e+5", 1, "0x1e+5 is neither a decimal number nor a duration such as 5m"],
    ["1.5m", 1, "1.5m is neither a decimal number nor a duration such as 5m"],
    ["1e400", 1, "1e400 is too large; write Inf for infinity"],
    ["sum()", 1, "sum has nothing to aggregate"],
    ["rate(m[5m],)", 12, "unexpected ), expected an argument"],
    ["rate()", 1, "rate takes 1 argument, not 0"],
    ["rate(m)", 6, "argument 1 of rate must be a metric with a range such as [5m]", "rate(m[5m])"],
    ["sum(m[5m])", 5, "sum does not accept a range vector; wrap it in a function such as avg_over_time or rate"],
    ["sum(1)", 5, "sum aggregates series, not a number"],
    ["1 and m", 1, "and requires series on both sides, not a number"],
    ["m or (2)", 6, "or requires series on both sides, not a number"],
    ["1 == 2", 1, "comparing two numbers requires == bool", "1 == bool 2"],
    ["1 < 2 < (4 > 5)", 1, "comparing two numbers requires < bool", "1 < bool 2 < bool (4 > bool 5)"],
  ])("of %j stands at column %i", (text, column, message, rewrite) => {
    const refusal = refusalOf(text);
    expect({ column: refusal.column, message: refusal.message, rewrite: refusal.rewrite }).toEqual({
      column,
      message,
      rewrite,
    });
    expect(() => typeOf(parseExpression(rewrite ?? "1"))).not.toThrow();
  });

  test("of a name that is nearly a function proposes the function", () => {
    const refusal = refusalOf("Avg_ovr_time(m[5m])");
    expect(refusal.message).toMatch(/^Avg_ovr_time is not supported; supported functions: avg_over_time, /u);
    expect(refusal.rewrite).toBe("avg_over_time(m[5m])");
    expect(refusalOf("label_replace(m)").rewrite).toBeUndefined();
  });

  test("never proposes a text that is refused", () => {
    expect(refusalOf("irate(m{a=~'a.+'}[5m])").rewrite).toBeUndefined();
    expect(refusalOf("limitk(3, m) and 1").rewrite).toBeUndefined();
  });
});

describe("a text without end", () => {
  const nested = (count: number): string => `${"(".repeat(count)}m${")".repeat(count)}`;
  const tooDeep = "the expression is nested deeper than 100 levels; split it";

  test("is refused beyond 8,192 characters", () => {
    expect(parseExpression("1".padEnd(8_192))).toMatchObject({ value: 1 });
    const { message, column } = refusalOf("1".padEnd(8_193));
    expect([message, column]).toEqual(["the expression has 8193 characters; at most 8192 are allowed", 8_193]);
  });

  test.each([
    ["groups", nested(99), nested(100)],
    ["open groups", nested(99), "(".repeat(8_000)],
    ["signs", `${"-".repeat(99)}m`, "-".repeat(8_000)],
    ["calls", `${"sum(".repeat(99)}m${")".repeat(99)}`, "sum(".repeat(2_000)],
    ["operators", `m${"+1".repeat(99)}`, `m${"+1".repeat(100)}`],
    ["operators to the right", nested(99), "a or b and c > d + e * (".repeat(300)],
    ["deep sides", `${nested(50)}${"+1".repeat(49)}`, `${nested(50)}${"+1".repeat(50)}`],
    ["deep right sides", `m${"+1".repeat(48)}+${nested(98)}`, `m${"+1".repeat(48)}+${nested(99)}+1`],
  ])("is refused for %s in each other", (_, fits, deep) => {
    expect(() => formatExpression(parseExpression(fits))).not.toThrow();
    expect(refusalOf(deep).message).toBe(tooDeep);
  });

  test.each([
    ["a number", "1".repeat(8_000)],
    ["a name of a function", `${"x".repeat(8_000)}(m)`],
    ["a string", `m{a=~"${"a.".repeat(4_000)}*"}`],
    ["alternatives without end", `m{a=~"${"|".repeat(8_000)}*"}`],
    ["open braces", "{".repeat(8_000)],
    ["unsupported calls", "topk(".repeat(1_600)],
    ["comparisons", `(${"1<1,".repeat(2_000)})`],
    ["plus signs", "+".repeat(8_000)],
  ])("of %s is refused in a short message", (_, text) => {
    const { message, rewrite } = refusalOf(text);
    expect(message.length).toBeLessThan(300);
    expect(rewrite).toBeUndefined();
  });

  test("of many values is read whole", () => {
    const many = Array.from({ length: 2_000 }, (_, index) => `v${index % 10}`);
    expect(values(`m{a=~"${many.join("|")}"}`)).toEqual(many);
  });
});
