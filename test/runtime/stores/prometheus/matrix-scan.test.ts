import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseResponse, scanMatrix } from "../../../../runtime/stores/prometheus/api-response.ts";
import { decodeMatrix, type StoreSeries } from "../../../../runtime/stores/prometheus/matrix.ts";

const grid = { startMs: 1_700_000_040_000, stepMs: 15_000, count: 8 };
const timeOf = (index: number): number => (grid.startMs + index * grid.stepMs) / 1_000;

/** A double as Prometheus and VictoriaMetrics write it. */
const spellings = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc
    .tuple(fc.integer({ min: -9_999, max: 9_999 }), fc.stringMatching(/^\d{1,25}$/u))
    .map(([whole, decimals]) => `${whole}.${decimals}`),
  fc.constantFrom(
    "NaN",
    "+Inf",
    "-Inf",
    "0",
    "-0",
    "1e+06",
    "4.9e-324",
    "1.7976931348623157e+308",
    "9007199254740993",
    "0.1",
  ),
);
const series = fc.record({
  metric: fc.dictionary(
    fc.constantFrom("service", "pod"),
    fc.oneof(fc.string({ unit: "binary" }), fc.constant(',"values":[[1,"2"]]')),
  ),
  points: fc.dictionary(fc.nat({ max: grid.count - 1 }).map(String), spellings, { minKeys: 1 }),
});
const valuesOf = (points: Readonly<Record<string, string>>): readonly (readonly [number, string])[] =>
  Object.entries(points).map(([index, text]): readonly [number, string] => [timeOf(Number(index)), text]);

const answerOf = (result: unknown, rest: object = {}): Buffer =>
  Buffer.from(JSON.stringify({ status: "success", data: { resultType: "matrix", result }, ...rest }));
const plain = (all: readonly StoreSeries[]): unknown =>
  all.map(({ labels, values, present }) => [labels, [...values], [...present]]);

describe("points that are read from the bytes of a response", () => {
  test("of all series are in one buffer, as long as the points need", () => {
    const all = Array.from({ length: 3 }, (_, index) => ({
      metric: { pod: `${index}` },
      values: [[timeOf(index), "1"]],
    }));
    const columns = scanMatrix(answerOf(all), grid)?.columns ?? [];
    const buffers = new Set(columns.flatMap(({ values, present }) => [values.buffer, present.buffer]));
    expect([...buffers].map(({ byteLength }) => byteLength)).toEqual([3 * 9 * grid.count]);
    expect(columns.map(({ values, present }) => [values.length, present.indexOf(1)])).toEqual([
      [grid.count, 0],
      [grid.count, 1],
      [grid.count, 2],
    ]);
  });

  test("are refused when few bytes have columns for more than a process can hold", () => {
    const one = { metric: {}, values: [[timeOf(0), "1"]] };
    const bytes = answerOf(Array.from({ length: 600 }, () => one));
    expect(() => scanMatrix(bytes, { ...grid, count: 100_000 })).toThrow(
      expect.objectContaining({ kind: "too_large", message: expect.stringContaining("600 series of 100000 points") }),
    );
  });

  test("equal those of the parsed response, whatever the numbers and labels", () => {
    fc.assert(
      fc.property(fc.array(series, { maxLength: 4 }), (all) => {
        const bytes = answerOf(
          all.map(({ metric, points }) => ({ metric, values: valuesOf(points) })),
          { warnings: ["PromQL info: x"] },
        );
        const { data, columns, warning } = parseResponse(200, bytes, grid);
        expect(columns).toHaveLength(all.length);
        expect(warning).toBe("none");
        const whole = (JSON.parse(bytes.toString()) as { readonly data: unknown }).data;
        expect(plain(decodeMatrix(data, grid, columns))).toEqual(plain(decodeMatrix(whole, grid)));
      }),
      { numRuns: 500 },
    );
  });

  test("leave out a series of histograms beside one that has both kinds", () => {
    const mixed = {
      metric: { service: "a" },
      values: [[timeOf(1), "2"]],
      histograms: [[timeOf(2), { count: "1", sum: "2" }]],
    };
    const bytes = answerOf([mixed, { metric: { service: "b" }, histograms: [[timeOf(0), { count: "1", sum: "2" }]] }]);
    const { data, columns } = parseResponse(200, bytes, grid);
    expect(columns).toHaveLength(1);
    expect(decodeMatrix(data, grid, columns).map(({ labels }) => labels)).toEqual([{ service: "a" }]);
  });

  test.each([
    [
      "with spaces",
      `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[ [${timeOf(0)}, "1"] ]}]}}`,
      0,
    ],
    [
      "of another key order",
      `{"status":"success","data":{"result":[{"values":[[${timeOf(0)},"1"]],"metric":{}}],"resultType":"matrix"}}`,
      0,
    ],
    ["without any series", answerOf([]).toString(), 0],
  ])("are left to the parser in a response %s", (_, text, columns) => {
    expect(parseResponse(200, Buffer.from(text), grid).columns).toHaveLength(columns);
  });

  test.each([
    ["cut short", `{"metric":{},"values":[[${timeOf(0)},"1"],[${timeOf(1)}`],
    ["that are no numbers", `{"metric":{},"values":[[${timeOf(0)},"0x10"]]}`],
    ["that are empty", `{"metric":{},"values":[[${timeOf(0)},""]]}`],
    ["outside of the grid", `{"metric":{},"values":[[${timeOf(grid.count)},"1"]]}`],
    ["before the grid", `{"metric":{},"values":[[${timeOf(-1)},"1"]]}`],
    ["without an end", `{"metric":{},"values":[[${timeOf(0)},"1`],
  ])("are left to the parser when %s", (_, text) => {
    expect(scanMatrix(Buffer.from(text), grid)).toBeUndefined();
  });

  test("are malformed where the store sends an index instead of points", () => {
    const { data, columns } = parseResponse(200, answerOf([{ metric: {}, values: 3 }]), grid);
    expect(() => decodeMatrix(data, grid, columns)).toThrow("a matrix entry has no values");
  });
});
