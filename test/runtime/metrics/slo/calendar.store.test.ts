import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SloConfig } from "../../../../crds/config.ts";
import { startPrometheus, type PrometheusHandle } from "../../../support/prometheus.ts";
import { remoteWrite } from "../../../support/remote-write.ts";
import { faultsIn } from "../../http/openapi/strict-schema.ts";
import { metricsServerOver, type HttpAnswer, type MetricsServer } from "../../http/routes/metrics-server.ts";
import { random, type Sample } from "../oracle/generated-series.ts";
import { increase } from "../oracle/range-functions.ts";
import { metricConfig } from "../oracle/universe.ts";

/** Objectives over calendar windows in two regional stores, over changes of clocks, against the written samples. */

const at = (text: string): number => Date.parse(text);
const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];
const intervalMs = 10 * minuteMs;
const stepMs = hourMs;
const [startMs, nowMs] = [at("2026-08-28T00:00:00Z"), at("2026-11-04T10:20:00Z")];
const toMs = at("2026-11-04T10:00:00Z");
const regions = ["eu", "latam"] as const;
const budget = 0.01;

interface Series {
  readonly region: string;
  readonly name: string;
  readonly result?: string;
  readonly samples: readonly Sample[];
}

const next = random(20_261_104);
const times = Array.from({ length: (nowMs - startMs) / intervalMs }, (_, index) => startMs + index * intervalMs);
const counters = regions.flatMap((region) =>
  ["ok", "failed"].map((result): Series => {
    let value = 0;
    const samples = times.map((ms) => {
      value += Math.floor(next() * (result === "ok" ? 2_000 : 10 + 12 * (Math.floor(ms / dayMs) % 3)));
      return { ms, value };
    });
    return { region, name: "logins_total", result, samples };
  }),
);
const gauges = regions.map((region): Series => {
  const samples = times.filter(() => next() > 0.1).map((ms) => ({ ms, value: next() < 0.004 ? 100 : next() }));
  return { region, name: "consumer_lag", samples };
});

const base = {
  domain: "auth",
  metric: "login",
  objective: 1 - budget,
  counts: "Good",
  windowDays: 30,
  minimumEvents: 1,
  burnRates: [14.4, 6, 3, 1],
  public: true,
  publicTenants: ["brand-a"],
} as const;
const corrections = [
  { reason: "failover", from: "2026-11-02T02:07:00Z", to: "2026-11-02T05:00:00Z" },
  { reason: "backup", schedule: { cron: "0 3 * * *", durationMinutes: 60, timeZone: "Europe/Berlin" } },
];
const month = { period: "Month", timeZone: "Europe/Berlin" } as const;
const slos: readonly SloConfig[] = [
  { ...base, name: "month", calendar: month },
  { ...base, name: "corrected", calendar: month, corrections },
  { ...base, name: "quarter", windowDays: 90, calendar: { period: "Quarter", timeZone: "America/New_York" } },
  {
    ...base,
    name: "slices",
    metric: "lag",
    over: { operator: "AtMost", threshold: 10, sliceSeconds: 3_600 },
    calendar: { period: "Month", timeZone: "Asia/Kathmandu" },
    corrections,
  },
];

let stores: readonly PrometheusHandle[] = [];
let server: MetricsServer;
let clockMs = nowMs;
beforeAll(async () => {
  const config = "storage:\n  tsdb:\n    out_of_order_time_window: 100d\n";
  const labels = { tenant: "brand-a", env: "prod", service: "api" };
  stores = await Promise.all(
    regions.map(async (region) => {
      const store = await startPrometheus({ config });
      await remoteWrite(
        store.url,
        [...counters, ...gauges].flatMap(({ region: own, name, result, samples }) =>
          own === region ? [{ name, labels: { ...labels, ...(result && { result }) }, samples }] : [],
        ),
      );
      return store;
    }),
  );
  const urls = Object.fromEntries(regions.map((region, index) => [region, stores[index]?.url ?? ""]));
  server = metricsServerOver(urls, { now: () => clockMs });
  const intervals = { intervalSeconds: { eu: 600, latam: 600 }, minStepSeconds: 3_600 };
  const catalogs = server.config.catalogs.map((catalog) => ({
    ...catalog,
    slos: [],
    newerSlos: slos,
    metrics: [
      ...catalog.metrics.flatMap((metric) => (metric.id === "login" ? [{ ...metric, ...intervals }] : [])),
      metricConfig("lag", catalog.stores, {
        source: { kind: "gauge", name: "consumer_lag", matchers: [] },
        ...intervals,
        defaultAggregation: "max",
      }),
    ],
  }));
  const { A } = server.config.classDefaults;
  const limits = { ...A, burstCostUnits: 10_000_000, costUnitsPerMinute: 1_000_000 };
  server.apply({ ...server.config, catalogs, classDefaults: { A: limits, B: limits, C: limits } });
}, 60_000);
afterAll(async () => {
  await server?.close();
  await Promise.all(stores.map((store) => store.stop()));
});

interface Item {
  readonly at: string;
  readonly window_days: number;
  readonly calendar: Readonly<Record<string, string>>;
  /** Absent without events. */
  readonly sli?: number;
  readonly events: { readonly good: number; readonly total: number };
  readonly error_budget: { readonly spent: number; readonly remaining?: number };
  readonly uncorrected: Pick<Item, "sli" | "events" | "error_budget">;
  readonly over: Readonly<Record<string, unknown>>;
  readonly exhaustion_seconds?: number;
  readonly burn: { readonly fast: { readonly rate: number } };
}

async function get(path: string, ms = nowMs): Promise<HttpAnswer> {
  clockMs = ms;
  const response = await server.get(`/v1/metrics/${path}&tenant=brand-a`);
  expect([response.status, path]).toEqual([200, path]);
  return response;
}

async function itemOf(name: string, ms = nowMs): Promise<Item> {
  const body = (await get(`slo?slo=${name}`, ms)).json();
  expect(faultsIn(body, "SloAnswer")).toEqual([]);
  const { data } = body as { readonly data: readonly Item[] };
  expect(data).toHaveLength(1);
  return data[0] as Item;
}

/** Bad and all events of an interval, from the samples alone. */
function eventsIn(fromMs: number, endMs: number) {
  const sum = (own: readonly Series[]): number =>
    own.reduce((total, { samples }) => total + (increase(samples, endMs, endMs - fromMs) ?? 0), 0);
  return { bad: sum(counters.filter(({ result }) => result === "failed")), total: sum(counters) };
}
const spentIn = (fromMs: number, endMs: number): number => {
  const { bad, total } = eventsIn(fromMs, endMs);
  return bad / total;
};

/** Midnights of the first days, by hand: Berlin leaves its summer time on 25 October. */
const october = { fromMs: at("2026-09-30T22:00:00Z"), endMs: at("2026-10-31T23:00:00Z") };
const quarterMs = at("2026-10-01T04:00:00Z");

describe("an objective over a calendar month", () => {
  test("counts the events since midnight of the first day in its zone", async () => {
    const item = await itemOf("month");
    expect([item.at, item.window_days, item.calendar]).toEqual([
      "2026-11-04T10:00:00.000Z",
      30,
      { period: "Month", time_zone: "Europe/Berlin", from: "2026-10-31T23:00:00.000Z", to: "2026-11-30T23:00:00.000Z" },
    ]);
    expect(item.events.total).toBeCloseTo(eventsIn(october.endMs, toMs).total, 6);
    expect(item.error_budget.spent).toBeCloseTo(spentIn(october.endMs, toMs), 12);
  });

  test("is complete at its end, with the hour that the clocks repeat, and new a step later", async () => {
    const whole = await itemOf("month", october.endMs + 1_000);
    expect([whole.window_days, whole.calendar["to"]]).toEqual([31, "2026-10-31T23:00:00.000Z"]);
    expect(whole.error_budget.spent).toBeCloseTo(spentIn(october.fromMs, october.endMs), 12);
    const first = await itemOf("month", october.endMs + hourMs);
    expect(first.calendar["from"]).toBe("2026-10-31T23:00:00.000Z");
    expect(first.events.total).toBeCloseTo(eventsIn(october.endMs, october.endMs + hourMs).total, 6);
  });

  test("shows the figures with and without the events of corrections", async () => {
    const item = await itemOf("corrected");
    const all = eventsIn(october.endMs, toMs);
    // The failover, rounded to points, and 03:00 in Berlin, which is 02:00 in UTC in winter. One night is in both.
    const left = ["01", "02", "03", "04"].map((date) => {
      const from = `2026-11-${date}T02:00:00Z`;
      return eventsIn(at(from), date === "02" ? at("2026-11-02T05:00:00Z") : at(from) + hourMs);
    });
    const [bad, total] = left.reduce(([b, t], part) => [b - part.bad, t - part.total] as const, [all.bad, all.total]);
    expect(item.error_budget.spent).toBeCloseTo(bad / total, 12);
    expect(item.events.total).toBeCloseTo(total, 6);
    expect(item.uncorrected.error_budget.spent).toBeCloseTo(all.bad / all.total, 12);
  });

  test("states when the events so far and those to come have spent the budget", async () => {
    // The seventh of October, after days that differ.
    const item = await itemOf("month", at("2026-10-07T10:20:00Z"));
    const elapsed = (at("2026-10-07T10:00:00Z") - october.fromMs) / 1_000;
    const { remaining = Number.NaN } = item.error_budget;
    const { rate } = item.burn.fast;
    const seconds = remaining <= 0 ? 0 : rate > 1 ? ((remaining / budget) * elapsed) / (rate - 1) : Infinity;
    const left = (october.endMs - at("2026-10-07T10:00:00Z")) / 1_000;
    expect(item.exhaustion_seconds).toBe(seconds <= left ? Math.floor(seconds) : undefined);
  });
});

test("an objective over a quarter counts the events since its first month began in its zone", async () => {
  const item = await itemOf("quarter");
  expect([item.window_days, item.calendar["from"], item.calendar["to"]]).toEqual([
    92,
    "2026-10-01T04:00:00.000Z",
    "2027-01-01T05:00:00.000Z",
  ]);
  expect(item.error_budget.spent).toBeCloseTo(spentIn(quarterMs, toMs), 12);
});

test("an objective over slices has the budget of the whole month, and the slices that begin in it", async () => {
  const item = await itemOf("slices");
  // Midnight in Kathmandu is 18:15 in UTC: the slice that begins at 18:00 is one of October.
  const [fromMs, endMs] = [at("2026-10-31T19:00:00Z"), at("2026-11-30T19:00:00Z")];
  expect([item.calendar["from"], item.calendar["to"]]).toEqual([
    "2026-10-31T19:00:00.000Z",
    "2026-11-30T19:00:00.000Z",
  ]);
  const isCorrected = (end: number): boolean => {
    const [hour, night] = [new Date(end - hourMs).getUTCHours(), at("2026-11-02T00:00:00Z")];
    return hour === 2 || (end > night && end <= night + dayMs && hour >= 2 && hour < 5);
  };
  const slices = (from: number, to: number) =>
    Array.from({ length: (to - from) / stepMs }, (_, index) => from + (index + 1) * stepMs);
  const known = slices(fromMs, toMs).flatMap((end) => {
    const own = gauges.flatMap(({ samples }) => samples.filter(({ ms }) => ms > end - stepMs && ms <= end));
    return own.length === 0 ? [] : [{ end, isBad: own.some(({ value }) => value > 10) }];
  });
  const counted = known.filter(({ end }) => !isCorrected(end));
  const bad = counted.filter(({ isBad }) => isBad).length;
  expect(bad).toBeGreaterThan(0);
  const toCome = slices(toMs, endMs).filter((end) => !isCorrected(end)).length;
  expect(item.events).toEqual({ good: counted.length - bad, total: counted.length });
  expect(item.over).toMatchObject({ slices: (toMs - fromMs) / stepMs, slices_to_come: toCome });
  expect(item.error_budget.spent).toBeCloseTo(bad / (counted.length + toCome), 12);
  const all = known.filter(({ isBad }) => isBad).length;
  expect(item.uncorrected.error_budget.spent).toBeCloseTo(all / (known.length + (endMs - toMs) / stepMs), 12);
});

/** Queries that the stores have received, as they count them. */
async function requestsOfStores(): Promise<number> {
  const texts = await Promise.all(stores.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
  const counts = texts.flatMap((text) => [
    ...text.matchAll(/^prometheus_http_requests_total\{code="200",handler="\/api\/v1\/query(?:_range)?"\} (\d+)/gmu),
  ]);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

interface History {
  readonly data: readonly { readonly at: string; readonly sli: number; readonly remaining: number }[];
  readonly meta: Readonly<Record<string, unknown>>;
}

describe("the history of a calendar window", () => {
  test("has the window of each point, and its cost covers its reads", async () => {
    const before = await requestsOfStores();
    const response = await get("slo/history?slo=month");
    // Of each store four requests for the events of each kind, and one for the newest sample.
    expect((await requestsOfStores()) - before).toBe(2 * (4 * 2 + 1));
    expect(faultsIn(response.json(), "SloHistoryAnswer")).toEqual([]);
    const { data, meta } = response.json() as History;
    expect(meta).toMatchObject({ window_days: 30, step_seconds: 86_400, calendar: { period: "Month" } });
    expect(data).toHaveLength(31);
    let days = 0;
    for (const { at: text, remaining } of data) {
      const end = at(text);
      const fromMs = end > october.endMs ? october.endMs : october.fromMs;
      expect([text, remaining.toFixed(10)]).toEqual([text, (budget - spentIn(fromMs, end)).toFixed(10)]);
      days += Math.ceil((end - fromMs) / dayMs);
    }
    const cost = Number(response.headers["x-query-cost-estimate"]);
    // Two statistics in two stores, over the days that each point reads.
    expect(cost).toBe(days * 2 * 2);
    expect(response.headers["x-query-plan"]).toBe("points=31, reads=18, sent=18");
  });

  test.each(["month", "corrected", "quarter", "slices"])("of %s is what the objective was then", async (name) => {
    const { data } = (await get(`slo/history?slo=${name}`)).json() as History;
    for (const point of [0, 11, 26, 27, 30].flatMap((index) => data[index] ?? [])) {
      const item = await itemOf(name, at(point.at));
      expect([item.at, item.sli ?? null, item.error_budget.remaining ?? null]).toEqual([
        point.at,
        point.sli,
        point.remaining,
      ]);
    }
  });
});
