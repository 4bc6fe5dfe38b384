import { describe, expect, test } from "vitest";
import { oneOf, printExemplified, printVector, type Vector } from "../../../../runtime/metrics/promql/promql.ts";

describe("PromQL", () => {
  test("of a range excludes its left end on a store with closed ranges", () => {
    const vector = { kind: "over", fn: "sum_over_time", of: { name: "m", matchers: [] }, rangeMs: 300_000 } as const;
    expect(printVector(vector, "LeftOpen")).toBe('sum_over_time({__name__="m"}[300000ms])');
    expect(printVector(vector, "LeftClosed")).toBe('sum_over_time({__name__="m"}[299999ms])');
  });

  test("of several points reads each at its own time, and names it in a label", () => {
    const of = { name: "m", matchers: [] };
    const sum = (own: Vector): Vector => ({ kind: "aggregate", op: "sum", by: [], of: own });
    const [wide, narrow]: readonly Vector[] = [
      sum({ kind: "over", fn: "increase", of, rangeMs: 60_000 }),
      sum({ kind: "anchoredIncrease", of, rangeMs: 30_000 }),
    ];
    const points = [wide, narrow].map((vector, index) => ({ vector: vector as Vector, offsetMs: 5_000 * (1 - index) }));
    expect(printVector({ kind: "points", of: points }, "LeftOpen")).toBe(
      'label_replace(sum by()(increase({__name__="m"}[60000ms] offset 5000ms)),"heliograph_point","0","","") or ' +
        'label_replace(sum by()(increase({__name__="m"}[30000ms] anchored)),"heliograph_point","1","","")',
    );
  });

  test("quotes names that are no identifiers", () => {
    const matchers = [{ label: "a.b", op: "=", value: "x" }] as const;
    expect(printExemplified({ name: 'we"ird', matchers })).toBe(String.raw`{__name__="we\"ird","a.b"="x"}`);
    const of = { kind: "timestamp", of: { name: "m", matchers: [] } } as const;
    expect(printVector({ kind: "aggregate", op: "max", by: ["le", "a.b"], of }, "LeftOpen")).toBe(
      'max by(le,"a.b")(max(timestamp({__name__="m"})))',
    );
  });

  test("escapes characters that end a string or a line", () => {
    const value = 'a"b\\c\nd\u2028e\u0000';
    const printed = printExemplified({ name: "m", matchers: [{ label: "l", op: "=", value }] });
    expect(printed).toBe(String.raw`{__name__="m",l="a\"b\\c\U0000000ad\U00002028e\U00000000"}`);
  });

  test("matches one value by equality, several by an escaped expression, and an empty list by no series", () => {
    expect(oneOf("env", ["a.b"])).toEqual({ label: "env", op: "=", value: "a.b" });
    expect(oneOf("env", ["a.b", "c|d"])).toEqual({ label: "env", op: "=~", value: String.raw`a\.b|c\|d` });
    expect(oneOf("env", [])).toEqual({ label: "env", op: "=~", value: String.raw`[^\x00-\x{10FFFF}]` });
  });
});
