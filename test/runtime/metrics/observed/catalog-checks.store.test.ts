import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CatalogChecksAnswer } from "../../../../api/catalog.ts";
import type { MetricConfig } from "../../../../crds/config.ts";
import { createMetricsApi } from "../../../../runtime/metrics/api/create-metrics-api.ts";
import type { MetricsApi } from "../../../../runtime/metrics/metrics-api.ts";
import { type PrometheusHandle, startPrometheus } from "../../../support/prometheus.ts";
import { remoteWrite, type WrittenSeries } from "../../../support/remote-write.ts";
import { waitFor } from "../../../support/wait.ts";
import { configOf, everyone, metricConfig, parameters, storeConfig } from "../oracle/universe.ts";

const periodMs = 1_000;
const minutesBefore = 15;

/** Samples of the last minutes, every 15 s. */
function recent(name: string, labels: Readonly<Record<string, string>>, everyMs = 15_000): WrittenSeries {
  const count = (minutesBefore * 60_000) / everyMs;
  const nowMs = Date.now();
  const samples = Array.from({ length: count }, (_, index) => ({
    ms: nowMs - (count - 1 - index) * everyMs,
    value: index,
  }));
  return { name, labels, samples };
}

let store: PrometheusHandle;
let api: MetricsApi;
beforeAll(async () => {
  store = await startPrometheus();
  const stores = [storeConfig({ name: "eu", region: "eu", url: store.url })];
  const labels = ["region", "tenant", "service"] as const;
  const named = (name: string) => ({ name, matchers: [{ label: "service", op: "NotEqual", value: "x" } as const] });
  const metric = (id: string, source: MetricConfig["source"], more: Partial<MetricConfig> = {}): MetricConfig =>
    metricConfig(id, stores, { source, labels: [...labels], ...more });
  const histogram = { kind: "histogram", type: "Classic", increase: "Extrapolated", ...named("took") } as const;
  const config = configOf(stores, [
    metric("lag", { kind: "gauge", ...named("lag") }),
    metric("missing", { kind: "gauge", ...named("nothing") }),
    metric("slow", { kind: "gauge", ...named("slow") }),
    metric("paid_as_gauge", { kind: "gauge", ...named("paid_total") }),
    metric("login", {
      kind: "ratio",
      increase: "Extrapolated",
      numerator: named("ok_total"),
      denominator: named("paid_total"),
    }),
    metric("took", histogram, { aggregations: ["p95"], defaultAggregation: "p95" }),
    metric("without_label", { kind: "gauge", ...named("lag") }, { labels: [...labels, "psp"] }),
  ]);
  const slo = { name: "fast", domain: "d", metric: "took", objective: 0.9, counts: "Good", threshold: 0.25 } as const;
  const slos = [{ ...slo, windowDays: 1, minimumEvents: 1, burnRates: [5, 4, 3, 2], public: false }];
  const own = { tenant: "brand-a", service: "a" };
  await remoteWrite(store.url, [
    recent("lag", own),
    recent("slow", own, 60_000),
    recent("paid_total", own),
    recent("ok_total", own),
    recent("took_count", own),
    ...["0.1", "0.25", "+Inf"].map((le) => recent("took_bucket", { ...own, le })),
  ]);
  const catalogs = config.catalogs.map((catalog) => ({ ...catalog, slos }));
  api = createMetricsApi({ config: { ...config, catalogs }, log: { warn: () => undefined }, checksMs: periodMs });
});
afterAll(async () => {
  await api?.stop();
  await store?.stop();
});

async function checks(): Promise<Readonly<Record<string, string>>> {
  const { body } = await api.catalogChecks(parameters([]), everyone, { correlationId: "c", nowMs: Date.now() });
  const { data } = body as { data: readonly { metric_id: string; status: string; check?: string; message: string }[] };
  return Object.fromEntries(
    data.map(({ metric_id: id, status, check, message }) => [id, [status, check, message].filter(Boolean).join(" ")]),
  );
}
const until = (what: string, isSo: (found: Readonly<Record<string, string>>) => boolean) =>
  waitFor(
    async () => {
      const found = await checks();
      return isSo(found) ? found : undefined;
    },
    { timeoutMs: 20_000, what },
  );

/** Requests that the store itself counted, by the end of their path. */
async function requestsOf(path: string): Promise<number> {
  const text = await (await fetch(`${store.url}/metrics`)).text();
  const line = new RegExp(
    String.raw`^prometheus_http_requests_total\{code="200",handler="/api/v1/${path}"\} (\d+)$`,
    "mu",
  );
  return Number(line.exec(text)?.[1] ?? 0);
}

describe("the catalog against a real Prometheus", () => {
  test("differs where the store does, then by a forbidden label, and is unknown while the store is down", async () => {
    expect(Object.values(await checks()).every((text) => text === "Unknown not compared yet")).toBe(true);
    expect(await until("the first comparison", (found) => !/not compared/u.test(JSON.stringify(found)))).toEqual({
      lag: "True",
      missing: "False series eu: no series nothing with these matchers",
      slow: "False interval eu: samples come about every 60 s, but intervalSeconds is 15",
      paid_as_gauge: "False kind eu: paid_total is the name of a counter",
      login: "True",
      took: "True",
      without_label: "False labels eu: no series has the label psp",
    });
    const { body } = await api.catalogChecks(parameters([]), everyone, { correlationId: "c", nowMs: Date.now() });
    const [first] = (body as CatalogChecksAnswer).data.find(({ metric_id: id }) => id === "missing")?.stores ?? [];
    expect(first).toMatchObject({ store: "eu", status: "False", check: "series" });
    expect(Math.abs(Date.now() - Date.parse(first?.checked_at ?? ""))).toBeLessThan(20_000);
    const [observed] = api.observed();
    expect(observed).toMatchObject({ status: "False", reason: "Mismatch", kind: "MetricCatalog" });

    await remoteWrite(store.url, [recent("lag", { tenant: "brand-a", service: "b", userId: "u-1" })]);
    const found = await until("the forbidden label", ({ lag }) => lag !== "True");
    expect(found["lag"]).toBe("False forbidden eu: the series have the forbidden label userId");
    expect(api.observed()[0]).toMatchObject({ reason: "ForbiddenLabel" });

    await remoteWrite(store.url, [
      recent("took_bucket", { tenant: "brand-a", service: "b", le: "+Inf" }),
      recent("took_count", { tenant: "brand-a", service: "b" }),
    ]);
    expect((await until("the bucket", ({ took }) => took !== "True"))["took"]).toMatch(
      /^False bounds eu: .* bucket 0.25 of the objective fast$/u,
    );

    await store.kill9();
    const down = await until(
      "the outage",
      (all) => Object.values(all).every((text) => !text.startsWith("True")) && !/False/u.test(JSON.stringify(all)),
    );
    expect(new Set(Object.values(down))).toEqual(new Set(["Unknown eu: the store does not respond"]));
    expect(api.observed()[0]).toMatchObject({ status: "Unknown", reason: "StoreUnavailable" });
    await store.restart();
    await until("the store", ({ login }) => login === "True");
  });

  test("gets one request for label names and one for metadata for each metric in a period, and no values", async () => {
    const metrics = 7;
    const read = async () => Promise.all(["labels", "metadata", "label/:name/values", "series"].map(requestsOf));
    const [startMs, before] = [Date.now(), await read()];
    await waitFor(async () => ((await requestsOf("labels")) >= (before[0] ?? 0) + 6 * metrics ? true : undefined), {
      timeoutMs: 20_000,
      what: "six periods",
    });
    const after = await read();
    const most = metrics * (Math.ceil((Date.now() - startMs) / periodMs) + 1);
    const [labels = 0, metadata = 0, ...others] = after.map((count, index) => count - (before[index] ?? 0));
    expect(labels).toBeLessThanOrEqual(most);
    expect(metadata).toBeLessThanOrEqual(most);
    expect(Math.abs(labels - metadata)).toBeLessThanOrEqual(2 * metrics);
    expect(others).toEqual([0, 0]);
  });
});
