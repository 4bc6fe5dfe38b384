import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { type Logger, pino } from "pino";
import { type Dispatcher, request as requestOver } from "undici";
import type { MetricConfig, RuntimeConfig } from "../../../../crds/config.ts";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import type { Authenticate } from "../../../../runtime/http/authentication/authenticate.ts";
import { eventRoutes } from "../../../../runtime/http/routes/events.ts";
import { metricsRoutes } from "../../../../runtime/http/routes/metrics.ts";
import { peerRoutes } from "../../../../runtime/http/routes/peers.ts";
import { prometheusRoutes } from "../../../../runtime/http/routes/prometheus.ts";
import { schemaRoutes } from "../../../../runtime/http/routes/schemas.ts";
import { statusRoutes } from "../../../../runtime/http/routes/status.ts";
import { webhookRoutes } from "../../../../runtime/http/routes/webhooks.ts";
import { createEventTypes } from "../../../../runtime/webhooks/history/event-types.ts";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import type { RequestOutcome } from "../../../../runtime/http/server/request-log.ts";
import { createMetricsApi, type MetricsApiOptions } from "../../../../runtime/metrics/api/create-metrics-api.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import { boundLabel } from "../../../../runtime/metrics/promql/promql.ts";
import { createPrometheusApi } from "../../../../runtime/prometheus/create-prometheus-api.ts";
import { configOf, everyone, metricConfig, storeConfig } from "../../metrics/oracle/universe.ts";
import {
  healthyProbe,
  type ScriptedStore,
  startScriptedStore,
  type StoreReply,
  type StoreRequest,
  success,
} from "../../stores/scripted-store.ts";

/** The metrics routes behind the server that has them in the product, over stores of a test. */
export interface MetricsServer {
  readonly app: FastifyInstance;
  readonly apply: (config: RuntimeConfig) => void;
  readonly config: RuntimeConfig;
  /** A request as it is written; `get` and `post` send a token of everybody's. */
  send(url: string, request?: HttpRequest): Promise<HttpAnswer>;
  get(url: string, headers?: Readonly<Record<string, string>>): Promise<HttpAnswer>;
  post(url: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<HttpAnswer>;
  /** Stores usage as a clean stop does. */
  stopUsage(): Promise<void>;
  close(): Promise<void>;
}

/** The same over scripted stores, which count what they were asked. */
export interface ScriptedMetricsServer extends MetricsServer {
  readonly stores: readonly ScriptedStore[];
}

/** @default of `method` GET, of the others none */
interface HttpRequest {
  readonly method?: "GET" | "POST" | "HEAD";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** One answer; `json` only of a body that is some. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly text: string;
  readonly json: () => unknown;
}

export const nowMs = Date.parse("2026-01-01T12:00:30Z");

/** Metrics of one of each kind; `old_lag` is deprecated. */
export const metricsOfServer = {
  lag: { source: { kind: "gauge", name: "lag", matchers: [] } },
  old_lag: {
    source: { kind: "gauge", name: "lag", matchers: [] },
    state: "Deprecated",
    replacedBy: "lag",
    deprecatedAtMs: Date.parse("2025-12-01T00:00:00Z"),
    sunsetAtMs: Date.parse("2026-06-01T00:00:00Z"),
  },
  gone_lag: {
    source: { kind: "gauge", name: "lag", matchers: [] },
    state: "Deprecated",
    deprecatedAtMs: Date.parse("2025-01-01T00:00:00Z"),
    sunsetAtMs: Date.parse("2025-12-01T00:00:00Z"),
  },
  payments: {
    source: { kind: "counter", increase: "Extrapolated", name: "payments_total", matchers: [] },
    owner: "payments",
    contact: "#payments",
    runbookUrl: "https://runbooks.example/payments",
  },
  login: {
    source: {
      kind: "ratio",
      increase: "Extrapolated",
      numerator: { name: "logins_total", matchers: [{ label: "result", op: "Equal", value: "ok" }] },
      denominator: { name: "logins_total", matchers: [] },
    },
    aggregations: ["avg"],
    slos: [{ name: "login", objective: 0.99 }],
  },
  latency: {
    source: { kind: "histogram", type: "Classic", increase: "Extrapolated", name: "latency", matchers: [] },
    aggregations: ["avg", "sum", "p50", "p95", "p99"],
    defaultAggregation: "p95",
  },
} as const satisfies Readonly<Record<string, Pick<MetricConfig, "source"> & Partial<MetricConfig>>>;

const objective = {
  name: "login",
  domain: "auth",
  metric: "login",
  objective: 0.99,
  counts: "Good",
  windowDays: 30,
  minimumEvents: 1,
  burnRates: [14.4, 6, 3, 1],
  public: true,
  publicTenants: ["brand-a"],
} as const;

/** Callers by token. */
const callers: Readonly<Record<string, Partial<Caller>>> = {
  everyone: { scopes: ["metrics:read"] },
  explainer: { scopes: ["metrics:read", "metrics:explain"] },
  fuzzer: { scopes: ["metrics:read", "metrics:explain", "metrics:peer"] },
  operations: { client: "operations" },
  usage: { client: "usage", scopes: ["metrics:usage"] },
  usageOfA: { client: "usage", scopes: ["metrics:usage"], tenants: ["brand-a"] },
  public: { scopes: ["metrics:read.public"] },
  brandA: { tenants: ["brand-a"], regions: ["eu"] },
  nobody: { scopes: ["events:write"] },
};

const absent = (): Promise<never> => Promise.reject(new ApiError("not_found", "There are no webhooks here."));

/** Over stores that say what a test wants. @param replies what the store of each region says */
export async function startMetricsServer(
  replies: Readonly<Record<string, StoreReply>>,
  options: Partial<MetricsServerOptions> = {},
): Promise<ScriptedMetricsServer> {
  const stores = await Promise.all(Object.values(replies).map((reply) => startScriptedStore(healthyProbe(reply))));
  const urls = Object.keys(replies).map((region, index) => [region, stores[index]?.url ?? ""] as const);
  const server = metricsServerOver(Object.fromEntries(urls), { now: () => nowMs, ...options });
  return {
    ...server,
    stores,
    async close() {
      await server.close();
      await Promise.all(stores.map((store) => store.close()));
    },
  };
}

/** Whatever of the API a test wants otherwise. */
interface MetricsServerOptions extends Partial<MetricsApiOptions> {
  readonly now: () => number;
  /** @default by name, of {@link callers} */
  readonly authenticate?: Authenticate;
  /** Whether such callers' requests may be answered without being looked at again. @default true */
  readonly isRepeated?: boolean;
  /** @default none is written */
  readonly log?: Logger;
  /** @default nothing is told */
  readonly observe?: (outcome: RequestOutcome) => void;
}

/** Over any stores. @param urls of the store of each region */
export function metricsServerOver(
  urls: Readonly<Record<string, string>>,
  options: MetricsServerOptions,
): MetricsServer {
  const config = configOver(urls);
  const { log = pino({ level: "silent" }) } = options;
  const api = createMetricsApi({ config, deadlineMs: 10_000, ...options, log });
  const nothing = {
    ingest: async () => ({ eventId: "id", tenant: "-", duplicate: false }),
    history: {
      event: async () => undefined,
      events: async () => ({ items: [] }),
      nextEvents: async () => ({ items: [], nextSeq: 0 }),
      partnerStats: async () => ({ points: [], isComplete: true }),
      deliveryStats: async () => {
        const durations = { p50_ms: null, p95_ms: null };
        const totals = { accepted: null, attempts: 0, delivered: 0, failed: 0, retried: 0, ...durations };
        return { rows: [], totals, isComplete: true, completeFromMs: 0 };
      },
      endWaits: () => undefined,
      dryRun: absent,
      eventIdUse: async () => undefined,
    },
    replays: {
      replay: absent,
      redrive: absent,
      acknowledge: absent,
      list: async () => ({ items: [] }),
      get: absent,
      cancel: absent,
    },
    partnerList: { find: absent },
    partnerOverview: { page: async () => ({ items: [] }) },
    partnerDetails: { read: absent },
    eventTypes: createEventTypes({ declared: () => new Map(), partners: () => [], now: () => 0 }),
    pings: { ping: absent },
    publicKeys: () => ({ keySet: { keys: [] }, maxAgeSeconds: 60 }),
    checkEvent: absent,
    idempotencyKeys: { claim: absent, keep: absent, release: absent },
    deadLetters: {
      list: async () => ({ items: [] }),
      counts: async () => ({ counts: [], isComplete: true }),
      ack: absent,
    },
  };
  const own = [
    ...metricsRoutes(api),
    ...prometheusRoutes(createPrometheusApi(api)),
    ...statusRoutes(api),
    ...peerRoutes(api),
  ];
  const described = [...eventRoutes(nothing), ...webhookRoutes(nothing), ...own];
  const app = createPublicServer({
    log,
    observe: options.observe ?? (() => undefined),
    now: options.now,
    authenticate:
      options.authenticate ??
      Object.assign(async (authorization: string | undefined) => callerOf(authorization), {
        isStill: () => options.isRepeated ?? true,
      }),
    routes: [...own, ...schemaRoutes(described)],
  });
  const authorization = "Bearer everyone";
  // Over a connection: what answers before any route is looked for is not asked by `inject`.
  let origin: Promise<string> | undefined;
  const send: MetricsServer["send"] = async (url, { method = "GET", headers = {}, body } = {}) => {
    origin ??= app.server.listening ? Promise.resolve(originOf(app)) : app.listen({ host: "127.0.0.1", port: 0 });
    return answerOf(
      await requestOver(`${await origin}${url}`, { method, headers, ...(body === undefined ? {} : { body }) }),
    );
  };
  return {
    app,
    config,
    apply: (next) => api.apply(next),
    send,
    get: (url, headers = { authorization }) => send(url, { headers }),
    post: (url, body, headers = {}) =>
      send(url, {
        method: "POST",
        body: typeof body === "string" ? body : JSON.stringify(body),
        headers: { authorization, "content-type": "application/json", ...headers },
      }),
    stopUsage: () => api.stopUsage(5_000),
    async close() {
      await app.close();
      await api.stop();
    },
  };
}

function configOver(urls: Readonly<Record<string, string>>): RuntimeConfig {
  const configs = Object.entries(urls).map(([region, url]) => storeConfig({ name: region, region, url }));
  const metrics = Object.entries(metricsOfServer).map(([id, metric]) => metricConfig(id, configs, metric));
  const base = configOf(configs, metrics);
  return { ...base, catalogs: base.catalogs.map((catalog) => ({ ...catalog, slos: [objective] })) };
}

function callerOf(authorization: string | undefined): Caller {
  const caller = callers[authorization?.replace("Bearer ", "") ?? ""];
  if (caller !== undefined) return { ...everyone, ...caller };
  throw authorization === undefined
    ? new ApiError("token_missing", "Send a token.")
    : new ApiError("token_invalid", "Not a token.");
}

function originOf({ server }: FastifyInstance): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function answerOf({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<HttpAnswer> {
  const bytes = Buffer.from(await body.arrayBuffer());
  return {
    status: statusCode,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    bytes,
    text: bytes.toString(),
    json: () => JSON.parse(bytes.toString()) as unknown,
  };
}

/** What a simulated store holds. */
interface SimulatedSeries {
  readonly services: readonly string[];
  /** Value of every sample of one service. @default its place plus one */
  readonly value?: (service: number) => number;
}

/** A store that answers every range with the same series, grouped as the query says, at every point. */
export function simulated(series: () => SimulatedSeries): StoreReply {
  return (response, request) => success(answerTo(request, series()))(response, request);
}

function answerTo(
  { path, form }: StoreRequest,
  { services, value = (service) => service + 1 }: SimulatedSeries,
): unknown {
  const query = form.get("query") ?? "";
  if (path.endsWith("/query_exemplars")) return exemplars(services, form);
  if (path.endsWith("/query"))
    return { resultType: "vector", result: [{ metric: {}, value: [0, String(nowMs / 1_000 - 10)] }] };
  const by = /by\(([^)]*)\)/u.exec(query)?.[1]?.split(",") ?? [];
  const grouped = by.includes("service")
    ? services.map((service, place) => ({ metric: { service }, value: value(place) }))
    : [{ metric: {}, value: value(0) }];
  const buckets = by.includes(boundLabel) ? grouped.flatMap((one) => bucketsOf(one)) : grouped;
  return {
    resultType: "matrix",
    result: buckets.map((one) => ({ metric: one.metric, values: pointsOf(form, one.value) })),
  };
}

interface Row {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

function bucketsOf({ metric, value }: Row): readonly Row[] {
  return ["1", "2", "4", "+Inf"].map((le, index) => ({ metric: { ...metric, le }, value: value * (index + 1) }));
}

function pointsOf(form: URLSearchParams, value: number): readonly (readonly [number, string])[] {
  const [start, end, step] = ["start", "end", "step"].map((name) => Number(form.get(name)));
  const times: number[] = [];
  for (let time = start ?? 0; time <= (end ?? 0); time += step ?? 1) times.push(time);
  return times.map((time) => [time, String(value)]);
}

/** One trace a minute before now, and one inside of the last minute. */
function exemplars(services: readonly string[], form: URLSearchParams): unknown {
  const [start, end] = ["start", "end"].map((name) => Number(form.get(name)));
  const traces = [
    { trace_id: "a".repeat(32), timestamp: nowMs / 1_000 - 60 },
    { trace_id: "b".repeat(32), timestamp: nowMs / 1_000 - 10 },
  ].filter(({ timestamp }) => timestamp >= (start ?? 0) && timestamp <= (end ?? 0));
  return services.map((service) => ({
    seriesLabels: { service },
    exemplars: traces.map(({ trace_id, timestamp }) => ({
      labels: { trace_id, user: "not shown" },
      value: "1",
      timestamp,
    })),
  }));
}
