import { afterAll, beforeAll, expect, test } from "vitest";
import type { MetricConfig, RuntimeConfig, SloConfig } from "../../../crds/config.ts";
import { windowsOf } from "../../../runtime/metrics/slo/slo-windows.ts";
import { metricsServerOver, type MetricsServer } from "../../runtime/http/routes/metrics-server.ts";
import { keyOf, type SeriesPoints } from "../../runtime/metrics/oracle/asked.ts";
import { differences } from "../../runtime/metrics/oracle/differences.ts";
import { random } from "../../runtime/metrics/oracle/generated-series.ts";
import { configOf, metricConfig, storeConfig, wideLimits } from "../../runtime/metrics/oracle/universe.ts";
import { startPrometheus, type PrometheusHandle } from "../../support/prometheus.ts";
import { remoteWrite } from "../../support/remote-write.ts";
import { isSoak } from "../../support/soak.ts";
import {
  endMs,
  heldSeries,
  intervalSeconds,
  regions,
  services,
  startMs,
  tenants,
  threshold,
  writtenTo,
  type HeldSeries,
  type Region,
} from "./gap-stores.ts";
import { eventsOf, gapValues, type GapQuery, type Measure } from "./gap-values.ts";

/** Values over three stores with gaps are those of the stores that have all of their parts; the others are named. */

const seed = Number(process.env["HELIOGRAPH_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const requests = isSoak ? 5_000 : 300;
const minStepSeconds = 60;
/** Sums may differ by the order of their terms. */
const sliTolerance = 1e-9;
const nowMs = endMs + 3_600_000;
/** After the first samples, within a day of all of them. */
const sloNowMs = endMs - 600_000;

const next = random(seed);
const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(next() * values.length)] as Value;
let held: readonly HeldSeries[];
let stores: readonly PrometheusHandle[] = [];
/** One without caches and one with. */
let servers: readonly MetricsServer[] = [];
let clockMs = nowMs;

beforeAll(async () => {
  held = heldSeries(random(seed + 1));
  stores = await Promise.all(
    regions.map(async (region) => {
      const store = await startPrometheus({ config: "storage:\n  tsdb:\n    out_of_order_time_window: 30d\n" });
      await remoteWrite(store.url, writtenTo(region, held));
      return store;
    }),
  );
  servers = [0, 60].map((memorySeconds) => {
    const urls = Object.fromEntries(regions.map((region, index) => [region, stores[index]?.url ?? ""]));
    const server = metricsServerOver(urls, { now: () => clockMs });
    server.apply(configWith(urls, memorySeconds));
    return server;
  });
}, 60_000);
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
  await Promise.all(stores.map((store) => store.stop()));
});

const slos: readonly SloConfig[] = (
  [
    ["success", "success", "Good"],
    ["errors", "errors", "Bad"],
    ["latency", "fraction", "Good"],
  ] as const
).map(([metric, name, counts]) => ({
  name,
  metric,
  counts,
  domain: "gaps",
  objective: 0.9,
  windowDays: 1,
  minimumEvents: 1,
  burnRates: [9, 6, 3, 1],
  public: false,
  ...(name === "fraction" ? { threshold } : {}),
}));

function configWith(urls: Readonly<Record<string, string>>, memorySeconds: number): RuntimeConfig {
  const configs = Object.entries(urls).map(([region, url]) => storeConfig({ name: region, region, url }));
  const series = (name: string) => ({ name, matchers: [] });
  const make = (id: string, source: MetricConfig["source"], changes: Partial<MetricConfig> = {}): MetricConfig =>
    metricConfig(id, configs, {
      source,
      aggregations: ["avg"],
      minStepSeconds,
      intervalSeconds: Object.fromEntries(regions.map((region) => [region, intervalSeconds])),
      ...changes,
    });
  const ratio = (numerator: string): MetricConfig["source"] => ({
    kind: "ratio",
    increase: "Extrapolated",
    numerator: series(numerator),
    denominator: series("all_total"),
  });
  const metrics = [
    make("success", ratio("ok_total")),
    make("errors", ratio("errors_total")),
    make(
      "latency",
      { kind: "histogram", type: "Classic", increase: "Extrapolated", ...series("latency") },
      { aggregations: ["avg", "p50", "p95"] },
    ),
  ];
  const base = configOf(configs, metrics);
  const limits = { ...wideLimits, memorySeconds, hotTailSeconds: memorySeconds };
  return {
    ...base,
    catalogs: base.catalogs.map((catalog) => ({ ...catalog, slos })),
    classDefaults: { A: limits, B: limits, C: limits },
  };
}

const measures: readonly Measure[] = ["success", "errors", "average", "fraction", "p50", "p95"];
const metricOf: Readonly<Record<Measure, string>> = {
  success: "success",
  errors: "errors",
  average: "latency",
  fraction: "latency",
  p50: "latency",
  p95: "latency",
};

function randomQuery(): GapQuery {
  return {
    measure: pick(measures),
    tenant: pick(tenants),
    region: pick([undefined, undefined, ...regions]),
    service: pick([undefined, ...services]),
    groupBy: pick([[], ["service"], ["region"], ["region", "service"]] as const),
  };
}

interface RegionState {
  readonly region: Region;
  readonly state: string;
}

interface Answered {
  readonly points: SeriesPoints<number>;
  readonly partial: ReadonlySet<string>;
  /** Ends of all points, and their width. */
  readonly grid: { readonly ends: readonly number[]; readonly widthMs: number };
}

const token = { authorization: "Bearer everyone" };

/** Asks the native API. Undefined when the bounds of the stores do not fit together. */
async function askNatively(server: MetricsServer, query: GapQuery): Promise<Answered | undefined> {
  const stepSeconds = pick([60, 120, 300]);
  const fromMs = startMs + Math.floor(next() * 40) * 60_000;
  const params = new URLSearchParams({
    metric: metricOf[query.measure],
    agg: query.measure.startsWith("p") ? query.measure : "avg",
    from: new Date(fromMs).toISOString(),
    to: new Date(fromMs + stepSeconds * 1_000 * (2 + Math.floor(next() * 10))).toISOString(),
    step: `${stepSeconds}s`,
    "filter[tenant]": query.tenant,
    ...(query.region === undefined ? {} : { "filter[region]": query.region }),
    ...(query.service === undefined ? {} : { "filter[service]": query.service }),
    ...(query.groupBy.length === 0 ? {} : { group_by: query.groupBy.join(",") }),
  });
  const answer = await server.get(`/v1/metrics/query?${params.toString()}`, token);
  if (answer.text.includes('"incompatible_buckets"')) return undefined;
  const { data, meta } = answer.json() as {
    readonly data: readonly {
      readonly labels: Readonly<Record<string, string>>;
      readonly points: readonly (readonly [string, number])[];
    }[];
    readonly meta: { readonly from: string; readonly to: string; readonly regions: readonly RegionState[] };
  };
  const ends: number[] = [];
  const stepMs = stepSeconds * 1_000;
  for (let ms = Date.parse(meta.from) + stepMs; ms <= Date.parse(meta.to); ms += stepMs) ends.push(ms);
  return {
    points: new Map(
      data.map(({ labels, points }) => [
        keyOf(query.groupBy, (label) => labels[label]),
        new Map(points.map(([time, value]) => [Date.parse(time), value])),
      ]),
    ),
    partial: new Set(meta.regions.filter(({ state }) => state === "partial").map(({ region }) => region)),
    grid: { ends, widthMs: stepMs },
  };
}

/** Asks the Prometheus API for points as wide as several steps. */
async function askInPromql(server: MetricsServer, query: GapQuery): Promise<Answered | undefined> {
  const widthSeconds = pick([120, 300, 900]);
  const { tenant, region, service } = query;
  const matchers = Object.entries({ tenant, region, service })
    .filter(([, value]) => value !== undefined)
    .map(([label, value]) => `${label}="${value}"`);
  const selector = `${metricOf[query.measure]}{${matchers.join(",")}}[${widthSeconds}s]`;
  const by = `by (${query.groupBy.join(", ")})`;
  const withBound = `by (${[...query.groupBy, "le"].join(", ")})`;
  const expressions: Readonly<Record<Measure, string>> = {
    success: `avg ${by} (avg_over_time(${selector}))`,
    errors: `avg ${by} (avg_over_time(${selector}))`,
    average: `histogram_avg(sum ${by} (rate(${selector})))`,
    fraction: `histogram_fraction(0, ${threshold}, sum ${withBound} (rate(${selector})))`,
    p50: `histogram_quantile(0.5, sum ${withBound} (rate(${selector})))`,
    p95: `histogram_quantile(0.95, sum ${withBound} (rate(${selector})))`,
  };
  const fromMs = startMs + Math.floor(next() * 50) * 60_000;
  const ends = Array.from({ length: 1 + Math.floor(next() * 8) }, (_, index) => fromMs + index * 60_000);
  const params = new URLSearchParams({
    query: expressions[query.measure],
    start: String(fromMs / 1_000),
    end: String((ends.at(-1) ?? fromMs) / 1_000),
    step: "60",
  });
  const answer = await server.get(`/prometheus/api/v1/query_range?${params.toString()}`, token);
  if (answer.text.includes("share too few bounds")) return undefined;
  const { data, warnings = [] } = answer.json() as {
    readonly data: {
      readonly result: readonly {
        readonly metric: Readonly<Record<string, string>>;
        readonly values: readonly (readonly [number, string])[];
      }[];
    };
    readonly warnings?: readonly string[];
  };
  return {
    points: new Map(
      data.result.map(({ metric, values }) => [
        keyOf(query.groupBy, (label) => metric[label]),
        new Map(values.map(([seconds, text]) => [Math.round(seconds * 1_000), Number(text)])),
      ]),
    ),
    partial: new Set(warnings.flatMap((text) => /region (\w+) are incomplete: partial/u.exec(text)?.[1] ?? [])),
    grid: { ends, widthMs: widthSeconds * 1_000 },
  };
}

async function checkQuery(
  server: MetricsServer,
): Promise<{ readonly wrong: readonly string[]; readonly points: number }> {
  const query = randomQuery();
  const isNative = query.measure !== "fraction" && next() < 0.6;
  const answered = await (isNative ? askNatively : askInPromql)(server, query);
  const about = JSON.stringify(query);
  if (answered === undefined) {
    const anywhere = { ends: minutes(), widthMs: 0 };
    const mayBe = [60, 120, 300, 900].some(
      (seconds) => gapValues(held, query, { ...anywhere, widthMs: seconds * 1_000 }).isIncompatible,
    );
    return { wrong: mayBe ? [] : [`${about}: refused`], points: 0 };
  }
  const wanted = gapValues(held, query, answered.grid);
  const states = [[...answered.partial].sort().join(), [...wanted.lacking].sort().join()];
  return {
    wrong: [
      ...differences(answered.points, wanted.points, { oracle: about }),
      ...(wanted.isIncompatible ? [`${about}: not refused`] : []),
      ...(states[0] === states[1] ? [] : [`${about}: partial ${states[0]}, not ${states[1]}`]),
    ],
    points: [...wanted.points.values()].reduce((sum, points) => sum + points.size, 0),
  };
}

const minutes = (): readonly number[] =>
  Array.from({ length: (endMs - startMs) / 60_000 + 1 }, (_, index) => startMs + index * 60_000);

/** An objective: its share of good events over the day, and the regions that lack a part of some window. */
interface Objective {
  readonly sli: number | undefined;
  readonly partial: string;
}

async function checkObjective(
  server: MetricsServer,
): Promise<{ readonly wrong: readonly string[]; readonly points: number }> {
  const [slo, tenant] = [pick(slos), pick(tenants)];
  const [actual, wanted] = [await askObjective(server, slo, tenant), wantedObjective(slo, tenant)];
  const isEqual =
    actual.sli === wanted.sli || Math.abs((actual.sli ?? Number.NaN) - (wanted.sli ?? Number.NaN)) < sliTolerance;
  return {
    wrong:
      isEqual && actual.partial === wanted.partial
        ? []
        : [`${slo.name} of ${tenant}: ${JSON.stringify(actual)}, not ${JSON.stringify(wanted)}`],
    points: 1,
  };
}

async function askObjective(server: MetricsServer, slo: SloConfig, tenant: string): Promise<Objective> {
  clockMs = sloNowMs;
  const answer = await server.get(`/v1/metrics/slo?slo=${slo.name}&tenant=${tenant}`, token);
  clockMs = nowMs;
  const { data } = answer.json() as {
    readonly data: readonly { readonly sli?: number; readonly regions: readonly RegionState[] }[];
  };
  const partial = (data[0]?.regions ?? []).filter(({ state }) => state === "partial").map(({ region }) => region);
  return { sli: data[0]?.sli, partial: partial.toSorted().join() };
}

function wantedObjective(slo: SloConfig, tenant: string): Objective {
  const own = held.filter(({ labels }) => labels["tenant"] === tenant);
  const byRegion = [...Map.groupBy(own, ({ region }) => region)];
  const windows = windowsOf(slo, minStepSeconds).map((seconds) =>
    eventsOf(slo.name as "success" | "errors" | "fraction", byRegion, { ms: sloNowMs, widthMs: seconds * 1_000 }),
  );
  const { good = 0, total = 0 } = windows.at(-1) ?? {};
  const share = slo.counts === "Good" ? good / total : 1 - good / total;
  return {
    sli: Number.isNaN(share) ? undefined : Math.min(1, share),
    partial: [...new Set(windows.flatMap(({ lacking }) => lacking))].sort().join(),
  };
}

test(
  `no value of ${requests} random requests over three stores with gaps is wrong, and no gap is silent, seed ${seed}`,
  { timeout: isSoak ? 900_000 : 120_000 },
  async () => {
    const found = { wrong: [] as string[], points: 0 };
    for (let index = 0; index < requests; index += 1) {
      const server = pick(servers);
      const { wrong, points } = await (next() < 0.85 ? checkQuery : checkObjective)(server);
      found.wrong.push(...wrong);
      found.points += points;
    }
    expect(found.wrong.slice(0, 20)).toEqual([]);
    // A run that compares little shows nothing.
    expect(found.points).toBeGreaterThan(requests * 3);
  },
);
