import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPrometheus, type PrometheusHandle } from "../../../support/prometheus.ts";
import { remoteWrite } from "../../../support/remote-write.ts";
import { faultsIn } from "../../http/openapi/strict-schema.ts";
import { metricsServerOver, type HttpAnswer, type MetricsServer } from "../../http/routes/metrics-server.ts";
import { random, type Sample } from "../oracle/generated-series.ts";
import { increase } from "../oracle/range-functions.ts";

const startMs = Date.parse("2026-01-01T00:00:00Z");
const minuteMs = 60_000;
const daySeconds = 86_400;
/** Longer than two windows of the objective. */
const minutes = 2.3 * 24 * 60;
const nowMs = startMs + (minutes + 3) * minuteMs + 1_234;
const regions = ["eu", "latam"] as const;
const results = ["ok", "failed"] as const;
const budget = 0.01;
/** So few that a test sees what was charged. */
const refilledPerMinute = 60;
const path = "/v1/metrics/slo/history?slo=login&tenant=brand-a";

interface Counter {
  readonly region: string;
  readonly result: string;
  readonly samples: readonly Sample[];
}

/** Counters whose share of failures changes over the days. */
function counters(): readonly Counter[] {
  const next = random(20_261_128);
  return regions.flatMap((region) =>
    results.map((result): Counter => {
      let value = 0;
      const samples = Array.from({ length: minutes }, (_, minute) => {
        const most = result === "ok" ? 2_000 : 20 + 30 * (Math.floor(minute / 500) % 3);
        value += Math.floor(next() * most);
        return { ms: startMs + minute * minuteMs, value };
      });
      return { region, result, samples };
    }),
  );
}

const held = counters();
let stores: readonly PrometheusHandle[] = [];
let server: MetricsServer;
let clockMs = nowMs;
beforeAll(async () => {
  const config = "storage:\n  tsdb:\n    out_of_order_time_window: 30d\n";
  stores = await Promise.all(
    regions.map(async (region) => {
      const store = await startPrometheus({ config });
      const own = held.filter((counter) => counter.region === region);
      const labels = { tenant: "brand-a", env: "prod", service: "api" };
      await remoteWrite(
        store.url,
        own.map(({ result, samples }) => ({ name: "logins_total", labels: { ...labels, result }, samples })),
      );
      return store;
    }),
  );
  const urls = Object.fromEntries(regions.map((region, index) => [region, stores[index]?.url ?? ""]));
  server = metricsServerOver(urls, { now: () => clockMs });
  const catalogs = server.config.catalogs.map((catalog) => ({
    ...catalog,
    slos: catalog.slos.map((slo) => ({ ...slo, windowDays: 1 })),
  }));
  const { A } = server.config.classDefaults;
  const limits = { ...A, burstCostUnits: 1_000_000, costUnitsPerMinute: refilledPerMinute };
  server.apply({ ...server.config, catalogs, classDefaults: { A: limits, B: limits, C: limits } });
});
afterAll(async () => {
  await server.close();
  await Promise.all(stores.map((store) => store.stop()));
});

interface Point {
  readonly at: string;
  readonly sli: number | null;
  readonly remaining: number | null;
}

async function historyAt(ms: number, url = path, token = "everyone"): Promise<HttpAnswer> {
  clockMs = ms;
  return server.get(url, { authorization: `Bearer ${token}` });
}

const pointsOf = (answer: HttpAnswer): readonly Point[] => (answer.json() as { readonly data: readonly Point[] }).data;

/** What `GET /v1/metrics/slo` says at a time. */
async function remainingAt(ms: number, more = "", token = "everyone"): Promise<unknown> {
  clockMs = ms;
  const answer = await server.get(`/v1/metrics/slo?slo=login&tenant=brand-a${more}`, {
    authorization: `Bearer ${token}`,
  });
  const { data } = answer.json() as {
    readonly data: readonly { readonly at: string; readonly error_budget: { readonly remaining: number } }[];
  };
  expect(data).toHaveLength(1);
  return { at: data[0]?.at, remaining: data[0]?.error_budget.remaining };
}

/** The budget that remained, from the samples alone. */
function remainingOf(own: readonly Counter[], atMs: number): number {
  const sum = (counted: readonly Counter[]): number =>
    counted.reduce((total, { samples }) => total + (increase(samples, atMs, daySeconds * 1_000) ?? 0), 0);
  return budget - sum(own.filter(({ result }) => result === "failed")) / sum(own);
}

describe("the history of an objective", () => {
  test("has points over its window, of which the last one is the objective itself", async () => {
    const answer = await historyAt(nowMs);
    expect([answer.status, faultsIn(answer.json(), "SloHistoryAnswer")]).toEqual([200, []]);
    expect(answer.json()).toMatchObject({
      meta: { name: "login", window_days: 1, objective: 0.99, step_seconds: 2_880, partial: false, tenant: "brand-a" },
    });
    const points = pointsOf(answer);
    expect(points).toHaveLength(31);
    const times = points.map(({ at }) => Date.parse(at));
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBe(daySeconds * 1_000);
    const last = points.at(-1);
    expect({ at: last?.at, remaining: last?.remaining }).toEqual(await remainingAt(nowMs));
  });

  test("is at each time what the samples say, and what the objective said then", async () => {
    const points = pointsOf(await historyAt(nowMs));
    for (const { at, remaining } of points) expect(remaining).toBeCloseTo(remainingOf(held, Date.parse(at)), 12);
    expect(new Set(points.map(({ remaining }) => remaining)).size).toBe(31);
    for (const { at, remaining } of [0, 7, 16, 29].flatMap((index) => points[index] ?? []))
      expect(await remainingAt(Date.parse(at))).toEqual({ at, remaining });
  });

  test("begins without a budget where the stores have no samples", async () => {
    const points = pointsOf(await historyAt(startMs + 6 * 3_600_000));
    expect(points[0]).toMatchObject({ sli: null, remaining: null });
    expect(points.at(-1)?.remaining).toBeCloseTo(remainingOf(held, Date.parse(points.at(-1)?.at ?? "")), 12);
  });

  test("counts what the token may read only", async () => {
    const points = pointsOf(await historyAt(nowMs, path, "brandA"));
    const eu = held.filter(({ region }) => region === "eu");
    expect(points[10]?.remaining).toBeCloseTo(remainingOf(eu, Date.parse(points[10]?.at ?? "")), 12);
    const last = points.at(-1);
    expect({ at: last?.at, remaining: last?.remaining }).toEqual(await remainingAt(nowMs, "", "brandA"));
    const named = pointsOf(await historyAt(nowMs, `${path}&region=latam`));
    expect(named.at(-1)?.remaining).not.toBe(last?.remaining);
  });

  test("is charged once: its cost is said, and cached data are free", async () => {
    const left = async (): Promise<number> => {
      const { data } = (await server.get("/v1/metrics/quota")).json() as {
        readonly data: readonly { readonly cost: { readonly remaining: number } }[];
      };
      return data[0]?.cost.remaining ?? 0;
    };
    const burst = await left();
    const answer = await historyAt(nowMs - 3_600_000);
    // 31 points of 30 steps each, two statistics, two stores.
    expect(answer.headers["x-query-cost-estimate"]).toBe(String(31 * 30 * 2 * 2));
    const charged = burst - (await left());
    expect(charged).toBeLessThanOrEqual(31 * 30 * 2 * 2);
    // A minute of the time between both reads flows back.
    expect(charged).toBeGreaterThan(31 * 30 * 2 * 2 - refilledPerMinute);
    const again = await historyAt(nowMs - 3_600_000 + 1_000);
    expect([answer.headers["x-query-cache"], again.headers["x-query-cache"]]).toEqual([
      "memory;hit=0;miss=1",
      "memory;hit=1;miss=0",
    ]);
    expect(again.text).toBe(answer.text);
    expect(burst - (await left())).toBeLessThanOrEqual(31 * 30 * 2 * 2);
  });

  const rows: readonly (readonly [sentence: string, url: string, token: string, expected: unknown])[] = [
    ["without a name", "?tenant=brand-a", "everyone", [400, "invalid_request"]],
    ["of an objective that nobody has", "?slo=nothing&tenant=brand-a", "everyone", [404, "not_found"]],
    ["of another tenant", "?slo=login&tenant=brand-b", "brandA", [403, "tenant_forbidden"]],
    ["with another parameter", "?slo=login&tenant=brand-a&step=1m", "everyone", [400, "unknown_parameter"]],
    ["without a scope", "?slo=login&tenant=brand-a", "nobody", [403, "scope_missing"]],
  ];
  test.each(rows)("%s is refused", async (_sentence, query, token, expected) => {
    const answer = await historyAt(nowMs, `/v1/metrics/slo/history${query}`, token);
    expect([answer.status, (answer.json() as { readonly code: string }).code]).toEqual(expected);
  });

  test("needs a token, also of a public objective", async () => {
    expect((await server.get("/v1/metrics/slo?tenant=brand-a", {})).status).toBe(200);
    expect((await server.get(path, {})).status).toBe(401);
  });
});
