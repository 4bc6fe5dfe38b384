import { crc32 } from "node:zlib";
import type { QueriedStoreConfig } from "../../../../crds/config.ts";
import type { PointGrid, StoreSeries } from "../../../../runtime/stores/prometheus/matrix.ts";
import type { PrometheusClient } from "../../../../runtime/stores/prometheus/prometheus-client.ts";
import { StoreError } from "../../../../runtime/stores/store-error.ts";
import type { Store, Stores } from "../../../../runtime/stores/store.ts";
import { storeConfig } from "../oracle/universe.ts";

/** Stores of two regions whose points have gaps, change late, and of which one can fail. */

/** What is the case. */
export interface Situation {
  /** Each edit changes every point after a time. */
  readonly edits: { readonly afterMs: number }[];
  failing: string | undefined;
}

const regions = ["eu", "us"] as const;
export const configs: readonly QueriedStoreConfig[] = regions.map((region) =>
  storeConfig({ name: region, region, url: "http://127.0.0.1:9" }),
);
const bounds = { eu: ["1", "2", "4", "+Inf"], us: ["1", "4", "8", "+Inf"] } as const;
const odd = [Number.NaN, Infinity, -0, -0, 0, 1e21, -1 / 3];

export function changingStores(situation: Situation): Stores {
  const stores = new Map(configs.map((config) => [config.name, storeOf(config, situation)]));
  const byKey = (key: string): Store | undefined => [...stores].find(([name]) => key.includes(name))?.[1];
  return {
    get(key) {
      const store = byKey(key);
      if (store === undefined) throw new Error(`no store ${key}`);
      return store;
    },
    list: () => [],
  };
}

function storeOf(config: QueriedStoreConfig, situation: Situation): Store {
  const region = config.region as (typeof regions)[number];
  const client: Partial<PrometheusClient> = {
    range: async (query, grid) => {
      if (situation.failing === region) throw new StoreError("status", "it fails");
      return { series: seriesOf(region, query, grid, situation), warning: "none" };
    },
    single: async () => undefined,
    exemplars: async () =>
      ["a", "b"].map((service) => ({
        seriesLabels: { service },
        labels: { trace_id: "a".repeat(32) },
        value: 1,
        timestampMs: 0,
      })),
  };
  const store: Partial<Store> = {
    config,
    client: client as PrometheusClient,
    identity: region,
    run: (work) => work(),
    capabilities: async () => ({ boundary: "LeftOpen", increases: "Extrapolated", anchored: true, native: true }),
  };
  return store as Store;
}

function seriesOf(
  region: (typeof regions)[number],
  query: string,
  grid: PointGrid,
  situation: Situation,
): readonly StoreSeries[] {
  const services = query.includes("service") ? ["a", "b", "c", "d"] : [""];
  const labels = services.map((service) => (service === "" ? {} : { service }));
  const all =
    query.includes("le") && query.includes("bucket")
      ? labels.flatMap((own) => bounds[region].map((le) => ({ ...own, le })))
      : labels;
  return all.flatMap((own): readonly StoreSeries[] => {
    const series = pointsOf(`${region} ${query}`, own, grid, situation);
    return series.present.includes(1) ? [series] : [];
  });
}

function pointsOf(
  name: string,
  labels: Readonly<Record<string, string>>,
  { startMs, stepMs, count }: PointGrid,
  { edits }: Situation,
): StoreSeries {
  const values = new Float64Array(count);
  const present = new Uint8Array(count);
  const service = crc32(`${name} ${labels["service"] ?? ""}`) % 5;
  for (let index = 0; index < count; index += 1) {
    const timeMs = startMs + index * stepMs;
    // All buckets of a histogram have the same gaps, and seldom one of its own.
    const chance = crc32(`${name} ${service} ${timeMs} ${edits.filter(({ afterMs }) => timeMs > afterMs).length}`);
    const isLost = crc32(`${labels["le"] ?? ""} ${chance}`) % 3_000 === 0;
    // Series come and go for half an hour.
    if ((Math.floor(timeMs / 1_800_000) + service) % 3 === 0 || chance % 11 === 0 || isLost) continue;
    const le = Number((labels["le"] ?? "1").replace("+Inf", "16"));
    values[index] = chance % 9 === 1 ? (odd[chance % odd.length] ?? 0) : (chance % 100_000) / 8 + le * 1e6;
    present[index] = 1;
  }
  return { labels, values, present };
}
