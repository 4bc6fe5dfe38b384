import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Aggregation, SloConfig } from "../../../../crds/config.ts";
import { startPrometheus, type PrometheusHandle } from "../../../support/prometheus.ts";
import { remoteWrite } from "../../../support/remote-write.ts";
import { metricsServerOver, type MetricsServer } from "../../http/routes/metrics-server.ts";
import { random, type Sample } from "../oracle/generated-series.ts";
import { metricConfig } from "../oracle/universe.ts";

/** Objectives of gauges over time slices in two regional stores, against the samples that were written. */

const seed = Number(process.env["HELIOGRAPH_SEED"] ?? 20_261_127);
const minuteMs = 60_000;
const nowMs = Date.parse("2026-01-03T12:03:20Z");
const sliceSeconds = 300;
const sliceMs = sliceSeconds * 1_000;
const windowSeconds = 86_400;
/** End of the last whole slice. */
const toMs = Math.floor(nowMs / sliceMs) * sliceMs;
const regions = ["eu", "latam"] as const;
const intervalMinutes = { eu: 1, latam: 2 } as const;
const aggregations = ["avg", "sum", "min", "max"] as const satisfies readonly Aggregation[];
const operators = {
  AtMost: (value: number, threshold: number) => value <= threshold,
  Below: (value: number, threshold: number) => value < threshold,
  AtLeast: (value: number, threshold: number) => value >= threshold,
  Above: (value: number, threshold: number) => value > threshold,
} as const;
type Operator = keyof typeof operators;

interface Gauge {
  readonly region: (typeof regions)[number];
  readonly samples: readonly Sample[];
}

interface Case {
  readonly tenant: string;
  readonly aggregation: (typeof aggregations)[number];
  readonly operator: Operator;
  readonly gauges: readonly Gauge[];
}

const threshold = 50;
const next = random(seed);

/** Values around the threshold, often exactly it, with infinities and gaps. */
function gaugeOf(region: Gauge["region"]): Gauge {
  const interval = intervalMinutes[region];
  const minutes = 60 * (4 + Math.floor(next() * 44));
  const samples: Sample[] = [];
  let level = threshold;
  for (let minute = minutes; minute >= 0; minute -= interval) {
    if (next() < 0.01) minute -= 30 * interval;
    if (next() < 0.05) level = Math.round(next() * 2 * threshold);
    const value = next() < 0.002 ? Infinity : next() < 0.3 ? threshold : level;
    samples.push({ ms: toMs - minute * minuteMs, value });
  }
  return { region, samples: samples.filter(({ ms }) => ms <= nowMs) };
}

const cases: readonly Case[] = Array.from({ length: 67 }, (_, index): Case => ({
  tenant: `tenant-${index}`,
  aggregation: aggregations[index % 4] ?? "avg",
  operator: (Object.keys(operators) as Operator[])[Math.floor(index / 4) % 4] ?? "AtMost",
  gauges: [gaugeOf("eu"), gaugeOf("latam"), gaugeOf(next() < 0.5 ? "eu" : "latam")],
}));

/** Samples of a series in a slice. */
const within = ({ samples }: Gauge, endMs: number): readonly number[] =>
  samples.flatMap(({ ms, value }) => (ms > endMs - sliceMs && ms <= endMs ? [value] : []));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** The value of a slice over all series, from the samples alone; NaN without any. */
function valueOf({ aggregation, gauges }: Case, endMs: number): number {
  const own = gauges
    .map((gauge) => ({ weight: intervalMinutes[gauge.region], values: within(gauge, endMs) }))
    .filter(({ values }) => values.length > 0);
  const all = own.flatMap(({ values }) => values);
  if (all.length === 0) return Number.NaN;
  switch (aggregation) {
    case "min":
      return Math.min(...all);
    case "max":
      return Math.max(...all);
    case "sum":
      return sum(own.map(({ values }) => sum(values) / values.length));
    case "avg":
      return (
        sum(own.map(({ weight, values }) => weight * sum(values))) /
        sum(own.map(({ weight, values }) => weight * values.length))
      );
  }
}

interface Counts {
  readonly good: number;
  readonly total: number;
}

function countsOf(one: Case, endMs: number, seconds: number, isLeft = (_endMs: number): boolean => false): Counts {
  const ends = Array.from({ length: seconds / sliceSeconds }, (_, index) => endMs - index * sliceMs);
  const values = ends.filter((end) => !isLeft(end)).map((end) => valueOf(one, end));
  const known = values.filter((value) => !Number.isNaN(value));
  return { good: known.filter((value) => operators[one.operator](value, threshold)).length, total: known.length };
}

const objectiveOf = (aggregation: Aggregation, operator: Operator): SloConfig => ({
  name: `${aggregation}-${operator.toLowerCase()}`,
  domain: "queues",
  metric: `lag_${aggregation}`,
  objective: 0.9,
  counts: "Good",
  over: { operator, threshold, sliceSeconds },
  windowDays: 1,
  minimumEvents: 100,
  burnRates: [9, 6, 3, 1],
  public: true,
  publicTenants: ["tenant-0"],
});

/** Excluded intervals that cut slices: a fixed one, and one that repeats daily, which ends on the next day. */
const fixedInterval = { from: "2026-01-03T02:07:10Z", to: "2026-01-03T03:41:00Z" };
const corrected: SloConfig = {
  ...objectiveOf("avg", "AtMost"),
  name: "avg-corrected",
  corrections: [
    { reason: "move", ...fixedInterval },
    { reason: "backup", schedule: { cron: "50 0 * * *", durationMinutes: 61, timeZone: "Europe/Berlin" } },
  ],
};
/** The same intervals by hand: 00:50 in Berlin is 23:50 in UTC. */
const excluded = [
  [fixedInterval.from, fixedInterval.to],
  ["2026-01-02T23:50:00Z", "2026-01-03T00:51:00Z"],
].map(([from = "", to = ""]) => [Date.parse(from), Date.parse(to)] as const);
const isExcluded = (endMs: number): boolean => excluded.some(([from, to]) => from < endMs && to > endMs - sliceMs);

let stores: readonly PrometheusHandle[] = [];
let server: MetricsServer;
beforeAll(async () => {
  const config = "storage:\n  tsdb:\n    out_of_order_time_window: 30d\n";
  stores = await Promise.all(
    regions.map(async (region) => {
      const store = await startPrometheus({ config });
      const series = cases.flatMap(({ tenant, gauges }) =>
        gauges.flatMap((gauge, index) => {
          const labels = { tenant, env: "prod", service: "api", instance: `${index}` };
          return gauge.region === region ? [{ name: "consumer_lag", labels, samples: gauge.samples }] : [];
        }),
      );
      await remoteWrite(store.url, series);
      return store;
    }),
  );
  server = metricsServerOver(Object.fromEntries(regions.map((region, index) => [region, stores[index]?.url ?? ""])), {
    now: () => nowMs,
  });
  const catalogs = server.config.catalogs.map((catalog) => ({
    ...catalog,
    slos: [],
    newerSlos: [
      ...aggregations.flatMap((aggregation) =>
        (Object.keys(operators) as Operator[]).map((operator) => objectiveOf(aggregation, operator)),
      ),
      corrected,
    ],
    metrics: aggregations.map((aggregation) =>
      metricConfig(`lag_${aggregation}`, catalog.stores, {
        source: { kind: "gauge", name: "consumer_lag", matchers: [] },
        intervalSeconds: { eu: 60, latam: 120 },
        minStepSeconds: 240,
        defaultAggregation: aggregation,
      }),
    ),
  }));
  server.apply({ ...server.config, catalogs });
}, 60_000);
afterAll(async () => {
  await server?.close();
  await Promise.all(stores.map((store) => store.stop()));
});

interface Item {
  readonly events?: Counts;
  readonly sli?: number;
  readonly minimum_events: number;
  readonly over: Readonly<Record<string, unknown>>;
  readonly tiers: readonly {
    readonly long: { readonly window: string; readonly rate?: number };
    readonly short: { readonly window: string; readonly rate?: number };
  }[];
  readonly regions: readonly {
    readonly region: string;
    readonly state: string;
    readonly reasons?: readonly object[];
  }[];
}

interface CorrectedItem extends Item {
  readonly uncorrected: Pick<Item, "events">;
  readonly corrections: readonly { readonly seconds: number }[];
}

async function objectiveFor(one: Case, more = ""): Promise<Item> {
  const name = `${one.aggregation}-${one.operator.toLowerCase()}`;
  const response = await server.get(`/v1/metrics/slo?slo=${name}&tenant=${one.tenant}${more}`);
  const { data } = response.json() as { readonly data: readonly Item[] };
  expect([200, 206]).toContain(response.status);
  expect(data).toHaveLength(1);
  return data[0] as Item;
}

/** Without the rounding errors of the last digits. */
const digits = <None extends null | undefined>(value: number | None): string | None =>
  typeof value === "number" ? value.toPrecision(10) : value;

/** The windows of a day's tiers, in whole slices. */
const tierSeconds = [
  [300, 300],
  [900, 300],
  [3_000, 300],
  [8_700, 900],
] as const;

describe(`objectives over time slices of 201 random series in two regions, seed ${seed}`, () => {
  test("count the slices that their samples make good, bad and missing", async () => {
    let missing = 0;
    for (const one of cases) {
      const expected = countsOf(one, toMs, windowSeconds);
      const item = await objectiveFor(one);
      expect({ tenant: one.tenant, ...item.events }).toEqual({ tenant: one.tenant, ...expected });
      missing += windowSeconds / sliceSeconds - expected.total;
      expect(item.over).toEqual({
        aggregation: one.aggregation,
        operator: one.operator,
        threshold,
        slice_seconds: sliceSeconds,
        slices: 288,
        missing_slices: 288 - expected.total,
      });
      const rates = item.tiers.map(({ long, short }) => [digits(long.rate), digits(short.rate)]);
      const rateOf = (seconds: number): unknown => {
        const { good, total } = countsOf(one, toMs, seconds);
        return total === 0 ? undefined : digits((total - good) / total / 0.1);
      };
      expect(rates).toEqual(tierSeconds.map(([long, short]) => [rateOf(long), rateOf(short)]));
    }
    expect(missing).toBeGreaterThan(100);
  });

  test("leave out the slices of corrections, and show both figures", async () => {
    let left = 0;
    for (const one of cases.filter(({ aggregation, operator }) => aggregation === "avg" && operator === "AtMost")) {
      const response = await server.get(`/v1/metrics/slo?slo=avg-corrected&tenant=${one.tenant}`);
      const [item] = (response.json() as { readonly data: readonly CorrectedItem[] }).data;
      const all = countsOf(one, toMs, windowSeconds);
      const counted = countsOf(one, toMs, windowSeconds, isExcluded);
      expect([one.tenant, item?.events, item?.uncorrected.events]).toEqual([one.tenant, counted, all]);
      expect(item?.over["missing_slices"]).toBe(288 - all.total);
      expect(item?.corrections.map(({ seconds }) => seconds)).toEqual([20 * sliceSeconds, 13 * sliceSeconds]);
      left += all.total - counted.total;
    }
    expect(left).toBeGreaterThan(33);
  });

  test("have a history whose points count their own slices", async () => {
    for (const one of cases.slice(0, 3)) {
      const name = `${one.aggregation}-${one.operator.toLowerCase()}`;
      const response = await server.get(`/v1/metrics/slo/history?slo=${name}&tenant=${one.tenant}`);
      const { data } = response.json() as {
        readonly data: readonly { readonly at: string; readonly sli: number | null }[];
      };
      expect(data).toHaveLength(31);
      for (const { at, sli } of data) {
        const endMs = Math.floor(Date.parse(at) / sliceMs) * sliceMs;
        const { good, total } = countsOf(one, endMs, windowSeconds);
        expect([one.tenant, at, digits(sli)]).toEqual([one.tenant, at, total === 0 ? null : digits(good / total)]);
      }
    }
  });

  test("judge the stores of one region alone when the request names it", async () => {
    for (const one of cases.slice(0, 16)) {
      const own = { ...one, gauges: one.gauges.filter(({ region }) => region === "latam") };
      const { total, good } = countsOf(own, toMs, windowSeconds);
      const { events } = await objectiveFor(one, "&region=latam");
      expect(events).toEqual(total === 0 ? undefined : { good, total });
    }
  });

  test("name the regions without a value in slices that other regions have", async () => {
    for (const one of cases.slice(0, 16)) {
      const ends = Array.from({ length: 288 }, (_, index) => toMs - index * sliceMs);
      const has = (gauges: readonly Gauge[], endMs: number) => gauges.some((gauge) => within(gauge, endMs).length > 0);
      const lacking = regions.map((region) => {
        const own = one.gauges.filter((gauge) => gauge.region === region);
        return ends.filter((endMs) => has(one.gauges, endMs) && !has(own, endMs)).length;
      });
      const { regions: reported } = await objectiveFor(one);
      expect(reported).toEqual(
        regions.map((region, index) => {
          if (lacking[index] === 0) return { region, state: "ok" };
          const detail =
            `a store of ${region} has no value of lag_${one.aggregation} in ${lacking[index]} of 288 slices, ` +
            "which other stores have";
          return {
            region,
            state: "partial",
            reasons: [{ metric: `lag_${one.aggregation}`, code: "part_missing", detail }],
          };
        }),
      );
    }
  });
});

test("an objective over time slices requires half of the slices of its fastest long window at most", async () => {
  const [one] = cases;
  if (one === undefined) throw new Error("no case");
  expect((await objectiveFor(one)).minimum_events).toBe(1);
});
