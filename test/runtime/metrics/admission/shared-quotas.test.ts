import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { classDefaults } from "../../../../crds/compile/class-defaults.ts";
import type { ClassLimits } from "../../../../crds/config.ts";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { parseAllocationMessage } from "../../../../runtime/metrics/admission/allocation-protocol.ts";
import { type AdmittedRequest, createQuotas, type Quotas } from "../../../../runtime/metrics/admission/quotas.ts";
import type { QuotaClient } from "../../../../runtime/metrics/admission/token-source.ts";
import { ownerOf } from "../../../../runtime/pods/pods.ts";
import { podsOfATest, type PodsOfATest } from "./pods-of-a-test.ts";

const names = ["pod-a", "pod-b", "pod-c"];
const quotaClient = (client: string, limits: Partial<ClassLimits> = {}): QuotaClient => ({
  client,
  queryClass: "A",
  limits: { ...classDefaults.A, requestsPerSecond: 10, burst: 20, maxConcurrent: 1_000, ...limits },
  perMetric: [],
});

interface Cluster {
  readonly pods: PodsOfATest;
  readonly quotas: readonly Quotas[];
  /** Of a client whose home is the pod of this place. */
  readonly clientOf: (place: number) => string;
  nowMs: number;
}

function startCluster(): Cluster {
  const pods = podsOfATest();
  const members = names.map((name) => pods.join(name));
  const clients = Array.from({ length: 64 }, (_, index) => `client-${index}`);
  const clientOf = (place: number): string =>
    clients.find((name) => ownerOf(JSON.stringify([name, "A"]), names) === names[place]) ?? "";
  const cluster: Cluster = { pods, quotas: [], clientOf, nowMs: 1_000_000 };
  return Object.assign(cluster, { quotas: members.map((own) => createQuotas(() => cluster.nowMs, own)) });
}

const quotasOf = ({ quotas }: Cluster, place: number): Quotas => {
  const own = quotas[place];
  if (own === undefined) throw new Error("no such pod");
  return own;
};

async function admit(
  cluster: Cluster,
  place: number,
  own: QuotaClient,
  points = 0,
): Promise<AdmittedRequest | ApiError> {
  try {
    const [quotas, cost] = [quotasOf(cluster, place), { requests: 1, costs: new Map([["cpu_util", points]]) }];
    const headers = points === 0 ? quotas.repeats(own, cost)() : undefined;
    if (headers !== undefined) return { headers: () => headers, settle: () => undefined, end: () => undefined };
    const admitted = await quotas.admit(own, cost, () => undefined);
    admitted.end();
    return admitted;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** Requests that are let in of so many in each millisecond step, spread over the pods as `place` says. */
async function hammer(
  cluster: Cluster,
  own: QuotaClient,
  { seconds, perSecond, place }: { seconds: number; perSecond: number; place: (index: number) => number },
): Promise<number> {
  let admitted = 0;
  for (let index = 0; index < seconds * perSecond; index += 1) {
    cluster.nowMs += 1_000 / perSecond;
    if (!((await admit(cluster, place(index), own)) instanceof ApiError)) admitted += 1;
  }
  return admitted;
}

test("a request is admitted though an earlier one spends its cost while the owner pod responds", async () => {
  const cluster = startCluster();
  const own = quotaClient(cluster.clientOf(0), { costUnitsPerMinute: 6_000, burstCostUnits: 6_000 });
  const quotas = quotasOf(cluster, 1);
  const cost = { requests: 1, costs: new Map([["cpu_util", 10]]) };
  const earlier = await quotas.admit(own, cost, () => undefined);
  const repeat = quotas.repeats(own, cost);
  while (repeat() !== undefined);
  const admitted = quotas.admit(own, cost, () => undefined);
  // This pod had about a sixth of the cost units ahead of use; the owner has the rest.
  earlier.settle(new Map([["cpu_util", 1_000]]));
  await expect(admitted).resolves.toBeDefined();
});

describe("a decision without a charge", () => {
  test("is that of the admission that follows, in any pod", async () => {
    const step = fc.record({ place: fc.nat({ max: 2 }), cost: fc.nat({ max: 60 }), waitMs: fc.nat({ max: 700 }) });
    const counts = { admitted: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
        const cluster = startCluster();
        const limits = { burst: 8, requestsPerSecond: 4, burstCostUnits: 120, costUnitsPerMinute: 3_000 };
        const own = quotaClient(cluster.clientOf(0), limits);
        for (const { place, cost: points, waitMs } of steps) {
          cluster.nowMs += waitMs;
          const cost = { requests: 1, costs: new Map([["cpu_util", points]]) };
          const { error } = await quotasOf(cluster, place).decide(own, cost, () => undefined);
          const answer = await admit(cluster, place, own, points);
          expect(error).toEqual(answer instanceof ApiError ? answer : undefined);
          counts[answer instanceof ApiError ? "refused" : "admitted"] += 1;
        }
      }),
      { seed: 20_261_129, numRuns: 60 },
    );
    expect(Math.min(counts.admitted, counts.refused)).toBeGreaterThan(100);
  });
});

describe("the state of the quotas of a client", () => {
  const costLeft = async (cluster: Cluster, place: number, own: QuotaClient): Promise<unknown> => {
    const { balances, isOfOwner } = await quotasOf(cluster, place).state(own, []);
    return { left: balances.find(({ charge }) => charge.unit === "cost")?.bucket.tokens, isOfOwner };
  };

  test("is the same in every pod, and reading it takes nothing", async () => {
    const cluster = startCluster();
    // Long after the last pod came, so that no bucket is one pod's share.
    cluster.nowMs += 3_600_000;
    const own = quotaClient(cluster.clientOf(0), { burstCostUnits: 1_000, costUnitsPerMinute: 60 });
    await admit(cluster, 0, own, 400);
    for (let time = 0; time < 100; time += 1) {
      for (const place of [0, 1, 2])
        expect(await costLeft(cluster, place, own)).toEqual({ left: 600, isOfOwner: true });
    }
    // A pod that only read the state borrowed nothing: the owner has all 600.
    expect(await admit(cluster, 0, own, 600)).not.toBeInstanceOf(ApiError);
  });

  test("is the share of a pod that cannot reach the owner, and says so", async () => {
    const cluster = startCluster();
    cluster.nowMs += 60_000;
    const own = quotaClient(cluster.clientOf(0), { burstCostUnits: 900, costUnitsPerMinute: 60 });
    cluster.pods.isCut = true;
    expect(await costLeft(cluster, 1, own)).toEqual({ left: 300, isOfOwner: false });
  });
});

const patterns: readonly (readonly [string, (index: number) => number])[] = [
  ["one pod after another", (index) => index % 3],
  ["one pod alone, which is its home", () => 0],
  ["one pod alone, which is not its home", () => 1],
  ["another pod every second", (index) => Math.floor(index / 100) % 3],
  ["mostly one pod", (index) => (index % 10 < 8 ? 1 : index % 3)],
];

describe("one client of 10 requests a second and a burst of 20 that overloads three pods", () => {
  test.each(patterns)("is admitted within a tenth of its quota over 10 s and over 60 s: %s", async (_, place) => {
    for (const seconds of [10, 60]) {
      const cluster = startCluster();
      // Begun long ago, so that no bucket is that of a pod which has just come.
      cluster.nowMs += 60_000;
      const admitted = await hammer(cluster, quotaClient(cluster.clientOf(0)), { seconds, perSecond: 100, place });
      const quota = 20 + 10 * seconds;
      expect(admitted).toBeGreaterThanOrEqual(quota * 0.9);
      expect(admitted).toBeLessThanOrEqual(quota * 1.1);
    }
  });

  test("is never admitted above its quota, in any pattern of requests", async () => {
    const step = fc.record({ place: fc.nat({ max: 2 }), cost: fc.nat({ max: 40 }), waitMs: fc.nat({ max: 300 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120 }), async (steps) => {
        const cluster = startCluster();
        cluster.nowMs += 120_000;
        const startMs = cluster.nowMs;
        const own = quotaClient(cluster.clientOf(0), { costUnitsPerMinute: 600, burstCostUnits: 100 });
        let [requests, cost] = [0, 0];
        for (const one of steps) {
          cluster.nowMs += one.waitMs;
          if ((await admit(cluster, one.place, own, one.cost)) instanceof ApiError) continue;
          requests += 1;
          cost += one.cost;
        }
        const seconds = (cluster.nowMs - startMs) / 1_000;
        // Tokens that were lent ahead come on top of a home that fills up meanwhile: a part of a pod's share for each
        // pod.
        expect(requests).toBeLessThanOrEqual(20 + 10 * seconds + 2 * (20 / 6));
        expect(cost).toBeLessThanOrEqual(100 + 10 * seconds + 2 * (100 / 6));
      }),
      { numRuns: 60 },
    );
  });

  test("causes far fewer messages between pods than requests", async () => {
    const cluster = startCluster();
    cluster.nowMs += 60_000;
    await hammer(cluster, quotaClient(cluster.clientOf(0)), { seconds: 10, perSecond: 200, place: () => 1 });
    expect(cluster.pods.sent()).toBeLessThan(300);
  });
});

describe("a pod that does not own the buckets of a client", () => {
  test("sends headers with the rest of the whole quota", async () => {
    const cluster = startCluster();
    cluster.nowMs += 60_000;
    const own = quotaClient(cluster.clientOf(0));
    for (let index = 0; index < 5; index += 1) await admit(cluster, 0, own);
    const admitted = await admit(cluster, 1, own);
    if (admitted instanceof ApiError) throw admitted;
    expect(admitted.headers()["X-RateLimit-Remaining"]).toBe("14");
  });

  test("returns unused tokens when it stops", async () => {
    const cluster = startCluster();
    cluster.nowMs += 60_000;
    const own = quotaClient(cluster.clientOf(0));
    await admit(cluster, 1, own);
    quotasOf(cluster, 1).stop();
    const left = await Promise.all(Array.from({ length: 25 }, () => admit(cluster, 0, own)));
    expect(left.filter((one) => !(one instanceof ApiError))).toHaveLength(19);
  });

  test("charges the whole quota the actual cost of a query, above or below the estimate", async () => {
    const cluster = startCluster();
    cluster.nowMs += 600_000;
    const own = quotaClient(cluster.clientOf(0), { costUnitsPerMinute: 60, burstCostUnits: 100 });
    const dear = await admit(cluster, 1, own, 10);
    if (dear instanceof ApiError) throw dear;
    dear.settle(new Map([["cpu_util", 90]]));
    expect(await admit(cluster, 1, own, 20)).toMatchObject({ code: "cost_exceeded" });
    quotasOf(cluster, 1).stop();
    expect(await admit(cluster, 0, own, 11)).toMatchObject({ code: "cost_exceeded" });
    expect(await admit(cluster, 0, own, 10)).not.toBeInstanceOf(ApiError);
  });
});

describe("pods without a connection to each other", () => {
  test.each([
    ["its home", 0],
    ["another", 1],
  ])("admit one pod's share of a client's requests each: %s", async (_, place) => {
    const cluster = startCluster();
    cluster.nowMs += 60_000;
    cluster.pods.isCut = true;
    const own = quotaClient(cluster.clientOf(0));
    const admitted = await hammer(cluster, own, { seconds: 30, perSecond: 100, place: () => place });
    expect(admitted).toBeGreaterThanOrEqual((20 + 10 * 30) / 3 - 2);
    expect(admitted).toBeLessThanOrEqual((20 + 10 * 30) / 3 + 2);
  });

  test("share one quota again after they reconnect", async () => {
    const cluster = startCluster();
    cluster.nowMs += 60_000;
    const own = quotaClient(cluster.clientOf(0));
    cluster.pods.isCut = true;
    await hammer(cluster, own, { seconds: 5, perSecond: 100, place: (index) => index % 3 });
    cluster.pods.isCut = false;
    cluster.nowMs += 10_000;
    const admitted = await hammer(cluster, own, { seconds: 10, perSecond: 100, place: (index) => index % 3 });
    expect(admitted).toBeGreaterThanOrEqual(108);
    expect(admitted).toBeLessThanOrEqual(132);
  });

  test("admit a window with the tokens of a whole burst once one pod's share is full", async () => {
    const cluster = startCluster();
    cluster.pods.isCut = true;
    const own = quotaClient(cluster.clientOf(0));
    const admitted = await quotasOf(cluster, 1).admit(own, { requests: 20, costs: new Map() }, () => undefined);
    expect(admitted.headers()["X-RateLimit-Remaining"]).toBe("0");
    await expect(
      quotasOf(cluster, 1).admit(own, { requests: 1, costs: new Map() }, () => undefined),
    ).rejects.toMatchObject({ code: "rate_exceeded" });
  });
});

test("a client whose owner pod ends begins anew with one pod's share at the time of the change", async () => {
  const cluster = startCluster();
  cluster.nowMs += 60_000;
  const own = quotaClient(cluster.clientOf(0));
  await hammer(cluster, own, { seconds: 5, perSecond: 100, place: (index) => index % 3 });
  cluster.pods.lose("pod-a");
  const admitted = await hammer(cluster, own, { seconds: 10, perSecond: 100, place: (index) => 1 + (index % 2) });
  expect(admitted).toBeGreaterThanOrEqual(90);
  expect(admitted).toBeLessThanOrEqual(100 + 20 / 3 + 12);
});

describe("a message of another pod about quotas", () => {
  const allocation = { key: "k", count: 1, perSecond: 1, burst: 1 };
  test.each([
    ["nothing", undefined],
    ["a word", "borrow"],
    ["no list", { borrow: 1, back: [], pods: 1 }],
    ["an allocation request without a key", { borrow: [{ ...allocation, key: 1 }], back: [], pods: 1 }],
    ["an allocation request of less than nothing", { borrow: [{ ...allocation, count: -1 }], back: [], pods: 1 }],
    ["a rate that is no number", { borrow: [{ ...allocation, perSecond: null }], back: [], pods: 1 }],
    [
      "more allocation requests than one message has",
      { borrow: Array.from({ length: 257 }, () => allocation), back: [], pods: 1 },
    ],
  ])("is not applied when it is %s", (_, message) => {
    expect(parseAllocationMessage(message)).toBeUndefined();
  });
});
