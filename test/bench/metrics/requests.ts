import type { QueryClass } from "../../../crds/config.ts";
import { plainObject } from "../../crds/valid-objects.ts";
import type { Site } from "../harness/program.ts";
import { dayMs, endMs, hourMs } from "./long-store.ts";

/** Limits of a quota that rejects nothing. */
export const unlimited = {
  requestsPerSecond: 10_000,
  burst: 100_000,
  costUnitsPerMinute: 10_000_000_000,
  burstCostUnits: 10_000_000_000,
  maxConcurrent: 1_000,
};
const classes = ["A", "B", "C"] as const;

/** What a part needs besides the defaults. */
interface MetricsOptions {
  /** @default quotas that refuse nothing */
  readonly quotas?: readonly object[];
  /** Classes of two metrics. @default C */
  readonly lag?: QueryClass;
  readonly payments?: QueryClass;
}

/** A catalog of the metrics of the bench's stores, and quotas. */
export async function writeMetrics(
  site: Site,
  store: string,
  { quotas = openQuotas(unlimited), lag = "C", payments = "C" }: MetricsOptions = {},
): Promise<void> {
  const labels = ["region", "tenant", "environment", "service", "component"];
  const common = { category: "infrastructure", unit: "1", minStepSeconds: 120, queryClass: "C", labels };
  const scalar = { aggregations: ["avg", "sum", "min", "max"], defaultAggregation: "sum" };
  const sources = {
    lag: { gauge: { name: "lag" }, intervalSeconds: 60 },
    payments: { counter: { name: "payments_total" }, intervalSeconds: 60 },
    latency: { histogram: { name: "latency", type: "Classic" }, intervalSeconds: 60 },
  };
  const prometheus = { url: store, timeoutSeconds: 20 };
  const catalog = plainObject("MetricCatalog", {
    stores: [{ name: "eu", region: "eu", labelMap: { environment: "env" }, prometheus }],
    metrics: [
      { ...common, ...scalar, id: "lag", source: sources.lag, queryClass: lag, minStepSeconds: 60 },
      { ...common, ...scalar, id: "payments", source: sources.payments, queryClass: payments },
      { ...common, id: "latency", source: sources.latency, aggregations: ["avg", "p95"], defaultAggregation: "p95" },
    ].map((metric) => ({ ...metric, description: `The bench's ${metric.id}.` })),
  });
  await site.write("metrics.yaml", [catalog, ...quotas]);
}

/** Quotas of all three classes for all clients; without limits, the default ones. */
export function openQuotas(limits: object, cache?: object): readonly object[] {
  return classes.map((one) =>
    plainObject("QueryClassQuota", { class: one, clients: undefined, limits, cache }, `class-${one.toLowerCase()}`),
  );
}

const iso = (ms: number): string => new Date(ms).toISOString();

export const windowOf = (fromMs: number, toMs: number, step: string): string =>
  `from=${iso(fromMs)}&to=${iso(toMs)}&step=${step}`;

/** How the series of a tenant are grouped: ten series of five services each, or fifty. */
export type PanelGroup = "component" | "service";

/** Series of 180 points of one tenant: three hours by the minute. */
export function panelPath(
  tenant: number,
  windowEndMs: number,
  aggregation = "max",
  group: PanelGroup = "component",
): string {
  const window = windowOf(windowEndMs - 3 * hourMs, windowEndMs, "1m");
  return `/v1/metrics/query?metric=lag&agg=${aggregation}&group_by=${group}&filter[tenant]=brand-${tenant}&${window}`;
}

/** The last hour of a panel, whose response is a third as long. */
export function hourPath(tenant: number, windowEndMs: number): string {
  const window = windowOf(windowEndMs - hourMs, windowEndMs, "1m");
  return `/v1/metrics/query?metric=lag&agg=max&group_by=component&filter[tenant]=brand-${tenant}&${window}`;
}

/** The last ten minutes of a panel. */
export function shortPath(tenant: number, windowEndMs: number, aggregation: string): string {
  const window = windowOf(windowEndMs - hourMs / 6, windowEndMs, "1m");
  return `/v1/metrics/query?metric=lag&agg=${aggregation}&group_by=component&filter[tenant]=brand-${tenant}&${window}`;
}

/** The same question in PromQL. */
export function panelQuestion(
  tenant: number,
  windowEndMs: number,
  aggregation = "max",
  group: PanelGroup = "component",
): URLSearchParams {
  const query = `${aggregation} by(${group})(${aggregation}_over_time(lag{tenant="brand-${tenant}"}[1m]))`;
  return question(query, windowEndMs, { seconds: 3 * 3_600, step: 60 });
}

/** The 95th percentile of some days in steps of five minutes. */
export function weekPath(tenant: number, windowEndMs: number, days: number): string {
  const window = windowOf(windowEndMs - days * dayMs, windowEndMs, "5m");
  return `/v1/metrics/query?metric=latency&agg=p95&filter[tenant]=brand-${tenant}&${window}`;
}

/** The same question in PromQL. */
export function weekQuestion(tenant: number, windowEndMs: number, days: number): URLSearchParams {
  const query = `histogram_quantile(0.95,sum by(le)(increase(latency_bucket{tenant="brand-${tenant}"}[5m])))`;
  return question(query, windowEndMs, { seconds: days * 86_400, step: 300 });
}

function question(query: string, windowEndMs: number, grid: { seconds: number; step: number }): URLSearchParams {
  const end = windowEndMs / 1_000;
  const start = end - grid.seconds + grid.step;
  return new URLSearchParams({ query, start: String(start), end: String(end), step: String(grid.step) });
}

/** A request to the API as its bytes go over the wire, without a content coding, as programs ask. */
export function requestText(path: string, token: string): string {
  const encoded = path.replaceAll("[", "%5B").replaceAll("]", "%5D");
  return `GET ${encoded} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n\r\n`;
}

/** The same for a request with a body. */
export function postText(path: string, token: string, body: string): string {
  return (
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

/** The same to the store. */
export function questionText(form: URLSearchParams): string {
  const body = form.toString();
  return (
    "POST /api/v1/query_range HTTP/1.1\r\nhost: 127.0.0.1\r\n" +
    `content-type: application/x-www-form-urlencoded\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  );
}

/** Windows of three hours that share no point, of any tenant: each pair is a question that no cache knows. */
export function coldPanels(tenants: number, days: number): readonly (readonly [tenant: number, windowEndMs: number])[] {
  const windows = Array.from({ length: days * 8 - 1 }, (_, place) => endMs - place * 3 * hourMs);
  return windows.flatMap((end) => Array.from({ length: tenants }, (_, tenant) => [tenant, end] as const));
}
