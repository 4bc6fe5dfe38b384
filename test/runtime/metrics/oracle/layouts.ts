import { createMetricsApi } from "../../../../runtime/metrics/create-metrics-api.ts";
import type { MetricsApi } from "../../../../runtime/metrics/metrics-api.ts";
import { startPrometheus, type PrometheusHandle } from "../../../support/prometheus.ts";
import { rawSamples } from "./direct.ts";
import { coarseSeconds, dataStartMs, generateSeries, openMetrics } from "./generated-series.ts";
import type { RawSeries } from "./recompute.ts";
import { configOf, generatedMetrics, storeConfig, type TestStore } from "./universe.ts";

/** The same data, held by one store or split over several. */
export const layouts = ["one store", "two stores of one region", "three stores of two regions"] as const;
export type Layout = (typeof layouts)[number];

/** A layout that can be asked, and what its stores really hold. */
export interface RunningLayout {
  readonly api: MetricsApi;
  readonly raw: (name: string) => readonly RawSeries[];
}

export interface RunningLayouts {
  readonly layout: (name: Layout) => RunningLayout;
  /** The store that holds everything. */
  readonly wholeUrl: string;
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

/** Starts every store once, for all layouts. */
export async function startLayouts(): Promise<RunningLayouts> {
  const generated = generateSeries();
  const names = [...new Set(generated.map(({ name }) => name))];
  const start = async (shards: readonly number[]): Promise<PrometheusHandle> =>
    startPrometheus({
      openMetrics: openMetrics(generated.filter(({ shard }) => shards.includes(shard))),
      flags: ["--enable-feature=promql-extended-range-selectors"],
    });
  const started = await Promise.all(
    Object.entries(shardsOf).map(async ([name, shards]) => [name, await start(shards)] as const),
  );
  const servers = new Map(started);
  const url = (server: ServerName): string => servers.get(server)?.url ?? "";
  const running = new Map<Layout, RunningLayout>();
  for (const name of layouts) {
    const stores = serversOf[name].map(([server, region]): TestStore => ({ name: server, region, url: url(server) }));
    running.set(name, { api: apiOver(stores), raw: await readRaw(stores, names) });
  }
  return {
    layout(name) {
      const layout = running.get(name);
      if (layout === undefined) throw new Error(`no layout ${name}`);
      return layout;
    },
    wholeUrl: url("whole"),
    async stop() {
      await Promise.all([...running.values()].map(({ api }) => api.stop()));
      await Promise.all([...servers.values()].map((server) => server.stop()));
    },
  };
}

function apiOver(stores: readonly TestStore[]): MetricsApi {
  const configs = stores.map((store) => storeConfig(store));
  const warn = (...details: readonly unknown[]): never => {
    throw new Error(`a store failed: ${JSON.stringify(details)}`);
  };
  return createMetricsApi({ config: configOf(configs, generatedMetrics(configs)), log: { warn }, deadlineMs });
}

async function readRaw(stores: readonly TestStore[], names: readonly string[]): Promise<RunningLayout["raw"]> {
  const read = async (name: string): Promise<readonly [string, readonly RawSeries[]]> => {
    const perStore = await Promise.all(stores.map((store) => rawSamples(store, name, nowMs)));
    return [name, perStore.flat()];
  };
  const byName = new Map(await Promise.all(names.map(read)));
  return (name) => byName.get(name) ?? [];
}
