import { afterEach, describe, expect, test } from "vitest";
import { rankedValue } from "../../../../runtime/metrics/reads/rank-series.ts";
import { faultsIn } from "../../http/openapi/strict-schema.ts";
import {
  type HttpAnswer,
  type ScriptedMetricsServer,
  simulated,
  startMetricsServer,
} from "../../http/routes/metrics-server.ts";

/** Queries with `top`: what is ranked, in which order, and what is left of the others. */

let server: ScriptedMetricsServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

interface Item {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [string, number])[];
  readonly rank?: number;
  readonly other?: number;
}
interface Body {
  readonly data: readonly Item[];
  readonly meta: Readonly<Record<string, unknown>> & { readonly total_series: number; readonly top?: object };
}

const url = "/v1/metrics/query?filter%5Btenant%5D=brand-a&step=5m&last=10m&group_by=service";
const bodyOf = (answer: HttpAnswer): Body => {
  expect([answer.status, answer.status === 200 ? "" : answer.text]).toEqual([200, ""]);
  expect(faultsIn(answer.json(), "QueryAnswer")).toEqual([]);
  return answer.json() as Body;
};
const codeOf = (answer: HttpAnswer): unknown => (answer.json() as { readonly code?: string }).code;
const get = async (pairs: string): Promise<HttpAnswer> => (await server?.get(`${url}&${pairs}`)) as HttpAnswer;
const short = ({ labels, points, rank, other }: Item) => [labels["service"], points.at(-1)?.[1], rank ?? { other }];

/** Series of two stores: no store has the greatest series of both together at the top. */
async function start(eu: Readonly<Record<string, number>>, us: Readonly<Record<string, number>> = {}): Promise<void> {
  const holding = (own: Readonly<Record<string, number>>) =>
    simulated(() => ({ services: Object.keys(own), value: (place) => Object.values(own)[place] ?? 0 }));
  server = await startMetricsServer({ eu: holding(eu), us: holding(us) });
}

const two = [
  { a: 10, b: 1, c: 7, d: 2 },
  { a: 1, b: 11, c: 8, e: 3 },
] as const;

describe("top", () => {
  test("ranks after the merge: the greatest series is at the top of no single store", async () => {
    await start(...two);
    const { data, meta } = bodyOf(await get("metric=lag&agg=sum&top=2"));
    expect(data.map(short)).toEqual([
      ["c", 15, 1],
      ["b", 12, 2],
      [undefined, 16, { other: 3 }],
    ]);
    expect(meta).toMatchObject({
      total_series: 3,
      top: { count: 2, by: "max", order: "desc", metrics: [{ metric: "lag", candidates: 5, omitted: 3 }] },
    });
  });

  test("asks each store for all groups: no store ranks", async () => {
    await start(...two);
    await get("metric=lag&agg=sum&top=1");
    const sent = server?.stores.flatMap(({ requests }) => requests.map(({ form }) => form.get("query") ?? "")) ?? [];
    expect(sent.filter((query) => query.startsWith("sum by(service)")).length).toBeGreaterThanOrEqual(2);
    expect(sent.filter((query) => /topk|limitk|sort/u.test(query))).toEqual([]);
  });

  test("in ascending order has the lowest series first", async () => {
    await start(...two);
    const { data } = bodyOf(await get("metric=lag&agg=sum&top=2&order=asc&by=last"));
    expect(data.map(short)).toEqual([
      ["d", 2, 1],
      ["e", 3, 2],
      [undefined, 38, { other: 3 }],
    ]);
  });

  test.each(["desc", "asc"])("orders equal series by their labels, %s", async (order) => {
    await start({ d: 4, b: 4, a: 4, c: 4 });
    const { data } = bodyOf(await get(`metric=lag&agg=sum&top=3&order=${order}`));
    expect(data.map(({ labels }) => labels["service"])).toEqual(["a", "b", "c", undefined]);
  });

  test("has no sum of the others where they do not add up, and says why", async () => {
    await start(...two);
    const reasonOf = async (pairs: string): Promise<unknown> => {
      const { data, meta } = bodyOf(await get(`${pairs}&top=2`));
      expect(data).toHaveLength(2);
      return (meta.top as { readonly metrics: readonly { readonly reason?: string }[] }).metrics[0]?.reason;
    };
    expect(await reasonOf("metric=lag&agg=avg")).toBe("averages and ratios of groups do not add up");
    expect(await reasonOf("metric=lag&agg=max")).toBe("minima and maxima of groups do not add up");
    expect(await reasonOf("metric=latency&agg=p95")).toBe("percentiles of groups do not add up");
  });

  test.each([
    ["payments", "sum"],
    ["payments", "avg"],
    ["latency", "sum"],
    ["lag", "sum"],
  ])("of %s by %s has the sum of the others, and all series add up to the whole", async (metric, agg) => {
    await start(...two);
    const sumOf = ({ data }: Body): number => data.reduce((sum, { points }) => sum + (points.at(-1)?.[1] ?? 0), 0);
    const ranked = bodyOf(await get(`metric=${metric}&agg=${agg}&top=2`));
    expect(ranked.data).toHaveLength(3);
    expect(sumOf(ranked)).toBeCloseTo(sumOf(bodyOf(await get(`metric=${metric}&agg=${agg}`))), 9);
  });

  test("as great as all series ranks them and has no other", async () => {
    await start(...two);
    const { data, meta } = bodyOf(await get("metric=lag&agg=sum&top=2000"));
    expect(data.map(({ rank }) => rank)).toEqual([1, 2, 3, 4, 5]);
    expect(meta.top).toMatchObject({ metrics: [{ omitted: 0 }] });
  });

  test("ranks each metric alone, and has them one after another", async () => {
    await start(...two);
    const { data } = bodyOf(await get("metric=payments&metric=lag&agg=sum&top=1"));
    expect(data.map(({ metric, rank, other }) => [metric, rank ?? other])).toEqual([
      ["lag", 1],
      ["lag", 4],
      ["payments", 1],
      ["payments", 4],
    ]);
  });

  test("comes before paging: pages are of one ranking", async () => {
    await start(...two);
    const first = await get("metric=lag&agg=sum&top=3&limit=2");
    const [, next = ""] = /<(.*)>; rel="next"/u.exec(first.headers["link"] ?? "") ?? [];
    const second = (await server?.get(`/v1/metrics/query${next}`)) as HttpAnswer;
    expect([...bodyOf(first).data, ...bodyOf(second).data].map(({ rank, other }) => rank ?? { other })).toEqual([
      1,
      2,
      3,
      { other: 2 },
    ]);
    expect(second.headers["x-query-cache"]).toBe("snapshot");
  });

  test("is served from the cache only to the same ranking", async () => {
    await start(...two);
    const { config, apply } = server as ScriptedMetricsServer;
    const A = { ...config.classDefaults.A, memorySeconds: 30, hotTailSeconds: 5 };
    apply({ ...config, classDefaults: { A, B: A, C: A } });
    const cacheOf = async (pairs: string): Promise<string> =>
      (await get(`metric=lag&agg=sum&${pairs}`)).headers["x-query-cache"] ?? "";
    await cacheOf("top=2");
    expect(await cacheOf("top=2")).toMatch(/^answer/u);
    for (const other of ["top=3", "top=2&by=avg", "top=2&order=asc", "limit=50"])
      expect([other, await cacheOf(other)]).toEqual([other, expect.stringMatching(/^memory/u)]);
  });

  test("of more than 2,000 series is rejected, never approximated, and its reads are charged", async () => {
    const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, 1]));
    await start(names(2_001));
    const rejected = await get("metric=lag&agg=sum&top=5");
    expect([rejected.status, codeOf(rejected)]).toEqual([400, "too_many_candidates"]);
    expect(rejected.text).toContain("2001 series");
    expect(Number(rejected.headers["x-query-cost"])).toBe(4_002);
    await server?.close();
    await start(names(2_000));
    const { data } = bodyOf(await get("metric=lag&agg=sum&top=5"));
    expect(data.map(({ rank, other }) => rank ?? other)).toEqual([1, 2, 3, 4, 5, 1_995]);
  });

  test("has the series of each rank and of the others in CSV", async () => {
    await start(...two);
    const headers = { authorization: "Bearer everyone", accept: "text/csv" };
    const answer = (await server?.get(`${url}&metric=lag&agg=sum&top=1`, headers)) as HttpAnswer;
    expect(answer.text.split("\r\n").filter((line) => !line.includes("T11:55"))).toEqual([
      "metric,service,timestamp,value,rank",
      "lag,c,2026-01-01T12:00:00.000Z,15,1",
      "lag,,2026-01-01T12:00:00.000Z,28,other",
      "",
    ]);
  });

  test.each([
    ["top=0", "top"],
    ["top=2001", "top"],
    ["top=x", "top"],
    ["top=1.5", "top"],
    ["top=1&top=2", "top"],
    ["top=3&by=p99", "by"],
    ["top=3&order=up", "order"],
    ["by=max", "by"],
    ["order=asc", "order"],
  ])("rejects %s", async (pairs, field) => {
    await start({ a: 1 });
    const answer = await get(`metric=lag&${pairs}`);
    expect(answer.json()).toMatchObject({ code: "invalid_top", errors: [{ field }] });
  });

  test("is a part of a bulk", async () => {
    await start(...two);
    const query = {
      id: "q",
      metric: "lag",
      agg: "sum",
      group_by: "service",
      step: "5m",
      filter: { tenant: "brand-a" },
    };
    const answer = (await server?.post("/v1/metrics/bulk-query", {
      queries: [{ ...query, top: 1, by: "avg", order: "asc" }],
    })) as HttpAnswer;
    expect(faultsIn(answer.json(), "BulkAnswer")).toEqual([]);
    expect(answer.json()).toMatchObject({
      results: [{ data: [{ labels: { service: "d" }, rank: 1 }, { other: 4 }], meta: { top: { by: "avg" } } }],
    });
  });

  test("is in the plan, whose cost has all candidates, and in the explanation", async () => {
    await start(...two);
    const planUrl = url.replace("/query?", "/plan?");
    const plan = (await server?.get(`${planUrl}&metric=lag&agg=sum&top=2`)) as HttpAnswer;
    expect(faultsIn(plan.json(), "PlanAnswer")).toEqual([]);
    expect(plan.json()).toMatchObject({
      top: { count: 2, by: "max", order: "desc", candidates_max: 2_000 },
      expression: null,
      // A page for each of two stores, at two points: the stores return every series, whatever the ranking leaves.
      cost: 200,
    });
    const explained = await server?.get(`${url}&metric=lag&agg=sum&top=2&explain=true`, {
      authorization: "Bearer explainer",
    });
    const { explain } = bodyOf(explained as HttpAnswer) as unknown as { readonly explain: object };
    expect(explain).toMatchObject({ top: [{ metric: "lag", candidates: 5, omitted: 3 }] });
  });
});

describe("the value that a series is ranked by", () => {
  const nan = Number.NaN;
  test.each([
    ["max", [1, 3, 2], 3],
    ["avg", [1, 3, 2], 2],
    ["last", [1, 3, 2], 2],
    ["max", [nan, -3, nan, -5], -3],
    ["avg", [nan, 4, nan, 8], 6],
    ["last", [7, 4, nan, nan], 4],
    ["max", [1, Infinity], 1],
    ["avg", [-Infinity, 5], 5],
    ["last", [2, -Infinity], 2],
    ["avg", [1e308, 1e308], 1e308],
    ["max", [nan, Infinity], nan],
    ["avg", [], nan],
    ["last", [nan], nan],
  ] as const)("by %s of %j is %d", (by, values, wanted) => {
    expect(rankedValue(Float64Array.from(values), by)).toBe(wanted);
  });
});
