import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { classDefaults } from "../../../../crds/compile/class-defaults.ts";
import { createMetricsApi } from "../../../../runtime/metrics/api/create-metrics-api.ts";
import { singlePod } from "../../../../runtime/pods/pods.ts";
import { stallMsMax, waitFor } from "../../../support/wait.ts";
import { podsOfATest } from "../admission/pods-of-a-test.ts";
import {
  healthyProbe,
  json,
  matrix,
  startScriptedStore,
  type StoreReply,
  success,
} from "../../stores/scripted-store.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig } from "../oracle/universe.ts";
import {
  answering,
  ask,
  bodyOf,
  broken,
  closing,
  deadlineMs,
  gauge,
  isInstant,
  lastFiveMinutes,
  never,
  nowMs,
  nowSeconds,
  overloaded,
  refusalOf,
  run,
  silent,
  statesOf,
} from "./run-api.ts";

describe("a store that fails (Operational Metrics API §7)", () => {
  const rows: readonly (readonly [sentence: string, behaviour: StoreReply, state: string])[] = [
    ["breaks its connection", broken, "failed"],
    ["refuses the query", overloaded, "failed"],
    ["answers a page of a proxy", json(502, "Bad Gateway"), "failed"],
    ["answers after the deadline", silent, "late"],
  ];
  test.each(rows)("and %s leaves a partial response of the others", async (_sentence, behaviour, state) => {
    // Only silence has to be waited for; a busy machine may take long for everything else.
    const running = await run({ eu: answering(5), latam: behaviour }, gauge, {
      deadlineMs: state === "late" ? deadlineMs : 10 * deadlineMs,
    });
    const answer = await ask(running);
    expect([answer.status, answer.headers["X-Partial"], statesOf(answer)]).toEqual([
      206,
      "true",
      `eu=ok latam=${state}`,
    ]);
    expect(bodyOf(answer).data).toMatchObject([{ points: [["2026-01-01T12:00:00.000Z", 1]] }]);
    expect(bodyOf(answer).meta.partial).toBe(true);
    expect(answer.headers["X-Query-Shards"]).toBe("asked=2, answered=1");
    expect(running.warnings).toMatchObject([
      { store: "metrics/generated/latam", region: "latam", metric: "lag", correlationId: "id-1" },
    ]);
  });

  test("in a region with others makes the region partial", async () => {
    const answer = await ask(await run({ "eu-1": answering(5), "eu-2": broken }));
    expect([answer.status, statesOf(answer)]).toEqual([206, "eu=partial"]);
  });

  test("for one of two statistics is left out completely", async () => {
    const half: StoreReply = (response, request) => {
      const counts = request.form.get("query")?.includes("count_over_time") ?? false;
      (counts ? overloaded : answering(1_000))(response, request);
    };
    const answer = await ask(await run({ eu: answering(5), latam: half }));
    expect(bodyOf(answer).data).toMatchObject([{ points: [["2026-01-01T12:00:00.000Z", 1]] }]);
    expect(statesOf(answer)).toBe("eu=ok latam=failed");
  });

  test("to read all of its own data makes the response partial too", async () => {
    const answer = await ask(
      await run({
        eu: (response, request) => {
          if (isInstant(request)) answering(5)(response, request);
          else success(matrix([nowSeconds, "5"]), ["remote_read: connection refused"])(response, request);
        },
      }),
    );
    expect([answer.status, statesOf(answer)]).toEqual([206, "eu=partial"]);
  });
});

describe("when no store answers (Operational Metrics API §7)", () => {
  test("the request is refused with 502 and a suggested query", async () => {
    const running = await run({ eu: broken, latam: silent }, gauge, { deadlineMs: 4 * deadlineMs });
    const refusal = await refusalOf(ask(running));
    expect([refusal.status, refusal.code, refusal.suggestion, refusal.retryAfterSeconds]).toEqual([
      502,
      "store_failed",
      { step: "2m", downsample: "5m" },
      5,
    ]);
    expect(refusal.message).toBe("no store responded: eu (failed), latam (late)");
  });

  test("and all were late, with 504, not much after the deadline", async () => {
    const running = await run({ eu: silent, latam: silent }, gauge, { deadlineMs });
    const startMs = performance.now();
    const refusal = await refusalOf(ask(running));
    expect([refusal.status, refusal.code, refusal.suggestion?.step]).toEqual([504, "store_timeout", "2m"]);
    expect(performance.now() - startMs).toBeLessThan(deadlineMs + stallMsMax);
    await waitFor(() => running.stores.every((store) => store.abandoned() > 0), {
      timeoutMs: 20_000,
      what: "the requests to be cancelled",
    });
  });

  test("since all lack a function of the metric, the region is unsupported", async () => {
    const unflagged = await startScriptedStore(healthyProbe(answering(5), { anchored: false }));
    const config = storeConfig({ name: "eu", region: "eu", url: unflagged.url });
    const source = { kind: "counter", increase: "Anchored", name: "paid_total", matchers: [] } as const;
    const runtimeConfig = configOf([config], [metricConfig("lag", [config], { source })]);
    const api = createMetricsApi({ config: runtimeConfig, log: { warn: () => undefined } });
    closing.push(
      () => api.stop(),
      () => unflagged.close(),
    );
    const refusal = await refusalOf(ask({ api, config: runtimeConfig, stores: [unflagged], warnings: [] }));
    expect([refusal.code, refusal.message]).toEqual([
      "store_failed",
      "no store responded: eu (unsupported); the store does not support anchored ranges, which the metric " +
        "requires; upgrade it or remove the metric",
    ]);
    expect((await api.health(everyone)).body).toMatchObject({
      status: "degraded",
      stores: [{ name: "eu", state: "unsupported" }],
    });
  });
});

describe("a store that rests after five failures", () => {
  test("has a reason, and the response says when it gets a request again", async () => {
    const running = await run({ eu: answering(5), latam: broken });
    const failed = await ask(running);
    expect([failed.headers["Retry-After"], statesOf(failed)]).toEqual(["5", "eu=ok latam=failed"]);
    for (let asked = 1; asked < 5; asked += 1) await ask(running);
    const resting = await ask(running);
    expect([resting.headers["Retry-After"], statesOf(resting)]).toEqual(["1", "eu=ok latam=failed"]);
    expect(resting.body).toMatchObject({
      meta: { regions: [{ region: "eu" }, { region: "latam", reasons: [{ metric: "lag", code: "resting" }] }] },
    });
    const refusal = await refusalOf(ask(running, [["filter[region]", "latam"]]));
    expect([refusal.code, refusal.retryAfterSeconds]).toEqual(["store_failed", 1]);
  });
});

describe("a caller who leaves", () => {
  test("ends the requests to the stores", async () => {
    const running = await run({ eu: silent, latam: silent });
    const controller = new AbortController();
    const asking = ask(running, [], controller.signal);
    asking.catch(() => undefined);
    // The probe's four requests, a newest sample and two statistics.
    await waitFor(() => running.stores.every(({ requests }) => requests.length === 7), {
      timeoutMs: 20_000,
      what: "the stores to be asked",
    });
    controller.abort(new Error("the caller left"));
    await expect(asking).rejects.toThrow("the caller left");
    await waitFor(() => running.stores.every((store) => store.abandoned() === 3), {
      timeoutMs: 20_000,
      what: "the requests to be cancelled",
    });
  });
});

describe("X-Data-Freshness (Operational Metrics API §6)", () => {
  const header = async (behaviours: Readonly<Record<string, StoreReply>>): Promise<string | undefined> =>
    (await ask(await run(behaviours))).headers["X-Data-Freshness"];
  const empty: StoreReply = (response, request) => {
    success({ resultType: isInstant(request) ? "vector" : "matrix", result: [] })(response, request);
  };
  const withoutNewest: StoreReply = (response, request) =>
    (isInstant(request) ? empty : answering(5))(response, request);

  test("is the age of the newest sample, of the stalest store", async () => {
    expect(await header({ eu: answering(5, 7), latam: answering(5, 90) })).toBe("90s");
  });

  test("is not that of a store that failed or holds no such series", async () => {
    expect(await header({ eu: answering(5, 7), latam: broken, apac: empty })).toBe("7s");
  });

  test("is at most a point's width off where the store names no newest sample", async () => {
    expect(await header({ eu: withoutNewest })).toBe("60s");
  });

  test("is absent without a sample, also for a bulk", async () => {
    const running = await run({ eu: empty });
    expect((await ask(running)).headers).not.toHaveProperty("X-Data-Freshness");
    const item = { id: "one", metric: "lag", filter: { tenant: "brand-a" }, from: "2026-01-01T11:55:00Z", step: "1m" };
    const bulk = await running.api.bulk(Buffer.from(JSON.stringify({ queries: [item] })), everyone, never(), {
      correlationId: "id-1",
      nowMs,
    });
    expect([bulk.status, bulk.headers["X-Data-Freshness"]]).toEqual([200, undefined]);
  });
});

describe("a result", () => {
  test("of too many series is refused with a suggested query", async () => {
    const result = Array.from({ length: 5_001 }, (_, index) => ({
      metric: { service: `s${index}` },
      values: [[nowSeconds, "1"]],
    }));
    const many: StoreReply = (response, request) =>
      (isInstant(request) ? answering(1) : success({ resultType: "matrix", result }))(response, request);
    const refusal = await refusalOf(ask(await run({ eu: many }), [["group_by", "service"]]));
    expect([refusal.status, refusal.code]).toEqual([400, "result_too_large"]);
  });

  test("of buckets that two stores do not share is refused with one region to ask", async () => {
    const buckets =
      (bound: string): StoreReply =>
      (response, request) => {
        const result = [bound, "+Inf"].map((le) => ({ metric: { le }, values: [[nowSeconds, "1"]] }));
        (isInstant(request) ? answering(1) : success({ resultType: "matrix", result }))(response, request);
      };
    const histogram = {
      source: { kind: "histogram", type: "Classic", increase: "Extrapolated", name: "ms", matchers: [] },
      aggregations: ["p95"],
      defaultAggregation: "p95",
    } as const;
    const running = await run({ eu: buckets("1"), latam: buckets("2") }, histogram);
    const refusal = await refusalOf(ask(running));
    expect([refusal.status, refusal.code, refusal.errors[0]?.field]).toEqual([
      400,
      "incompatible_buckets",
      "filter[region]",
    ]);
    expect(refusal.message).toBe(
      "the histograms of lag share too few bounds across stores; select a region with filter[region]",
    );
    expect((await ask(running, [["filter[region]", "eu"]])).status).toBe(200);
  });

  test("of buckets that two stores do not share fails alone among several metrics (Operational Metrics API §4.7.4)", async () => {
    const buckets =
      (bound: string): StoreReply =>
      (response, request) => {
        const isHistogram = request.form.get("query")?.includes("ms_bucket") === true;
        const labels: readonly object[] = isHistogram ? [bound, "+Inf"].map((le) => ({ le })) : [{}];
        (isInstant(request)
          ? answering(1)
          : success({
              resultType: "matrix",
              result: labels.map((metric) => ({ metric, values: [[nowSeconds, "1"]] })),
            }))(response, request);
      };
    const stores = await Promise.all(["1", "2"].map((bound) => startScriptedStore(healthyProbe(buckets(bound)))));
    const configs = stores.map(({ url }, index) =>
      storeConfig({ name: `s${index}`, region: ["eu", "latam"][index] ?? "", url }),
    );
    const both = { complianceScope: { regions: ["eu", "latam"] } };
    const config = configOf(configs, [
      metricConfig("lag", configs, {
        ...gauge,
        ...both,
        aggregations: ["p95"],
        defaultAggregation: "p95",
        source: { kind: "histogram", type: "Classic", increase: "Extrapolated", name: "ms", matchers: [] },
      }),
      metricConfig("load", configs, { source: { kind: "gauge", name: "load", matchers: [] }, ...both }),
    ]);
    const api = createMetricsApi({ config, log: { warn: () => undefined } });
    closing.push(() => api.stop(), ...stores.map((store) => () => store.close()));
    const { status, body, json: bytes } = await ask({ api, config, stores, warnings: [] }, [["metric", "load"]]);
    expect([status, JSON.parse(Buffer.from((await bytes?.()) ?? []).toString())]).toEqual([
      200,
      JSON.parse(JSON.stringify(body)),
    ]);
    expect(body).toMatchObject({
      data: [{ metric: "load" }],
      errors: [{ metric: "lag", status: 400, code: "incompatible_buckets" }],
      meta: { partial: false },
    });
  });

  test("of a store that refuses a query has the store's message for callers with the explain scope only", async () => {
    const running = await run({ eu: overloaded });
    const explainer = { ...everyone, scopes: [...everyone.scopes, "metrics:explain"] };
    const told = await refusalOf(
      running.api.query(parameters([...lastFiveMinutes]), explainer, never(), { correlationId: "id-1", nowMs }),
    );
    expect([told.status, told.code]).toEqual([502, "store_failed"]);
    expect(told.errors).toEqual([
      {
        field: "metric",
        code: "store_failed",
        detail: "the store eu rejected the query for lag: HTTP 422: execution: too many samples",
      },
    ]);
    expect((await refusalOf(ask(running))).errors).toEqual([]);
    const partial = await run({ eu: overloaded, latam: answering(1) });
    const { body } = await partial.api.query(
      parameters([...lastFiveMinutes, ["explain", "true"]]),
      explainer,
      never(),
      { correlationId: "id-1", nowMs },
    );
    expect(JSON.stringify(body)).toContain(
      '"outcome":"refused","series":0,"error":"HTTP 422: execution: too many samples"',
    );
  });

  test("holds no point where a value is no finite number", async () => {
    const values = [
      [nowSeconds - 120, "NaN"],
      [nowSeconds - 60, "+Inf"],
      [nowSeconds, "3"],
    ] as const;
    const odd: StoreReply = (response, request) =>
      (isInstant(request) ? answering(1) : success(matrix(...values)))(response, request);
    const answer = await ask(await run({ eu: odd }), [["agg", "max"]]);
    expect(bodyOf(answer).data).toMatchObject([{ points: [["2026-01-01T12:00:00.000Z", 3]] }]);
    expect(JSON.stringify(bodyOf(answer).data)).not.toMatch(/null|NaN|Infinity/u);
    expect(answer.body).toMatchObject({
      meta: {
        infinite_points: 1,
        hints: ["lag: points that are not a number are omitted; 1 of the values from its stores is NaN or infinite"],
      },
    });
  });
});

describe("the health view (Operational Metrics API §4.4)", () => {
  test("has the measured figures", async () => {
    const running = await run({ eu: answering(5), latam: broken });
    await ask(running);
    await ask(running, [["filter[region]", "eu"]]);
    await refusalOf(ask(running, [["filter[region]", "latam"]]));
    await refusalOf(ask(running, [["agg", "p99"]]));
    expect((await running.api.health(everyone)).body).toEqual({
      status: "degraded",
      window_seconds: 300,
      requests: 4,
      latency_p95_ms: expect.any(Number) as number,
      error_rate: 0.25,
      cache_hit_ratio: 0,
      partial_response_rate: 0.5,
      caches: [
        { name: "memory", state: "off", hit_ratio: 0, fallback: "stores" },
        { name: "distributed", state: "off", hit_ratio: 0, fallback: "stores" },
      ],
      stores: [
        { name: "eu", region: "eu", catalog: "metrics/generated", state: "ok", age_seconds: 0 },
        { name: "latam", region: "latam", catalog: "metrics/generated", state: "failing", age_seconds: 0 },
      ],
      requests_per_second: expect.any(Number) as number,
      response_bytes_avg: null,
      most_expensive: [{ metric: "lag", cost: 20, requests: 3 }],
      pods: { live: 1, counted: 1 },
    });
  });

  test("has the requests and the costs of all pods, and only costs that the caller may see", async () => {
    const installation = podsOfATest();
    const [one, other] = [installation.join("one"), installation.join("other")];
    const first = await run({ eu: answering(5) }, gauge, { pods: one });
    const second = await run({ eu: answering(5) }, gauge, { pods: other });
    for (const { api } of [first, second]) await ask({ ...first, api });
    const health = async (caller = everyone) => (await first.api.health(caller)).body;
    expect(await health()).toMatchObject({
      most_expensive: [{ metric: "lag", cost: 20, requests: 2 }],
      pods: { live: 2, counted: 2 },
    });
    expect(await health({ ...everyone, tenants: ["elsewhere"] })).toMatchObject({ most_expensive: [] });
    expect(await health({ ...everyone, metrics: ["other"] })).toMatchObject({ most_expensive: [] });
    // A pod of an earlier version knows no such request.
    installation.join("earlier");
    expect(await health()).toMatchObject({ pods: { live: 3, counted: 2 } });
  });

  test("has the states and hit ratios of both caches", async () => {
    let isConnected = true;
    const pods = { ...singlePod(), isConnected: () => isConnected };
    const running = await run({ eu: answering(5) }, gauge, { pods });
    const caches = async () => ((await running.api.health(everyone)).body as { readonly caches: unknown }).caches;
    running.api.apply({ ...running.config, classDefaults });
    await ask(running);
    await ask(running);
    expect(await caches()).toEqual([
      { name: "memory", state: "ok", hit_ratio: 0.5, fallback: "distributed" },
      { name: "distributed", state: "ok", hit_ratio: 0, fallback: "stores" },
    ]);
    isConnected = false;
    expect((await running.api.health(everyone)).body).toMatchObject({
      status: "degraded",
      caches: [{ fallback: "stores" }, { state: "failing" }],
    });
    // The configuration of these tests keeps nothing anywhere.
    running.api.apply(running.config);
    expect((await running.api.health(everyone)).body).toMatchObject({
      status: "ok",
      caches: [{ state: "off", fallback: "stores" }, { state: "off" }],
    });
  });

  test("reports the distributed cache as off for stores in another residency", async () => {
    const running = await run({ eu: answering(5) }, gauge, { pods: singlePod(), residency: "elsewhere" });
    running.api.apply({ ...running.config, classDefaults });
    expect((await running.api.health(everyone)).body).toMatchObject({
      caches: [
        { state: "ok", fallback: "stores" },
        { name: "distributed", state: "off" },
      ],
    });
  });

  test("is down when every store fails, and ok again when they are back", async () => {
    let down = true;
    const running = await run({ eu: (response, request) => (down ? broken : answering(5))(response, request) });
    await refusalOf(ask(running));
    expect((await running.api.health(everyone)).body).toMatchObject({ status: "down" });
    down = false;
    await ask(running);
    expect((await running.api.health(everyone)).body).toMatchObject({ status: "ok", stores: [{ state: "ok" }] });
  });

  test("probes a store whose state is older than ten seconds, and shows the age until the probe ends", async () => {
    let [down, timeMs] = [true, nowMs];
    const reply: StoreReply = (response, request) => (down ? broken : answering(5))(response, request);
    const running = await run({ eu: reply }, gauge, { now: () => timeMs });
    await refusalOf(ask(running));
    down = false;
    timeMs += 9_000;
    const sent = running.stores[0]?.requests.length;
    expect((await running.api.health(everyone)).body).toMatchObject({
      status: "down",
      stores: [{ state: "failing", age_seconds: 9 }],
    });
    expect(running.stores[0]?.requests.length).toBe(sent);
    timeMs += 1_000;
    expect((await running.api.health(everyone)).body).toMatchObject({
      stores: [{ state: "failing", age_seconds: 10 }],
    });
    await waitFor(
      async () => ((await running.api.health(everyone)).body as { readonly status: string }).status === "ok",
      {
        what: "the probe",
        timeoutMs: 5_000,
      },
    );
    expect((await running.api.health(everyone)).body).toMatchObject({ stores: [{ state: "ok", age_seconds: 0 }] });
  });

  test("does not count a refused query as a failure of the store", async () => {
    const running = await run({ eu: overloaded });
    await refusalOf(ask(running));
    expect((await running.api.health(everyone)).body).toMatchObject({ stores: [{ state: "ok" }] });
  });
});

test("the API counts its requests, its metrics and its stores (Operational Metrics API §2.2)", async () => {
  const registry = new Registry();
  const running = await run({ eu: answering(5), latam: broken }, gauge, { registry });
  await ask(running);
  const text = await registry.metrics();
  expect(text).toContain('heliograph_metrics_request_duration_seconds_count{route="query",outcome="partial"} 1');
  expect(text).toContain('heliograph_metrics_queried_total{metric="lag",class="A"} 1');
  expect(text).toContain('heliograph_metrics_cost_units_total{class="A"} 20');
  expect(text).toContain('heliograph_store_reads_total{store="latam",region="latam",outcome="unreachable"} 1');
  // Latam failed, so that only Europe's half of the estimate is charged.
  expect(text).toContain('heliograph_cost_units_total{metric="lag",class="A"} 10');
});

test("cost units of a metric that left the catalog are no longer exported", async () => {
  const registry = new Registry();
  const running = await run({ eu: answering(5) }, gauge, { registry });
  await ask(running);
  const exported = (): Promise<string> => registry.getSingleMetricAsString("heliograph_cost_units_total");
  expect(await exported()).toContain('metric="lag"');
  running.api.apply({ ...running.config, catalogs: [] });
  expect(await exported()).not.toContain('metric="lag"');
});

test("another configuration applies to all later requests", async () => {
  const running = await run({ eu: answering(5) });
  running.api.apply(configOf([], []));
  expect((await refusalOf(ask(running))).code).toBe("unknown_metric");
  expect((await running.api.health(everyone)).body).toMatchObject({ stores: [] });
});
