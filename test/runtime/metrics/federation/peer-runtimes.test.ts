import { afterEach, describe, expect, test } from "vitest";
import type { MetricConfig, StoreConfig } from "../../../../crds/config.ts";
import type { MetricsResponse } from "../../../../runtime/metrics/metrics-api.ts";
import { waitFor } from "../../../support/wait.ts";
import { nowMs, simulated } from "../../http/routes/metrics-server.ts";
import {
  healthyProbe,
  startScriptedStore,
  success,
  text,
  type ScriptedStore,
  type StoreReply,
} from "../../stores/scripted-store.ts";
import { everyone, metricConfig, parameters } from "../oracle/universe.ts";
import { startTwoRuntimes, type TwoRuntimes, type TwoRuntimesOptions } from "./two-runtimes.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const services = simulated(() => ({ services: ["a", "b"] }));
const broken = text(500, "broken");
const silent: StoreReply = () => undefined;

interface Started extends TwoRuntimes {
  readonly eu: ScriptedStore;
  readonly latam: readonly ScriptedStore[];
}

/** Two runtimes over stores that do as they are told. @param latam what those of the peer say */
async function start(latam: readonly StoreReply[], options: Partial<TwoRuntimesOptions> = {}): Promise<Started> {
  const all = await Promise.all([services, ...latam].map((reply) => startScriptedStore(healthyProbe(reply))));
  closing.push(...all.map((store) => () => store.close()));
  const [eu, ...others] = all;
  if (eu === undefined) throw new Error("no store");
  const running = await startTwoRuntimes({
    eu: [{ name: "eu", region: "eu", url: eu.url }],
    latam: others.map(({ url }, index) => ({ name: `latam-${index}`, region: "latam", url })),
    metricsOf,
    ...options,
  });
  closing.push(
    () => running.stop(),
    () => running.killPeer(),
  );
  return { ...running, eu, latam: others };
}

function metricsOf(stores: readonly StoreConfig[]): readonly MetricConfig[] {
  return [
    metricConfig("lag", stores, { source: { kind: "gauge", name: "lag", matchers: [] } }),
    metricConfig("latency", stores, {
      source: { kind: "histogram", type: "Classic", increase: "Extrapolated", name: "latency", matchers: [] },
      aggregations: ["p95"],
      defaultAggregation: "p95",
    }),
    metricConfig("login", stores, {
      source: {
        kind: "ratio",
        increase: "Extrapolated",
        numerator: { name: "ok_total", matchers: [] },
        denominator: { name: "all_total", matchers: [] },
      },
      aggregations: ["avg"],
    }),
    metricConfig("vault", stores, {
      source: { kind: "gauge", name: "vault", matchers: [] },
      sensitivity: "finance",
      requiredRole: "finance",
    }),
  ];
}

type Pairs = readonly (readonly [string, string])[];
const window: Pairs = [
  ["from", "2026-01-01T06:00:00Z"],
  ["to", "2026-01-01T09:00:00Z"],
  ["step", "1m"],
  ["filter[tenant]", "brand-a"],
];

function ask(
  { asking }: Pick<TwoRuntimes, "asking">,
  pairs: Pairs,
  signal = AbortSignal.timeout(20_000),
): Promise<MetricsResponse> {
  const caller = { ...everyone, scopes: ["metrics:read", "metrics:explain"], roles: ["finance"] };
  const own = window.filter(([name]) => pairs.every(([given]) => given !== name));
  return asking.query(parameters([...own, ...pairs]), caller, signal, { correlationId: "request-1", nowMs });
}

const rangesOf = (stores: readonly ScriptedStore[]): number =>
  stores.flatMap(({ requests }) => requests).filter(({ path }) => path.endsWith("query_range")).length;
const latam: Pairs = [["filter[region]", "latam"]];
const regionsOf = ({ body }: MetricsResponse): unknown =>
  (body as { readonly meta: { readonly regions: unknown } }).meta.regions;

/** A store with these increases, by the name of the series. */
function counting(held: Readonly<Record<string, number>>): StoreReply {
  return (response, request) => {
    const name = /__name__="(?<name>\w+)"/u.exec(request.form.get("query") ?? "")?.groups?.["name"] ?? "";
    const value = held[name];
    if (value === undefined) success({ resultType: "matrix", result: [] })(response, request);
    else simulated(() => ({ services: ["a"], value: () => value }))(response, request);
  };
}

describe("a peer with several stores", () => {
  const login: Pairs = [["metric", "login"]];

  test("adds nothing of the one that lacks a part, and the region says so, also from memory", async () => {
    const running = await start([counting({ ok_total: 1_000 }), counting({ ok_total: 5, all_total: 20 })], {
      limits: { memorySeconds: 60, hotTailSeconds: 5 },
    });
    for (const cache of [/hit=0;/u, /miss=0;/u]) {
      const answer = await ask(running, [...login, ...latam]);
      expect(answer.headers["X-Query-Cache"]).toMatch(cache);
      expect(answer.body).toMatchObject({ data: [{ points: expect.arrayContaining([[expect.any(String), 0.25]]) }] });
      expect(regionsOf(answer)).toMatchObject([
        { region: "latam", state: "partial", reasons: [{ metric: "login", code: "part_missing" }] },
      ]);
    }
  });

  test("has a numerator of 0 for the one that counts its denominator only", async () => {
    const running = await start([counting({ all_total: 60 }), counting({ ok_total: 5, all_total: 20 })]);
    const answer = await ask(running, [...login, ...latam]);
    expect(answer.body).toMatchObject({ data: [{ points: expect.arrayContaining([[expect.any(String), 0.0625]]) }] });
    expect(regionsOf(answer)).toEqual([{ region: "latam", state: "ok" }]);
  });
});

describe("a query over a peer", () => {
  test("is answered from memory the next time, like one over a store", async () => {
    const running = await start([services], { limits: { memorySeconds: 60, hotTailSeconds: 5 } });
    const first = await ask(running, [["metric", "lag"], ["agg", "max"], ["group_by", "service"], ...latam]);
    const read = rangesOf(running.latam);
    const again = await ask(running, [
      ["metric", "lag"],
      ["agg", "max"],
      ["group_by", "service"],
      ["exemplars", "true"],
      ...latam,
    ]);
    expect([read, rangesOf(running.latam)]).toEqual([1, 1]);
    expect(first.headers["X-Query-Cache"]).toMatch(/hit=0;/u);
    expect(again.headers["X-Query-Cache"]).toMatch(/miss=0;/u);
  });

  test("shows of exemplars their traces only", async () => {
    const answer = await ask(await start([services]), [
      ["metric", "latency"],
      ["group_by", "service"],
      ["exemplars", "true"],
      ["to", "2026-01-01T11:59:30Z"],
      ...latam,
    ]);
    const { data } = answer.body as {
      readonly data: readonly { readonly labels: object; readonly exemplars: readonly object[] }[];
    };
    expect(data.map(({ labels }) => labels)).toEqual([{ service: "a" }, { service: "b" }]);
    for (const { exemplars } of data)
      expect(exemplars).toEqual([{ trace_id: "a".repeat(32), timestamp: "2026-01-01T11:59:30.000Z", value: 1 }]);
  });

  test("is explained by the question to the peer, which names no store", async () => {
    const { body } = await ask(await start([services]), [
      ["metric", "lag"],
      ["agg", "max"],
      ["explain", "true"],
      ...latam,
    ]);
    const { stores } = (
      body as {
        readonly explain: {
          readonly stores: readonly {
            readonly store: string;
            readonly reads: readonly { readonly promql: string }[];
          }[];
        };
      }
    ).explain;
    expect(stores.map(({ store }) => store)).toEqual(["latam"]);
    const question = {
      schema_version: "2026-01-01",
      region: "latam",
      regions: ["latam"],
      metric: "lag",
      agg: "max",
      tenant: "brand-a",
      filters: {},
      group_by: [],
    };
    expect(stores.flatMap(({ reads }) => reads.map(({ promql }) => JSON.parse(promql) as object))).toEqual([
      { ...question, part: "newest" },
      {
        ...question,
        part: "max_over_time",
        points: { width_ms: 60_000, interval_seconds: 15, increases: "Extrapolated" },
      },
    ]);
  });

  test("is partial in the peer's region when one of its stores fails, and is not cached", async () => {
    const running = await start([services, broken], { limits: { memorySeconds: 60, hotTailSeconds: 5 } });
    const pairs: Pairs = [
      ["metric", "lag"],
      ["agg", "max"],
    ];
    const answer = await ask(running, pairs);
    expect(answer).toMatchObject({ status: 206, headers: { "X-Partial": "true" } });
    expect(regionsOf(answer)).toEqual([
      { region: "eu", state: "ok" },
      { region: "latam", state: "partial" },
    ]);
    const read = rangesOf(running.latam);
    expect(regionsOf(await ask(running, pairs))).toEqual(regionsOf(answer));
    expect(rangesOf(running.latam)).toBeGreaterThan(read);
  });

  test("is late in the peer's region when its only store is", async () => {
    const answer = await ask(await start([silent], { deadlineMs: 1_500 }), [
      ["metric", "lag"],
      ["agg", "max"],
    ]);
    expect(answer.status).toBe(206);
    expect(regionsOf(answer)).toEqual([
      { region: "eu", state: "ok" },
      { region: "latam", state: "late" },
    ]);
  });

  test("ends at the peer when its remaining time is over", async () => {
    const { post, token, own } = await start([silent]);
    const points = { width_ms: 60_000, interval_seconds: 15, increases: "Extrapolated" };
    const asked = {
      schema_version: "2026-01-01",
      region: "latam",
      regions: ["latam"],
      metric: "lag",
      agg: "max",
      part: "max_over_time",
      tenant: "brand-a",
      filters: {},
      group_by: [],
      points,
    };
    const body = JSON.stringify({ version: 1, ask: asked, over: { start_ms: 60_000, count: 1 } });
    const sent = { token: await token({}, own), client: own };
    expect(await post(body, { ...sent, headers: { "x-remaining-ms": "300" } })).toMatchObject({
      status: 504,
      body: { code: "store_timeout" },
    });
    expect(await post(body, { ...sent, headers: { "x-remaining-ms": "0" } })).toMatchObject({
      status: 400,
      body: { errors: [{ field: "X-Remaining-Ms" }] },
    });
  });

  test("ends at the peer's store when the caller leaves", async () => {
    const running = await start([silent]);
    const leaving = new AbortController();
    const asked = ask(running, [["metric", "lag"], ["agg", "max"], ...latam], leaving.signal);
    const ended = asked.catch((error: unknown) => error);
    await waitFor(() => rangesOf(running.latam) > 0, { timeoutMs: 20_000, what: "a request at the peer's store" });
    leaving.abort(new Error("left"));
    expect(await ended).toMatchObject({ message: "left" });
    await waitFor(() => running.latam[0]?.abandoned() === 2, { timeoutMs: 20_000, what: "requests that are given up" });
  });

  test("needs the role of a sensitive metric in the peer's token too", async () => {
    const running = await start([services]);
    const answer = await ask(running, [
      ["metric", "vault"],
      ["agg", "max"],
    ]);
    expect(regionsOf(answer)).toEqual([
      { region: "eu", state: "ok" },
      { region: "latam", state: "failed" },
    ]);
    expect(rangesOf(running.latam)).toBe(0);
  });
});
