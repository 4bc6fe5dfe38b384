import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPrometheus, type PrometheusHandle } from "../../support/prometheus.ts";
import { remoteWrite, type WrittenSample } from "../../support/remote-write.ts";
import { metricsServerOver, type HttpAnswer, type MetricsServer } from "../http/routes/metrics-server.ts";
import { startStoreProxy, type StoreProxy } from "../stores/store-proxy.ts";

/** What caches and merges in front of stores are known to get wrong. Both stores are real. */

const nowMs = Date.parse("2026-01-02T12:00:00Z");
const scrapeMs = 15_000;
const hourMs = 3_600_000;
const tenant = "brand-a";
const regions = ["eu", "us"] as const;

function samplesOf(fromMs: number, toMs: number, value: (ms: number) => number): readonly WrittenSample[] {
  const count = Math.round((toMs - fromMs) / scrapeMs);
  return Array.from({ length: count }, (_, index) => fromMs + (index + 1) * scrapeMs).map((ms) => ({
    ms,
    value: value(ms),
  }));
}

const labels = (service: string) => ({ tenant, env: "prod", service });
const steady = (service: string, value: number, toMs = nowMs) => ({
  name: "lag",
  labels: labels(service),
  samples: samplesOf(nowMs - 3 * hourMs, toMs, () => value),
});
const perSecond = (ms: number): number => (ms - nowMs + 3 * hourMs) / 1_000;
const counted = (fromMs: number, toMs: number) => ({
  name: "payments_total",
  labels: labels("web"),
  samples: samplesOf(fromMs, toMs, perSecond),
});
/** Logins of an hour that ended two hours ago. */
const logins = ["ok", "failed"].map((result, index) => ({
  name: "logins_total",
  labels: { ...labels("web"), result },
  samples: samplesOf(
    nowMs - 3 * hourMs,
    nowMs,
    (ms) => Math.min(hourMs / 1_000, perSecond(ms)) * (index === 0 ? 999 : 1),
  ),
}));

let stores: readonly PrometheusHandle[] = [];
let proxies: readonly StoreProxy[] = [];
let clockMs = nowMs;
let server: MetricsServer;
/** The same stores without caches. */
let uncached: MetricsServer;

beforeAll(async () => {
  stores = await Promise.all(regions.map(() => startPrometheus()));
  const [eu, us] = stores;
  if (eu === undefined || us === undefined) throw new Error("a store is missing");
  await Promise.all([
    remoteWrite(eu.url, [
      steady("web", 4),
      steady("api", 6),
      { ...steady("gone", 2, nowMs - hourMs / 2), labels: labels("gone") },
      counted(nowMs - 3 * hourMs, nowMs - 60_000),
      ...logins,
    ]),
    remoteWrite(us.url, [steady("web", 8), counted(nowMs - 3 * hourMs, nowMs)]),
  ]);
  proxies = await Promise.all(stores.map(({ url }) => startStoreProxy(url)));
  const urls = Object.fromEntries(regions.map((region, index) => [region, proxies[index]?.url ?? ""]));
  server = metricsServerOver(urls, { now: () => clockMs });
  uncached = metricsServerOver(urls, { now: () => clockMs });
  const { config } = server;
  const limits = { ...config.classDefaults.A, memorySeconds: 60, hotTailSeconds: 10 };
  server.apply({ ...config, classDefaults: { A: limits, B: limits, C: limits } });
}, 60_000);
afterAll(async () => {
  await Promise.all([server?.close(), uncached?.close()]);
  await Promise.all(proxies.map((proxy) => proxy.stop()));
  await Promise.all(stores.map((store) => store.stop()));
});

const iso = (ms: number): string => new Date(ms).toISOString();
const rangeOf = (metric: string, fromMs: number, toMs: number): string =>
  `/v1/metrics/query?metric=${metric}&agg=sum&filter[tenant]=${tenant}&step=1m&from=${iso(fromMs)}&to=${iso(toMs)}`;
const dataOf = (answer: HttpAnswer): unknown => (answer.json() as { readonly data: unknown }).data;
const prometheus = async (path: string): Promise<unknown> => {
  const answer = await server.get(`/prometheus/api/v1/${path}`, {
    authorization: "Bearer everyone",
    "x-scope-orgid": tenant,
  });
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"status":"success"')]);
  return dataOf(answer);
};
const times = `start=${(nowMs - hourMs) / 1_000}&end=${nowMs / 1_000}`;
const proxyOf = (region: (typeof regions)[number]): StoreProxy => proxies[regions.indexOf(region)] as StoreProxy;

async function bothOf(path: string): Promise<{ readonly cached: HttpAnswer; readonly fresh: HttpAnswer }> {
  const [cached, fresh] = await Promise.all([server.get(path), uncached.get(path)]);
  return { cached, fresh };
}

describe("points of two stores behind the cache", () => {
  test("are the sums of both, and stay whole when the window grows, moves and is longer than 1,024 points", async () => {
    const early = rangeOf("lag", nowMs - hourMs, nowMs - hourMs / 2);
    const { data } = (await server.get(early)).json() as {
      readonly data: readonly { readonly points: readonly (readonly [string, number])[] }[];
    };
    expect(new Set(data[0]?.points.map(([, value]) => value))).toEqual(new Set([4 + 6 + 2 + 8]));
    for (const path of [
      rangeOf("lag", nowMs - 2 * hourMs, nowMs),
      rangeOf("lag", nowMs - 25 * hourMs, nowMs - 60_000),
      rangeOf("lag", nowMs - 25 * hourMs + 60_000, nowMs),
    ]) {
      const { cached, fresh } = await bothOf(path);
      expect([cached.status, dataOf(cached)]).toEqual([200, dataOf(fresh)]);
    }
    const again = await server.get(rangeOf("lag", nowMs - 25 * hourMs + 120_000, nowMs));
    expect([again.status, again.headers["x-query-cache"]]).toEqual([200, expect.stringMatching(/miss=0|answer/u)]);
  });

  test("have late samples of the newest points once the tail has expired, and of older ones after a minute", async () => {
    const path = rangeOf("payments", nowMs - 600_000, nowMs);
    const before = await server.get(path);
    const [eu] = stores;
    await remoteWrite(eu?.url ?? "", [counted(nowMs - 60_000, nowMs)]);
    clockMs += 11_000;
    const { cached, fresh } = await bothOf(path);
    expect(dataOf(cached)).toEqual(dataOf(fresh));
    expect(dataOf(cached)).not.toEqual(dataOf(before));

    const old = rangeOf("lag", nowMs - hourMs, nowMs - hourMs + 600_000);
    await server.get(old);
    await remoteWrite(eu?.url ?? "", [
      { name: "lag", labels: labels("late"), samples: samplesOf(nowMs - hourMs, nowMs - hourMs + 600_000, () => 100) },
    ]);
    clockMs += 61_000;
    const later = await bothOf(old);
    expect(dataOf(later.cached)).toEqual(dataOf(later.fresh));
    expect(JSON.stringify(dataOf(later.cached))).toContain("120");
  });

  test("of one store are partial and stored nowhere, and whole again with the other", async () => {
    const path = rangeOf("lag", nowMs - 2 * hourMs - 600_000, nowMs - 2 * hourMs);
    proxyOf("us").set({ isHung: true });
    const ending = setInterval(() => proxyOf("us").cut(), 50);
    const partial = await server.get(path).finally(() => clearInterval(ending));
    expect([partial.status, partial.headers["cache-control"]]).toEqual([206, "no-store"]);
    proxyOf("us").set({});
    const { cached, fresh } = await bothOf(path);
    expect([cached.status, dataOf(cached)]).toEqual([200, dataOf(fresh)]);
    expect(dataOf(cached)).not.toEqual(dataOf(partial));
  });

  test("end with their series: a stale marker in one store leaves those of the other", async () => {
    const [eu] = stores;
    clockMs = nowMs + 120_000;
    await remoteWrite(eu?.url ?? "", [
      { name: "lag", labels: labels("api"), samples: [{ ms: nowMs + scrapeMs, value: "stale" }] },
      { name: "lag", labels: labels("web"), samples: samplesOf(nowMs, nowMs + 120_000, () => 4) },
    ]);
    const query = encodeURIComponent("max by (service) (max_over_time(lag[1m]))");
    const { result } = (await prometheus(`query?query=${query}&time=${(nowMs + 120_000) / 1_000}`)) as {
      readonly result: readonly { readonly metric: object }[];
    };
    expect(result.map(({ metric }) => metric)).toEqual([{ service: "web" }]);
  });

  test("of a range off its step have the times of the store, for every step", async () => {
    for (const step of [600, 900]) {
      const query = encodeURIComponent("max(max_over_time(lag[5m]))");
      const over = `start=${(nowMs - 2 * hourMs) / 1_000 + 32.745}&end=${nowMs / 1_000 - 27.255}&step=${step}`;
      const own = (await prometheus(`query_range?query=${query}&${over}`)) as {
        readonly result: readonly { readonly values: readonly (readonly [number, string])[] }[];
      };
      const response = await fetch(`${stores[0]?.url ?? ""}/api/v1/query_range?query=${query}&${over}`);
      const { data } = (await response.json()) as { readonly data: typeof own };
      expect(own.result[0]?.values.map(([at]) => at)).toEqual(data.result[0]?.values.map(([at]) => at));
    }
  });
});

describe("look-ups of labels", () => {
  test("have recent names and values within times, without match[] too, and no empty value", async () => {
    expect(await prometheus(`labels?${times}`)).toEqual(expect.arrayContaining(["__name__", "service"]));
    expect(await prometheus(`label/__name__/values?${times}`)).toEqual(expect.arrayContaining(["lag", "payments"]));
    expect(await prometheus(`label/service/values?${times}`)).toEqual(expect.arrayContaining(["api", "gone", "web"]));
    expect(await prometheus(`label/service/values?match[]=payments&${times}`)).toEqual(["web"]);
  });

  test("have the series that ended within the times", async () => {
    const series = (await prometheus(`series?match[]=lag&${times}`)) as readonly Readonly<Record<string, string>>[];
    expect(new Set(series.map(({ service }) => service))).toContain("gone");
  });
});

test("an objective without events in its short windows has its budget, and no rate there", async () => {
  clockMs = nowMs + 600_000;
  const answer = await server.get(`/v1/metrics/slo?tenant=${tenant}`);
  const [objective] = dataOf(answer) as readonly Readonly<Record<string, unknown>>[];
  expect(answer.text).not.toMatch(/NaN|null/u);
  expect(objective).toMatchObject({
    sli: expect.closeTo(0.999, 6) as number,
    status: "ok",
  });
  const tiers = objective?.["tiers"] as readonly { readonly long: object }[] | undefined;
  expect(tiers?.[0]?.long).toEqual({ window: "1h" });
});
