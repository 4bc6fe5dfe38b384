import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { faultsIn } from "../openapi/strict-schema.ts";
import { json } from "../../stores/scripted-store.ts";
import {
  simulated,
  startMetricsServer,
  type HttpAnswer,
  type MetricsServer,
  type ScriptedMetricsServer,
} from "./metrics-server.ts";
import { stallMsMax } from "../../../support/wait.ts";

const abc = { services: ["a", "b", "c"] };
const authorized = (token: string, more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${token}`,
  ...more,
});
const window = "from=2026-01-01T11:50:00Z&to=2026-01-01T12:00:00Z";
const lag = `/v1/metrics/query?metric=lag&filter[tenant]=brand-a&filter[region]=eu&${window}`;

interface Page {
  readonly data: readonly { readonly labels: Readonly<Record<string, string>>; readonly points: readonly unknown[] }[];
  readonly meta: Readonly<Record<string, unknown>>;
}
const pageOf = (answer: HttpAnswer): Page => answer.json() as Page;
const codeOf = (answer: HttpAnswer): string => (answer.json() as { readonly code: string }).code;

let server: MetricsServer;
beforeAll(async () => {
  server = await startMetricsServer({ eu: simulated(() => abc), latam: simulated(() => abc) });
});
afterAll(async () => server.close());

const others: MetricsServer[] = [];
const start = async (...args: Parameters<typeof startMetricsServer>): Promise<ScriptedMetricsServer> => {
  const other = await startMetricsServer(...args);
  others.push(other);
  return other;
};
afterEach(async () => {
  await Promise.all(others.splice(0).map((other) => other.close()));
});

describe("a response has the members of its schema and no others (Operational Metrics API §2 and §4)", () => {
  const rows: readonly (readonly [schema: string, url: string, token: string])[] = [
    ["QueryAnswer", `${lag}&group_by=service&exemplars=true`, "everyone"],
    ["QueryAnswer", `${lag}&metric=old_lag&metric=payments`, "everyone"],
    [
      "QueryAnswer",
      `/v1/metrics/query?metric=latency&agg=p99&filter[tenant]=brand-a&group_by=region,service&${window}&explain=true`,
      "explainer",
    ],
    [
      "InstantAnswer",
      "/v1/metrics/instant?metric=lag&metric=latency&filter[tenant]=brand-a&group_by=service&exemplars=true&" +
        "ts=2026-01-01T11:58:00Z",
      "everyone",
    ],
    ["CatalogAnswer", "/v1/metrics/catalog", "everyone"],
    ["HealthAnswer", "/v1/metrics/health", "everyone"],
    ["SloAnswer", "/v1/metrics/slo?tenant=brand-a", "everyone"],
    ["Problem", "/v1/metrics/query?metric=lag&step=1s&filter[tenant]=brand-a", "everyone"],
    ["Problem", "/v1/metrics/nothing", "everyone"],
    ["SchemaCatalog", "/v1/schemas", "everyone"],
    ["Changelog", "/v1/changelog", "everyone"],
  ];
  test.each(rows)("%s of %s", async (schema, url, token) => {
    const answer = await server.get(url, authorized(token));
    expect(faultsIn(answer.json(), schema)).toEqual([]);
    expect(answer.status >= 400).toBe(schema === "Problem");
  });

  test.each([
    ["of numbers", `${lag}&group_by=service`],
    [
      "of percentiles with bounds and exemplars",
      "/v1/metrics/query?metric=latency&agg=p99&filter[tenant]=brand-a&filter[region]=eu&exemplars=true&" +
        `group_by=service&${window}`,
    ],
    ["of no series", `${lag}&group_by=service&page=2`],
  ])("a body %s is spelled as JSON.stringify spells it, alone and in a bulk", async (_name, url) => {
    const { text } = await server.get(url);
    expect(text).toBe(JSON.stringify(JSON.parse(text)));
    const queries = [
      { id: "1", metric: ["lag"], filter: { tenant: "brand-a", region: "eu" } },
      { id: "é", metric: ["payments"], filter: { tenant: "brand-a", region: "eu" } },
      { id: "3", metric: [] },
    ];
    const bulk = await server.post("/v1/metrics/bulk-query", { queries });
    expect(bulk.text).toBe(JSON.stringify(JSON.parse(bulk.text)));
    expect(bulk.headers["content-type"]).toBe("application/json; charset=utf-8");
  });

  test("BulkAnswer of queries that are answered and that are not", async () => {
    const good = { metric: ["lag"], filter: { tenant: "brand-a", region: "eu" } };
    const answer = await server.post("/v1/metrics/bulk-query", {
      queries: [
        { id: "1", ...good },
        { id: "2", ...good, step: "1s" },
      ],
    });
    expect(answer.status).toBe(200);
    expect(faultsIn(answer.json(), "BulkAnswer")).toEqual([]);
  });
});

describe("headers of every response with series (Operational Metrics API §6)", () => {
  test.each(["query", "instant"])("%s", async (route) => {
    const { headers } = await server.get(`/v1/metrics/${route}?metric=lag&filter[tenant]=brand-a&filter[region]=eu`);
    expect(headers).toMatchObject({
      "x-data-freshness": "10s",
      "x-downsample": "none",
      "x-partial": "false",
      "x-query-cost-estimate": expect.stringMatching(/^\d+$/u) as string,
      "x-query-plan": expect.stringContaining("class=A") as string,
      "x-query-cache": "off",
      "x-query-shards": "asked=1, answered=1",
      "server-timing": expect.stringContaining("stores;dur=") as string,
      "x-correlation-id": expect.stringMatching(/^[\w-]+$/u) as string,
    });
  });
});

describe("a format is chosen by Accept", () => {
  test("JSON without one", async () => {
    const { headers } = await server.get(lag);
    expect([headers["content-type"], headers["vary"]]).toEqual([
      "application/json; charset=utf-8",
      "Authorization, Accept, Accept-Encoding",
    ]);
  });

  test("CSV has a row for each point, and its metadata in a header", async () => {
    const answer = await server.get(`${lag}&group_by=service&step=5m`, authorized("everyone", { accept: "text/csv" }));
    expect(answer.headers["content-type"]).toBe("text/csv; charset=utf-8; header=present");
    expect(answer.text.split("\r\n").slice(0, 4)).toEqual([
      "metric,service,timestamp,value",
      "lag,a,2026-01-01T11:55:00.000Z,1",
      "lag,a,2026-01-01T12:00:00.000Z,1",
      "lag,b,2026-01-01T11:55:00.000Z,1",
    ]);
    expect(JSON.parse(answer.headers["x-query-meta"] ?? "")).toMatchObject({ step: "5m", total_series: 3 });
  });

  test("CSV has no label value that a spreadsheet takes for a formula, unless it is to be raw", async () => {
    const services = ["=1+1", "+1", "-1", "@a", "\ta", "\ra", "a=1"];
    const own = await start({ eu: simulated(() => ({ services, value: () => -5 })) });
    const cells = async (more: string): Promise<readonly string[]> => {
      const url = `${lag}&agg=max&group_by=service&step=5m${more}`;
      const { text } = await own.get(url, authorized("everyone", { accept: "text/csv" }));
      return text.split("\r\n").filter((line) => line.includes("T12:00:00"));
    };
    const row = (cell: string): string => `lag,${cell},2026-01-01T12:00:00.000Z,-5`;
    const raw = ["\ta", '"\ra"', "+1", "-1", "=1+1", "@a", "a=1"];
    const neutral = ["'\ta", '"\'\ra"', "'+1", "'-1", "'=1+1", "'@a", "a=1"];
    expect(await cells("")).toEqual(neutral.map(row));
    expect(await cells("&csv=raw")).toEqual(raw.map(row));
    expect(codeOf(await own.get(`${lag}&csv=other`))).toBe("invalid_request");
  });

  test("NDJSON has a line for each series, and the metadata last", async () => {
    const answer = await server.get(
      `${lag}&group_by=service&step=5m`,
      authorized("everyone", { accept: "application/x-ndjson" }),
    );
    const lines = answer.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map((line) => Object.keys(line)[0])).toEqual(["metric", "metric", "metric", "meta"]);
  });

  test("none that is served is 406, and a table has no place for exemplars", async () => {
    expect(codeOf(await server.get(lag, authorized("everyone", { accept: "image/png" })))).toBe("not_acceptable");
    expect(codeOf(await server.get(`${lag}&exemplars=true`, authorized("everyone", { accept: "text/csv" })))).toBe(
      "invalid_request",
    );
  });
});

describe("pages (Operational Metrics API §4.1, limit and page)", () => {
  test("are cut from the data of the first one while the data moves, no series twice or missing", async () => {
    let services = ["a", "b", "c"];
    const moving = await start({ eu: simulated(() => ({ services })) });
    const first = await moving.get(`${lag}&group_by=service&limit=2`);
    expect(pageOf(first).meta).toMatchObject({ page: 1, limit: 2, total_series: 3, has_more: true });
    services = ["0", "a", "b", "c"];
    const [, next = ""] = /<(.*)>; rel="next"/u.exec(first.headers["link"] ?? "") ?? [];
    const second = await moving.get(`/v1/metrics/query${next}`);
    expect([...pageOf(first).data, ...pageOf(second).data].map(({ labels }) => labels["service"])).toEqual([
      "a",
      "b",
      "c",
    ]);
    expect(second.headers).toMatchObject({ "x-query-cache": "snapshot" });
    expect(second.headers["link"]).toBeUndefined();
    expect(pageOf(second).meta["snapshot"]).toBe(pageOf(first).meta["snapshot"]);
  });

  test("of data that is gone are 409 (§7)", async () => {
    const answer = await server.get(`${lag}&group_by=service&limit=2&page=2&snapshot=gone`);
    expect([answer.status, codeOf(answer)]).toEqual([409, "snapshot_gone"]);
  });

  test("hold at most 50 series (§8)", async () => {
    expect(codeOf(await server.get(`${lag}&limit=51`))).toBe("invalid_limit");
    const many = await start({
      eu: simulated(() => ({ services: Array.from({ length: 60 }, (_, index) => `s${index}`) })),
    });
    const { data, meta } = pageOf(await many.get(`${lag}&group_by=service`));
    expect([data.length, meta["has_more"], meta["total_series"]]).toEqual([50, true, 60]);
  });
});

describe("a region that fails (Operational Metrics API §7)", () => {
  const both = `/v1/metrics/query?metric=lag&filter[tenant]=brand-a&${window}`;

  test("is 206 with X-Partial, its state and what to ask instead", async () => {
    const half = await start({ eu: simulated(() => abc), latam: json(500, "broken") });
    const answer = await half.get(both);
    expect(answer.status).toBe(206);
    expect(answer.headers).toMatchObject({
      "x-partial": "true",
      "retry-after": "5",
      "x-suggested-step": "2m",
      "x-suggested-downsample": "5m",
    });
    expect(pageOf(answer).meta).toMatchObject({
      partial: true,
      regions: [
        { region: "eu", state: "ok" },
        { region: "latam", state: "failed" },
      ],
    });
  });

  test("is an error where complete=required", async () => {
    const half = await start({ eu: simulated(() => abc), latam: json(500, "broken") });
    const answer = await half.get(`${both}&complete=required`);
    expect([answer.status, codeOf(answer)]).toEqual([502, "store_failed"]);
    expect((await half.get(`${both}&complete=required&filter[region]=eu`)).status).toBe(200);
  });

  test("with all others is 502 with a suggestion, and late 504", async () => {
    const dead = await start({ eu: json(500, "broken") });
    const failed = await dead.get(lag);
    expect([failed.status, failed.headers["retry-after"], failed.headers["x-suggested-step"]]).toEqual([
      502,
      "5",
      "2m",
    ]);
    const silent = await start({ eu: () => undefined }, { deadlineMs: 100 });
    const late = await silent.get(lag);
    expect([late.status, late.headers["x-suggested-downsample"]]).toEqual([504, "5m"]);
  });
});

describe("a bulk (Operational Metrics API §4.2)", () => {
  const query = {
    metric: ["lag"],
    filter: { tenant: "brand-a", region: "eu" },
    from: "2026-01-01T11:50:00Z",
    to: "2026-01-01T12:00:00Z",
  };
  interface Results {
    readonly results: readonly {
      readonly id: string;
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly data?: unknown;
    }[];
    readonly meta: object;
  }
  const bulk = async (
    on: MetricsServer,
    queries: readonly object[],
  ): Promise<{ readonly answer: HttpAnswer; readonly body: Results }> => {
    const answer = await on.post("/v1/metrics/bulk-query", { queries });
    return { answer, body: answer.json() as Results };
  };

  test("answers each query like a single request", async () => {
    const alone = pageOf(await server.get(lag));
    const { answer, body } = await bulk(server, [
      { id: "good", ...query },
      { id: "bad", ...query, metric: ["nothing"] },
    ]);
    expect(answer.status).toBe(200);
    expect(body.results).toMatchObject([
      { id: "good", status: 200, data: alone.data, headers: { "x-query-shards": "asked=1, answered=1" } },
      { id: "bad", status: 400, error: { code: "unknown_metric", errors: [{ field: "metric" }] } },
    ]);
    expect(body.meta).toMatchObject({ queries: 2, failed: 1, partial: false });
  });

  test("is answered over a connection, whose request ends before its answer begins", async () => {
    const listening = await start({ eu: simulated(() => abc) });
    const url = await listening.app.listen({ host: "127.0.0.1", port: 0 });
    const headers = authorized("everyone", { "content-type": "application/json" });
    const response = await fetch(`${url}/v1/metrics/bulk-query`, {
      method: "POST",
      headers,
      body: JSON.stringify({ queries: [{ id: "1", ...query }] }),
    });
    expect([response.status, await response.json()]).toMatchObject([200, { results: [{ id: "1", status: 200 }] }]);
  });

  test("takes 50 queries and no more (§8), each with an id of its own", async () => {
    const queries = Array.from({ length: 51 }, (_, index) => ({ id: `q${index}`, ...query }));
    expect((await bulk(server, queries.slice(0, 50))).body.results).toHaveLength(50);
    expect((await bulk(server, queries)).answer.status).toBe(400);
    expect(
      (
        await bulk(server, [
          { id: "same", ...query },
          { id: "same", ...query },
        ])
      ).answer.status,
    ).toBe(400);
  });

  test("sends reads that several queries share once, and adds up their costs", async () => {
    const counted = await start({ eu: simulated(() => abc) });
    const { answer, body } = await bulk(
      counted,
      Array.from({ length: 10 }, (_, index) => ({ id: `q${index}`, ...query })),
    );
    const ranges = counted.stores[0]?.requests.filter(({ path }) => path.endsWith("/query_range")) ?? [];
    expect(ranges).toHaveLength(2);
    for (const name of ["x-query-cost-estimate", "x-query-cost"]) {
      const costs = body.results.map(({ headers }) => Number(headers[name]));
      expect(Number(answer.headers[name])).toBe(costs.reduce((sum, cost) => sum + cost, 0));
    }
  });

  test("is 206 when a query is partial or failed upstream, and its other queries are whole", async () => {
    const half = await start({ eu: simulated(() => abc), latam: json(500, "broken") });
    const { answer, body } = await bulk(half, [
      { id: "eu", ...query },
      { id: "latam", ...query, filter: { tenant: "brand-a", region: "latam" } },
    ]);
    expect([answer.status, answer.headers["x-partial"], body.results.map(({ status }) => status)]).toEqual([
      206,
      "true",
      [200, 502],
    ]);
    for (const { headers } of body.results) {
      const names = Object.keys(headers);
      expect(names).toEqual(names.map((name) => name.toLowerCase()));
      expect(names).toEqual(expect.arrayContaining(["x-query-cost-estimate", "x-ratelimit-remaining"]));
    }
  });

  test("has one deadline for all of its queries", async () => {
    const silent = await start({ eu: () => undefined }, { deadlineMs: 200 });
    const startMs = performance.now();
    const { body } = await bulk(
      silent,
      Array.from({ length: 50 }, (_, index) => ({ id: `q${index}`, ...query, step: `${60 + index}s` })),
    );
    expect(body.results.every(({ status }) => status === 504)).toBe(true);
    expect(performance.now() - startMs).toBeLessThan(stallMsMax);
  });
});

describe("a deprecated metric (Operational Metrics API §9)", () => {
  test("has the headers Deprecation and Sunset and its replacement", async () => {
    const { headers, status } = await server.get(lag.replace("metric=lag", "metric=old_lag"));
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      deprecation: `@${Date.parse("2025-12-01T00:00:00Z") / 1_000}`,
      sunset: "Mon, 01 Jun 2026 00:00:00 GMT",
      link: '</v1/metrics/catalog?metric=lag>; rel="successor-version"',
    });
  });

  test("is 410 after its sunset, and not in the catalog", async () => {
    expect((await server.get(lag.replace("metric=lag", "metric=gone_lag"))).status).toBe(410);
    expect((await server.get("/v1/metrics/catalog")).text).not.toContain("gone_lag");
  });

  test("pinned to a schema version that is gone is 409", async () => {
    const answer = await server.get(`${lag}&schema_version=2020-01-01`);
    expect([answer.status, codeOf(answer)]).toEqual([409, "schema_version_gone"]);
  });
});

describe("explain=true (Operational Metrics API §6, diagnostics)", () => {
  test("needs its scope", async () => {
    const answer = await server.get(`${lag}&explain=true`);
    expect([answer.status, codeOf(answer)]).toEqual([403, "scope_missing"]);
  });

  test("reports the queries of each store, and the source of each extent", async () => {
    const answer = await server.get(
      `/v1/metrics/query?metric=lag&filter[tenant]=brand-a&${window}&explain=true`,
      authorized("explainer"),
    );
    const read = {
      api: "query_range",
      outcome: "ok",
      promql: 'sum by()(sum_over_time({__name__="lag",tenant="brand-a"}[60000ms]))',
    };
    const newest = { api: "query", promql: expect.stringContaining("timestamp(") as string, series: 1 };
    const extents = [
      { state: "settled", source: "store" },
      { state: "hot", source: "store", reason: expect.any(String) as string },
    ];
    expect(answer.json()).toMatchObject({
      explain: {
        class: "A",
        tenant: "brand-a",
        stores: [
          {
            store: "eu",
            region: "eu",
            residency: "eu",
            extents,
            reads: expect.arrayContaining([expect.objectContaining(read), expect.objectContaining(newest)]) as object,
          },
          { store: "latam", extents },
        ],
      },
    });
  });
});

describe("the rights of callers (Operational Metrics API §5 and §8)", () => {
  test.each([
    ["with a token that is none is 401", "other", lag, 401, "token_invalid"],
    ["without a scope to read is 403", "nobody", lag, 403, "scope_missing"],
    [
      "for another tenant than the token's is 403",
      "brandA",
      lag.replace("brand-a", "brand-b"),
      403,
      "tenant_forbidden",
    ],
    ["for another region than the token's is 403", "brandA", lag.replace("=eu", "=latam"), 403, "region_forbidden"],
    ["without a tenant is 400", "everyone", "/v1/metrics/query?metric=lag", 400, "tenant_required"],
    ["with a step below 1 min on a public dashboard is 400", "public", `${lag}&step=30s`, 400, "invalid_step"],
    ["with a step below 10 s is 400", "everyone", `${lag}&step=9s`, 400, "invalid_step"],
    ["with a label that is personal data is 400", "everyone", `${lag}&filter[userId]=7`, 400, "forbidden_label"],
    [
      "grouped by a label that is personal data is 400",
      "everyone",
      `${lag}&group_by=sessionId`,
      400,
      "forbidden_label",
    ],
    [
      "with a card number as a value is 400",
      "everyone",
      `${lag}&filter[service]=4111111111111111`,
      400,
      "invalid_filter",
    ],
    ["with a parameter that is not known is 400", "everyone", `${lag}&steps=1m`, 400, "unknown_parameter"],
    [
      "by too many labels is 400",
      "everyone",
      `${lag}&group_by=service,region,tenant,environment,psp`,
      400,
      "invalid_group_by",
    ],
  ])("a request %s", async (_sentence, token, url, status, code) => {
    const answer = await server.get(url, authorized(token));
    expect([answer.status, codeOf(answer)]).toEqual([status, code]);
  });
});

describe("objectives (Operational Metrics API §4.5)", () => {
  test.each([
    ["region", "region=mars", 400, "invalid_filter", "no store of these objectives has the region mars"],
    ["region, a list", "region=eu,latam", 400, "invalid_filter", "the region eu,latam"],
    ["domain", "domain=Auth", 400, "invalid_filter", "the domain Auth; did you mean auth?"],
    ["name", "slo=Login", 404, "not_found", "objective Login does not exist; did you mean login?"],
    ["name in its domain", "domain=auth&slo=nope", 404, "not_found", "objective nope does not exist."],
  ])("that have none of a %s are an error, with and without a token", async (_what, pair, status, code, detail) => {
    for (const headers of [authorized("everyone"), {}]) {
      const answer = await server.get(`/v1/metrics/slo?tenant=brand-a&${pair}`, headers);
      const body = answer.json() as { readonly code: string; readonly detail: string };
      expect([answer.status, body.code, body.detail]).toEqual([status, code, expect.stringContaining(detail)]);
    }
  });

  test("that are public need no token but a tenant, and may be kept by a CDN (§8)", async () => {
    const answer = await server.get("/v1/metrics/slo?tenant=brand-a&domain=auth", {});
    expect(answer.status).toBe(200);
    expect(answer.headers["cache-control"]).toBe("public, max-age=30, s-maxage=60, stale-while-revalidate=60");
    expect(answer.json()).toMatchObject({
      data: [{ name: "login", domain: "auth", status: expect.any(String) as string, error_budget: { total: 0.01 } }],
    });
    expect(codeOf(await server.get("/v1/metrics/slo", {}))).toBe("tenant_required");
  });

  test("have the cost units that were charged, and none for cached data", async () => {
    const costs = async (path: string) => {
      const { headers } = await server.get(path);
      return [headers["x-query-cost-estimate"], headers["x-query-cost"]].map(Number);
    };
    for (const path of ["/v1/metrics/slo?tenant=brand-b", "/v1/metrics/slo/history?slo=login&tenant=brand-b"]) {
      const [first, again] = [await costs(path), await costs(path)];
      expect([first[0], again]).toEqual([first[1], [first[0], 0]]);
      expect(first[1]).toBeGreaterThan(0);
    }
  });

  test("that a CDN may keep hold nothing of the caller who was first (§8)", async () => {
    const view = "/v1/metrics/slo?tenant=brand-a&domain=auth";
    const answer = await server.get(view, {
      "x-correlation-id": "of-one-caller",
      traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
    });
    expect(JSON.stringify([answer.headers, answer.text])).not.toMatch(/of-one-caller|ratelimit|traceparent|aaaa/iu);
    // What is a caller's own is told so, with what is its own.
    const own = await server.get(view, { ...authorized("everyone"), "x-correlation-id": "of-one-caller" });
    expect(own.headers).toMatchObject({ "cache-control": "private, max-age=30", "x-correlation-id": "of-one-caller" });
    expect(own.headers).toHaveProperty("x-ratelimit-remaining");
  });
});
