import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { classDefaults } from "../../../../crds/compile/class-defaults.ts";
import {
  metricsServerOver,
  nowMs,
  simulated,
  startMetricsServer,
  type HttpAnswer,
  type ScriptedMetricsServer,
} from "./metrics-server.ts";

/**
 * Every limit, header and status that the seed "Operational Metrics API" puts a number or a name to, over HTTP; one row
 * each.
 */

const tenant = "filter[tenant]=brand-a";
const query = (rest: string): string => `/v1/metrics/query?metric=lag&${tenant}${rest}`;
const instant = (rest: string): string => `/v1/metrics/instant?metric=lag&${tenant}${rest}`;
const window = (hours: number): string =>
  `&from=${new Date(nowMs - hours * 3_600_000).toISOString()}&to=${new Date(nowMs).toISOString()}`;
const services = Array.from({ length: 60 }, (_, index) => `s${String(index).padStart(2, "0")}`);

let server: ScriptedMetricsServer;
beforeAll(async () => {
  server = await startMetricsServer({ eu: simulated(() => ({ services })) });
});
afterAll(() => server.close());

interface Body {
  readonly data: readonly { readonly points: readonly (readonly [string, number])[] }[];
  readonly meta: Readonly<Record<string, unknown>>;
}

const bodyOf = (answer: HttpAnswer): Body => {
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  return answer.json() as Body;
};
const as = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });

describe("a request has the response of the seed", () => {
  const rows: readonly (readonly [section: string, sentence: string, url: string, status: number, token?: string])[] = [
    ["§4.1", "one metric id is enough", query(""), 200],
    ["§4.1", "metric is repeatable", `/v1/metrics/query?metric=lag&metric=payments&${tenant}`, 200],
    ["§4.1", "without a metric it is refused", `/v1/metrics/query?${tenant}`, 400],
    ...["avg", "sum", "min", "max"].map((agg) => ["§4.1", `agg=${agg}`, query(`&agg=${agg}`), 200] as const),
    ...["p50", "p95", "p99"].map(
      (agg) =>
        ["§4.1", `agg=${agg} of a histogram`, `/v1/metrics/query?metric=latency&${tenant}&agg=${agg}`, 200] as const,
    ),
    ["§4.7.4", "a percentile of a gauge is refused", query("&agg=p95"), 400],
    ["§4.1", "another agg is refused", query("&agg=p90"), 400],
    ...["1m", "5m", "1h"].map(
      (downsample) => ["§4.1", `downsample=${downsample}`, query(`&downsample=${downsample}`), 200] as const,
    ),
    ["§4.1", "another downsample is refused", query("&downsample=2m"), 400],
    ...["true", "false"].map((word) => ["§4.1", `exemplars=${word}`, query(`&exemplars=${word}`), 200] as const),
    ["§4.1", "another word for exemplars is refused", query("&exemplars=yes"), 400],
    ["§4.1", "one filter for each label", query("&filter[service]=a&filter[region]=eu"), 200],
    ["§4.1", "two filters of one label are refused", query("&filter[service]=a&filter[service]=b"), 400],
    ["§4.1", "a time that is none is refused", query("&from=yesterday"), 400],
    [
      "§4.1",
      "a window that ends before it begins is refused",
      query("&from=2026-01-01T12:00:00Z&to=2026-01-01T11:00:00Z"),
      400,
    ],
    ["§4.1", "page begins at 1", query("&page=0"), 400],
    ["§4.1", "an unknown parameter is refused", query("&resolution=1m"), 400],
    ["§4.3", "instant at a time", instant("&ts=2026-01-01T11:00:00Z"), 200],
    ["§4.3", "instant at now", instant(""), 200],
    ["§4.4", "catalog", "/v1/metrics/catalog", 200],
    ["§4.4", "health", "/v1/metrics/health", 200],
    ["§4.5", "slo of a tenant", "/v1/metrics/slo?tenant=brand-a&domain=auth&region=eu", 200],
    ["§4.6", "schemas", "/v1/schemas", 200],
    ["§4.7.1", "a label outside of the list in group_by", query("&group_by=host"), 400],
    ["§4.7.1", "five labels in group_by", query("&group_by=service,region,environment,tenant,psp"), 400],
    ["§4.7.2", "a step that is none", query("&step=fast"), 400],
    ["§4.7.2", "a step below 10 s", query("&step=9s"), 400],
    ...["userId", "sessionId"].map(
      (label) => ["§2.3", `${label} as a filter`, query(`&filter[${label}]=1`), 400] as const,
    ),
    ...["userId", "sessionId"].map(
      (label) => ["§2.3", `${label} to group by`, query(`&group_by=${label}`), 400] as const,
    ),
    ["§2.3", "a card number as a value", query("&filter[service]=4111111111111111"), 400],
    ["§5.2", "without a tenant", "/v1/metrics/query?metric=lag", 400],
    [
      "§5.3",
      "a tenant that the token does not name",
      `/v1/metrics/query?metric=lag&filter[tenant]=brand-b`,
      403,
      "brandA",
    ],
    ["§5.3", "a scope of something else", query(""), 403, "nobody"],
    ["§8", "limit 50", query("&group_by=service&limit=50"), 200],
    ["§8", "limit 51", query("&group_by=service&limit=51"), 400],
    ["§8", "a public step of a minute", query("&step=1m"), 200, "public"],
    ["§8", "a public step below a minute", query("&step=59s"), 400, "public"],
    ["§9.1", "another version in the path", `/v2/metrics/query?metric=lag&${tenant}`, 404],
  ];
  test.each(
    rows.map(
      ([section, sentence, url, status, token = "everyone"]) => [section, sentence, url, status, token] as const,
    ),
  )("%s: %s", async (_section, _sentence, url, status, token) => {
    const answer = await server.get(url, as(token));
    expect([answer.status, answer.status === status ? "" : answer.text]).toEqual([status, ""]);
  });
});

describe("a response carries the header", () => {
  const rows: readonly (readonly [header: string, shape: RegExp])[] = [
    ["X-Data-Freshness", /^\d+s$/u],
    ["X-Downsample", /^(?:none|\d+[mh])$/u],
    ["X-Partial", /^(?:true|false)$/u],
    ["X-Query-Cost-Estimate", /^\d+$/u],
    ["X-Query-Plan", /points=\d+/u],
    ["X-Query-Cache", /./u],
    ["X-Query-Shards", /asked=\d+, answered=\d+/u],
    ["X-RateLimit-Remaining", /^\d+$/u],
    ["X-Correlation-Id", /./u],
    ["ETag", /^"[\w-]+"$/u],
  ];
  test.each(rows)("%s (§6)", async (header, shape) => {
    for (const url of [query(""), instant("")])
      expect((await server.get(url)).headers[header.toLowerCase()]).toMatch(shape);
  });

  test("X-Downsample as it was applied (§6), and the wider the window, the coarser (§4.7.5 and §8)", async () => {
    const applied = async (rest: string): Promise<unknown> => (await server.get(query(rest))).headers["x-downsample"];
    expect(await applied(window(24))).toBe("none");
    expect(await applied(window(25))).toBe("5m");
    expect(await applied(window(8 * 24))).toBe("1h");
    expect(await applied(`&downsample=5m${window(3)}`)).toBe("5m");
  });
});

describe("a limit of the seed (§8)", () => {
  test("50 series are returned, and more are on the next page", async () => {
    const first = bodyOf(await server.get(query("&group_by=service")));
    expect(first.data).toHaveLength(50);
    expect(first.meta).toMatchObject({ limit: 50, has_more: true, total_series: 60 });
    const second = bodyOf(
      await server.get(query(`&group_by=service&page=2&snapshot=${String(first.meta["snapshot"])}`)),
    );
    expect(second.data).toHaveLength(10);
  });

  test("the default window is 3 hours", async () => {
    const { from, to } = bodyOf(await server.get(query(""))).meta;
    expect(Date.parse(String(to)) - Date.parse(String(from))).toBe(3 * 3_600_000);
  });

  test.each([
    [50, 200],
    [51, 400],
  ])("%d queries in one bulk are %d", async (count, status) => {
    const queries = Array.from({ length: count }, (_, index) => ({
      id: `q${index}`,
      metric: ["lag"],
      filter: { tenant: "brand-a" },
      step: "1m",
    }));
    expect((await server.post("/v1/metrics/bulk-query", { queries })).status).toBe(status);
  });

  test.each(["A", "B", "C"] as const)(
    "class %s: 10 requests a second, 50 series, steps of 10 s, 60 s in memory and 5 min over all pods at most",
    (name) => {
      const {
        requestsPerSecond,
        maxSeries,
        minStepSeconds,
        memorySeconds,
        distributedSeconds = 0,
      } = classDefaults[name];
      expect({ requestsPerSecond, maxSeries, minStepSeconds }).toEqual({
        requestsPerSecond: 10,
        maxSeries: 50,
        minStepSeconds: 10,
      });
      expect(memorySeconds).toBeLessThanOrEqual(60);
      expect(distributedSeconds).toBeLessThanOrEqual(300);
    },
  );

  test("the eleventh request of a second is 429 with what is left and when to come again (§7 and §6)", async () => {
    const own = await startMetricsServer({ eu: simulated(() => ({ services: ["a"] })) });
    const { classDefaults: built } = own.config;
    own.apply({ ...own.config, classDefaults: { ...built, A: { ...built.A, requestsPerSecond: 0.001, burst: 10 } } });
    const answers = [];
    for (let index = 0; index < 11; index += 1) answers.push(await own.get(query("")));
    expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 10 }, () => 200), 429]);
    expect(answers[10]?.headers).toMatchObject({
      "x-ratelimit-remaining": "0",
      "x-query-cost-estimate": expect.stringMatching(/^\d+$/u),
    });
    expect(Number(answers[10]?.headers["retry-after"])).toBeGreaterThan(0);
    await own.close();
  });
});

describe("stores that fail (§7)", () => {
  const both = `/v1/metrics/query?metric=lag&${tenant}`;

  test("are 502 with a larger step or a downsample as suggestion, when all of them do", async () => {
    const own = await startMetricsServer({ eu: (response) => void response.writeHead(500).end("no") });
    const answer = await own.get(both);
    expect(answer.status).toBe(502);
    expect(answer.headers).toMatchObject({
      "x-suggested-step": expect.any(String),
      "x-suggested-downsample": expect.any(String),
    });
    await own.close();
  });

  test.each([["all"], ["one"]])("suggest no cheaper query when the connections of %s are refused", async (which) => {
    const ok = await startMetricsServer({ latam: simulated(() => ({ services: ["a"] })) });
    const refusing = { eu: "http://127.0.0.1:9" };
    const urls = which === "all" ? refusing : { ...refusing, latam: ok.stores[0]?.url ?? "" };
    const own = metricsServerOver(urls, { now: () => nowMs });
    const answer = await own.get(both);
    expect([answer.status, answer.headers["retry-after"]]).toEqual([which === "all" ? 502 : 206, "5"]);
    expect(answer.headers).not.toHaveProperty("x-suggested-step");
    expect(answer.headers).not.toHaveProperty("x-suggested-downsample");
    expect(answer.json()).not.toHaveProperty("suggestion");
    await own.close();
    await ok.close();
  });

  test("are 504 when all of them are late", async () => {
    const own = await startMetricsServer({ eu: () => undefined }, { deadlineMs: 200 });
    const answer = await own.get(both);
    expect(answer.status).toBe(504);
    expect(answer.headers["retry-after"]).toMatch(/^\d+$/u);
    await own.close();
  });

  test("are 206 with X-Partial when some are left", async () => {
    const ok = simulated(() => ({ services: ["a"] }));
    const own = await startMetricsServer({ eu: ok, latam: (response) => void response.writeHead(500).end("no") });
    const answer = await own.get(both);
    expect([answer.status, answer.headers["x-partial"]]).toEqual([206, "true"]);
    await own.close();
  });

  test("are no conflict; a snapshot that is gone is one (409)", async () => {
    expect((await server.get(query("&group_by=service&page=2&snapshot=AAAAAAAAAAAAAAAAAAAAAA"))).status).toBe(409);
  });
});
