import { afterEach, describe, expect, test } from "vitest";
import type { ClassLimits, MetricLimits, QuotaConfig, RuntimeConfig } from "../../../../crds/config.ts";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { createMetricsApi, type MetricsApiOptions } from "../../../../runtime/metrics/api/create-metrics-api.ts";
import type { MetricsResponse, MetricsApi } from "../../../../runtime/metrics/metrics-api.ts";
import {
  healthyProbe,
  matrix,
  startScriptedStore,
  success,
  vector,
  type ScriptedStore,
} from "../../stores/scripted-store.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig } from "../oracle/universe.ts";

/** What a doorkeeper lets through to the stores. */

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

interface Running {
  readonly api: MetricsApi;
  readonly store: ScriptedStore;
}

/** A store of one series whose readings count, and a class A with these limits. */
async function run(
  limits: Partial<ClassLimits>,
  options: Partial<MetricsApiOptions> = {},
  perMetric: readonly MetricLimits[] = [],
): Promise<Running & { readonly reads: () => number }> {
  let reads = 0;
  const store = await startScriptedStore(
    healthyProbe((response, request) => {
      reads += 1;
      const isInstant = request.path.endsWith("/query");
      success(isInstant ? vector(String(nowMs / 1_000)) : matrix([nowMs / 1_000, "1"]))(response, request);
    }),
  );
  const stores = [storeConfig({ name: "eu", region: "eu", url: store.url })];
  const config = configOf(stores, [
    metricConfig("lag", stores, { source: { kind: "gauge", name: "lag", matchers: [] } }),
  ]);
  const { classDefaults } = config;
  const own = { ...classDefaults.A, ...limits };
  const limited: RuntimeConfig = {
    ...config,
    classDefaults: { ...classDefaults, A: own },
    quotas: perMetric.length === 0 ? [] : [quotaOf(own, perMetric)],
  };
  const api = createMetricsApi({ config: limited, log: { warn: () => undefined }, now: () => nowMs, ...options });
  closing.push(
    () => api.stop(),
    () => store.close(),
  );
  return { api, store, reads: () => reads };
}

/** Of the whole class: it names no client. */
function quotaOf(limits: ClassLimits, perMetric: readonly MetricLimits[]): QuotaConfig {
  return {
    uid: "q",
    namespace: "metrics",
    name: "a",
    generation: 1,
    specDigest: "",
    class: "A",
    limits,
    perMetric,
    clients: [],
  };
}

function ask(
  { api }: Running,
  from = "2026-01-01T11:00:00Z",
  coarser: readonly [string, string] = ["step", "1m"],
): Promise<MetricsResponse> {
  const step = coarser[0] === "step" ? [] : [["step", "1m"] as const];
  const asked = parameters([["metric", "lag"], ["filter[tenant]", "brand-a"], ["from", from], ...step, coarser]);
  return api.query(asked, everyone, new AbortController().signal, { correlationId: "id", nowMs });
}

async function refusalOf(running: Promise<unknown>): Promise<ApiError> {
  const reason: unknown = await running.then(
    () => new Error("it was answered"),
    (error: unknown) => error,
  );
  if (reason instanceof ApiError) return reason;
  throw reason;
}

describe("a client that has used up its quota", () => {
  test("is refused with the estimate, before any request to a store (Operational Metrics API §6 and §7)", async () => {
    const running = await run({ burst: 1, requestsPerSecond: 1 }, { elapsed: () => 0 });
    await ask(running);
    const before = running.reads();
    const refusal = await refusalOf(ask(running));
    expect(refusal).toMatchObject({ code: "rate_exceeded", status: 429, retryAfterSeconds: 1 });
    expect(refusal.headers).toMatchObject({ "X-Query-Cost-Estimate": "120", "X-RateLimit-Remaining": "0" });
    expect(running.reads()).toBe(before);
  });

  test("gets the suggestion of a cheaper query for its cost (Operational Metrics API §8, backpressure)", async () => {
    const running = await run({ burstCostUnits: 200, costUnitsPerMinute: 60 });
    const refusal = await refusalOf(ask(running, "2026-01-01T08:00:00Z"));
    expect(refusal).toMatchObject({ code: "cost_exceeded", suggestion: { step: "5m", downsample: "5m" } });
    expect(running.reads()).toBe(0);
  });

  test.each([0, 97, 150, 196])(
    "is admitted with the suggestion when %i units were spent before, at once or after the time of the detail",
    async (before) => {
      let elapsedMs = 0;
      const running = await run({ burstCostUnits: 200, costUnitsPerMinute: 60 }, { elapsed: () => elapsedMs });
      const spent = `2026-01-01T${before === 0 ? "11:59" : "11:00"}:00Z`;
      for (let cost = 0; cost + 120 <= before; cost += 120) await ask(running, spent);
      for (let cost = before % 120; cost >= 2; cost -= 2) await ask(running, "2026-01-01T11:59:00Z");
      const dear = "2026-01-01T08:00:00Z";
      const refusal = await refusalOf(ask(running, dear));
      const { step = "", downsample = "" } = refusal.suggestion ?? {};
      expect(step).not.toBe("");
      expect(refusal.retryAfterSeconds).toBeUndefined();
      elapsedMs += Number(/in (\d+) s$/u.exec(refusal.message)?.[1] ?? 0) * 1_000;
      for (const pair of [
        ["step", step],
        ["downsample", downsample],
      ] as const) {
        const cheap = await run({ burstCostUnits: 200, costUnitsPerMinute: 60 });
        expect((await ask(cheap, dear, pair)).status).toBe(200);
      }
      expect((await ask(running, dear, ["step", step])).status).toBe(200);
    },
  );

  test("gets no suggestion when one point is too much", async () => {
    const running = await run({ burstCostUnits: 1, costUnitsPerMinute: 1 });
    const refusal = await refusalOf(ask(running));
    expect(refusal).toMatchObject({ code: "cost_exceeded", suggestion: undefined });
    expect(refusal.message).toMatch(/no coarser step fits; use a shorter window or fewer groups$/u);
  });

  test("gets the headers of its quotas also while too many of its requests run", async () => {
    const running = await run({ maxConcurrent: 1, requestsPerSecond: 10, burst: 20 });
    const [, refusal] = await Promise.all([ask(running), refusalOf(ask(running))]);
    expect(refusal).toMatchObject({ code: "concurrency_exceeded", status: 429 });
    expect(refusal.headers).toMatchObject({
      "X-RateLimit-Limit": "20",
      "X-RateLimit-Remaining": expect.stringMatching(/^(?:19|20)$/u) as string,
    });
  });

  test("is charged the requests of a metric for each item of a bulk, and items are refused alone (Operational Metrics API §5.5)", async () => {
    const running = await run({}, {}, [{ metric: "lag", requestsPerSecond: 2 }]);
    const item = { metric: ["lag"], filter: { tenant: "brand-a" }, from: "2026-01-01T11:00:00Z", step: "1m" };
    const queries = Array.from({ length: 50 }, (_, index) => ({ id: `q-${index}`, ...item }));
    const { status, results } = await running.api.bulk(
      Buffer.from(JSON.stringify({ queries })),
      everyone,
      new AbortController().signal,
      { correlationId: "id", nowMs },
    );
    const ends = results.map((result) => ("response" in result ? result.response.status : result.error.code));
    expect([
      status,
      ends.filter((end) => end === 200).length,
      ends.filter((end) => end === "rate_exceeded").length,
    ]).toEqual([200, 2, 48]);
    expect(await refusalOf(ask(running))).toMatchObject({ code: "rate_exceeded" });
  });

  test("is charged one request for a bulk, in which an item above the quota has its own 429", async () => {
    const running = await run({ burst: 1, requestsPerSecond: 1, burstCostUnits: 200, costUnitsPerMinute: 1 });
    const item = { metric: ["lag"], filter: { tenant: "brand-a" }, step: "1m" };
    const queries = [
      { id: "one", from: "2026-01-01T11:00:00Z", ...item },
      { id: "dear", from: "2026-01-01T06:00:00Z", ...item },
      { id: "two", from: "2026-01-01T11:30:00Z", ...item },
    ];
    const body = Buffer.from(JSON.stringify({ queries }));
    const { results, headers } = await running.api.bulk(body, everyone, new AbortController().signal, {
      correlationId: "id",
      nowMs,
    });
    expect(results.map((result) => ("response" in result ? result.response.status : result.error.code))).toEqual([
      200,
      "cost_exceeded",
      200,
    ]);
    expect(headers).toMatchObject({ "X-RateLimit-Limit": "1", "X-RateLimit-Remaining": "0" });
  });
});

describe("the estimate (Operational Metrics API §6)", () => {
  test("learns from responses of stores, and the response has the actual cost", async () => {
    const running = await run({});
    const grouped = (): Promise<MetricsResponse> => {
      const asked = parameters([
        ["metric", "lag"],
        ["filter[tenant]", "brand-a"],
        ["from", "2026-01-01T11:00:00Z"],
        ["step", "1m"],
        ["group_by", "service"],
      ]);
      return running.api.query(asked, everyone, new AbortController().signal, { correlationId: "id", nowMs });
    };
    const first = await grouped();
    expect(first.headers).toMatchObject({
      "X-Query-Cost-Estimate": String(50 * 2 * 60),
      "X-Query-Cost": String(2 * 60),
    });
    expect((await grouped()).headers).toMatchObject({
      "X-Query-Cost-Estimate": String(2 * 60),
      "X-Query-Cost": String(2 * 60),
    });
  });
});
