import { afterEach, describe, expect, test } from "vitest";
import type { LabelName } from "../../../../crds/config.ts";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import type { LookUp } from "../../../../runtime/metrics/metrics-api.ts";
import { presenceOf } from "../../../../runtime/metrics/selectors/selected-metrics.ts";
import type { StoreReply } from "../../stores/scripted-store.ts";
import { everyone, generatedMetrics } from "../oracle/universe.ts";
import { nowMs, numbered, sentTo, start } from "./selector-stores.ts";

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

const broken: StoreReply = (response) => void response.socket?.destroy();
const brandA: Caller = { ...everyone, tenants: ["brand-a"] };
const hourMs = 3_600_000;
type FilterValues = Readonly<Partial<Record<LabelName, readonly string[]>>>;

function lookUp(metrics: readonly string[], filters: FilterValues = {}): LookUp {
  const listed = new Map(Object.entries(filters) as [LabelName, readonly string[]][]);
  const selectors = metrics.map((metric) => ({ metric, filters: listed }));
  return { selectors, tenant: undefined, startMs: nowMs - hourMs, endMs: nowMs };
}

function valuesOf({ api }: Started, label: LabelName, asked: LookUp, caller: Caller = brandA) {
  const signal = new AbortController().signal;
  return api.labelValues({ ...asked, label }, caller, signal, { correlationId: "id-1", nowMs });
}

async function refusalOf(answer: Promise<unknown>): Promise<string> {
  const error = await answer.then(
    () => new Error("it was answered"),
    (reason: unknown) => reason,
  );
  if (error instanceof ApiError) return error.code;
  throw error;
}

const grouped: Parameters<typeof start>[0] = { replies: { eu: numbered("eu", 2), latam: numbered("latam", 3) } };

describe("the values of a label", () => {
  test("are read once from each store, as one point over the hours of the times", async () => {
    const started = await begin(grouped);
    const found = await valuesOf(started, "service", lookUp(["lag"]));
    expect(found).toMatchObject({ values: ["s0", "s1", "s2"], isPartial: false });
    const query = 'max by(service)(max_over_time({__name__="lag",tenant="brand-a"}[3600000ms]))';
    const seconds = nowMs / 1_000;
    expect(sentTo(started)).toEqual([0, 1].map(() => `${query} ${seconds}.000`));
    expect(found.headers["X-Query-Cost"]).toBe("5");
  });

  const widths: readonly (readonly [sentence: string, spanMs: number, maxWindowSeconds: number, rangeMs: number])[] = [
    ["two hours are read as six", 2 * hourMs, 31 * 86_400, 6 * hourMs],
    ["years are read as a day", 8_760 * hourMs, 31 * 86_400, 24 * hourMs],
    ["years are read as the widest window of the class", 8_760 * hourMs, 7_200, 2 * hourMs],
  ];
  test.each(widths)("have few widths: %s", async (_sentence, spanMs, maxWindowSeconds, rangeMs) => {
    const started = await begin({ ...grouped, limits: { maxWindowSeconds } });
    await valuesOf(started, "service", { ...lookUp(["lag"]), startMs: nowMs - spanMs });
    expect(sentTo(started).every((sent) => sent.includes(`[${rangeMs}ms]`))).toBe(true);
    expect(sentTo(started)).toHaveLength(2);
  });

  test("of several metrics cost what all of them do", async () => {
    const started = await begin(grouped);
    const found = await valuesOf(started, "service", lookUp(["lag", "payouts"]));
    expect(found).toMatchObject({ values: ["s0", "s1", "s2"], headers: { "X-Query-Cost": "10" } });
  });

  test("are partial where a store fails, and an error where all do", async () => {
    const half = await begin({ replies: { eu: numbered("eu", 2), latam: broken } });
    expect(await valuesOf(half, "service", lookUp(["lag", "payouts"]))).toMatchObject({
      values: ["s0", "s1"],
      isPartial: true,
      regions: [
        { region: "eu", state: "ok" },
        { region: "latam", state: "failed" },
      ],
      failures: [],
    });
    const none = await begin({ replies: { eu: broken, latam: broken } });
    expect(await refusalOf(valuesOf(none, "service", lookUp(["lag"])))).toBe("store_failed");
  });

  test("of the isolation read no store, and are charged as a request", async () => {
    const started = await begin({ limits: { burst: 2, requestsPerSecond: 0.001 } });
    const caller = { ...everyone, tenants: ["brand-b", "brand-a"], environments: ["prod"] };
    expect((await valuesOf(started, "tenant", lookUp(["lag"]), caller)).values).toEqual(["brand-a", "brand-b"]);
    const named = lookUp(["lag"], { tenant: ["brand-a"] });
    expect((await valuesOf(started, "region", named, caller)).values).toEqual(["eu", "latam"]);
    expect(sentTo(started)).toEqual([]);
    expect(await refusalOf(valuesOf(started, "region", named, caller))).toBe("rate_exceeded");
  });

  test("are read of 50 metrics at most, and say how many are left out", async () => {
    const started = await begin(grouped);
    const found = await valuesOf(started, "service", lookUp(Array.from({ length: 53 }, () => "lag")));
    expect(found).toMatchObject({ values: ["s0", "s1", "s2"], unread: 3, leftOut: [] });
  });

  test("of several metrics take one request token", async () => {
    const started = await begin({ ...grouped, limits: { burst: 1, requestsPerSecond: 0.001 } });
    expect((await valuesOf(started, "service", lookUp(["lag", "payouts"]))).values).toEqual(["s0", "s1", "s2"]);
    expect(await refusalOf(valuesOf(started, "service", lookUp(["lag", "payouts"])))).toBe("rate_exceeded");
  });

  test("are none where no metric has the label", async () => {
    const started = await begin();
    expect((await valuesOf(started, "psp", lookUp(["lag"]))).values).toEqual([]);
    expect(sentTo(started)).toEqual([]);
  });

  const rows: readonly (readonly [sentence: string, label: LabelName, asked: LookUp, caller: Caller, code: string])[] =
    [
      ["of an unknown metric", "service", lookUp(["nothing"]), brandA, "unknown_metric"],
      ["of a metric that is not allowed", "psp", lookUp(["lag"]), { ...brandA, metrics: ["x"] }, "metric_forbidden"],
      ["without the scope", "region", lookUp(["lag"]), { ...brandA, scopes: [] }, "scope_missing"],
      ["of another tenant", "service", lookUp(["lag"], { tenant: ["b"] }), brandA, "tenant_forbidden"],
      ["of two tenants", "service", { ...lookUp(["lag"], { tenant: ["b"] }), tenant: "a" }, everyone, "invalid_filter"],
      ["without a tenant", "region", lookUp(["lag"]), everyone, "tenant_required"],
      ["of every tenant", "tenant", lookUp(["lag"]), everyone, "tenant_required"],
      [
        "of a region that is not allowed",
        "region",
        lookUp(["lag"], { region: ["eu", "latam"] }),
        { ...brandA, regions: ["eu"] },
        "region_forbidden",
      ],
    ];
  test.each(rows)("are refused: %s", async (_sentence, label, asked, caller, code) => {
    const started = await begin();
    expect(await refusalOf(valuesOf(started, label, asked, caller))).toBe(code);
    expect(sentTo(started)).toEqual([]);
  });
});

describe("the labels of series", () => {
  test("leave out labels above the limit on grouping, and keep those that a filter decides", async () => {
    const labels = ["region", "service", "psp", "tenant"] as const;
    const started = await begin({ ...grouped, metrics: { lag: { labels, maxGroupBy: 1 } } });
    const asked = lookUp(["lag"], { region: ["eu"], psp: ["acme"] });
    const context = { correlationId: "id-1", nowMs };
    const whole = await started.api.seriesLabels(asked, brandA, new AbortController().signal, context);
    const fixed = { psp: "acme", region: "eu", tenant: "brand-a" };
    expect(whole.series).toEqual(["s0", "s1"].map((service) => ({ metric: "lag", labels: { ...fixed, service } })));
    expect(whole.isNarrowed).toBe(false);
    const open = await started.api.seriesLabels(lookUp(["lag"]), brandA, new AbortController().signal, context);
    expect(open.isNarrowed).toBe(true);
  });
});

test("presence is the measure of each kind of metric that reads least", () => {
  const found = generatedMetrics([]).map((metric) => [metric.id, presenceOf({ metric, slos: [] })] as const);
  const aggregation = (name: string) => ({ kind: "aggregation", aggregation: name });
  expect(Object.fromEntries(found)).toMatchObject({
    queue_lag: aggregation("max"),
    payments: aggregation("sum"),
    payments_success: { kind: "count" },
    latency_ms: { kind: "count" },
    sizes: { kind: "count" },
  });
});
