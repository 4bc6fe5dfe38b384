import { afterEach } from "vitest";
import type { MetricConfig, RuntimeConfig } from "../../../../crds/config.ts";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { createMetricsApi, type MetricsApiOptions } from "../../../../runtime/metrics/api/create-metrics-api.ts";
import type { MetricsApi, MetricsResponse } from "../../../../runtime/metrics/metrics-api.ts";
import { stallMsMax } from "../../../support/wait.ts";
import {
  healthyProbe,
  json,
  matrix,
  type ScriptedStore,
  startScriptedStore,
  type StoreReply,
  type StoreRequest,
  success,
  vector,
} from "../../stores/scripted-store.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig } from "../oracle/universe.ts";

/** Stores that fail in ways in which no real one can be made to: what the API makes of them. */

export const nowMs = Date.parse("2026-01-01T12:00:00Z");
export const nowSeconds = nowMs / 1_000;
/** Long enough for every store that responds, even on a busy machine. */
export const deadlineMs = 1_200;
export const never = (): AbortSignal => new AbortController().signal;
export const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

export const gauge = { source: { kind: "gauge", name: "lag", matchers: [] } } as const;

interface Running {
  readonly api: MetricsApi;
  readonly config: RuntimeConfig;
  readonly stores: readonly ScriptedStore[];
  readonly warnings: readonly object[];
}

/** Stores with these behaviours, by name. The region is the name up to its first hyphen. */
export async function run(
  behaviours: Readonly<Record<string, StoreReply>>,
  metric: Pick<MetricConfig, "source"> & Partial<MetricConfig> = gauge,
  options: Partial<MetricsApiOptions> = {},
): Promise<Running> {
  const stores = await Promise.all(
    Object.values(behaviours).map((behaviour) => startScriptedStore(healthyProbe(behaviour))),
  );
  const configs = Object.keys(behaviours).map((name, index) =>
    storeConfig({ name, region: name.split("-")[0] ?? name, url: stores[index]?.url ?? "" }),
  );
  const warnings: object[] = [];
  const log = { warn: (details: object) => void warnings.push(details) };
  const config = configOf(configs, [metricConfig("lag", configs, metric)]);
  const api = createMetricsApi({ config, log, deadlineMs: stallMsMax, ...options });
  closing.push(() => api.stop(), ...stores.map((store) => () => store.close()));
  return { api, config, stores, warnings };
}

type Pairs = readonly (readonly [string, string])[];
export const lastFiveMinutes: Pairs = [
  ["metric", "lag"],
  ["filter[tenant]", "brand-a"],
  ["from", "2026-01-01T11:55:00Z"],
  ["step", "1m"],
];

export function ask(
  { api }: Running,
  pairs: Pairs = [],
  signal = new AbortController().signal,
): Promise<MetricsResponse> {
  return api.query(parameters([...lastFiveMinutes, ...pairs]), everyone, signal, { correlationId: "id-1", nowMs });
}

export async function refusalOf(running: Promise<unknown>): Promise<ApiError> {
  const error = await running.then(
    () => new Error("the request succeeded"),
    (reason: unknown) => reason,
  );
  if (error instanceof ApiError) return error;
  throw error;
}

/** Answers every range with one point at the end of the window, and a newest sample of `ageSeconds`. */
export function answering(value: number, ageSeconds = 10): StoreReply {
  return (response, request) => {
    const body = isInstant(request) ? vector(String(nowSeconds - ageSeconds)) : matrix([nowSeconds, String(value)]);
    success(body)(response, request);
  };
}

export const isInstant = ({ path }: StoreRequest): boolean => path.endsWith("/query");
export const silent: StoreReply = () => undefined;
export const broken: StoreReply = (response) => void response.socket?.destroy();
export const overloaded = json(422, { status: "error", errorType: "execution", error: "too many samples" });

interface Body {
  readonly data: readonly { readonly points: readonly unknown[] }[];
  readonly meta: {
    readonly partial: boolean;
    readonly regions: readonly { readonly region: string; readonly state: string }[];
  };
}
export const bodyOf = ({ body }: MetricsResponse): Body => body as Body;
export const statesOf = (answer: MetricsResponse): string =>
  bodyOf(answer)
    .meta.regions.map(({ region, state }) => `${region}=${state}`)
    .join(" ");
