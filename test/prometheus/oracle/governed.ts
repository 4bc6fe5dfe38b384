import type { InjectOptions } from "fastify";
import { pino } from "pino";
import type { ClassLimits, MetricConfig, QuotaConfig, RuntimeConfig, StoreConfig } from "../../../crds/config.ts";
import { metricsRoutes } from "../../../runtime/http/routes/metrics.ts";
import { prometheusRoutes } from "../../../runtime/http/routes/prometheus.ts";
import { createPublicServer } from "../../../runtime/http/server/public-server.ts";
import { createMetricsApi } from "../../../runtime/metrics/api/create-metrics-api.ts";
import type { Caller } from "../../../runtime/metrics/authorization/access.ts";
import { createPrometheusApi } from "../../../runtime/prometheus/create-prometheus-api.ts";
import { dataStartMs } from "../../runtime/metrics/oracle/generated-series.ts";
import { configOf, everyone, metricConfig, storeConfig, wideLimits } from "../../runtime/metrics/oracle/universe.ts";
import { type PrometheusHandle, startPrometheus } from "../../support/prometheus.ts";
import { remoteWrite } from "../../support/remote-write.ts";
import { threshold } from "./expressions.ts";
import { type FullSeries, lengthSeconds, regions } from "./full-series.ts";

const longRetained = "storage:\n  tsdb:\n    out_of_order_time_window: 30d\n";
const deadlineMs = 20_000;
/** An hour after the last sample. */
export const nowMs = dataStartMs + (lengthSeconds + 3_600) * 1_000;

/** A real store with some series. */
export async function startHolding(series: readonly FullSeries[]): Promise<PrometheusHandle> {
  const store = await startPrometheus({ config: longRetained });
  await remoteWrite(store.url, series);
  return store;
}

/** A response; `body` is its text. */
export interface GovernedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** The two APIs over stores, as one caller sees them. */
export interface Governed {
  get(path: string): Promise<GovernedAnswer>;
  /** @param path below `/prometheus` */
  post(path: string, form: URLSearchParams, headers?: Readonly<Record<string, string>>): Promise<GovernedAnswer>;
  stop(): Promise<void>;
}

export interface GovernedOptions {
  readonly caller?: Partial<Caller>;
  readonly limits?: Partial<ClassLimits>;
  readonly quotas?: readonly QuotaConfig[];
  /** Changes of all metrics. */
  readonly metrics?: Partial<MetricConfig>;
}

/** Serves stores by the address of each region. Nothing is cached unless the limits say so. */
export function govern(urls: Readonly<Record<string, string>>, options: GovernedOptions = {}): Governed {
  const stores = Object.entries(urls).map(([region, url]) => storeConfig({ name: region, region, url }));
  const log = pino({ level: "silent" });
  const metrics = createMetricsApi({ config: configFor(stores, options), log, now: () => nowMs, deadlineMs });
  const caller: Caller = { ...everyone, ...options.caller };
  const app = createPublicServer({
    log,
    observe: () => undefined,
    now: () => nowMs,
    authenticate: Object.assign(async () => caller, { isStill: () => true }),
    routes: [...metricsRoutes(metrics), ...prometheusRoutes(createPrometheusApi(metrics))],
  });
  const authorization = "Bearer token";
  const ask = async (request: InjectOptions): Promise<GovernedAnswer> => {
    const { statusCode, headers, body } = await app.inject(request);
    return { status: statusCode, headers, body };
  };
  return {
    get: (url) => ask({ method: "GET", url, headers: { authorization } }),
    post: (path, form, headers = {}) => {
      const type = { "content-type": "application/x-www-form-urlencoded" };
      return ask({
        method: "POST",
        url: `/prometheus${path}`,
        headers: { authorization, ...type, ...headers },
        payload: form.toString(),
      });
    },
    async stop() {
      await app.close();
      await metrics.stop();
    },
  };
}

const objective = {
  name: "latency",
  domain: "web",
  metric: "latency",
  objective: 0.9,
  counts: "Good",
  windowDays: 30,
  minimumEvents: 1,
  burnRates: [6, 4, 2, 1],
  public: false,
  threshold,
} as const;

function configFor(
  stores: readonly StoreConfig[],
  { limits, quotas = [], metrics = {} }: GovernedOptions,
): RuntimeConfig {
  const base = configOf(stores, metricsOf(stores, metrics));
  const own = { ...wideLimits, ...limits };
  return {
    ...base,
    quotas,
    classDefaults: { A: own, B: own, C: own },
    catalogs: base.catalogs.map((catalog) => ({ ...catalog, slos: [objective] })),
  };
}

function metricsOf(stores: readonly StoreConfig[], changes: Partial<MetricConfig>): readonly MetricConfig[] {
  const series = (name: string): { readonly name: string; readonly matchers: [] } => ({ name, matchers: [] });
  const make = (id: string, own: Parameters<typeof metricConfig>[2]): MetricConfig => ({
    ...metricConfig(id, stores, { complianceScope: { regions: [...regions] }, ...own }),
    ...changes,
  });
  const aggregations = ["avg", "sum", "p50", "p95", "p99"] as const;
  const ok = { label: "result", op: "Equal", value: "ok" } as const;
  return [
    make("lag", { source: { kind: "gauge", ...series("lag_items") } }),
    make("payments", { source: { kind: "counter", increase: "Extrapolated", ...series("payments_total") } }),
    make("success", {
      source: {
        kind: "ratio",
        increase: "Extrapolated",
        numerator: { name: "payments_total", matchers: [ok] },
        denominator: series("payments_total"),
      },
      aggregations: ["avg"],
    }),
    make("latency", {
      source: { kind: "histogram", type: "Classic", increase: "Extrapolated", ...series("latency") },
      aggregations,
      slos: [{ name: "latency", objective: 0.9 }],
    }),
    make("sizes", {
      source: { kind: "histogram", type: "Native", increase: "Extrapolated", ...series("sizes") },
      aggregations,
    }),
  ];
}
