import { describe, expect, test } from "vitest";
import { classDefaults } from "../../../../crds/compile/class-defaults.ts";
import type { ClassLimits, MetricLimits } from "../../../../crds/config.ts";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { requestTokens } from "../../../../runtime/metrics/admission/cost.ts";
import { createQuotas, type Quotas } from "../../../../runtime/metrics/admission/quotas.ts";
import { singlePod } from "../../../../runtime/pods/pods.ts";
import type { QuotaClient } from "../../../../runtime/metrics/admission/token-source.ts";

const hourSeconds = 3_600;

function client(limits: Partial<ClassLimits> = {}, perMetric: readonly MetricLimits[] = []): QuotaClient {
  return {
    client: "dashboards",
    queryClass: "A",
    limits: { ...classDefaults.A, burst: 20, maxConcurrent: 20, ...limits },
    perMetric,
  };
}

const costs = (cost: number): ReadonlyMap<string, number> => new Map([["cpu_util", cost]]);

/** How many of `count` requests at once are let in. */
async function admitted(quotas: Quotas, own: QuotaClient, count: number, cost = 0): Promise<number> {
  const refusals = await Promise.all(
    Array.from({ length: count }, () =>
      refusalOf(quotas, { ...own, limits: { ...own.limits, maxConcurrent: count } }, cost),
    ),
  );
  return refusals.filter((refusal) => refusal === undefined).length;
}

async function refusalOf(quotas: Quotas, own: QuotaClient, cost: number, requests = 1): Promise<ApiError | undefined> {
  try {
    (await quotas.admit(own, { requests, costs: costs(cost) }, () => ({ step: "5m" }))).end();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

describe("requests of one client in one class", () => {
  test("are admitted at 10 a second after a burst of 20 (Operational Metrics API §8)", async () => {
    let nowMs = 0;
    const quotas = createQuotas(() => nowMs, singlePod());
    expect(await admitted(quotas, client(), 30)).toBe(20);
    nowMs = 1_000;
    expect(await admitted(quotas, client(), 30)).toBe(10);
    nowMs = 60_000;
    expect(await admitted(quotas, client(), 30)).toBe(20);
  });

  test("are refused with 429, Retry-After and the rest of the quota (Operational Metrics API §6 and §7)", async () => {
    const quotas = createQuotas(() => 0, singlePod());
    await admitted(quotas, client(), 20);
    const refusal = await refusalOf(quotas, client(), 0);
    expect(refusal).toMatchObject({ code: "rate_exceeded", status: 429, retryAfterSeconds: 1 });
    expect(refusal?.headers).toEqual({
      "X-RateLimit-Limit": "20",
      "X-RateLimit-Remaining": "0",
      "X-RateLimit-Reset": "2",
      "RateLimit-Policy": '"requests";q=20;w=2, "cost";q=20000000;qu="cost-units";w=60',
      RateLimit: '"requests";r=0;t=2, "cost";r=20000000;t=0',
    });
  });

  test("are counted separately for each client and class (Operational Metrics API §2.6 and §5.5)", async () => {
    const quotas = createQuotas(() => 0, singlePod());
    await admitted(quotas, client(), 20);
    expect(await admitted(quotas, { ...client(), client: "reports" }, 1)).toBe(1);
    expect(await admitted(quotas, { ...client(), queryClass: "B" }, 1)).toBe(1);
  });

  test("take one more token for each doubling of the window beyond three hours (Operational Metrics API §8)", async () => {
    const windows = [1, 3, 6, 7, 24, 7 * 24, 400 * 24].map((hours) => requestTokens(hours * hourSeconds));
    expect(windows).toEqual([1, 1, 2, 3, 4, 7, 13]);
  });

  test("are admitted with a burst below the tokens of the window, when the bucket is full", async () => {
    const quotas = createQuotas(() => 0, singlePod());
    expect(await refusalOf(quotas, client({ burst: 2 }), 0, 13)).toBeUndefined();
    expect(await refusalOf(quotas, client({ burst: 2 }), 0, 13)).toMatchObject({ code: "rate_exceeded" });
  });
});

describe("cost units", () => {
  const small = client({ costUnitsPerMinute: 600, burstCostUnits: 100 });

  test("are refused before a charge, with the suggestion of a cheaper query (Operational Metrics API §7 and §8)", async () => {
    let nowMs = 0;
    const quotas = createQuotas(() => nowMs, singlePod());
    expect(await refusalOf(quotas, small, 80)).toBeUndefined();
    expect(await refusalOf(quotas, small, 30)).toMatchObject({
      code: "cost_exceeded",
      status: 429,
      retryAfterSeconds: 1,
      suggestion: { step: "5m" },
    });
    nowMs = 1_000;
    expect(await refusalOf(quotas, small, 30)).toBeUndefined();
  });

  test("above a whole burst are refused without Retry-After", async () => {
    const refusal = await refusalOf(
      createQuotas(() => 0, singlePod()),
      small,
      101,
    );
    expect(refusal).toMatchObject({ code: "cost_exceeded", retryAfterSeconds: undefined });
    expect(refusal?.message).toMatch(/the burst limit is 100; waiting does not help; use the suggestion$/u);
  });

  test("above a whole burst have the time of the suggestion in the detail only, if it must wait", async () => {
    const quotas = createQuotas(() => 0, singlePod());
    await refusalOf(quotas, small, 90);
    const cheaper = (share: number) => (share >= 0.5 ? { step: "5m" } : undefined);
    await expect(quotas.admit(small, { requests: 1, costs: costs(120) }, cheaper)).rejects.toMatchObject({
      retryAfterSeconds: undefined,
      suggestion: { step: "5m" },
      message: expect.stringMatching(/waiting does not help; use the suggestion, which fits in 9 s$/u) as string,
    });
    expect((await refusalOf(quotas, small, 30))?.message).toMatch(/are left; use the suggestion or retry later$/u);
  });

  test.each([
    ["whose requests are spent", client({ burst: 1, costUnitsPerMinute: 600, burstCostUnits: 100 })],
    [
      "with as many running requests as allowed",
      client({ maxConcurrent: 1, costUnitsPerMinute: 600, burstCostUnits: 100 }),
    ],
  ])("above a whole burst of a client %s have no Retry-After", async (_state, busy) => {
    const quotas = createQuotas(() => 0, singlePod());
    const running = await quotas.admit(busy, { requests: 1, costs: costs(1) }, () => undefined);
    const refused = { code: "cost_exceeded", retryAfterSeconds: undefined };
    const decided = await quotas.decide(busy, { requests: 1, costs: costs(101) }, () => undefined);
    expect([await refusalOf(quotas, busy, 101), decided.error]).toMatchObject([refused, refused]);
    expect(decided.error?.message).toMatch(/waiting does not help; no coarser step fits; .+ fewer groups$/u);
    expect(await refusalOf(quotas, busy, 1)).toMatchObject({ retryAfterSeconds: 1 });
    running.end();
  });

  test("are settled at the actual cost: a lower one returns tokens, a higher one owes them", async () => {
    const quotas = createQuotas(() => 0, singlePod());
    const first = await quotas.admit(small, { requests: 1, costs: costs(80) }, () => undefined);
    first.settle(costs(10));
    expect(await refusalOf(quotas, small, 90)).toBeUndefined();
    const second = createQuotas(() => 0, singlePod());
    (await second.admit(small, { requests: 1, costs: costs(10) }, () => undefined)).settle(costs(95));
    expect(await refusalOf(second, small, 10)).toMatchObject({ code: "cost_exceeded" });
  });
});

describe("a metric with its own quota (Operational Metrics API §5.5)", () => {
  const bounded = client({}, [
    { metric: "cpu_util", requestsPerSecond: 2 },
    { metric: "kyc_pass_rate", costUnitsPerMinute: 1 },
  ]);

  test("is limited to that quota, and no other metric is", async () => {
    const quotas = createQuotas(() => 0, singlePod());
    expect(await admitted(quotas, bounded, 5, 1)).toBe(2);
    const other = await quotas.admit(
      bounded,
      { requests: 1, costs: new Map([["queue_consumer_lag", 1]]) },
      () => undefined,
    );
    expect(other.headers()["X-RateLimit-Remaining"]).toBe("17");
  });

  test("is named in a refusal by its quota", async () => {
    const quotas = createQuotas(() => 0, singlePod());
    await admitted(quotas, bounded, 2, 1);
    const refusal = await refusalOf(quotas, bounded, 1);
    expect(refusal?.message).toContain("cpu_util");
    expect(refusal?.headers["RateLimit"]).toContain('"requests:cpu_util";r=0;t=1');
  });
});

describe("running requests", () => {
  test("are limited until they end", async () => {
    const quotas = createQuotas(() => 0, singlePod());
    const own = client({ maxConcurrent: 2 });
    const cost = { requests: 1, costs: costs(0) };
    const [first] = [await quotas.admit(own, cost, () => undefined), await quotas.admit(own, cost, () => undefined)];
    expect(await refusalOf(quotas, own, 0)).toMatchObject({ code: "concurrency_exceeded", status: 429 });
    first?.end();
    first?.end();
    expect(await refusalOf(quotas, own, 0)).toBeUndefined();
    await quotas.admit(own, cost, () => undefined);
    expect(await refusalOf(quotas, own, 0)).toMatchObject({ code: "concurrency_exceeded" });
  });

  test("count a bulk once, without its items", async () => {
    const quotas = createQuotas(() => 0, singlePod());
    const own = client({ maxConcurrent: 1 });
    await quotas.admit(own, { requests: 1, costs: costs(0) }, () => undefined);
    expect(await refusalOf(quotas, own, 1, 0)).toBeUndefined();
  });
});
