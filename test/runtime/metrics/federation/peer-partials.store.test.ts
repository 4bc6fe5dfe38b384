import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SloConfig } from "../../../../crds/config.ts";
import { errorTable, type ErrorCode } from "../../../../runtime/errors/table.ts";
import type { MetricsApi } from "../../../../runtime/metrics/metrics-api.ts";
import { runsOf } from "../../../support/soak.ts";
import { partialRequestBytesMax } from "../../../../runtime/metrics/federation/parse-partial-request.ts";
import { ask, countPoints, isExact, isPercentile, metricIds } from "../oracle/ask.ts";
import type { MetricId } from "../oracle/asked.ts";
import { differences, exactly } from "../oracle/differences.ts";
import { dataStartMs } from "../oracle/generated-series.ts";
import { nowMs, rawOf, startHolding, type RunningLayout, type Server } from "../oracle/layouts.ts";
import { askLeaf, atStamps, pointsOf, randomLeaf } from "../oracle/leaf-points.ts";
import { randomQuery } from "../oracle/random-query.ts";
import { recompute } from "../oracle/recompute.ts";
import { everyone, generatedMetrics, parameters, type TestStore } from "../oracle/universe.ts";
import { openPartials, type Exchange, type Message } from "./recording-proxy.ts";
import { startTwoRuntimes, type TwoRuntimes } from "./two-runtimes.ts";

const seed = 20_260_107;
/** Whose layout is not the same in every store. */
const uneven: readonly MetricId[] = ["uneven_ms", "uneven_sizes", "native_ms"];
const even = metricIds.filter((metric) => !uneven.includes(metric));
const soakMs = 600_000;

const shared = {
  domain: "payments",
  objective: 0.99,
  windowDays: 30,
  minimumEvents: 1,
  burnRates: [14.4, 6, 3, 1],
  public: false,
} as const;
const slos: readonly SloConfig[] = [
  { ...shared, name: "payments", metric: "payments_success", counts: "Good" },
  { ...shared, name: "latency", metric: "latency_ms", counts: "Good", threshold: 100 },
];
const calendar = { period: "Month", timeZone: "Europe/Berlin" } as const;
const monthly = slos.map((slo) => ({ ...slo, name: `${slo.name}-month`, calendar }));

let servers: readonly Server[];
let raw: RunningLayout["raw"];
let running: TwoRuntimes;
beforeAll(async () => {
  servers = await Promise.all([[0], [1], [2]].map((shards) => startHolding(shards)));
  const store = (name: string, region: string, server: number): TestStore => ({
    name,
    region,
    url: servers[server]?.url ?? "",
  });
  const [eu, latam] = [[store("eu", "eu", 0)], [store("latam-1", "latam", 1), store("latam-2", "latam", 2)]];
  running = await startTwoRuntimes({ eu, latam, metricsOf: generatedMetrics, slos: [...slos, ...monthly] });
  raw = await rawOf([...eu, ...latam]);
});
afterAll(async () => {
  await running?.stop();
  await Promise.all((servers ?? []).map((server) => server.stop()));
});

describe("an answer over a peer", () => {
  test(
    `equals the one that reads all stores itself, over ${runsOf(600)} random queries`,
    { timeout: soakMs },
    async () => {
      let points = 0;
      await fc.assert(
        fc.asyncProperty(randomQuery(even, ["region"]), async (query) => {
          const actual = await ask({ api: running.asking }, query);
          points += countPoints(actual);
          const exact = isExact(query);
          const direct = exactly((await ask({ api: running.direct }, query)).points);
          // A percentile whose rank falls on the edge of a bucket is right on both sides of it.
          const percentile = (): ReturnType<typeof recompute> => recompute(query, actual.grid, raw);
          const wanted = isPercentile(query) && !query.groupBy.includes("region") ? percentile() : direct;
          expect(differences(actual.points, wanted, { oracle: "direct", exact })).toEqual([]);
        }),
        { seed, numRuns: runsOf(600) },
      );
      expect(points).toBeGreaterThan(runsOf(15_000));
    },
  );

  test(
    `to a leaf of any width, step and phase is that of all stores, over ${runsOf(400)} random leaves`,
    { timeout: soakMs },
    async () => {
      let points = 0;
      await fc.assert(
        fc.asyncProperty(randomLeaf(even, ["region"]), async (selector) => {
          const own = pointsOf(selector);
          const actual = await askLeaf(running.asking, selector);
          points += countPoints(actual);
          // As above. The recomputation has no regions.
          const isRecomputed = isPercentile(selector) && !selector.groupBy.includes("region");
          const wanted = isRecomputed
            ? atStamps(recompute(selector, own.grid, raw), own)
            : exactly((await askLeaf(running.direct, selector)).points);
          expect(differences(actual.points, wanted, { oracle: "direct", exact: isExact(selector) })).toEqual([]);
        }),
        { seed, numRuns: runsOf(400) },
      );
      expect(points).toBeGreaterThan(runsOf(5_000));
      const apart = running.proxy.exchanges().filter(({ request }) => request.body.includes('"step_ms":'));
      expect(apart.length).toBeGreaterThan(runsOf(100));
    },
  );

  test(
    `is that of the bounds that all stores share, over ${runsOf(200)} random queries`,
    { timeout: soakMs },
    async () => {
      await fc.assert(
        fc.asyncProperty(randomQuery(uneven), async (query) => {
          const actual = await ask({ api: running.asking }, query);
          expect(differences(actual.points, recompute(query, actual.grid, raw), { oracle: "recomputed" })).toEqual([]);
        }),
        { seed, numRuns: runsOf(200) },
      );
    },
  );
});

test("an objective over a peer is that of all stores, by ratio and by bucket", async () => {
  const context = { correlationId: "slo", nowMs };
  const view = async (api: MetricsApi): Promise<readonly SloItem[]> => {
    const { status, body: answered } = await api.slo(
      parameters([["tenant", "brand-a"]]),
      everyone,
      AbortSignal.timeout(30_000),
      context,
    );
    const { data } = answered as { readonly data: readonly SloItem[] };
    expect({ status, regions: data.map(({ regions }) => regions) }).toMatchObject({ status: 200 });
    return data;
  };
  const [asked, direct] = [await view(running.asking), await view(running.direct)];
  expect(asked.map(({ name, regions, status }) => ({ name, regions, status }))).toEqual(
    direct.map(({ name, regions, status }) => ({ name, regions, status })),
  );
  expect(asked.map(({ name }) => name).sort()).toEqual(["latency", "latency-month", "payments", "payments-month"]);
  for (const [index, { events }] of asked.entries()) {
    expect(events.total).toBeGreaterThan(1_000);
    expect(events.good / (direct[index]?.events.good ?? 0)).toBeCloseTo(1, 9);
    expect(events.total / (direct[index]?.events.total ?? 0)).toBeCloseTo(1, 9);
  }
});

test.each(monthly.map(({ name }) => name))("the history of %s over a peer is that of all stores", async (name) => {
  const history = async (api: MetricsApi): Promise<readonly HistoryPoint[]> => {
    const params = parameters([
      ["tenant", "brand-a"],
      ["slo", name],
    ]);
    const context = { correlationId: "slo", nowMs };
    const { status, body: answered } = await api.sloHistory(params, everyone, AbortSignal.timeout(30_000), context);
    expect(status).toBe(200);
    return (answered as { readonly data: readonly HistoryPoint[] }).data;
  };
  const [asked, direct] = [await history(running.asking), await history(running.direct)];
  const digits = ({ at, sli }: HistoryPoint): unknown => [at, sli?.toPrecision(9) ?? null];
  expect(asked.map(digits)).toEqual(direct.map(digits));
  expect(asked.filter(({ sli }) => sli !== null).length).toBeGreaterThan(0);
});

interface HistoryPoint {
  readonly at: string;
  readonly sli: number | null;
}

interface SloItem {
  readonly name: string;
  readonly status: string;
  readonly regions: readonly unknown[];
  readonly events: { readonly good: number; readonly total: number };
}

interface PartialQuery {
  readonly ask: { readonly metric: string; readonly part: string; readonly group_by: readonly string[] };
  readonly over: { readonly count?: number };
}

interface PartialHead {
  readonly pieces: readonly { readonly count: number; readonly series: readonly PackedSeries[] }[];
}

type PackedSeries = Readonly<Record<string, string>> | { readonly labels: Readonly<Record<string, string>> };

const isPacked = ({ headers }: Message): boolean => headers["content-type"] === "application/vnd.heliograph.partials";

function labelsOf(series: PackedSeries): object {
  return typeof series["labels"] === "object" ? series["labels"] : series;
}

/** Everything of an answer that is text, without the digest of its question. */
function textOf(answer: Message): string {
  return isPacked(answer) ? openPartials(answer.body).head.replace(/"key":"[^"]*"/u, "") : answer.body.toString();
}

/** Label names of everything that an answer holds. */
function labelNamesIn({ answer }: Exchange): readonly string[] {
  if (isPacked(answer)) {
    const { pieces: extents } = JSON.parse(openPartials(answer.body).head) as PartialHead;
    return extents.flatMap(({ series }) => series.flatMap((one) => Object.keys(labelsOf(one))));
  }
  const { samples = [] } = JSON.parse(answer.body.toString()) as {
    readonly samples?: readonly { readonly labels: object }[];
  };
  return samples.flatMap(({ labels }) => Object.keys(labels));
}

describe("the bytes between the two runtimes", () => {
  const asked = (): readonly (Exchange & { readonly question: PartialQuery })[] =>
    running.proxy
      .exchanges()
      .filter(({ request, answer }) => request.body.includes('"ask"') && answer.first.includes(" 200 "))
      .map((exchange) => ({ ...exchange, question: JSON.parse(exchange.request.body.toString()) as PartialQuery }));

  test("hold no label but those that were grouped by, bounds of buckets, and the ordinal of a store", () => {
    const exchanges = asked();
    expect(exchanges.length).toBeGreaterThan(runsOf(500));
    for (const exchange of exchanges) {
      const { group_by: groupBy, part } = exchange.question.ask;
      const allowed = [...groupBy, "ordinal", ...(part === "buckets" ? ["le"] : [])];
      expect([...new Set(labelNamesIn(exchange))].filter((name) => !allowed.includes(name))).toEqual([]);
    }
  });

  test("hold no value of a label, name of a series or query beyond the closed question", () => {
    // Names and values of the stores, none of which is a word of the protocol or an id of the catalog.
    const ofStores = /payments_total|slow_total|_bucket|__name__|"env"|result|by\(|increase\(|over_time\(/u;
    for (const { request, answer } of asked()) {
      expect(request.first).toBe("POST /v1/metrics/partials HTTP/1.1");
      expect(request.body.toString().replace(/"part":"\w+"/u, "")).not.toMatch(ofStores);
      expect(textOf(answer)).not.toMatch(ofStores);
    }
    const ungrouped = asked().filter(({ question }) => question.ask.group_by.length === 0);
    expect(ungrouped.length).toBeGreaterThan(0);
    for (const { answer } of ungrouped) expect(textOf(answer)).not.toMatch(/brand-|prod|staging|web|api|pay/u);
  });

  test("hold one number for each requested point and group or bucket, and no samples", () => {
    const packed = asked().filter(({ answer }) => isPacked(answer));
    expect(packed.length).toBeGreaterThan(0);
    for (const { answer, question } of packed) {
      const { head, numberBytes } = openPartials(answer.body);
      const { pieces: extents } = JSON.parse(head) as PartialHead;
      expect(extents.map(({ count }) => count)).toEqual([question.over.count]);
      const groups = extents.flatMap(({ series }) => series);
      expect(new Set(groups.map((one) => JSON.stringify(labelsOf(one)))).size).toBe(groups.length);
      // A double and a mark for each point; histograms are in the head.
      const numbered = groups.filter((one) => !("histograms" in one));
      expect(numberBytes).toBe(numbered.length * (question.over.count ?? 0) * 9);
    }
  });

  test("hold the remaining time and the correlation id of the request", () => {
    for (const { request } of asked()) {
      expect(Number(request.headers["x-remaining-ms"])).toBeGreaterThan(0);
      expect(Number(request.headers["x-remaining-ms"])).toBeLessThanOrEqual(10_000);
      expect(["test", "slo"]).toContain(request.headers["x-correlation-id"]);
    }
  });
});

const askedPart = {
  schema_version: "2026-01-01",
  region: "latam",
  regions: ["eu", "latam"],
  metric: "queue_lag",
  agg: "avg",
  part: "sum_over_time",
  tenant: "brand-a",
  filters: {},
  group_by: ["service"],
  points: { width_ms: 60_000, interval_seconds: 15, increases: "Extrapolated" },
};
const over = { start_ms: dataStartMs + 600_000, count: 10 };
const body = (changes: object = {}, rest: object = {}): string =>
  JSON.stringify({ version: 1, ask: { ...askedPart, ...changes }, over, ...rest });

describe("a peer answers", () => {
  test("only a caller with the scope and the certificate that its token is bound to", async () => {
    const { own, other, token, post } = running;
    const bound = await token({}, own);
    const codeOf = async (...sent: Parameters<typeof post>): Promise<unknown> => (await post(...sent)).body["code"];
    const probe = '{"version":1,"probe":{"region":"latam"}}';
    expect(await post(probe, { token: bound, client: own })).toMatchObject({
      status: 200,
      body: { increases: ["Extrapolated"] },
    });
    expect(await codeOf(probe, { token: bound })).toBe("token_invalid");
    expect(await codeOf(probe, { token: bound, client: other })).toBe("token_invalid");
    expect(await codeOf(probe, { token: await token({}), client: own })).toBe("token_invalid");
    expect(
      await codeOf(probe, { token: await token({ scope: "metrics:read metrics:explain" }, own), client: own }),
    ).toBe("scope_missing");
    expect(await codeOf('{"version":1,"probe":{"region":"eu"}}', { token: bound, client: own })).toBe(
      "region_forbidden",
    );
  });

  const rows: readonly (readonly [
    sentence: string,
    claims: object,
    body: string,
    code: ErrorCode,
    field: string | undefined,
  ])[] = [
    ["a metric that its catalog does not have", {}, body({ metric: "other" }), "unknown_metric", "metric"],
    ["a label that its catalog does not have", {}, body({ group_by: ["psp"] }), "invalid_group_by", "group_by"],
    ["a forbidden label", {}, body({ group_by: ["user_id"] }), "forbidden_label", "ask.group_by"],
    ["a filter by a forbidden label", {}, body({ filters: { card: "1" } }), "forbidden_label", "ask.filters.card"],
    [
      "a filter by a card number",
      {},
      body({ filters: { service: "4111111111111111" } }),
      "invalid_filter",
      "ask.filters.service",
    ],
    ["an aggregation that its catalog does not have", {}, body({ agg: "p95" }), "invalid_aggregation", "agg"],
    ["a statistic of another aggregation", {}, body({ part: "max_over_time" }), "invalid_aggregation", "ask.part"],
    [
      "points that are too narrow",
      {},
      body({ points: { ...askedPart.points, width_ms: 10_000 } }),
      "invalid_step",
      "ask.points.width_ms",
    ],
    [
      "points that are too close",
      {},
      body({ points: { ...askedPart.points, step_ms: 10_000 } }),
      "invalid_step",
      "ask.points.step_ms",
    ],
    [
      "increases by another rule",
      {},
      body({ metric: "payments", agg: "sum", part: "increase", points: { ...askedPart.points, increases: "Plain" } }),
      "incompatible_increases",
      "ask.points.increases",
    ],
    [
      "regions that its catalog does not let a query span",
      {},
      body({ regions: ["apac", "latam"] }),
      "region_forbidden",
      "filter[region]",
    ],
    [
      "a region that it would have to ask another peer for",
      {},
      body({ region: "eu" }),
      "region_forbidden",
      "ask.region",
    ],
    ["a tenant that the token does not name", { tenants: ["brand-b"] }, body(), "tenant_forbidden", "filter[tenant]"],
    [
      "every environment of a token that names one",
      { environments: ["prod"] },
      body(),
      "environment_forbidden",
      "ask.environments",
    ],
    ["a metric that the token does not name", { metrics: ["payments"] }, body(), "metric_forbidden", "metric"],
    ["a region that the token does not name", { regions: ["eu"] }, body(), "region_forbidden", "filter[region]"],
    ["another version of the catalog", {}, body({ schema_version: "2025" }), "schema_version_gone", "schema_version"],
    ["another version of the question", {}, body({}, { version: 2 }), "schema_version_gone", "version"],
    ["a query language", {}, body({ promql: "up" }), "unknown_parameter", "promql"],
    [
      "more points than a store has",
      {},
      body({}, { over: { ...over, count: 11_001 } }),
      "invalid_request",
      "over.count",
    ],
    [
      "more than a question may hold",
      {},
      body({ filters: { service: "a".repeat(partialRequestBytesMax) } }),
      "body_too_large",
      undefined,
    ],
  ];
  test.each(rows)("no question for %s", async (_sentence, claims, sent, code, field) => {
    const { own, token, post } = running;
    const answer = await post(sent, { token: await token({ ...claims }, own), client: own });
    const { status, errors } = answer.body as {
      readonly status: number;
      readonly errors?: readonly { readonly field: string }[];
    };
    expect({ code: answer.body["code"], field: errors?.[0]?.field }).toEqual({ code, field });
    expect(status).toBe(errorTable[code].status);
  });
});

test(
  "a peer that is gone leaves a partial answer that says so, and an error for whoever wants all of it",
  { timeout: soakMs },
  async () => {
    const pairs = [
      ["metric", "queue_lag"],
      ["filter[tenant]", "brand-a"],
      ["from", new Date(dataStartMs + 600_000).toISOString()],
      ["to", new Date(dataStartMs + 1_200_000).toISOString()],
    ] as const;
    const query = (more: readonly (readonly [string, string])[] = []) =>
      running.asking.query(parameters([...pairs, ...more]), everyone, AbortSignal.timeout(30_000), {
        correlationId: "gone",
        nowMs,
      });
    expect(await query()).toMatchObject({
      status: 200,
      headers: { "X-Partial": "false", "X-Query-Shards": "asked=2, answered=2" },
    });
    await running.killPeer();
    expect(await query()).toMatchObject({
      status: 206,
      headers: { "X-Partial": "true", "X-Query-Shards": "asked=2, answered=1" },
      body: {
        meta: {
          partial: true,
          regions: [
            { region: "eu", state: "ok" },
            { region: "latam", state: "failed" },
          ],
        },
      },
    });
    await expect(query([["complete", "required"]])).rejects.toMatchObject({ code: "store_failed" });
    await expect(query([["filter[region]", "latam"]])).rejects.toMatchObject({ code: "store_failed" });
  },
);
