import { afterEach, describe, expect, test } from "vitest";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import type { SelectorsRequest, SelectorsResult } from "../../../../runtime/metrics/request/selector.ts";
import type { StoreReply } from "../../stores/scripted-store.ts";
import { everyone } from "../oracle/universe.ts";
import {
  ask,
  askNatively,
  lastMinutes,
  selector,
  minuteMs,
  nativeOf,
  nowMs,
  numbered,
  requestOf,
  sentTo,
  start,
} from "./selector-stores.ts";

type Started = Awaited<ReturnType<typeof start>>;
const running: Started[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map(({ stop }) => stop()));
});

async function begin(...settings: Parameters<typeof start>): Promise<Started> {
  const started = await start(...settings);
  running.push(started);
  return started;
}

async function refusalOf(answer: Promise<unknown>): Promise<ApiError> {
  const error = await answer.then(
    () => new Error("it was answered"),
    (reason: unknown) => reason,
  );
  if (error instanceof ApiError) return error;
  throw error;
}

const broken: StoreReply = (response) => void response.socket?.destroy();
const inRegion = (region: string) =>
  new Map([
    ["region", [region]],
    ["tenant", ["brand-a"]],
  ] as const);
const valuesOf = ({ selectors }: SelectorsResult): readonly (readonly (readonly number[])[])[] =>
  selectors.map(({ series }) => series.map(({ values }) => [...values]));

interface NativeBody {
  readonly data: readonly { readonly points: readonly (readonly [string, number])[] }[];
}

describe("selectors", () => {
  test("are the points of the native queries, from the same reads at the sum of their costs", async () => {
    const [together, apart] = await Promise.all([begin(), begin()]);
    // The same stores, so that the second installation asks what the first does.
    const result = await ask(together, requestOf([selector("lag"), selector("payouts")]));
    const natives = [await askNatively(apart, nativeOf("lag")), await askNatively(apart, nativeOf("payouts"))];
    expect(result.stamps).toEqual({ startMs: lastMinutes.startMs, stepMs: minuteMs, count: 5 });
    expect(valuesOf(result)).toEqual(
      natives.map(({ body }) => (body as NativeBody).data.map(({ points }) => points.map(([, value]) => value))),
    );
    expect(sentTo(together)).toEqual(sentTo(apart));
    const cost = (name: string): number => natives.reduce((sum, { headers }) => sum + Number(headers[name]), 0);
    for (const name of ["X-Query-Cost-Estimate", "X-Query-Cost"])
      expect([name, Number(result.headers[name])]).toEqual([name, cost(name)]);
    expect(result).toMatchObject({
      isPartial: false,
      regions: [
        { region: "eu", state: "ok" },
        { region: "latam", state: "ok" },
      ],
    });
  });

  test("take one request token together, and equal reads are sent once", async () => {
    const started = await begin({ limits: { burst: 5, requestsPerSecond: 1 } });
    const { headers } = await ask(started, requestOf([selector("lag"), selector("lag"), selector("payouts")]));
    expect(headers["X-RateLimit-Remaining"]).toBe("4");
    // Two metrics, two statistics, two regions.
    expect(sentTo(started)).toHaveLength(8);
    expect(headers["X-Query-Plan"]).toMatch(/^class=A, leaves=3, reads=(\d+), sent=(\d+)$/u);
  });

  test("take the request tokens of each metric as often as they read it", async () => {
    const started = await begin({ perMetric: [{ metric: "lag", requestsPerSecond: 5 }] });
    const { headers } = await ask(started, requestOf([selector("lag"), selector("lag"), selector("payouts")]));
    expect(headers["RateLimit"]).toContain('"requests:lag";r=3');
  });

  test("repeat a point at stamps within the smallest step, and have no stamp in the future", async () => {
    const started = await begin();
    const times = { startMs: nowMs - minuteMs, endMs: nowMs + minuteMs, stepMs: minuteMs / 2 };
    const result = await ask(started, requestOf([selector("lag")], { times }));
    expect(result.stamps).toEqual({ startMs: times.startMs, stepMs: times.stepMs, count: 3 });
    const [[values = []] = []] = valuesOf(result);
    expect(values).toHaveLength(3);
    expect(values[0]).toBe(values[1]);
    expect(values[1]).not.toBe(values[2]);
  });

  test("of an instant have one stamp, the time that the request names", async () => {
    const result = await ask(await begin(), requestOf([selector("lag")], { times: { timeMs: nowMs - 1_000 } }));
    expect(result.stamps).toMatchObject({ startMs: nowMs - 1_000, count: 1 });
    expect(valuesOf(result)).toEqual([[[expect.any(Number)]]]);
  });

  test("have the slowest class of all their metrics", async () => {
    const started = await begin({ metrics: { payouts: { queryClass: "C" } } });
    const { headers } = await ask(started, requestOf([selector("lag"), selector("payouts")]));
    expect(headers["X-Query-Plan"]).toMatch(/^class=C/u);
  });

  test("with too many points together are refused", async () => {
    const started = await begin({ replies: { eu: numbered("eu", 100), latam: numbered("latam", 100) } });
    const times = { startMs: nowMs - 10_900_000, endMs: nowMs, stepMs: 1_000 };
    const grouped = selector("lag", { groupBy: ["service"] });
    const { code, headers } = await refusalOf(ask(started, requestOf([grouped], { times })));
    expect(code).toBe("result_too_large");
    expect(headers).toHaveProperty("X-Query-Cost");
  });
});

describe("the tenant of leaves", () => {
  const none = { filters: new Map() };
  const other = { filters: new Map([["tenant", ["brand-b"]]] as const) };

  test.each<[sentence: string, request: SelectorsRequest, fields: readonly string[]]>([
    ["two matchers", requestOf([selector("lag"), selector("payouts", other)]), ["lag{tenant}", "payouts{tenant}"]],
    [
      "a matcher and the header",
      requestOf([selector("lag", none), selector("payouts", other)], { tenant: "brand-a" }),
      ["X-Scope-OrgID", "payouts{tenant}"],
    ],
  ])("is refused when %s differ, naming both places", async (_sentence, request, fields) => {
    const { code, errors } = await refusalOf(ask(await begin(), request));
    expect([code, ...errors.map(({ field }) => field)]).toEqual(["invalid_filter", ...fields]);
  });

  test.each<[sentence: string, request: SelectorsRequest, caller: Partial<Caller>]>([
    ["one matcher", requestOf([selector("lag"), selector("payouts", none)]), {}],
    ["the header", requestOf([selector("lag", none), selector("payouts", none)], { tenant: "brand-a" }), {}],
    ["the token", requestOf([selector("lag", none), selector("payouts", none)]), { tenants: ["brand-a"] }],
  ])("is that of %s, for every leaf", async (_sentence, request, caller) => {
    const started = await begin();
    await ask(started, request, { ...everyone, ...caller });
    expect(sentTo(started).filter((text) => text.includes('tenant="brand-a"'))).toHaveLength(8);
  });

  test("is required", async () => {
    const { code } = await refusalOf(ask(await begin(), requestOf([selector("lag", none)])));
    expect(code).toBe("tenant_required");
  });
});

describe("leaves are refused", () => {
  test("where the compliance scope of one metric leaves out a region of another", async () => {
    const started = await begin({ metrics: { payouts: { complianceScope: { regions: ["latam"] } } } });
    const [eu, latam] = [
      selector("lag", { filters: inRegion("eu") }),
      selector("payouts", { filters: inRegion("latam") }),
    ];
    for (const one of [eu, latam]) await ask(started, requestOf([one]));
    const before = sentTo(started).length;
    const { code } = await refusalOf(ask(started, requestOf([eu, latam])));
    expect(code).toBe("region_forbidden");
    expect(sentTo(started)).toHaveLength(before);
  });

  test.each<[sentence: string, metrics: readonly string[], caller: Partial<Caller>]>([
    ["an unknown metric", ["lag", "nothing"], {}],
    ["a metric that is not granted", ["lag", "payouts"], { metrics: ["lag"] }],
    ["no scope", ["lag"], { scopes: ["events:write"] }],
    ["a region that is not granted", ["lag"], { regions: ["nowhere"] }],
    ["no environment", ["lag"], { environments: [] }],
    ["a foreign tenant", ["lag"], { tenants: ["brand-b"] }],
  ])("as the native query is for %s", async (_sentence, metrics, changes) => {
    const started = await begin();
    const caller = { ...everyone, ...changes };
    const native = await refusalOf(askNatively(started, nativeOf(...metrics), caller));
    const own = await refusalOf(ask(started, requestOf(metrics.map((id) => selector(id))), caller));
    expect([own.code, own.message]).toEqual([native.code, native.message]);
  });

  test("past the sunset of a metric", async () => {
    const metrics = { payouts: { state: "Deprecated", deprecatedAtMs: 0, sunsetAtMs: nowMs } } as const;
    const { code } = await refusalOf(ask(await begin({ metrics }), requestOf([selector("lag"), selector("payouts")])));
    expect(code).toBe("metric_gone");
  });

  test("for a width that no time holds", async () => {
    const wide = selector("lag", { widthSeconds: Number.MAX_SAFE_INTEGER });
    expect((await refusalOf(ask(await begin(), requestOf([wide])))).code).toBe("invalid_window");
  });

  test("above a quota, and nothing is charged then", async () => {
    const started = await begin({ limits: { costUnitsPerMinute: 30, burstCostUnits: 30 } });
    // A leaf costs two statistics over five points in two regions.
    const { code, suggestion, headers } = await refusalOf(
      ask(started, requestOf([selector("lag"), selector("payouts")])),
    );
    expect([code, headers["X-Query-Cost-Estimate"]]).toEqual(["cost_exceeded", "40"]);
    expect(suggestion).toEqual({ step: "5m", downsample: "5m" });
    const { headers: after } = await ask(started, requestOf([selector("lag")]));
    expect(after["RateLimit"]).toContain('"cost";r=10');
  });

  test("when no store answers, or one does not and all must", async () => {
    const request = requestOf([selector("lag"), selector("payouts", { filters: inRegion("eu") })]);
    const started = await begin({ replies: { latam: broken } });
    const result = await ask(started, request);
    expect(result).toMatchObject({
      isPartial: true,
      regions: [
        { region: "eu", state: "ok" },
        { region: "latam", state: "failed" },
      ],
    });
    expect(result.headers).toMatchObject({
      "X-Partial": "true",
      "Cache-Control": "no-store",
      "Retry-After": "5",
    });
    expect(result.headers).not.toHaveProperty("X-Suggested-Step");
    const whole = await ask(started, requestOf([selector("lag", { filters: inRegion("eu") })]));
    expect(whole.headers).not.toHaveProperty("Retry-After");
    const required = await refusalOf(ask(started, { ...request, isCompleteRequired: true }));
    const nowhere = await refusalOf(
      ask(started, requestOf([selector("lag"), selector("payouts", { filters: inRegion("latam") })])),
    );
    expect([required.code, nowhere.code]).toEqual(["store_failed", "store_failed"]);
  });

  test("without a leaf, and with more than ten", async () => {
    const started = await begin();
    for (const count of [0, 11]) {
      const all = Array.from({ length: count }, () => selector("lag"));
      expect((await refusalOf(ask(started, requestOf(all)))).code).toBe("invalid_request");
    }
  });
});

describe("a repeat of leaves", () => {
  const cached = { limits: { memorySeconds: 60, hotTailSeconds: 30, burst: 100, requestsPerSecond: 1 } } as const;
  const request = requestOf([selector("lag"), selector("payouts")]);

  test("has the same series, is charged a request and no cost, and reads nothing", async () => {
    const started = await begin(cached);
    const first = await ask(started, request);
    const sent = sentTo(started).length;
    const second = await ask(started, request);
    expect(first.revalidate).toBeUndefined();
    expect(valuesOf(second)).toEqual(valuesOf(first));
    const headers = second.revalidate?.(nowMs + 2_000);
    expect(headers).toMatchObject({
      "X-Query-Cost": "0",
      "X-RateLimit-Remaining": "97",
      "X-Query-Cache": "answer;age=2",
      "Cache-Control": "private, max-age=28",
    });
    expect(Object.keys(headers ?? {}).filter((name) => !(name in second.headers))).toEqual([]);
    expect(sentTo(started)).toHaveLength(sent);
  });

  test("is a new request after the lifetime of its points, and under a new configuration", async () => {
    const started = await begin(cached);
    await ask(started, request);
    const { revalidate } = await ask(started, request);
    expect(revalidate?.(nowMs + 31_000)).toBeUndefined();
    expect(revalidate?.(nowMs + 1_000)).toBeDefined();
    started.api.apply(started.config);
    expect(revalidate?.(nowMs + 1_000)).toBeUndefined();
  });

  test("is a new request when another stamp is no longer in the future", async () => {
    const started = await begin(cached);
    // Every stamp of the same minute has the same point.
    const times = { startMs: nowMs, endMs: nowMs + 30_000, stepMs: 10_000 };
    await ask(started, { ...request, times });
    const { revalidate, stamps } = await ask(started, { ...request, times });
    expect(stamps.count).toBe(1);
    expect(revalidate?.(nowMs + 9_000)).toBeDefined();
    expect(revalidate?.(nowMs + 11_000)).toBeUndefined();
  });

  test("is a new request when a quota is used up, which then refuses it", async () => {
    const started = await begin({ limits: { ...cached.limits, burst: 2 } });
    await ask(started, request);
    const { revalidate } = await ask(started, request);
    expect(revalidate?.(nowMs)).toBeUndefined();
    expect((await refusalOf(ask(started, request))).code).toBe("rate_exceeded");
  });
});
