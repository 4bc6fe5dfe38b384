import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dataStartMs } from "../runtime/metrics/oracle/generated-series.ts";
import type { PrometheusHandle } from "../support/prometheus.ts";
import { fullSeries, regions } from "./oracle/full-series.ts";
import { govern, startHolding, type Governed } from "./oracle/governed.ts";

let stores: readonly PrometheusHandle[] = [];
let governed: Governed;
beforeAll(async () => {
  const series = fullSeries();
  stores = await Promise.all(
    regions.map((region) => startHolding(series.filter(({ labels }) => labels["region"] === region))),
  );
  governed = govern(Object.fromEntries(regions.map((region, index) => [region, stores[index]?.url ?? ""])));
});
afterAll(async () => {
  await governed.stop();
  await Promise.all(stores.map((store) => store.stop()));
});

type Points = readonly (readonly [seconds: number, value: number])[];
/** Points by the labels of their series. */
type Series = ReadonlyMap<string, Points>;

const keyOf = (labels: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(labels).toSorted(([one], [other]) => (one < other ? -1 : 1)));

async function read(path: string): Promise<unknown> {
  const { status, body } = await governed.get(path);
  expect([path, status, status === 200 ? "" : body]).toEqual([path, 200, ""]);
  return JSON.parse(body) as unknown;
}

interface QueryBody {
  readonly data: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly points: readonly (readonly [time: string, value: number])[];
  }[];
  readonly meta: { readonly from: string; readonly to: string; readonly step: string };
}

interface RangeBody {
  readonly data: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly values: readonly (readonly [seconds: number, value: string])[];
    }[];
  };
}

function seriesOfQuery({ data }: QueryBody): Series {
  return new Map(
    data.map(({ labels, points }) => [keyOf(labels), points.map(([time, value]) => [Date.parse(time) / 1_000, value])]),
  );
}

function seriesOfRange({ data: { result } }: RangeBody): Series {
  return new Map(
    result.map(({ metric, values }) => [keyOf(metric), values.map(([seconds, value]) => [seconds, Number(value)])]),
  );
}

async function expressionFor(query: string): Promise<string | null> {
  const { expression } = (await read(`/v1/metrics/plan?${query}`)) as { readonly expression: string | null };
  return expression;
}

const window = (fromMinute: number, minutes: number): string => {
  const at = (minute: number): string => new Date(dataStartMs + minute * 60_000 + 137).toISOString();
  return `filter[tenant]=brand-a&from=${at(fromMinute)}&to=${at(fromMinute + minutes)}`;
};

describe("the expression of a plan", () => {
  const rows: readonly (readonly [query: string, expression: string])[] = [
    ["metric=lag&step=1m", 'avg(avg_over_time(lag{tenant="brand-a"}[1m]))'],
    [
      "metric=lag&agg=max&group_by=region,service&step=5m",
      'max by (region, service) (max_over_time(lag{tenant="brand-a"}[5m]))',
    ],
    ["metric=lag&agg=min&step=1m", 'min(min_over_time(lag{tenant="brand-a"}[1m]))'],
    ["metric=lag&agg=sum&filter[region]=eu&step=2m", 'sum(avg_over_time(lag{region="eu", tenant="brand-a"}[2m]))'],
    ["metric=payments&agg=avg&group_by=service&step=1m", 'sum by (service) (rate(payments{tenant="brand-a"}[1m]))'],
    ["metric=payments&agg=sum&step=5m", 'sum(increase(payments{tenant="brand-a"}[5m]))'],
    [
      "metric=payments&agg=max&step=5m&filter[environment]=prod",
      'max(increase(payments{environment="prod", tenant="brand-a"}[5m]))',
    ],
    ["metric=success&group_by=region&step=5m", 'avg by (region) (avg_over_time(success{tenant="brand-a"}[5m]))'],
    [
      "metric=latency&agg=p95&group_by=service&step=5m",
      'histogram_quantile(0.95, sum by (service) (rate(latency{tenant="brand-a"}[5m])))',
    ],
    ["metric=latency&agg=avg&step=5m", 'histogram_avg(sum(rate(latency{tenant="brand-a"}[5m])))'],
    [
      "metric=sizes&agg=p50&step=5m&filter[service]=api",
      'histogram_quantile(0.5, sum(rate(sizes{service="api", tenant="brand-a"}[5m])))',
    ],
    [
      "metric=sizes&agg=sum&group_by=environment&step=5m",
      'histogram_sum(sum by (environment) (increase(sizes{tenant="brand-a"}[5m])))',
    ],
  ];
  test.each(rows)("of %s gives /prometheus the points of the query", async (query, expression) => {
    const path = `${query}&${window(10, 90)}`;
    expect(await expressionFor(path)).toBe(expression);
    const native = (await read(`/v1/metrics/query?${path}`)) as QueryBody;
    const stepMs = { "1m": 60_000, "2m": 120_000, "5m": 300_000 }[native.meta.step] ?? Number.NaN;
    const range = new URLSearchParams({
      query: expression,
      start: String((Date.parse(native.meta.from) + stepMs) / 1_000),
      end: String(Date.parse(native.meta.to) / 1_000),
      step: native.meta.step,
    });
    const governedRange = (await read(`/prometheus/api/v1/query_range?${range.toString()}`)) as RangeBody;
    const points = seriesOfQuery(native);
    expect(points.size).toBeGreaterThan(0);
    expect(seriesOfRange(governedRange)).toEqual(points);
  });

  test("has escapes where a filter needs them", async () => {
    const path = `metric=lag&filter[service]=${encodeURIComponent('a.b|"c"\\d')}&step=1m&${window(10, 90)}`;
    expect(await expressionFor(path)).toBe('avg(avg_over_time(lag{service="a.b|\\"c\\"\\\\d", tenant="brand-a"}[1m]))');
  });

  const without: readonly (readonly [sentence: string, query: string])[] = [
    ["several metrics", "metric=lag&metric=payments&step=1m"],
    ["exemplars", "metric=latency&exemplars=true&step=1m"],
    ["a later page", "metric=lag&page=2&step=1m"],
    ["points off the grid of leaves", "metric=lag&step=77s"],
  ];
  test.each(without)("is null for %s", async (_sentence, query) => {
    expect(await expressionFor(`${query}&${window(10, 90)}`)).toBeNull();
  });
});
