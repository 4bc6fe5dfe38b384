import { afterAll, beforeAll, expect, test } from "vitest";
import type { MetricConfig, RuntimeConfig, SloConfig } from "../../../crds/config.ts";
import { windowsOf } from "../../../runtime/metrics/slo/slo-status.ts";
import { metricsServerOver, type HttpAnswer, type MetricsServer } from "../../runtime/http/routes/metrics-server.ts";
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
import { faultsOver, mayRespond, type FaultyStores, type StoreFaultsOf } from "./faulty-stores.ts";
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
  /** Refused, since the bounds of the stores do not fit together; or failed, since no store responded. */
  readonly outcome: "points" | "refused" | "failed";
  readonly points: SeriesPoints<number>;
  /** The regions whose data is not complete, with their state. */
  readonly states: ReadonlyMap<string, string>;
  /** The times are multiples of the step, or a single one. */
  readonly isAligned: boolean;
  /** Ends of all points, and their width. */
  readonly grid: { readonly ends: readonly number[]; readonly widthMs: number };
}

const token = { authorization: "Bearer everyone" };

const nothing = { points: new Map(), states: new Map(), grid: { ends: [], widthMs: 0 } };

function outcomeOf({ status, text }: HttpAnswer): Answered["outcome"] {
  if (/"incompatible_buckets"|share too few bounds/u.test(text)) return "refused";
  return status >= 500 ? "failed" : "points";
}

/** Asks the native API. */
async function askNatively(server: MetricsServer, query: GapQuery): Promise<Answered> {
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
  const outcome = outcomeOf(answer);
  if (outcome !== "points") return { ...nothing, outcome, isAligned: true };
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
    outcome,
    isAligned: true,
    points: new Map(
      data.map(({ labels, points }) => [
        keyOf(query.groupBy, (label) => labels[label]),
        new Map(points.map(([time, value]) => [Date.parse(time), value])),
      ]),
    ),
    states: new Map(meta.regions.filter(({ state }) => state !== "ok").map(({ region, state }) => [region, state])),
    grid: { ends, widthMs: stepMs },
  };
}

/** Asks the Prometheus API for points as wide as several steps. */
async function askInPromql(server: MetricsServer, query: GapQuery): Promise<Answered> {
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
  const stepMs = pick([60_000, 60_000, 120_000]);
  const fromMs = startMs + Math.floor(next() * 50) * 60_000;
  const ends = Array.from({ length: 1 + Math.floor(next() * 8) }, (_, index) => fromMs + index * stepMs);
  const params = new URLSearchParams({
    query: expressions[query.measure],
    start: String(fromMs / 1_000),
    end: String((ends.at(-1) ?? fromMs) / 1_000),
    step: String(stepMs / 1_000),
  });
  const answer = await server.get(`/prometheus/api/v1/query_range?${params.toString()}`, token);
  const outcome = outcomeOf(answer);
  const isAligned = ends.length === 1 || fromMs % stepMs === 0;
  if (outcome !== "points") return { ...nothing, outcome, isAligned };
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
    outcome,
    isAligned,
    points: new Map(
      data.result.map(({ metric, values }) => [
        keyOf(query.groupBy, (label) => metric[label]),
        new Map(values.map(([seconds, text]) => [Math.round(seconds * 1_000), Number(text)])),
      ]),
    ),
    states: new Map(
      warnings.flatMap((text) => {
        const [, name, state] = /region (\w+) is incomplete: (\w+)/u.exec(text) ?? [];
        return name === undefined || state === undefined ? [] : [[name, state] as const];
      }),
    ),
    grid: { ends, widthMs: widthSeconds * 1_000 },
  };
}

interface Checked {
  readonly wrong: readonly string[];
  /** Regions that are missing although their store can respond in time. */
  readonly lost: readonly { readonly region: Region; readonly about: string }[];
  readonly points: number;
}

/** @param faults of the stores, by region. @default none */
async function checkQuery(server: MetricsServer, faults: StoreFaultsOf = {}): Promise<Checked> {
  const query = randomQuery();
  const isNative = query.measure !== "fraction" && next() < 0.6;
  const answered = await (isNative ? askNatively : askInPromql)(server, query);
  const about = `${JSON.stringify(query)} ${JSON.stringify(faults)}`;
  const missing = missingRegions(answered, query.region);
  const lost = lostOf(missing, faults, { about, isAligned: answered.isAligned });
  if (answered.outcome === "failed") return { wrong: [], lost, points: 0 };
  if (answered.outcome === "refused")
    return { wrong: mayBeRefused(query) ? [] : [`${about}: refused`], lost: [], points: 0 };
  const responded = held.filter(({ region }) => !missing.includes(region));
  const wanted = gapValues(responded, query, answered.grid);
  const partial = [...answered.states].filter(([, state]) => state === "partial").map(([region]) => region);
  const states = [partial.toSorted().join(), [...wanted.lacking].sort().join()];
  return {
    lost,
    wrong: [
      ...differences(answered.points, wanted.points, { oracle: about }),
      ...(wanted.isIncompatible ? [`${about}: not refused`] : []),
      ...(states[0] === states[1] ? [] : [`${about}: partial ${states[0]}, not ${states[1]}`]),
    ],
    points: [...wanted.points.values()].reduce((sum, points) => sum + points.size, 0),
  };
}

function lostOf(
  missing: readonly Region[],
  faults: StoreFaultsOf,
  { about, isAligned }: { readonly about: string; readonly isAligned: boolean },
): Checked["lost"] {
  return missing.filter((region) => mayRespond(faults[region], isAligned)).map((region) => ({ region, about }));
}

/** The regions of a query that gave no data. */
function missingRegions({ outcome, states }: Answered, region: Region | undefined): readonly Region[] {
  const asked = regions.filter((one) => one === (region ?? one));
  return asked.filter((one) => outcome === "failed" || !["partial", undefined].includes(states.get(one)));
}

function mayBeRefused(query: GapQuery): boolean {
  const ends = minutes();
  return [60, 120, 300, 900].some(
    (seconds) => gapValues(held, query, { ends, widthMs: seconds * 1_000 }).isIncompatible,
  );
}

const minutes = (): readonly number[] =>
  Array.from({ length: (endMs - startMs) / 60_000 + 1 }, (_, index) => startMs + index * 60_000);

/** An objective: its share of good events over the day, and the regions that lack a part of some window. */
interface Objective {
  readonly sli: number | undefined;
  readonly partial: string;
  readonly missing: readonly Region[];
}

async function checkObjective(server: MetricsServer, faults: StoreFaultsOf = {}): Promise<Checked> {
  const [slo, tenant] = [pick(slos), pick(tenants)];
  const actual = await askObjective(server, slo, tenant);
  const about = `${slo.name} of ${tenant} ${JSON.stringify(faults)}`;
  const lost = lostOf(actual.missing, faults, { about, isAligned: true });
  if (actual.missing.length === regions.length) return { wrong: [], lost, points: 0 };
  const wanted = wantedObjective(slo, tenant, actual.missing);
  const isEqual =
    actual.sli === wanted.sli || Math.abs((actual.sli ?? Number.NaN) - (wanted.sli ?? Number.NaN)) < sliTolerance;
  return {
    lost,
    wrong:
      isEqual && actual.partial === wanted.partial
        ? []
        : [`${about}: ${JSON.stringify(actual)}, not ${JSON.stringify(wanted)}`],
    points: 1,
  };
}

async function askObjective(server: MetricsServer, slo: SloConfig, tenant: string): Promise<Objective> {
  const answer = await server.get(`/v1/metrics/slo?slo=${slo.name}&tenant=${tenant}`, token);
  if (answer.status >= 500) return { sli: undefined, partial: "", missing: regions };
  const { data } = answer.json() as {
    readonly data: readonly { readonly sli?: number; readonly regions: readonly RegionState[] }[];
  };
  const states = data[0]?.regions ?? [];
  const named = (isMissing: boolean): readonly Region[] =>
    states
      .filter(({ state }) => state !== "ok" && (state !== "partial") === isMissing)
      .map(({ region }) => region)
      .toSorted();
  return { sli: data[0]?.sli, partial: named(false).join(), missing: named(true) };
}

function wantedObjective(slo: SloConfig, tenant: string, missing: readonly Region[]): Objective {
  const own = held.filter(({ labels, region }) => labels["tenant"] === tenant && !missing.includes(region));
  const byRegion = [...Map.groupBy(own, ({ region }) => region)];
  const windows = windowsOf(slo, minStepSeconds).map((seconds) =>
    eventsOf(slo.name as "success" | "errors" | "fraction", byRegion, { ms: sloNowMs, widthMs: seconds * 1_000 }),
  );
  const { good = 0, total = 0 } = windows.at(-1) ?? {};
  const share = slo.counts === "Good" ? good / total : 1 - good / total;
  return {
    sli: Number.isNaN(share) ? undefined : Math.min(1, share),
    partial: [...new Set(windows.flatMap(({ lacking }) => lacking))].sort().join(),
    missing,
  };
}

/** A check, at its time. */
function pickCheck(): typeof checkQuery {
  const check = next() < 0.85 ? checkQuery : checkObjective;
  clockMs = check === checkQuery ? nowMs : sloNowMs;
  return check;
}

test(
  `no value of ${requests} random requests over three stores with gaps is wrong, and no gap is silent, seed ${seed}`,
  { timeout: isSoak ? 900_000 : 120_000 },
  async () => {
    const found = { wrong: [] as string[], points: 0 };
    for (let index = 0; index < requests; index += 1) {
      const server = pick(servers);
      const { wrong, lost, points } = await pickCheck()(server);
      found.wrong.push(...wrong, ...lost.map(({ region, about }) => `${about}: ${region} is missing`));
      found.points += points;
    }
    expect(found.wrong.slice(0, 20)).toEqual([]);
    // A run that compares little shows nothing.
    expect(found.points).toBeGreaterThan(requests * 3);
  },
);

test(
  `no value is wrong and no region is lost beside slow, hung, rounding and late stores, ${requests} requests, seed ${seed}`,
  { timeout: isSoak ? 900_000 : 120_000 },
  async () => {
    const faulty: FaultyStores = await faultsOver(stores.map(({ url }) => url));
    const found = { wrong: [] as string[], points: 0 };
    for (let asked = 0; asked < requests;) {
      const faults = faulty.draw(pick);
      // A server of its own: no circuit breaker is open yet.
      const server = metricsServerOver(faulty.urls, { now: () => clockMs, deadlineMs: faulty.deadlineMs });
      server.apply(configWith(faulty.urls, pick([0, 60])));
      const check = pickCheck();
      const { result: checked, starved } = await faulty.watch(() =>
        Promise.all(
          Array.from({ length: faulty.together[check === checkQuery ? "queries" : "objectives"] }, () =>
            check(server, faults),
          ),
        ),
      );
      asked += checked.length;
      const lost = checked.flatMap((one) => one.lost).filter(({ region }) => !starved.includes(region));
      found.wrong.push(...checked.flatMap(({ wrong }) => wrong));
      found.wrong.push(...lost.map(({ region, about }) => `${about}: ${region} is missing`));
      found.points += checked.reduce((sum, { points }) => sum + points, 0);
      await server.close();
    }
    await faulty.stop();
    expect(found.wrong.slice(0, 20)).toEqual([]);
    expect(found.points).toBeGreaterThan(requests);
  },
);
