import { join } from "node:path";
import { writeFile } from "node:fs/promises";
import { plainObject } from "../crds/valid-objects.ts";
import { makeInstallation, type Installation } from "../cli/installation.ts";
import { startPrometheus, type PrometheusHandle } from "../support/prometheus.ts";
import type { Target } from "./clients/client.ts";

/** One region's data of the tenants. The regions differ in size, the tenants in everything. */
const sizes = { eu: 1, latam: 3 } as const;
export type Region = keyof typeof sizes;
const tenants = { lumen: 1, other: 1_000 } as const;
const services = ["api", "web"] as const;
const minutes = 120;
const everySeconds = 15;
const startSeconds = Math.floor(Date.now() / 1_000) - minutes * 60;

/** The end of a settled interval of five minutes, in Unix seconds. */
export const settledAt = Math.floor((Date.now() / 1_000 - 600) / 300) * 300;

/** OpenMetrics text of one region over the last two hours, every kind of metric. */
export function* samplesOf(region: Region): Iterable<string> {
  for (const [tenant, scale] of Object.entries(tenants))
    for (const service of services) yield* seriesOf(`tenant="${tenant}",service="${service}"`, scale * sizes[region]);
  yield "# EOF\n";
}

function* seriesOf(labels: string, scale: number): Iterable<string> {
  const values: Readonly<Record<string, (index: number) => number>> = {
    [`queue_consumer_lag{${labels}}`]: (index) => scale * (10 + (index % 7)),
    [`payments_total{${labels},result="ok"}`]: (index) => scale * index * 9,
    [`payments_total{${labels},result="failed"}`]: (index) => scale * index,
    ...Object.fromEntries(
      [0.1, 0.5, 1].map((le) => [`latency_bucket{${labels},le="${le}"}`, (index: number) => scale * index * le * 10]),
    ),
    [`latency_bucket{${labels},le="+Inf"}`]: (index) => scale * index * 11,
    [`latency_sum{${labels}}`]: (index) => scale * index * 4,
    [`latency_count{${labels}}`]: (index) => scale * index * 11,
  };
  for (const [series, value] of Object.entries(values)) {
    for (let index = 0; index < (minutes * 60) / everySeconds; index += 1)
      yield `${series} ${value(index)} ${startSeconds + index * everySeconds}\n`;
  }
}

const labels = ["region", "tenant", "service"];
const increasing = { intervalSeconds: everySeconds };
const described = { category: "infrastructure", unit: "1", description: "A metric of the tests.", labels };
const histogram = ["avg", "sum", "p50", "p95", "p99"];

/** Metrics by the words of `docs/reference/resources/metric-catalog.md`. */
const metrics = [
  {
    id: "queue_lag",
    source: { gauge: { name: "queue_consumer_lag" }, ...increasing },
    aggregations: ["avg", "sum", "min", "max"],
    defaultAggregation: "avg",
  },
  {
    id: "alarm_level",
    source: { gauge: { name: "alarm_level" }, intervalSeconds: 5 },
    minStepSeconds: 10,
    aggregations: ["max"],
    defaultAggregation: "max",
  },
  {
    id: "payments",
    source: { counter: { name: "payments_total" }, ...increasing },
    aggregations: ["avg", "sum", "min", "max"],
    defaultAggregation: "sum",
  },
  {
    id: "payments_success",
    source: {
      ratio: {
        numerator: { name: "payments_total", matchers: [{ label: "result", value: "ok" }] },
        denominator: { name: "payments_total" },
      },
      ...increasing,
    },
    aggregations: ["avg"],
    defaultAggregation: "avg",
  },
  {
    id: "latency",
    source: { histogram: { name: "latency" }, ...increasing },
    aggregations: histogram,
    defaultAggregation: "p95",
  },
].map((metric) => ({ ...described, complianceScope: { regions: Object.keys(sizes) }, ...metric }));

const objective = { domain: "web", objective: 0.9, windowDays: 1, burnRates: [6, 4, 2, 1] };

/** Clients whose many calls a test makes at once. */
const limits = { requestsPerSecond: 1_000, burst: 1_000, maxConcurrent: 100 };

/** `heliograph run` over the stores of two regions. */
export interface TwoRegions {
  readonly url: string;
  readonly stores: Readonly<Record<Region, PrometheusHandle>>;
  readonly folder: string;
  /** The Prometheus API for a caller of one tenant; claims replace those of the token. */
  target(claims?: Readonly<Record<string, unknown>>): Promise<Target>;
  stop(): Promise<void>;
}

export async function startTwoRegions(): Promise<TwoRegions> {
  const [eu, latam] = await Promise.all(
    (["eu", "latam"] as const).map((region) => startPrometheus({ openMetrics: samplesOf(region) })),
  );
  if (eu === undefined || latam === undefined) throw new Error("two stores were started");
  const stores = { eu, latam };
  const installation = await makeInstallation();
  await writeConfiguration(installation, stores);
  const { line } = await installation.start();
  return {
    url: line.url,
    stores,
    folder: installation.data,
    target: async (claims = {}) => ({
      url: `${line.url}/prometheus`,
      token: await installation.token({ tenants: ["lumen"], ...claims }),
    }),
    stop: async () => {
      await installation.remove();
      await Promise.all(Object.values(stores).map((store) => store.stop()));
    },
  };
}

async function writeConfiguration(installation: Installation, stores: TwoRegions["stores"]): Promise<void> {
  const catalog = plainObject("MetricCatalog", {
    stores: Object.entries(stores).map(([region, { url }]) => ({ name: region, region, prometheus: { url } })),
    metrics,
    slos: [{ ...objective, name: "latency", metric: "latency", threshold: 0.5 }],
  });
  const quota = plainObject("QueryClassQuota", { clients: [{ clientId: "test" }], limits });
  await writeFile(join(installation.folder, "catalog.yaml"), JSON.stringify(catalog));
  await writeFile(join(installation.folder, "quota.yaml"), JSON.stringify(quota));
}
