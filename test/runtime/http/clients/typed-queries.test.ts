import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nowMs, simulated, startMetricsServer, type ScriptedMetricsServer } from "../routes/metrics-server.ts";

/** Queries as people type them: relative times, offsets, several values, misspelled names. */

let server: ScriptedMetricsServer;
let services: readonly string[] = ["a", "b"];
beforeAll(async () => {
  server = await startMetricsServer({ eu: simulated(() => ({ services })) });
});
afterAll(async () => server.close());

interface Body {
  readonly data: readonly object[];
  readonly meta: Readonly<Record<string, unknown>>;
  readonly detail: string;
  readonly errors: readonly { readonly field: string }[];
}

const base = "metric=lag&filter[tenant]=brand-a";
async function ask(path: string, params: string, token = "everyone") {
  const { status, headers, json } = await server.get(`/v1/metrics/${path}?${base}&${params}`, {
    authorization: `Bearer ${token}`,
  });
  return { status, headers, ...(json() as Body) };
}
const iso = (ms: number): string => new Date(ms).toISOString();
/** The end of the last whole point of a minute. */
const minuteMs = Math.floor(nowMs / 60_000) * 60_000;

describe("times", () => {
  const threeHours = { from: iso(minuteMs - 10_800_000), to: iso(minuteMs) };
  const rows = [
    ["now-3h", "from=now-3h", threeHours],
    ["last", "last=3h", threeHours],
    ["both ends", "from=now-3h&to=now", threeHours],
    ["parts of a duration", "from=now-2h60m&to=now", threeHours],
    ["last in parts", "last=2h60m", threeHours],
    ["yesterday", "from=now-1d/d&to=now-1d/d", { from: "2025-12-31T00:00:00.000Z", to: "2026-01-01T00:00:00.000Z" }],
    ["today", "from=now/d&to=now/d", { from: "2026-01-01T00:00:00.000Z", to: iso(minuteMs) }],
    ["Unix seconds", `from=${minuteMs / 1_000 - 10_800}&to=${minuteMs / 1_000}`, threeHours],
    ["an offset", "from=2026-01-01T11:00:00%2B02:00&to=2026-01-01T12:00:00%2B02:00", hour(9)],
    ["an offset whose plus is not escaped", "from=2026-01-01T11:00:00+02:00&to=2026-01-01T12:00:00+02:00", hour(9)],
    ["an offset to the west", "from=2026-01-01T04:00:00-05:00&to=2026-01-01T05:00:00-05:00", hour(9)],
  ] as const;
  test.each(rows)("of a query may be %s, and the response has absolute ones", async (_name, times, meta) => {
    expect(await ask("query", `step=1m&${times}`)).toMatchObject({ status: 200, meta });
  });

  function hour(start: number) {
    const at = (hours: number): string => iso(Date.parse("2026-01-01T00:00:00Z") + hours * 3_600_000);
    return { from: at(start), to: at(start + 1) };
  }

  test("of an instant, a plan, a bulk and label values may be relative", async () => {
    expect((await ask("instant", "ts=now-1h")).meta["ts"]).toBe(iso(Math.floor(nowMs / 60_000) * 60_000 - 3_600_000));
    expect(await ask("plan", "last=1h&step=1m")).toMatchObject({ status: 200, allowed: true, points: 60 });
    const queries = [{ id: "q", metric: "lag", filter: { tenant: "brand-a" }, last: "1h", step: "1m" }];
    const bulk = (await server.post("/v1/metrics/bulk-query", { queries })).json();
    expect(bulk).toMatchObject({ results: [{ status: 200, meta: { from: iso(minuteMs - 3_600_000) } }] });
    const values = await server.get("/v1/metrics/labels/service/values?metric=lag&tenant=brand-a&last=6h");
    expect([values.status, values.json()]).toMatchObject([200, { data: ["a", "b"], meta: { partial: false } }]);
  });

  test("of a link to the next page are absolute", async () => {
    const { headers } = await ask("query", "last=1h&step=1m&group_by=service&limit=1");
    const target = new URLSearchParams(/<\?(.*)>/u.exec(headers["link"] ?? "")?.[1]);
    expect(Object.fromEntries(target)).toMatchObject({ from: iso(minuteMs - 3_600_000), to: iso(minuteMs), page: "2" });
    expect(target.has("last")).toBe(false);
    const next = await server.get(`/v1/metrics/query?${target.toString()}`);
    expect(next.json()).toMatchObject({ data: [{ labels: { service: "b" } }], meta: { page: 2, has_more: false } });
  });

  test("of a suggested query are absolute", async () => {
    const planned = (await ask("plan", "last=1h&step=1s")) as unknown as {
      readonly refusal: { readonly suggestion: { readonly query: string } };
    };
    const query = new URLSearchParams(planned.refusal.suggestion.query);
    expect([query.get("from"), query.get("last")]).toEqual([iso(nowMs - 3_600_000), null]);
    const rounded = (await ask("plan", "from=now-1d/d&to=now-1d/d&step=1s")) as unknown as typeof planned;
    expect(new URLSearchParams(rounded.refusal.suggestion.query).get("to")).toBe("2026-01-01T00:00:00.000Z");
  });

  test("move with the clock in a repeated request", async () => {
    let clockMs = nowMs;
    const moving = await startMetricsServer({ eu: simulated(() => ({ services })) }, { now: () => clockMs });
    try {
      const url = `/v1/metrics/query?${base}&last=1h&step=1m`;
      const toOf = async () => ((await moving.get(url)).json() as Body).meta["to"];
      expect([await toOf(), await toOf()]).toEqual([iso(minuteMs), iso(minuteMs)]);
      clockMs += 60_000;
      expect(await toOf()).toBe(iso(minuteMs + 60_000));
    } finally {
      await moving.close();
    }
  });

  test("that are none say which forms there are", async () => {
    const { status, detail } = await ask("query", "from=yesterday");
    expect({ status, detail }).toEqual({
      status: 400,
      detail: "from=yesterday is not a time; use 2026-01-31T12:00:00Z, Unix seconds such as 1769860800, or now-3h",
    });
    expect((await ask("query", "from=1h30m")).detail).toBe("from=1h30m is not a time; write now-1h30m");
    expect((await ask("query", "from=now/w")).detail).toContain("times can only be rounded to /s, /m, /h or /d");
  });
});

describe("several values of a filter", () => {
  test("are those of filter_in, and reach the store as a list", async () => {
    await ask("query", "filter_in[service]=a.b&filter_in[service]=c&step=2m");
    const sent = server.stores[0]?.requests.map(({ form }) => form.get("query") ?? "").join("\n") ?? "";
    expect(sent).toMatch(/service=~"a\\\\.b\|c"/u);
    const queries = [{ id: "q", metric: "lag", filter: { tenant: "brand-a" }, filter_in: { service: ["a", "b"] } }];
    expect((await server.post("/v1/metrics/bulk-query", { queries })).json()).toMatchObject({
      results: [{ status: 200 }],
    });
  });

  test("of a tenant are refused, since a response has one", async () => {
    const url = "/v1/metrics/query?metric=lag&filter_in[tenant]=brand-a&filter_in[tenant]=brand-b";
    expect((await server.get(url)).json()).toMatchObject({ status: 400, code: "invalid_filter" });
  });

  test("with commas in one filter are one exact value, with a hint where no series has it", async () => {
    const found = await ask("query", "filter[service]=a,b&step=3m");
    expect(found.meta).not.toHaveProperty("hints");
    services = [];
    const hint =
      'no series has this service: service="a,b" is a single value; ' +
      "for several values write filter_in[service]=a&filter_in[service]=b";
    try {
      const { data, meta } = await ask("query", "filter[service]=a,b&group_by=service&step=4m");
      expect({ data, hints: meta["hints"] }).toEqual({ data: [], hints: [hint] });
      expect((await ask("instant", "filter[service]=a,b&group_by=service&ts=now-1h")).meta["hints"]).toEqual([hint]);
      expect((await ask("query", "filter[service]=x&group_by=service&step=4m")).meta).not.toHaveProperty("hints");
      const url = "/v1/metrics/labels/service/values?metric=lag&tenant=brand-a&filter[service]=a,b&last=2h";
      expect((await server.get(url)).json()).toMatchObject({ data: [], meta: { hints: [hint] } });
    } finally {
      services = ["a", "b"];
    }
  });

  test("with commas of a region are refused with what to write", async () => {
    const advice =
      'region="eu,us" is a single value; for several values write filter_in[region]=eu&filter_in[region]=us';
    expect((await ask("query", "filter[region]=eu,us")).detail).toContain(advice);
    const listed = await ask("query", "filter_in[region]=eu,us");
    expect(listed.detail).toContain(advice);
    expect(listed.detail).not.toContain("filter[region]");
  });

  const label = "/v1/metrics/labels/service/values?metric=lag&";
  test.each([
    ["a filter", "/v1/metrics/query?metric=lag&filter[tenant]=brand-a&filter[region]=mars", "filter[region]"],
    ["a list", "/v1/metrics/query?metric=lag&filter[tenant]=brand-a&filter_in[region]=mars", "filter_in[region]"],
    [
      "a list of an instant",
      "/v1/metrics/instant?metric=lag&filter_in[tenant]=a&filter_in[tenant]=b",
      "filter_in[tenant]",
    ],
    ["a list of label values", `${label}tenant=brand-a&filter_in[region]=mars`, "filter_in[region]"],
    [
      "a label that the metric lacks",
      "/v1/metrics/query?metric=lag&filter[tenant]=brand-a&filter_in[psp]=x",
      "filter_in[psp]",
    ],
  ])("that are rejected are named as the request wrote them: %s", async (_form, url, field) => {
    expect((await server.get(url)).json()).toMatchObject({ status: 400, errors: [{ field }] });
  });
});

describe("names that are none", () => {
  const rows = [
    [
      "a label as a parameter",
      "query",
      "region=eu",
      "region is not a parameter of this route; write filter[region]=eu",
    ],
    ["a metric", "query", "metric=lagg", "the metric lagg is not in the catalog; did you mean lag? choose one of"],
    [
      "an aggregation",
      "query",
      "agg=mean",
      "agg=mean is not an aggregation of lag; did you mean avg? use one of avg, sum",
    ],
    [
      "an aggregation of other metrics",
      "query",
      "agg=p95",
      "lag has no aggregation p95; use one of avg, sum, min, max",
    ],
    ["a label", "query", "group_by=servise", "servise is not a label of lag; did you mean service? use one of"],
    ["a label of other metrics", "query", "group_by=psp", "lag has no label psp; use one of region, tenant"],
    ["a step below the smallest", "query", "step=30s", "step=30s is below the minimum step of 60s; use 60s or more"],
  ] as const;
  test.each(rows)("%s", async (_name, path, params, detail) => {
    const answer = await ask(path, params);
    expect(answer).toMatchObject({ status: 400, detail: expect.stringContaining(detail) as string });
  });

  test("are compared with what the caller may read only", async () => {
    const secret = server.config.catalogs.map((catalog) => ({
      ...catalog,
      metrics: catalog.metrics.map((metric) =>
        metric.id === "lag" ? { ...metric, sensitivity: "finance" as const, requiredRole: "finance" } : metric,
      ),
    }));
    server.apply({ ...server.config, catalogs: secret });
    try {
      const { detail } = await ask("query", "metric=lagg");
      expect(detail).not.toContain("lag?");
      expect((await ask("query", "agg=mean")).detail).not.toContain("of lag");
    } finally {
      server.apply(server.config);
    }
  });

  test("of a member of a bulk, and of a filter of objectives", async () => {
    const queries = [{ id: "q", metric: "lag", region: "eu" }];
    expect((await server.post("/v1/metrics/bulk-query", { queries })).json()).toMatchObject({
      results: [{ status: 400, error: { detail: "region is not a member of a query; move it into filter" } }],
    });
    expect((await server.get("/v1/metrics/slo?filter[region]=eu&tenant=brand-a")).json()).toMatchObject({
      detail: "filter[region] is not a parameter of this route; write region=eu",
    });
    expect((await server.get("/v1/metrics/catalog?tenant=brand-a")).json()).toMatchObject({
      detail: "tenant is not a parameter of this route; write filter[tenant]=brand-a",
    });
  });

  test("say lengths of one sentence in one unit", async () => {
    const limits = { ...server.config.classDefaults.A, maxWindowSeconds: 7 * 86_400 };
    server.apply({ ...server.config, classDefaults: { ...server.config.classDefaults, A: limits } });
    const { detail } = await ask("query", "from=now-604801s");
    server.apply(server.config);
    expect(detail).toBe("the window is 7.01d long; this caller's class allows 7d");
  });
});
