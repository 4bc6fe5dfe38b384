import * as fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ClassLimits, RuntimeConfig } from "../../../../crds/config.ts";
import { faultsIn } from "../openapi/strict-schema.ts";
import { nowMs, simulated, startMetricsServer, type HttpAnswer, type ScriptedMetricsServer } from "./metrics-server.ts";

const seed = 20_261_127;
const runs = 120;
const abc = { services: ["a", "b", "c"] };

interface Refused {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly errors: readonly object[];
  readonly suggestion: { readonly step?: string; readonly query?: string } | null;
}

interface PlanBody {
  readonly allowed: boolean;
  readonly class: string | null;
  readonly cost: number | null;
  readonly points: number | null;
  readonly regions: readonly object[];
  readonly cache: { readonly expected: string | null } | null;
  readonly budget: { readonly remaining: number; readonly limit: number; readonly reset_seconds: number };
  readonly expression: string | null;
  readonly refusal: Refused | null;
}

const bodyOf = (answer: HttpAnswer): PlanBody => answer.json() as PlanBody;

/** The same configuration with other limits of every class. */
function limited(config: RuntimeConfig, limits: Partial<ClassLimits>): RuntimeConfig {
  const { A, B, C } = config.classDefaults;
  return { ...config, classDefaults: { A: { ...A, ...limits }, B: { ...B, ...limits }, C: { ...C, ...limits } } };
}

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

interface Clocked extends ScriptedMetricsServer {
  /** Moves the clock of the quotas. */
  readonly pass: (ms: number) => void;
}

async function startLimited(limits: Partial<ClassLimits>): Promise<Clocked> {
  let elapsedMs = 0;
  const server = await startMetricsServer(
    { eu: simulated(() => abc), latam: simulated(() => abc) },
    { elapsed: () => elapsedMs },
  );
  closing.push(() => server.close());
  server.apply(limited(server.config, limits));
  return { ...server, pass: (ms) => (elapsedMs += ms) };
}

const optional = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined, freq: 2 });

/** Queries of which some are refused at each step of their way. */
const randomQuery = fc.record({
  metric: fc.subarray(["lag", "payments", "login", "latency", "old_lag", "gone_lag", "nothing"], {
    minLength: 1,
    maxLength: 2,
  }),
  agg: optional(fc.constantFrom("avg", "avg", "sum", "p99", "most")),
  step: optional(fc.constantFrom("1s", "60s", "77s", "5m", "1h")),
  downsample: optional(fc.constantFrom("1m", "5m", "2m")),
  group_by: optional(fc.constantFrom("service", "service,region", "psp")),
  "filter[region]": fc.constantFrom("eu", "latam", undefined, undefined, "mars"),
  "filter[tenant]": fc.constantFrom("brand-a", "brand-a", "brand-b", "brand-b", undefined),
  hours: fc.constantFrom(0.01, 1, 3, 5, 12, 30, 24 * 500),
  limit: optional(fc.constantFrom("1", "10", "900")),
});

function pathOf({ hours, metric, ...others }: Readonly<Record<string, unknown>>): string {
  const params = new URLSearchParams();
  for (const id of metric as readonly string[]) params.append("metric", id);
  params.set("from", new Date(nowMs - Number(hours) * 3_600_000).toISOString());
  for (const [name, value] of Object.entries(others)) if (typeof value === "string") params.set(name, value);
  return params.toString();
}

/** What a caller is told before the stores are read. */
interface Told {
  readonly allowed: boolean;
  readonly cost: string | undefined;
  readonly refusal: object | undefined;
}

function toldByPlan(planned: HttpAnswer): Told {
  const { allowed, cost, refusal } = bodyOf(planned);
  if (refusal === null) return { allowed, cost: cost === null ? undefined : String(cost), refusal: undefined };
  const { code, status, title, detail, errors, suggestion } = refusal;
  const { query: _query, ...others } = suggestion ?? {};
  const own = { code, status, title, detail, errors, suggestion: suggestion === null ? undefined : others };
  return { allowed, cost: cost === null ? undefined : String(cost), refusal: own };
}

function toldByQuery({ status, headers, json }: HttpAnswer): Told {
  const cost = headers["x-query-cost-estimate"];
  if (status === 200) return { allowed: true, cost, refusal: undefined };
  const { code, title, detail, errors, suggestion } = json() as Readonly<Record<string, unknown>>;
  return { allowed: false, cost, refusal: { code, status, title, detail, errors, suggestion } };
}

describe("a plan", () => {
  test(`tells what the query at the same time is told, over ${runs} random queries`, { timeout: 60_000 }, async () => {
    const server = await startLimited({
      burst: 5,
      requestsPerSecond: 2,
      burstCostUnits: 6_000,
      costUnitsPerMinute: 60_000,
      maxWindowSeconds: 30 * 86_400,
    });
    const seen = new Set<string>();
    let followed = 0;
    const asked = fc.record({ query: randomQuery, pauseMs: fc.constantFrom(0, 0, 200, 2_000, 60_000) });
    await fc.assert(
      fc.asyncProperty(asked, async ({ query, pauseMs }) => {
        server.pass(pauseMs);
        const path = pathOf(query);
        const planned = await server.get(`/v1/metrics/plan?${path}`);
        const answer = toldByQuery(await server.get(`/v1/metrics/query?${path}`));
        // A plan itself is refused without a request token, as most queries are then.
        expect(planned.status === 429 ? answer : toldByPlan(planned)).toEqual(answer);
        expect(planned.status === 429 ? [] : faultsIn(planned.json(), "PlanAnswer")).toEqual([]);
        seen.add(planned.status === 429 ? "none" : (bodyOf(planned).refusal?.code ?? "allowed"));
        const cheaper = planned.status === 429 ? undefined : bodyOf(planned).refusal?.suggestion?.query;
        const statuses = cheaper === undefined ? [] : [(await server.get(`/v1/metrics/query?${cheaper}`)).status];
        expect(statuses).toEqual(statuses.map(() => 200));
        followed += statuses.length;
      }),
      { seed, numRuns: runs },
    );
    const codes = ["allowed", "cost_exceeded", "rate_exceeded", "unknown_metric", "metric_gone", "invalid_step"];
    expect([...seen]).toEqual(expect.arrayContaining(codes));
    expect(followed).toBeGreaterThan(1);
  });

  test("reads no store and charges one request and no cost units", async () => {
    const server = await startLimited({ burst: 10, requestsPerSecond: 1, burstCostUnits: 50_000 });
    await server.get("/v1/metrics/query?metric=lag&filter[tenant]=brand-a");
    const reads = server.stores.map(({ requests }) => requests.length);
    const path = "metric=lag&filter[tenant]=brand-a&group_by=service&from=2025-12-31T12:00:00Z";
    const [before, after] = [
      await server.get(`/v1/metrics/plan?${path}`),
      await server.get(`/v1/metrics/plan?${path}`),
    ];
    expect(server.stores.map(({ requests }) => requests.length)).toEqual(reads);
    expect(bodyOf(before).budget).toEqual(bodyOf(after).budget);
    const remaining = (answer: HttpAnswer): number => Number(answer.headers["x-ratelimit-remaining"]);
    expect(remaining(before) - remaining(after)).toBe(1);
  });

  test("names regions with their stores, and neither stores nor series", async () => {
    const server = await startLimited({});
    const planned = await server.get("/v1/metrics/plan?metric=lag&metric=latency&filter[tenant]=brand-a");
    expect(bodyOf(planned).regions).toEqual([
      { region: "eu", stores: 1 },
      { region: "latam", stores: 1 },
    ]);
    expect(planned.text).not.toMatch(/_bucket|127\.0\.0\.1|le=/u);
  });

  test("expects the points that this pod has in memory", async () => {
    const server = await startLimited({ memorySeconds: 60, hotTailSeconds: 30 });
    const path = (from: string, to: string): string =>
      `metric=lag&filter[tenant]=brand-a&step=1m&from=2026-01-01T${from}:00Z&to=2026-01-01T${to}:00Z`;
    const expected = async (from: string, to: string): Promise<unknown> =>
      bodyOf(await server.get(`/v1/metrics/plan?${path(from, to)}`)).cache?.expected;
    expect(await expected("11:00", "11:30")).toBe("miss");
    await server.get(`/v1/metrics/query?${path("11:00", "11:30")}`);
    expect(await expected("11:00", "11:30")).toBe("hit");
    expect(await expected("11:10", "11:20")).toBe("hit");
    expect(await expected("11:10", "11:50")).toBe("partial");
    expect(await expected("10:00", "10:30")).toBe("miss");
    server.apply(limited(server.config, { memorySeconds: 0 }));
    expect(await expected("11:00", "11:30")).toBeNull();
  });

  test("of a refused query is 200, and that of a caller without the scope is not", async () => {
    const server = await startLimited({});
    const refused = await server.get("/v1/metrics/plan?metric=nothing");
    expect([refused.status, bodyOf(refused)]).toMatchObject([200, { allowed: false, class: "C", cost: null }]);
    const explained = await server.get("/v1/metrics/plan?metric=lag&filter[tenant]=brand-a&explain=true");
    expect(bodyOf(explained).refusal?.code).toBe("scope_missing");
    const nobody = await server.get("/v1/metrics/plan?metric=lag", { authorization: "Bearer nobody" });
    expect(nobody.status).toBe(403);
  });
});

describe("a plan of a query that is rejected before it has one", () => {
  test.each([
    ["a wrong step", "metric=lag&step=1s"],
    ["a reversed window", "metric=lag&from=2026-01-01T11:00:00Z&to=2026-01-01T10:00:00Z"],
    ["an unknown filter", "metric=lag&filter[nothing]=x"],
    ["no tenant", "metric=lag"],
  ])("has the class, the budget and the quotas of its metric for %s", async (_fault, pairs) => {
    const server = await startLimited({});
    const tenant = pairs === "metric=lag" ? "" : "&filter[tenant]=brand-a";
    const [valid, rejected] = [
      await server.get("/v1/metrics/plan?metric=lag&filter[tenant]=brand-a"),
      await server.get(`/v1/metrics/plan?${pairs}${tenant}`),
    ];
    expect([bodyOf(valid).allowed, bodyOf(rejected).allowed]).toEqual([true, false]);
    const paidBy = (answer: HttpAnswer) => [
      bodyOf(answer).class,
      bodyOf(answer).budget.limit,
      answer.headers["ratelimit-policy"],
    ];
    expect(paidBy(rejected)).toEqual(paidBy(valid));
  });

  test("does not reveal the class of a metric that the caller may not read", async () => {
    const server = await startLimited({});
    const { config } = server;
    const restricted = {
      ...config,
      catalogs: config.catalogs.map((catalog) => ({
        ...catalog,
        metrics: catalog.metrics.map((metric) => ({
          ...metric,
          requiredRole: "nobody-has-it",
          sensitivity: "finance" as const,
        })),
      })),
    };
    server.apply(restricted);
    expect(bodyOf(await server.get("/v1/metrics/plan?metric=lag&filter[tenant]=brand-a"))).toMatchObject({
      class: "C",
      refusal: { code: "role_missing" },
    });
  });
});

describe("the quotas of a caller", () => {
  interface Quota {
    readonly class: string;
    readonly client: string;
    readonly requests: { readonly remaining: number };
    readonly cost: { readonly remaining: number };
    readonly concurrent: { readonly limit: number; readonly used: number };
    readonly known_by: string;
  }
  const quotaOf = async (server: ScriptedMetricsServer): Promise<Quota> => {
    const answer = await server.get("/v1/metrics/quota");
    expect([answer.status, faultsIn(answer.json(), "QuotaAnswer")]).toEqual([200, []]);
    const { data } = answer.json() as { readonly data: readonly [Quota] };
    expect(data).toHaveLength(1);
    return data[0];
  };

  test("are those that the next query is paid from, and are read without a charge", async () => {
    const server = await startLimited({ burst: 10, requestsPerSecond: 1, burstCostUnits: 50_000 });
    const full = await quotaOf(server);
    expect(full).toMatchObject({
      class: "A",
      client: "test",
      requests: { limit_per_second: 1, burst: 10, remaining: 10 },
      cost: { burst: 50_000, remaining: 50_000 },
      concurrent: { used: 0 },
      known_by: "home_pod",
    });
    expect(await quotaOf(server)).toEqual(full);
    const answer = await server.get("/v1/metrics/query?metric=lag&filter[tenant]=brand-a&group_by=service");
    const after = await quotaOf(server);
    expect(after.requests.remaining).toBe(Number(answer.headers["x-ratelimit-remaining"]));
    expect(after.cost.remaining).toBe(50_000 - Number(answer.headers["x-query-cost"]));
  });

  test("have an item for each class of the caller's metrics, with the limits of single metrics", async () => {
    const server = await startLimited({});
    const { config } = server;
    const catalogs = config.catalogs.map((catalog) => ({
      ...catalog,
      metrics: catalog.metrics.map((metric) =>
        metric.id === "latency" ? { ...metric, queryClass: "C" as const } : metric,
      ),
    }));
    const quota = { uid: "q", namespace: "metrics", name: "a", generation: 1, specDigest: "", clients: [] };
    const perMetric = [
      { metric: "lag", costUnitsPerMinute: 600 },
      { metric: "latency", requestsPerSecond: 3 },
    ];
    const quotas = [{ ...quota, class: "A" as const, limits: config.classDefaults.A, perMetric }];
    server.apply({ ...config, catalogs, quotas });
    const { data } = (await server.get("/v1/metrics/quota")).json() as { readonly data: readonly object[] };
    expect(data).toMatchObject([
      { class: "A", metrics: [{ metric: "lag", requests: null, cost: { limit_per_minute: 600, remaining: 600 } }] },
      { class: "C", metrics: [] },
    ]);
  });

  test("take no parameters", async () => {
    const server = await startLimited({});
    expect((await server.get("/v1/metrics/quota?client=other")).status).toBe(400);
  });
});

describe("the values of a label", () => {
  let server: ScriptedMetricsServer;
  beforeAll(async () => {
    server = await startMetricsServer({ eu: simulated(() => abc), latam: simulated(() => ({ services: ["b", "d"] })) });
  });
  afterAll(async () => server.close());
  const codeOf = (answer: HttpAnswer): unknown => [answer.status, (answer.json() as { readonly code: string }).code];

  test("are those of all regions, sorted", async () => {
    const answer = await server.get("/v1/metrics/labels/service/values?metric=lag&tenant=brand-a");
    expect(faultsIn(answer.json(), "LabelValuesAnswer")).toEqual([]);
    expect(answer.json()).toMatchObject({ meta: { partial: false } });
    expect(Number(answer.headers["x-query-cost-estimate"])).toBeGreaterThan(0);
  });

  test("of a region and a tenant are the ones that the caller may read", async () => {
    const read = async (label: string, token: string): Promise<unknown> =>
      (
        await server.get(`/v1/metrics/labels/${label}/values?metric=lag&tenant=brand-a`, {
          authorization: `Bearer ${token}`,
        })
      ).json();
    expect(await read("region", "everyone")).toMatchObject({ data: ["eu", "latam"] });
    expect(await read("region", "brandA")).toMatchObject({ data: ["eu"] });
    expect(await read("tenant", "brandA")).toMatchObject({ data: ["brand-a"] });
  });

  test("of a label that a metric lacks are none, with a hint that names those it has", async () => {
    const read = async (url: string): Promise<unknown> => (await server.get(url)).json();
    const url = "/v1/metrics/labels/psp/values?metric=lag&tenant=brand-a";
    const hint = expect.stringMatching(/^lag has no label psp; use one of .*service/u) as string;
    expect(await read(url)).toMatchObject({ data: [], meta: { hints: [hint] } });
    const match = encodeURIComponent('lag{tenant="brand-a"}');
    expect(await read(`/prometheus/api/v1/label/psp/values?match[]=${match}`)).toMatchObject({ warnings: [hint] });
    expect(await read("/prometheus/api/v1/label/psp/values?tenant=brand-a")).not.toHaveProperty("warnings");
    expect(await read("/v1/metrics/labels/service/values?metric=lag&tenant=brand-a")).not.toHaveProperty("meta.hints");
  });

  const rows: readonly (readonly [sentence: string, path: string, code: unknown])[] = [
    ["of an unknown label", "nothing/values?metric=lag&tenant=brand-a", [400, "invalid_request"]],
    ["without a metric", "service/values?tenant=brand-a", [400, "invalid_request"]],
    ["of an unknown metric", "service/values?metric=nothing&tenant=brand-a", [400, "unknown_metric"]],
    ["with an unknown parameter", "service/values?metric=lag&tenant=brand-a&step=1m", [400, "unknown_parameter"]],
    [
      "filtered by a label that the metric lacks",
      "region/values?metric=lag&tenant=brand-a&filter[psp]=x",
      [400, "invalid_filter"],
    ],
    [
      "that end before they begin",
      "service/values?metric=lag&tenant=brand-a&from=2026-01-02T00:00:00Z",
      [400, "invalid_window"],
    ],
    [
      "of a region that no store has",
      "service/values?metric=lag&tenant=brand-a&filter_in[region]=eu&filter_in[region]=mars",
      [400, "invalid_filter"],
    ],
    ["without a tenant", "service/values?metric=lag", [400, "tenant_required"]],
  ];
  test.each(rows)("%s are refused", async (_sentence, path, code) => {
    expect(codeOf(await server.get(`/v1/metrics/labels/${path}`))).toEqual(code);
  });

  test("of another tenant are refused", async () => {
    const answer = await server.get("/v1/metrics/labels/service/values?metric=lag&tenant=brand-b", {
      authorization: "Bearer brandA",
    });
    expect(codeOf(answer)).toEqual([403, "tenant_forbidden"]);
    expect((await server.get("/v1/metrics/labels/service/values?metric=lag", {})).status).toBe(401);
  });
});
