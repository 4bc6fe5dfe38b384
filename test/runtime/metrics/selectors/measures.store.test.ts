import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LabelName, SloConfig } from "../../../../crds/config.ts";
import type { MetricsApi } from "../../../../runtime/metrics/metrics-api.ts";
import type { Measure, MetricSelector } from "../../../../runtime/metrics/request/selector.ts";
import { startTwoRuntimes, type TwoRuntimes } from "../federation/two-runtimes.ts";
import { differences, exactly } from "../oracle/differences.ts";
import { askRange } from "../oracle/direct.ts";
import { dataStartMs, psps } from "../oracle/generated-series.ts";
import { nowMs, type Server, startHolding } from "../oracle/layouts.ts";
import { everyone, generatedMetrics, type TestStore } from "../oracle/universe.ts";

/** Measures over two regions, read by one runtime alone and over a peer, against the same PromQL to each store. */

const latency: SloConfig = {
  name: "latency",
  domain: "payments",
  metric: "latency_ms",
  objective: 0.99,
  counts: "Good",
  threshold: 100,
  windowDays: 30,
  minimumEvents: 1,
  burnRates: [14.4, 6, 3, 1],
  public: false,
};
const slos: readonly SloConfig[] = [
  latency,
  { ...latency, name: "native", metric: "native_ms", threshold: 300 },
  { ...latency, name: "sizes", metric: "sizes", threshold: 2_048 },
];
const hourMs = 3_600_000;
const widthSeconds = 600;
const grid = { fromMs: dataStartMs + hourMs, toMs: dataStartMs + 3 * hourMs, stepSeconds: 300 };
const times = { startMs: grid.fromMs + grid.stepSeconds * 1_000, endMs: grid.toMs, stepMs: grid.stepSeconds * 1_000 };

let servers: readonly Server[];
let running: TwoRuntimes;
beforeAll(async () => {
  servers = await Promise.all([[0], [1, 2]].map((shards) => startHolding(shards)));
  const store = (region: string, server: number): TestStore => ({
    name: region,
    region,
    url: servers[server]?.url ?? "",
  });
  const [eu, latam] = [[store("eu", 0)], [store("latam", 1)]];
  running = await startTwoRuntimes({ eu, latam, metricsOf: generatedMetrics, slos });
});
afterAll(async () => {
  await running?.stop();
  await Promise.all((servers ?? []).map((server) => server.stop()));
});

type Points = ReadonlyMap<string, ReadonlyMap<number, number>>;
type Asked = Pick<MetricSelector, "metric" | "measure"> & {
  readonly filters?: Readonly<Record<string, readonly string[]>>;
};

async function ask(api: MetricsApi, { metric, measure, filters = {} }: Asked): Promise<Points> {
  const named = Object.entries({ ...filters, tenant: ["brand-a"] }) as [LabelName, readonly string[]][];
  const selector: MetricSelector = { metric, measure, filters: new Map(named), groupBy: ["service"], widthSeconds };
  const request = { selectors: [selector], times, tenant: undefined, isCompleteRequired: true };
  const context = { correlationId: "test", nowMs };
  const { selectors, stamps } = await api.selectors(request, everyone, AbortSignal.timeout(30_000), context);
  return new Map(
    (selectors[0]?.series ?? []).map(({ labels, values }) => {
      const points = [...values].map((value, index) => [stamps.startMs + index * stamps.stepMs, value] as const);
      return [labels.service ?? "", new Map(points.filter(([, value]) => !Number.isNaN(value)))];
    }),
  );
}

/** What each store says, and the sums over the stores. */
async function direct(query: string, stores = servers): Promise<Points> {
  const sums = new Map<string, Map<number, number>>();
  for (const { url } of stores) {
    for (const { metric, values = [] } of await askRange(url, query, grid)) {
      const own = sums.get(metric["service"] ?? "") ?? new Map<number, number>();
      for (const [seconds, text] of values) {
        const ms = Math.round(seconds * 1_000);
        own.set(ms, (own.get(ms) ?? 0) + Number(text));
      }
      sums.set(metric["service"] ?? "", own);
    }
  }
  return sums;
}

function divided(one: Points, other: Points): Points {
  const points = [...other].map(([key, own]) => {
    const shares = [...own].map(([ms, all]) => [ms, (one.get(key)?.get(ms) ?? Number.NaN) / all] as const);
    return [key, new Map(shares.filter(([, share]) => Number.isFinite(share)))] as const;
  });
  return new Map(points);
}

const count: Measure = { kind: "count" };
const fraction: Measure = { kind: "fraction", threshold: 100 };
const tenant = 'tenant="brand-a"';
const summed = (name: string, matchers: string, by = "service"): string =>
  `sum by (${by}) (increase(${name}{${matchers}}[${widthSeconds}s]))`;

describe("a measure over two regions equals PromQL that is sent to each store", () => {
  const some = psps.slice(1);
  const psp = `psp=~${JSON.stringify(some.map((value) => value.replaceAll(/[\\.+*?()|[\]{}^$]/gu, String.raw`\$&`)).join("|"))}`;
  const rows: readonly (readonly [sentence: string, asked: Asked, query: string])[] = [
    [
      "the observations of a classic histogram",
      { metric: "latency_ms", measure: count },
      summed("latency_ms_count", tenant),
    ],
    [
      "the observations of a native histogram",
      { metric: "sizes", measure: count },
      `histogram_count(${summed("sizes", tenant)})`,
    ],
    ["the denominator of a ratio", { metric: "payments_success", measure: count }, summed("payments_total", tenant)],
    [
      "the denominator with several values of two filters",
      { metric: "payments_success", measure: count, filters: { psp: some, service: ["api", "web"] } },
      summed("payments_total", `${tenant}, service=~"api|web", ${psp}`),
    ],
  ];
  test.each(rows)("%s", async (_sentence, asked, query) => {
    const wanted = exactly(await direct(query));
    expect([...wanted.values()].reduce((sum, { size }) => sum + size, 0)).toBeGreaterThan(40);
    for (const api of [running.direct, running.asking])
      expect(differences(await ask(api, asked), wanted, { oracle: "direct" })).toEqual([]);
  });

  test("the share of observations up to the threshold of an objective", async () => {
    const upTo = await direct(summed("latency_ms_bucket", `${tenant}, le="100"`));
    const wanted = exactly(divided(upTo, await direct(summed("latency_ms_count", tenant))));
    expect([...wanted.values()].reduce((sum, { size }) => sum + size, 0)).toBeGreaterThan(40);
    for (const api of [running.direct, running.asking]) {
      const actual = await ask(api, { metric: "latency_ms", measure: fraction });
      expect(differences(actual, wanted, { oracle: "direct" })).toEqual([]);
    }
  });

  test.each([
    ["at a bound of its buckets", "sizes", 2_048],
    ["between bounds of its buckets", "native_ms", 300],
  ] as const)("the share of a native histogram's observations %s", async (_sentence, metric, threshold) => {
    const histogram = summed(metric, tenant);
    const total = `histogram_count(${histogram})`;
    const upTo = await direct(`(histogram_fraction(-Inf, ${threshold}, ${histogram}) * ${total} >= 0) or 0 * ${total}`);
    const wanted = exactly(divided(upTo, await direct(total)));
    expect([...wanted.values()].reduce((sum, { size }) => sum + size, 0)).toBeGreaterThan(40);
    for (const api of [running.direct, running.asking]) {
      const actual = await ask(api, { metric, measure: { kind: "fraction", threshold } });
      expect(differences(actual, wanted, { oracle: "direct" })).toEqual([]);
    }
  });
});

test("the share in one region equals histogram_fraction of its store", async () => {
  const buckets = summed("latency_ms_bucket", tenant, "service, le");
  const wanted = divided(
    await direct(`histogram_fraction(0, 100, ${buckets})`, servers.slice(0, 1)),
    new Map(
      [...(await direct(summed("latency_ms_count", tenant), servers.slice(0, 1)))].map(([key, own]) => [
        key,
        new Map([...own].map(([ms]) => [ms, 1])),
      ]),
    ),
  );
  const asked = { metric: "latency_ms", measure: fraction, filters: { region: ["eu"] } };
  expect(differences(await ask(running.direct, asked), exactly(wanted), { oracle: "direct" })).toEqual([]);
});
