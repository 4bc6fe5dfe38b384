import { describe, expect, test } from "vitest";
import { createTimeSlices } from "../../../../limits/clock.ts";
import { makeResponse, numberText, type ResponseOptions, timeText } from "../../../../runtime/prometheus/response.ts";
import type { Evaluated, ResultSeries } from "../../../../runtime/prometheus/evaluate/evaluate.ts";

const stamps = { startMs: 1_700_000_000_000, stepMs: 15_500, count: 3 };
const options: ResponseOptions = { warnings: [], isPartial: false, slices: createTimeSlices() };

function series(
  labels: ResultSeries["labels"],
  values: readonly number[],
  present = values.map(() => 1),
): ResultSeries {
  return { labels, values: Float64Array.from(values), present: Uint8Array.from(present) };
}

async function written(evaluated: Evaluated, more: Partial<ResponseOptions> = {}): Promise<string> {
  return Buffer.from(await makeResponse(evaluated, { ...options, ...more }).json()).toString();
}

describe("an answer in Prometheus' JSON", () => {
  test("of a range has the present points of each series", async () => {
    const matrix: Evaluated = {
      type: "matrix",
      stamps,
      series: [
        series({ service: "b", component: 'ü"' }, [1.5, 0, 1.5], [1, 0, 1]),
        series({}, [Number.NaN, Infinity, -0]),
      ],
    };
    expect(await written(matrix)).toBe(
      '{"status":"success","data":{"resultType":"matrix","result":[' +
        '{"metric":{"component":"ü\\"","service":"b"},"values":[[1700000000,"1.5"],[1700000031,"1.5"]]},' +
        '{"metric":{},"values":[[1700000000,"NaN"],[1700000015.500,"+Inf"],[1700000031,"-0"]]}]}}',
    );
  });

  test("of an instant is a vector or a scalar", async () => {
    const instant = { ...stamps, count: 1 };
    expect(await written({ type: "vector", stamps: instant, series: [series({ service: "b" }, [2])] })).toBe(
      '{"status":"success","data":{"resultType":"vector","result":[' +
        '{"metric":{"service":"b"},"value":[1700000000,"2"]}]}}',
    );
    expect(await written({ type: "scalar", stamps: instant, value: 2 })).toBe(
      '{"status":"success","data":{"resultType":"scalar","result":[1700000000,"2"]}}',
    );
  });

  test("without series is an empty list", async () => {
    expect(await written({ type: "vector", stamps, series: [] })).toBe(
      '{"status":"success","data":{"resultType":"vector","result":[]}}',
    );
  });

  test("that is partial says so, with its warnings", async () => {
    const partial = { isPartial: true, warnings: ['no "eu"'] };
    expect(JSON.parse(await written({ type: "matrix", stamps, series: [] }, partial))).toEqual({
      status: "success",
      isPartial: true,
      data: { resultType: "matrix", result: [] },
      warnings: ['no "eu"'],
    });
  });

  test("is written once", async () => {
    const answer = makeResponse({ type: "scalar", stamps, value: 1 }, options);
    expect(await answer.json()).toBe(await answer.json());
  });
});

describe("the limit of series", () => {
  const matrixOf = (count: number): Evaluated => ({
    type: "matrix",
    stamps,
    series: Array.from({ length: count }, (_, index) => series({ service: `${index}` }, [1, 2, 3])),
  });
  const lengthOf = async (count: number, limit?: number): Promise<readonly [number, unknown]> => {
    const answer = JSON.parse(await written(matrixOf(count), { limit })) as {
      readonly data: { readonly result: readonly unknown[] };
      readonly warnings?: unknown;
    };
    return [answer.data.result.length, answer.warnings];
  };

  test("is 50 without a parameter", async () => {
    expect(await lengthOf(50)).toEqual([50, undefined]);
    for (const limit of [undefined, 0, 60, 51]) {
      expect(() => makeResponse(matrixOf(52), { ...options, limit })).toThrow(
        expect.objectContaining({ code: "result_too_large" }),
      );
    }
  });

  test("cuts series off with a warning", async () => {
    expect(await lengthOf(52, 50)).toEqual([50, ["results truncated due to limit"]]);
    expect(await lengthOf(3, 2)).toEqual([2, ["results truncated due to limit"]]);
    expect(await lengthOf(3, 3)).toEqual([3, undefined]);
  });
});

/** Expected: what `json` of Prometheus 3 writes, compared with a real server by the oracle test too. */
describe("the text of a number", () => {
  test.each([
    [0, "0"],
    [-0, "-0"],
    [1e6, "1000000"],
    [1e-6, "0.000001"],
    [9.5e-7, "9.5e-07"],
    [-1e-7, "-1e-07"],
    [1e-10, "1e-10"],
    [5e-324, "5e-324"],
    [1e20, "100000000000000000000"],
    [1e21, "1e+21"],
    [-1.25e300, "-1.25e+300"],
    [0.1 + 0.2, "0.30000000000000004"],
    [Number.NaN, "NaN"],
    [Infinity, "+Inf"],
    [-Infinity, "-Inf"],
  ])("%d is %s", (value, text) => {
    expect(numberText(value)).toBe(text);
  });
});

describe("the text of a time", () => {
  test.each([
    [1_700_000_000_000, "1700000000"],
    [1_700_000_000_500, "1700000000.500"],
    [1_700_000_000_007, "1700000000.007"],
    [0, "0"],
    [-1_500, "-1.500"],
  ])("%d ms is %s", (ms, text) => {
    expect(timeText(ms)).toBe(text);
  });
});
