import { crc32 } from "node:zlib";
import type { MetricConfig, QuotaConfig, RuntimeConfig } from "../../../../crds/config.ts";
import { createMetricsApi, type MetricsApiOptions } from "../../../../runtime/metrics/api/create-metrics-api.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import type { MetricsApi } from "../../../../runtime/metrics/metrics-api.ts";
import type {
  MetricSelector,
  SelectorsRequest,
  SelectorsResult,
} from "../../../../runtime/metrics/request/selector.ts";
import { stallMsMax } from "../../../support/wait.ts";
import {
  healthyProbe,
  type ScriptedStore,
  startScriptedStore,
  type StoreReply,
  success,
} from "../../stores/scripted-store.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig, wideLimits } from "../oracle/universe.ts";

export const nowMs = Date.parse("2026-01-01T12:00:00Z");
const regions = ["eu", "latam"] as const;
export const minuteMs = 60_000;

/** The last five minutes, a point a minute. */
export const lastMinutes = { startMs: nowMs - 4 * minuteMs, endMs: nowMs, stepMs: minuteMs };

/** Answers with a number of each query, so that data of another query would be seen, in as many series as asked for. */
export function numbered(region: string, series = 1): StoreReply {
  return (response, { form, path }) => {
    const query = form.get("query") ?? "";
    if (path.endsWith("/query")) {
      return success({ resultType: "vector", result: [{ metric: {}, value: [0, String(nowMs / 1_000 - 10)] }] })(
        response,
        { form, path, headers: {} },
      );
    }
    const [first, last, step] = ["start", "end", "step"].map((name) => Number(form.get(name))) as [
      number,
      number,
      number,
    ];
    const count = Math.round((last - first) / step) + 1;
    const result = Array.from({ length: series }, (_, own) => ({
      metric: series === 1 ? {} : { service: `s${own}` },
      values: Array.from({ length: count }, (_point, index) => {
        const seconds = first + index * step;
        return [seconds, String((crc32(`${region}${query}${own}`) % 1_000) + (seconds % 3_600))];
      }),
    }));
    success({ resultType: "matrix", result })(response, { form, path, headers: {} });
  };
}

interface Started {
  readonly api: MetricsApi;
  readonly config: RuntimeConfig;
  readonly stores: readonly ScriptedStore[];
  readonly stop: () => Promise<void>;
}

interface Setting {
  readonly replies?: Partial<Record<(typeof regions)[number], StoreReply>>;
  readonly metrics?: Readonly<Record<string, Partial<MetricConfig>>>;
  readonly limits?: Partial<typeof wideLimits>;
  readonly perMetric?: QuotaConfig["perMetric"];
  readonly options?: Partial<MetricsApiOptions>;
}

const origin = { uid: "q", namespace: "n", name: "q", generation: 1, specDigest: "" };

/** Two regions with the metrics `lag` and `payouts`, and no cache unless the limits say so. */
export async function start({
  replies = {},
  metrics = {},
  limits,
  perMetric,
  options,
}: Setting = {}): Promise<Started> {
  const stores = await Promise.all(
    regions.map((region) => startScriptedStore(healthyProbe(replies[region] ?? numbered(region)))),
  );
  const configs = regions.map((region, index) => storeConfig({ name: region, region, url: stores[index]?.url ?? "" }));
  const all = ["lag", "payouts"].map((id) =>
    metricConfig(id, configs, { source: { kind: "gauge", name: id, matchers: [] }, ...metrics[id] }),
  );
  const own = { ...wideLimits, ...limits };
  const quota: QuotaConfig = { ...origin, class: "A", limits: own, perMetric: perMetric ?? [], clients: [] };
  const config = {
    ...configOf(configs, all),
    quotas: [quota],
    classDefaults: { A: own, B: own, C: own },
  };
  const log = { warn: () => undefined };
  const api = createMetricsApi({ config, log, deadlineMs: stallMsMax, now: () => nowMs, elapsed: () => 0, ...options });
  const stop = async (): Promise<void> => {
    await api.stop();
    await Promise.all(stores.map((store) => store.close()));
  };
  return { api, config, stores, stop };
}

/** A leaf over the average of a gauge, of one tenant unless it says otherwise. */
export function selector(metric: string, changes: Partial<MetricSelector> = {}): MetricSelector {
  return {
    metric,
    measure: { kind: "aggregation", aggregation: "avg" },
    filters: new Map([["tenant", ["brand-a"]]]),
    groupBy: [],
    widthSeconds: undefined,
    ...changes,
  };
}

export function requestOf(
  selectors: readonly MetricSelector[],
  changes: Partial<SelectorsRequest> = {},
): SelectorsRequest {
  return { selectors, times: lastMinutes, tenant: undefined, isCompleteRequired: false, ...changes };
}

const never = (): AbortSignal => new AbortController().signal;

export function ask(
  { api }: Pick<Started, "api">,
  request: SelectorsRequest,
  caller: Caller = everyone,
  atMs = nowMs,
): Promise<SelectorsResult> {
  return api.selectors(request, caller, never(), { correlationId: "id-1", nowMs: atMs });
}

export function askNatively(
  { api }: Pick<Started, "api">,
  pairs: readonly (readonly [string, string])[],
  caller: Caller = everyone,
) {
  return api.query(parameters(pairs), caller, never(), { correlationId: "id-1", nowMs });
}

/** The native query whose points are those of {@link lastMinutes}. */
export function nativeOf(...metrics: readonly string[]): readonly (readonly [string, string])[] {
  return [
    ...metrics.map((id) => ["metric", id] as const),
    ["filter[tenant]", "brand-a"],
    ["from", "2026-01-01T11:55:00Z"],
    ["to", "2026-01-01T12:00:00Z"],
    ["step", "1m"],
    ["agg", "avg"],
  ];
}

/** The texts of the queries for points that the stores got: over a range, or at one time. */
export function sentTo({ stores }: Pick<Started, "stores">): readonly string[] {
  const aside = /^(?:max\(timestamp\(|count_over_time\(vector|increase\(\(vector|count\()/u;
  return stores
    .flatMap(({ requests }) => requests)
    .filter(({ path, form }) => path.endsWith("/query_range") || !aside.test(form.get("query") ?? ""))
    .map(({ form }) => ["query", "time", "start", "end", "step"].flatMap((name) => form.get(name) ?? []).join(" "))
    .sort();
}
