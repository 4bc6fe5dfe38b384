import type { ClassLimits, StoreFlavour } from "../../../../crds/config.ts";
import { createMetricsApi } from "../../../../runtime/metrics/api/create-metrics-api.ts";
import type { MetricsApi } from "../../../../runtime/metrics/metrics-api.ts";
import { startPrometheus } from "../../../support/prometheus.ts";
import { remoteWrite } from "../../../support/remote-write.ts";
import { startVictoriaMetrics } from "../../../support/victoria-metrics.ts";
import { rawSamples } from "./direct.ts";
import { coarseSeconds, dataStartMs, generateSeries, isLate, type GeneratedSeries } from "./generated-series.ts";
import type { RawSeries } from "./recompute.ts";
import { configOf, generatedMetrics, storeConfig, type TestStore } from "./universe.ts";

/** The same data, held by one store or split over several. */
export const layouts = ["one store", "two stores of one region", "three stores of two regions"] as const;
type Layout = (typeof layouts)[number];

/** A layout that can be asked, and what its stores really hold. */
export interface RunningLayout {
  readonly api: MetricsApi;
  readonly raw: (name: string) => readonly RawSeries[];
}

export interface RunningLayouts {
  readonly layout: (name: Layout) => RunningLayout;
  /** The store that holds everything. */
  readonly wholeUrl: string;
  /** A layout behind caches that are empty. @param name by default one store */
  readonly caching: (name?: Layout) => MetricsApi;
  stop(): Promise<void>;
}

/** A day after the last sample. */
export const nowMs = dataStartMs + (coarseSeconds + 86_400) * 1_000;

const deadlineMs = 20_000;
const shardsOf = { whole: [0, 1, 2], first: [0], second: [1], third: [2], rest: [1, 2] } as const;
type ServerName = keyof typeof shardsOf;

const serversOf: Readonly<Record<Layout, readonly (readonly [ServerName, region: string])[]>> = {
  "one store": [["whole", "eu"]],
  "two stores of one region": [
    ["first", "eu"],
    ["rest", "eu"],
  ],
  "three stores of two regions": [
    ["first", "eu"],
    ["second", "eu"],
    ["third", "latam"],
  ],
};

/** A store that runs. */
export interface Server {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a Prometheus that holds some shards of the generated data. */
export function startHolding(shards: readonly number[]): Promise<Server> {
  return starters.Prometheus(generateSeries().filter(({ shard }) => shards.includes(shard)));
}

/** What some stores really hold, by the name of the series. */
export async function rawOf(stores: readonly TestStore[]): Promise<RunningLayout["raw"]> {
  const names = [...new Set(generateSeries().map(({ name }) => name))];
  const perStore = await Promise.all(stores.map((store) => readRaw(store, names)));
  return (name) => perStore.flatMap((raw) => raw(name));
}

type Flavour = Extract<StoreFlavour, "Prometheus" | "VictoriaMetrics">;

/** Starts every store once, for all layouts. */
export async function startLayouts(flavour: Flavour = "Prometheus"): Promise<RunningLayouts> {
  const generated = generateSeries().filter((series) => flavour === "Prometheus" || !isNative(series));
  const names = [...new Set(generated.map(({ name }) => name))];
  const started = await Promise.all(
    Object.entries(shardsOf).map(async ([name, shards]: readonly [string, readonly number[]]) => {
      return [name, await starters[flavour](generated.filter(({ shard }) => shards.includes(shard)))] as const;
    }),
  );
  const servers = new Map<string, Server>(started);
  const url = (server: ServerName): string => servers.get(server)?.url ?? "";
  const running = new Map<Layout, RunningLayout>();
  const known = new Map<string, Promise<RunningLayout["raw"]>>();
  const storesIn = (name: Layout): readonly TestStore[] =>
    serversOf[name].map(([server, region]) => ({ name: server, region, url: url(server), flavour }));
  for (const name of layouts) {
    const stores = storesIn(name);
    const perStore = await Promise.all(stores.map((store) => readOnce(known, store, names)));
    running.set(name, { api: apiOver(stores), raw: (series) => perStore.flatMap((raw) => raw(series)) });
  }
  return {
    layout(name) {
      const layout = running.get(name);
      if (layout === undefined) throw new Error(`no layout ${name}`);
      return layout;
    },
    wholeUrl: url("whole"),
    caching: (name = "one store") => apiOver(storesIn(name), { memorySeconds: 60, hotTailSeconds: 60 }),
    async stop() {
      await Promise.all([...running.values()].map(({ api }) => api.stop()));
      await Promise.all([...servers.values()].map((server) => server.stop()));
    },
  };
}

const prometheusConfig = "storage:\n  tsdb:\n    out_of_order_time_window: 30d\n";

const starters: Readonly<Record<Flavour, (series: readonly GeneratedSeries[]) => Promise<Server>>> = {
  async Prometheus(series) {
    const server = await startPrometheus({
      config: prometheusConfig,
      flags: ["--enable-feature=promql-extended-range-selectors"],
    });
    await write(server.url, series);
    return server;
  },
  async VictoriaMetrics(series) {
    const server = await startVictoriaMetrics();
    await write(server.url, series);
    await server.flush();
    return server;
  },
};

/** What is late is written after everything else. */
async function write(url: string, series: readonly GeneratedSeries[]): Promise<void> {
  const part = (late: boolean): readonly GeneratedSeries[] =>
    series.map((one) => ({ ...one, samples: one.samples.filter((sample) => isLate(one, sample) === late) }));
  await remoteWrite(url, part(false));
  await remoteWrite(url, part(true));
}

function isNative({ samples }: GeneratedSeries): boolean {
  return samples.some(({ value }) => typeof value === "object");
}

function apiOver(stores: readonly TestStore[], caching: Partial<ClassLimits> = {}): MetricsApi {
  const configs = stores.map((store) => storeConfig(store));
  const warn = (...details: readonly unknown[]): never => {
    throw new Error(`a store failed: ${JSON.stringify(details)}`);
  };
  const config = configOf(configs, generatedMetrics(configs));
  const A = { ...config.classDefaults.A, ...caching };
  return createMetricsApi({
    config: { ...config, classDefaults: { ...config.classDefaults, A } },
    log: { warn },
    deadlineMs,
  });
}

/** Several layouts have stores in common. */
function readOnce(
  known: Map<string, Promise<RunningLayout["raw"]>>,
  store: TestStore,
  names: readonly string[],
): Promise<RunningLayout["raw"]> {
  const reading = known.get(store.name) ?? readRaw(store, names);
  known.set(store.name, reading);
  return reading;
}

async function readRaw(store: TestStore, names: readonly string[]): Promise<RunningLayout["raw"]> {
  const byName = new Map(
    await Promise.all(names.map(async (name) => [name, await rawSamples(store, name, nowMs)] as const)),
  );
  return (name) => byName.get(name) ?? [];
}
