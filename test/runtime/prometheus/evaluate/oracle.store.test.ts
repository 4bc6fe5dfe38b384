import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTimeSlices } from "../../../../limits/clock.ts";
import { makeResponse } from "../../../../runtime/prometheus/response.ts";
import { startPrometheus, type PrometheusHandle } from "../../../support/prometheus.ts";
import { remoteWrite, type WrittenSeries } from "../../../support/remote-write.ts";
import { runsOf } from "../../../support/soak.ts";
import { evaluatePlain, labelsOf, randomExpression, type PlainPoints, type PlainVectors } from "./plain-vectors.ts";

/** Fixed, so that a run can be repeated; fast-check prints the path of what it shrank to. */
const seed = 20_260_119;
/** Longer than Prometheus looks back for a sample, so that a stamp without a sample has no point. */
const stepMs = 600_000;
const count = 12;
const startMs = Math.floor((Date.now() - 6 * 3_600_000) / stepMs) * stepMs;
const stamps = { startMs, stepMs, count };

const values = [
  0,
  1,
  2,
  -1,
  0.5,
  1e-7,
  123_456_789.125,
  2.5e21,
  -1e300,
  1e300,
  Infinity,
  -Infinity,
  undefined,
  undefined,
];
const labels = [
  ["a", "x"],
  ["a", "y"],
  ["b", "x"],
  ["b", ""],
  ["", "z"],
  ["", ""],
  ['ü"\\', "x"],
] as const;

/** Vectors that share some label sets. */
const vectors: PlainVectors = Object.fromEntries(
  fc
    .sample(
      fc
        .subarray([...labels], { minLength: 2 })
        .chain((own) =>
          fc.tuple(...own.map(([component, service]) => pointsOf().map((points) => ({ component, service, points })))),
        ),
      { seed, numRuns: 4 },
    )
    .map((series, index) => [`plain_${"abcd"[index]}`, series]),
);
const names = [...Object.keys(vectors), "plain_empty"];

/** No two series have equal values at a stamp: Prometheus leaves open which of them it keeps. */
const distinct: PlainVectors = {
  plain_distinct: labels.map(([component, service], index) => ({
    component,
    service,
    points: fc
      .sample(fc.option(fc.constantFrom(-1e300, -2, 0.5, 3, 1e300), { nil: undefined, freq: 6 }), {
        seed: seed + index,
        numRuns: count,
      })
      .map((value) => value && value * (1 + index / 16)),
  })),
};

function pointsOf(): fc.Arbitrary<PlainPoints> {
  return fc.array(fc.constantFrom(...values), { minLength: count, maxLength: count });
}

/** A store has NaN where a quotient is 0/0. A leaf has no point there. */
const stored = { component: "a", service: "x" };
const withoutValue: PlainVectors = {
  plain_nan: [{ ...stored, points: [Number.NaN] }],
  plain_two: [{ ...stored, points: [2] }],
};

let prometheus: PrometheusHandle;
beforeAll(async () => {
  prometheus = await startPrometheus();
  await remoteWrite(
    prometheus.url,
    Object.entries({ ...vectors, ...distinct, ...withoutValue }).flatMap(writtenSeries),
  );
});
afterAll(async () => prometheus?.stop());

function writtenSeries([name, all]: readonly [string, PlainVectors[string]]): readonly WrittenSeries[] {
  return all.map((one) => ({
    name,
    labels: labelsOf(one),
    samples: one.points.flatMap((value, index) =>
      value === undefined ? [] : [{ ms: startMs + index * stepMs, value }],
    ),
  }));
}

/** The data of the store's answer. Our leaves have no name, which an aggregation removes there. */
async function askStore(path: string, text: string, times: Readonly<Record<string, number>>): Promise<unknown> {
  const query = text.replaceAll(/plain_\w+/gu, "max by (component, service) ($&)");
  const params = new URLSearchParams({ query });
  for (const [name, ms] of Object.entries(times)) params.set(name, String(ms / 1_000));
  const response = await fetch(`${prometheus.url}/api/v1/${path}?${params.toString()}`);
  const { data } = (await response.json()) as { readonly data: unknown };
  return data;
}

async function askOwn(text: string, own: typeof stamps, isInstant: boolean): Promise<unknown> {
  const moved = (own.startMs - startMs) / stepMs;
  const cut = Object.fromEntries(
    [...Object.entries({ ...vectors, ...distinct }), ["plain_empty", []] as const].map(([name, all]) => [
      name,
      all.map((one) => ({ ...one, points: one.points.slice(moved, moved + own.count) })),
    ]),
  );
  const evaluated = await evaluatePlain(text, cut, { stamps: own, isInstant });
  const answer = makeResponse(evaluated, { warnings: [], isPartial: false, slices: createTimeSlices() });
  const { data } = JSON.parse(Buffer.from(await answer.json()).toString()) as { readonly data: unknown };
  return data;
}

/** The series of an instant have no order in Prometheus. */
function sorted(data: unknown): unknown {
  const { resultType, result } = data as { readonly resultType: string; readonly result: readonly object[] };
  if (resultType === "scalar") return data;
  const key = (one: object): string => JSON.stringify((one as { readonly metric: object }).metric);
  return { resultType, result: result.toSorted((a, b) => (key(a) < key(b) ? -1 : 1)) };
}

test(`${runsOf(1_500)} random expressions over a range are answered as Prometheus does, to the last digit`, async () => {
  let points = 0;
  await fc.assert(
    fc.asyncProperty(randomExpression(names), async (text) => {
      const times = { start: startMs, end: startMs + (count - 1) * stepMs, step: stepMs };
      const own = await askOwn(text, stamps, false);
      points += JSON.stringify(own).split("],[").length;
      expect(own).toEqual(await askStore("query_range", text, times));
    }),
    { seed, numRuns: runsOf(1_500) },
  );
  expect(points).toBeGreaterThan(runsOf(1_500) * 3);
});

test(`${runsOf(500)} random expressions at an instant are answered as Prometheus does`, async () => {
  await fc.assert(
    fc.asyncProperty(randomExpression(names), fc.nat(count - 1), async (text, index) => {
      const time = startMs + index * stepMs;
      const own = await askOwn(text, { startMs: time, stepMs, count: 1 }, true);
      expect(sorted(own)).toEqual(sorted(await askStore("query", text, { time })));
    }),
    { seed, numRuns: runsOf(500) },
  );
});

describe("a ranking", () => {
  const rankings = ["topk", "bottomk"].flatMap((fn) => [
    ...[1, 2, 3, 7, 2_000].map((k) => `${fn}(${k}, plain_distinct)`),
    `${fn}(2, -plain_distinct)`,
    `${fn}(2, plain_distinct > 1)`,
    `${fn}(3, plain_distinct / 0)`,
    `${fn}(5, plain_distinct / (plain_distinct > bool 1))`,
    `${fn}(3, plain_distinct) * 2`,
    `${fn}(2, plain_distinct) or plain_a`,
    `plain_distinct unless ${fn}(2, plain_distinct)`,
    `topk(2, ${fn}(4, plain_distinct))`,
    `${fn}(2, plain_empty)`,
  ]);

  test.each(rankings.filter((text) => !text.includes("/ ")))(
    "%s ranks each step of a range as Prometheus",
    async (text) => {
      const times = { start: startMs, end: startMs + (count - 1) * stepMs, step: stepMs };
      expect(await askOwn(text, stamps, false)).toEqual(await askStore("query_range", text, times));
    },
  );

  test.each(rankings.filter((text) => /^\w+\(\d+, -?plain_distinct\)$/u.test(text)))(
    "%s of an instant has the order of Prometheus",
    async (text) => {
      for (let index = 0; index < count; index += 1) {
        const time = startMs + index * stepMs;
        const own = await askOwn(text, { startMs: time, stepMs, count: 1 }, true);
        expect(own).toEqual(await askStore("query", text, { time }));
      }
    },
  );

  test("has NaN last in both orders, and equal values in the order of their labels", async () => {
    const held = (points: readonly number[]): PlainVectors => ({
      plain_some: points.map((value, index) => ({ component: "abc"[index] ?? "", service: "", points: [value] })),
    });
    const first = async (text: string, numbers: readonly number[]): Promise<readonly (string | undefined)[]> => {
      const own = await evaluatePlain(text, held(numbers), { stamps: { ...stamps, count: 1 }, isInstant: true });
      return own.type === "scalar" ? [] : own.series.map(({ labels: { component } }) => component);
    };
    const quotient = (fn: string): string => `${fn}(2, (plain_some - 2) / (plain_some - 2) * plain_some)`;
    expect(await first(quotient("topk"), [2, 5, 7])).toEqual(["c", "b"]);
    expect(await first(quotient("bottomk"), [2, 5, 7])).toEqual(["b", "c"]);
    expect(await first(quotient("topk"), [2, 2, 7])).toEqual(["c", "a"]);
    expect(await first("topk(2, plain_some)", [4, 4, 4])).toEqual(["a", "b"]);
    expect(await first("bottomk(2, plain_some)", [4, 4, 4])).toEqual(["a", "b"]);
  });
});

describe("a point that is absent here and NaN in the store", () => {
  test.each([
    ["plain_nan", "NaN", "none"],
    ["-plain_nan", "NaN", "none"],
    ["plain_nan + 1", "NaN", "none"],
    ["plain_two * plain_nan", "NaN", "none"],
    ["plain_nan == plain_nan", "none", "none"],
    ["plain_nan > 1", "none", "none"],
    ["plain_nan < bool 1", "0", "none"],
    ["plain_nan != 1", "NaN", "none"],
    ["plain_nan != bool 1", "1", "none"],
    ["plain_two != plain_nan", "2", "none"],
    ["plain_two and plain_nan", "2", "none"],
    ["plain_two unless plain_nan", "none", "2"],
    ["plain_nan or plain_two", "NaN", "2"],
    ["plain_two or plain_nan", "2", "2"],
    // A quotient that the expression itself computes is NaN in both.
    ["(plain_two - 2) / (plain_two - 2)", "NaN", "NaN"],
    ["plain_two unless (plain_two - 2) / (plain_two - 2)", "none", "none"],
    ["((plain_two - 2) / (plain_two - 2)) != bool 1", "1", "1"],
  ])("%s: %s in the store, %s here", async (text, there, here) => {
    const own = await evaluatePlain(text, withoutValue, { stamps: { ...stamps, count: 1 }, isInstant: true });
    const written = makeResponse(own, { warnings: [], isPartial: false, slices: createTimeSlices() });
    const { data } = JSON.parse(Buffer.from(await written.json()).toString()) as { readonly data: unknown };
    expect([valueIn(await askStore("query", text, { time: startMs })), valueIn(data)]).toEqual([there, here]);
  });
});

/** The value of the only series. */
function valueIn(data: unknown): string {
  const { result } = data as { readonly result: readonly { readonly value: readonly [number, string] }[] };
  return result[0]?.value[1] ?? "none";
}
