import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTimeSlices } from "../../../../limits/clock.ts";
import { evaluate, type Evaluated } from "../../../../runtime/prometheus/evaluate/evaluate.ts";
import {
  evaluatePlain,
  labelsOf,
  selectorsOf,
  pointsOf,
  type PlainPoints,
  type PlainVectors,
} from "./plain-vectors.ts";

const stamps = { startMs: 1_700_000_000_000, stepMs: 60_000, count: 4 };
const [none, nan] = [undefined, Number.NaN];

const vectors: PlainVectors = {
  a: [
    { component: "x", service: "", points: [1, 2, none, 4] },
    { component: "y", service: "", points: [10, none, 30, 0] },
  ],
  b: [
    { component: "x", service: "", points: [2, 2, 2, none] },
    { component: "z", service: "", points: [7, 7, 7, 7] },
  ],
  c: [{ component: "", service: "", points: [5, 5, 5, 5] }],
  empty: [],
};

type Rows = Readonly<Record<string, PlainPoints>>;

/** The points of each series, by its labels. */
function rowsOf(evaluated: Evaluated): Rows {
  const series = evaluated.type === "scalar" ? [] : evaluated.series;
  return Object.fromEntries(series.map((one) => [JSON.stringify(Object.values(one.labels)), pointsOf(one)]));
}

describe("an expression over series:", () => {
  test.each<[string, Rows]>([
    ["a", { '["x"]': [1, 2, none, 4], '["y"]': [10, none, 30, 0] }],
    ["-a", { '["x"]': [-1, -2, none, -4], '["y"]': [-10, none, -30, -0] }],
    ["a + b", { '["x"]': [3, 4, none, none] }],
    ["b - a", { '["x"]': [1, 0, none, none] }],
    ["a * 2", { '["x"]': [2, 4, none, 8], '["y"]': [20, none, 60, 0] }],
    ["2 / a", { '["x"]': [2, 1, none, 0.5], '["y"]': [0.2, none, 2 / 30, Infinity] }],
    ["-a / 0", { '["x"]': [-Infinity, -Infinity, none, -Infinity], '["y"]': [-Infinity, none, -Infinity, nan] }],
    ["a > 2", { '["x"]': [none, none, none, 4], '["y"]': [10, none, 30, none] }],
    ["2 < a", { '["x"]': [none, none, none, 4], '["y"]': [10, none, 30, none] }],
    ["2 < bool a", { '["x"]': [0, 0, none, 1], '["y"]': [1, none, 1, 0] }],
    ["a == b", { '["x"]': [none, 2, none, none] }],
    ["a < b", { '["x"]': [1, none, none, none] }],
    ["a >= bool b", { '["x"]': [0, 1, none, none] }],
    ["a != bool 0 / 0", { '["x"]': [1, 1, none, 1], '["y"]': [1, none, 1, 1] }],
    ["a > 1000", {}],
    ["a and b", { '["x"]': [1, 2, none, none] }],
    ["a unless b", { '["x"]': [none, none, none, 4], '["y"]': [10, none, 30, 0] }],
    ["a or b", { '["x"]': [1, 2, 2, 4], '["y"]': [10, none, 30, 0], '["z"]': [7, 7, 7, 7] }],
    ["a unless a", {}],
    ["a and empty", {}],
    ["empty or c", { "[]": [5, 5, 5, 5] }],
    ["a + c", {}],
    ["c / 2", { "[]": [2.5, 2.5, 2.5, 2.5] }],
    ["1 / 4", { "[]": [0.25, 0.25, 0.25, 0.25] }],
    ["(c > 4) + (c < 3 or c * 2)", { "[]": [15, 15, 15, 15] }],
  ])("%s", async (text, rows) => {
    const evaluated = await evaluatePlain(text, vectors, { stamps });
    expect(evaluated.type).toBe("matrix");
    expect(rowsOf(evaluated)).toEqual(rows);
  });
});

describe("a result", () => {
  test("of numbers is a scalar at an instant and one series over a range", async () => {
    const atInstant = await evaluatePlain("1 + 1", {}, { stamps: { ...stamps, count: 1 }, isInstant: true });
    expect(atInstant).toEqual({ type: "scalar", stamps: { ...stamps, count: 1 }, value: 2 });
    expect(rowsOf(await evaluatePlain("1 + 1", {}, { stamps }))).toEqual({ "[]": [2, 2, 2, 2] });
    const later = await evaluatePlain("1 + 1", {}, { stamps: { ...stamps, count: 0 } });
    expect(later).toEqual({ type: "matrix", stamps: { ...stamps, count: 0 }, series: [] });
  });

  test("at an instant is a vector of the series with a point", async () => {
    const evaluated = await evaluatePlain("a > 4", vectors, { stamps: { ...stamps, count: 1 }, isInstant: true });
    expect(evaluated.type).toBe("vector");
    expect(rowsOf(evaluated)).toHaveProperty(['["y"]']);
    expect(rowsOf(evaluated)).not.toHaveProperty(['["x"]']);
  });

  test("has its series in the order of Prometheus: by the names of labels, then by values", async () => {
    const series = [
      { component: "", service: "a" },
      { component: "b", service: "" },
      { component: "a", service: "b" },
      { component: "a", service: "" },
      { component: "", service: "" },
    ].map((one) => ({ ...one, points: [1, 1, 1, 1] }));
    const evaluated = await evaluatePlain("a", { a: series }, { stamps });
    const sorted = [series[4], series[3], series[2], series[1], series[0]];
    expect(evaluated).toMatchObject({ series: sorted.flatMap((one) => (one ? [{ labels: labelsOf(one) }] : [])) });
  });

  test("of more than a million computed points is refused", async () => {
    const long = { startMs: 0, stepMs: 1_000, count: 10_000 };
    const points = Array.from({ length: long.count }, () => 1);
    const wide = Array.from({ length: 50 }, (_, index) => ({ component: `${index}`, service: "", points }));
    const most = await evaluatePlain("v + v + 1 > 0", { v: wide.slice(0, 33) }, { stamps: long });
    expect(rowsOf(most)).toHaveProperty(['["32"]']);
    const refused = evaluatePlain("v + v + 1 > 0", { v: wide.slice(0, 34) }, { stamps: long });
    await expect(refused).rejects.toMatchObject({ code: "result_too_large", status: 400 });
  });

  test("pauses between series, for other work", async () => {
    let elapsedMs = 0;
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const slices = createTimeSlices(() => (elapsedMs += 1));
    const wide = Array.from({ length: 40 }, (_, index) => ({
      component: `${index}`,
      service: "",
      points: [1, 2, 3, 4],
    }));
    await evaluatePlain("(v + 1) / v", { v: wide }, { stamps, slices });
    isDone = true;
    expect(turns).toBeGreaterThanOrEqual(2 * wide.length);
  });

  test("of two series with the same labels is a fault of ours", async () => {
    const same = { component: "x", service: "", points: [1, 1, 1, 1] };
    const selectors = selectorsOf({ v: [same, same] });
    const evaluated = evaluate({ kind: "leaf", index: 0 }, { stamps, selectors }, evaluation);
    await expect(evaluated).rejects.toThrow("two series with the same labels");
  });
});

const evaluation = { isInstant: false, slices: createTimeSlices() };

describe("for any two vectors a and b", () => {
  const points = fc.array(fc.option(fc.constantFrom(0, 1, -2, 0.5, 7), { nil: undefined }), {
    minLength: stamps.count,
    maxLength: stamps.count,
  });
  const vector = fc
    .uniqueArray(fc.record({ component: fc.constantFrom("", "x", "y"), service: fc.constantFrom("", "s"), points }), {
      selector: ({ component, service }) => `${component} ${service}`,
    })
    .map((series) => series.filter((one) => one.points.some((point) => point !== undefined)));
  const pair = fc.record({ a: vector, b: vector });

  test.each([
    ["(a unless b) or (a and b)", "a"],
    ["a unless b", "a unless (a and b)"],
    ["a and b", "a unless (a unless b)"],
    ["a or b", "a or (b unless a)"],
    ["(a or b) and a", "a"],
    ["(a > b) or (a <= b)", "a and b"],
    ["(a == b) or (a != b)", "a and b"],
    ["a < b", "a and (b > a)"],
    ["a > bool b", "1 - (a <= bool b)"],
    ["a + b", "b + a"],
    ["a - b", "-(b - a) + 0"],
    ["--a", "a"],
  ])("%s is %s", async (left, right) => {
    await fc.assert(
      fc.asyncProperty(pair, async (both) => {
        const [one, other] = [
          await evaluatePlain(left, both, { stamps }),
          await evaluatePlain(right, both, { stamps }),
        ];
        expect(rowsOf(one)).toEqual(rowsOf(other));
      }),
      { numRuns: 50 },
    );
  });
});
