import * as fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { nowMs, startMetricsServer, type ScriptedMetricsServer } from "../http/routes/metrics-server.ts";
import { success, type StoreReply } from "../stores/scripted-store.ts";

/** `X-Data-Freshness` over stores that hold samples every 15 s up to a time, and name it as a Prometheus does. */

let server: ScriptedMetricsServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const lookBackMs = 300_000;
const intervalMs = 15_000;
const instants = /^max\(timestamp/u;
const lookups = /^max\(max_over_time\(timestamp\(.*\)\[(\d+)ms:(\d+)ms\]\)\)$/u;

interface Clock {
  nowMs: number;
}

/** A store whose newest sample has an age, or was taken at a time. */
function holding(newestMs: () => number): StoreReply {
  return (response, request) => {
    const { form, path } = request;
    const query = form.get("query") ?? "";
    const data = path.endsWith("/query") ? timeOf(query, form, newestMs()) : pointsOf(query, form, newestMs());
    success(data)(response, request);
  };
}

function timeOf(query: string, form: URLSearchParams, newestMs: number): object {
  const timeMs = Number(form.get("time")) * 1_000;
  const newest = newestAt(timeMs, newestMs);
  const range = Number(lookups.exec(query)?.[1] ?? (instants.test(query) ? lookBackMs : 0));
  const found = { metric: {}, value: [timeMs / 1_000, String(newest / 1_000)] };
  return { resultType: "vector", result: newest > timeMs - range ? [found] : [] };
}

function pointsOf(query: string, form: URLSearchParams, newestMs: number): object {
  const [first = 0, last = 0, step = 1] = ["start", "end", "step"].map((name) => Number(form.get(name)) * 1_000);
  const width = Number(/\[(\d+)ms\]/u.exec(query)?.[1]);
  const times = Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step);
  const values = times.filter((ms) => newestAt(ms, newestMs) > ms - width).map((ms) => [ms / 1_000, "2"]);
  const series = query.includes("heliograph_le") ? ["1", "5", "+Inf"].map((le) => ({ le })) : [{}];
  return { resultType: "matrix", result: values.length === 0 ? [] : series.map((metric) => ({ metric, values })) };
}

/** The newest sample at or before a time. */
function newestAt(timeMs: number, newestMs: number): number {
  return timeMs >= newestMs ? newestMs : newestMs - Math.ceil((newestMs - timeMs) / intervalMs) * intervalMs;
}

async function start(stores: Readonly<Record<string, () => number>>, clock: Clock = { nowMs }) {
  const replies = Object.fromEntries(Object.entries(stores).map(([region, newest]) => [region, holding(newest)]));
  server = await startMetricsServer(replies, { now: () => clock.nowMs });
  const { classDefaults } = server.config;
  const A = { ...classDefaults.A, memorySeconds: 60, hotTailSeconds: 30 };
  server.apply({ ...server.config, classDefaults: { ...classDefaults, A, B: A } });
}

const tenant = "filter%5Btenant%5D=brand-a";
const headers = { authorization: "Bearer everyone", "x-scope-orgid": "brand-a" };
async function ageOf(path: string): Promise<string | undefined> {
  const answer = await server?.get(path, headers);
  expect([answer?.status, answer?.text]).toEqual([200, answer?.text]);
  return answer?.headers["x-data-freshness"];
}
/** Requests to the store for the time of its newest sample. */
const timesRead = (): number =>
  (server?.stores ?? [])
    .flatMap(({ requests }) => requests)
    .filter(({ form }) => instants.test(String(form.get("query")))).length;
const queryOf = (metric: string, pairs: string): string => `/v1/metrics/query?metric=${metric}&${tenant}&${pairs}`;
const promql = (query: string, pairs: string): string =>
  `/prometheus/api/v1/query_range?query=${encodeURIComponent(query)}&${pairs}`;

const lateMs = Date.parse("2026-01-01T12:34:30Z");

describe("the age of the newest sample behind a response", () => {
  const steps = [
    ["1m", 60, "2026-01-01T11:30:00Z"],
    ["5m", 300, "2026-01-01T11:00:00Z"],
    ["1h", 3_600, "2025-12-31T13:00:00Z"],
    ["1d", 86_400, "2025-12-25T00:00:00Z"],
  ] as const;
  const kinds = [
    ["a gauge", "lag", "avg", "avg(avg_over_time(lag[W]))"],
    ["a counter", "payments", "sum", "sum(increase(payments[W]))"],
    ["a histogram", "latency", "p95", "histogram_quantile(0.95, sum by (le) (rate(latency[W])))"],
    ["an average of a histogram", "latency", "avg", "histogram_avg(sum(rate(latency[W])))"],
    ["a ratio", "login", "avg", "avg(avg_over_time(login[W]))"],
  ] as const;
  const rows = kinds.flatMap(([kind, ...one]) =>
    steps.map(([step, ...other]) => [kind, step, ...one, ...other] as const),
  );

  test.each(rows)("is that of the sample, not of a point: %s at step %s", async (...row) => {
    const [, step, metric, agg, expression, seconds, from] = row;
    const newestMs = lateMs - 1_000;
    await start({ eu: () => newestMs }, { nowMs: lateMs });
    const endMs = Math.floor(lateMs / (seconds * 1_000)) * seconds * 1_000;
    const expected = `${Math.ceil((lateMs - newestAt(endMs, newestMs)) / 1_000)}s`;
    expect(await ageOf(queryOf(metric, `from=${from}&agg=${agg}&step=${step}`))).toBe(expected);
    const times = `start=${Date.parse(from) / 1_000 + seconds}&end=${endMs / 1_000}&step=${seconds}`;
    expect(await ageOf(promql(expression.replace("W", step), times))).toBe(expected);
  });

  test("is that of the last sample of series that ended, within a 288th of a point", async () => {
    const newestMs = lateMs - 4 * 3_600_000 + 7_000;
    await start({ eu: () => newestMs }, { nowMs: lateMs });
    for (const [step, from, slackMs] of [
      ["1m", "2026-01-01T06:00:00Z", 15_000],
      ["1h", "2025-12-31T13:00:00Z", 15_000],
    ] as const) {
      const seconds = Number.parseInt((await ageOf(queryOf("lag", `from=${from}&agg=avg&step=${step}`))) ?? "", 10);
      expect(seconds * 1_000).toBeGreaterThanOrEqual(lateMs - newestMs);
      expect(seconds * 1_000).toBeLessThanOrEqual(lateMs - newestMs + slackMs + 1_000);
    }
  });

  test("needs no separate request if points are narrow compared with their age", async () => {
    const stepSeconds = { "1m": 60, "5m": 300, "15m": 900, "1h": 3_600 } as const;
    const window = fc.record({
      step: fc.constantFrom("1m", "5m", "15m", "1h"),
      agg: fc.constantFrom("avg", "min", "max", "sum"),
      endsAgo: fc.integer({ min: 1, max: 400 }),
      points: fc.integer({ min: 2, max: 20 }),
      endedBefore: fc.integer({ min: -30, max: 30 }),
    });
    await fc.assert(
      fc.asyncProperty(window, async ({ step, agg, endsAgo, points, endedBefore }) => {
        const stepMs = stepSeconds[step] * 1_000;
        const endMs = Math.floor(lateMs / stepMs - endsAgo) * stepMs;
        // The series end around the end of the window: in a point of it, before all of them, or after.
        const newestMs = endMs - endedBefore * (stepMs / 3) + 7_000;
        await start({ eu: () => newestMs }, { nowMs: lateMs });
        const [from, to] = [endMs - points * stepMs, endMs].map((ms) => new Date(ms).toISOString());
        const age = await ageOf(queryOf("lag", `agg=${agg}&from=${from}&to=${to}&step=${step}`));
        const dated = timesRead();
        await server?.close();
        const sampleMs = newestAt(endMs, newestMs);
        const hasPoints = sampleMs > endMs - points * stepMs;
        const isOld = lateMs - endMs >= 288 * stepMs && lateMs - endMs > 120_000;
        expect(dated).toBe(isOld && hasPoints ? 0 : 1);
        if (!hasPoints) return;
        // Never too low, and too high by a 288th at most.
        const ageMs = Number.parseInt(String(age), 10) * 1_000;
        expect(ageMs).toBeGreaterThanOrEqual(lateMs - sampleMs);
        expect(ageMs - 1_000).toBeLessThanOrEqual(
          (lateMs - sampleMs) * (1 + 1 / 288) + (isOld ? 0 : intervalMs + stepMs / 288),
        );
      }),
      { numRuns: 60 },
    );
  });

  test("leaves out a store that lacks a part and so adds nothing", async () => {
    const whole = holding(() => lateMs - 36_000);
    const withoutDenominator: StoreReply = (response, request) => {
      const query = request.form.get("query") ?? "";
      if (!query.includes("logins_total") || query.includes("result")) return whole(response, request);
      const resultType = request.path.endsWith("/query") ? "vector" : "matrix";
      return success({ resultType, result: [] })(response, request);
    };
    server = await startMetricsServer({ eu: whole, us: withoutDenominator }, { now: () => lateMs });
    for (const step of ["1m", "1h"]) {
      const path = queryOf("login", `from=2026-01-01T06:00:00Z&to=2026-01-01T12:34:30Z&step=${step}`);
      const answer = await server.get(path, headers);
      const endMs = step === "1m" ? lateMs - 30_000 : lateMs - 2_070_000;
      const expected = Math.ceil((lateMs - newestAt(endMs, lateMs - 36_000)) / 1_000);
      expect([answer.status, answer.headers["x-data-freshness"]]).toEqual([206, `${expected}s`]);
    }
  });

  test("is that of the stalest store, for a query, a bulk, an objective and its history", async () => {
    const [fresh, stale] = [lateMs - 31_000, lateMs - 1_511_000];
    await start({ eu: () => fresh, latam: () => stale }, { nowMs: lateMs });
    expect(await ageOf(queryOf("login", "from=2026-01-01T10:00:00Z&step=1m"))).toBe("1511s");
    const query = { id: "a", metric: "lag", filter: { tenant: "brand-a" }, from: "2026-01-01T10:00:00Z", step: "1m" };
    const bulk = await server?.post("/v1/metrics/bulk-query", { queries: [query] });
    expect(bulk?.headers["x-data-freshness"]).toBe("1511s");
    expect(await ageOf("/v1/metrics/slo?tenant=brand-a")).toBe("1511s");
    expect(await ageOf("/v1/metrics/slo/history?slo=login&tenant=brand-a")).toBe("1511s");
  });

  test("is the same whether its points are read or cached, the older or the newer ones", async () => {
    await start({ eu: () => lateMs - 1_511_000 }, { nowMs: lateMs });
    const recent = queryOf("lag", "agg=max&from=2026-01-01T11:30:00Z&to=2026-01-01T12:30:00Z&step=1m");
    const whole = queryOf("lag", "agg=max&from=2026-01-01T10:00:00Z&to=2026-01-01T12:30:00Z&step=1m");
    expect([await ageOf(recent), await ageOf(whole), await ageOf(recent)]).toEqual(["1511s", "1511s", "1511s"]);
  });

  test("grows while a response, a point or an objective is cached", async () => {
    const clock = { nowMs: lateMs };
    await start({ eu: () => lateMs - 31_000 }, clock);
    const paths = [
      queryOf("lag", "agg=max&from=2026-01-01T11:30:00Z&to=2026-01-01T12:34:00Z&step=1m"),
      promql("max(max_over_time(lag[1m]))", "start=1767269700&end=1767270840&step=60"),
      "/v1/metrics/slo?tenant=brand-a",
      "/v1/metrics/slo/history?slo=login&tenant=brand-a",
    ];
    const ages = async (): Promise<readonly (string | undefined)[]> => Promise.all(paths.map(ageOf));
    expect(await ages()).toEqual(["31s", "31s", "31s", "31s"]);
    clock.nowMs += 20_000;
    expect(await ages()).toEqual(["51s", "51s", "51s", "51s"]);
  });

  test("is not that of a sample that came after its cached points", async () => {
    const clock = { nowMs: lateMs };
    let newestMs = lateMs - 90_000;
    await start({ eu: () => newestMs }, clock);
    const window = "from=2026-01-01T11:30:00Z&to=2026-01-01T12:34:00Z&step=1m&agg=max";
    expect(await ageOf(queryOf("lag", window))).toBe("90s");
    clock.nowMs += 20_000;
    newestMs = clock.nowMs - 5_000;
    // The grouping does not change the newest sample, and the second query reads neither.
    expect(await ageOf(queryOf("lag", `${window}&limit=7`))).toBe("110s");
  });
});
