import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CatalogChecks } from "../../../../runtime/metrics/observed/catalog-checks.ts";
import { singlePod } from "../../../../runtime/pods/pods.ts";
import type { Stores } from "../../../../runtime/stores/store.ts";
import { configOf, metricConfig, storeConfig } from "../oracle/universe.ts";

const [tickMs, periodMs, metricCount] = [1_000, 300_000, 40];

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

interface Sent {
  readonly metric: string;
  readonly step: string;
  readonly atMs: number;
}

/** Runs the schedule over whole periods, one tick after another. @returns the requests in order */
async function requestsOver(periods: number): Promise<readonly Sent[]> {
  const stores = [storeConfig({ name: "eu", region: "eu", url: "http://127.0.0.1:9" })];
  const metrics = Array.from({ length: metricCount }, (_, index) =>
    metricConfig(`m${index}`, stores, {
      source: { kind: "gauge", name: `series_${index}`, matchers: [] },
      labels: ["region", "service"],
    }),
  );
  const sent: Sent[] = [];
  let nowMs = 0;
  const call = (kind: (form: string) => string, data: unknown) => async (_path: string, form: object) => {
    const text = Object.values(form).join(" ");
    sent.push({ metric: /series_(\d+)/u.exec(text)?.[1] ?? "", step: kind(text), atMs: nowMs });
    return Promise.resolve({ data });
  };
  const vector = { resultType: "vector", result: [] };
  const query = call((text) => (text.includes("label service") ? "values" : "samples"), vector);
  const labels = call(() => "labels", ["__name__", "service", "userId"]);
  const store = {
    check: () => undefined,
    state: () => "ok",
    capabilities: async () => Promise.resolve({ boundary: "left-open" }),
    background: {
      post: async (path: string, form: object) => (path === "labels" ? labels : query)(path, form),
      get: call(() => "type", {}),
    },
  };
  const checks = new CatalogChecks({
    stores: { get: () => store } as unknown as Stores,
    pods: singlePod(),
    log: { warn: () => undefined },
    now: () => nowMs,
    count: () => undefined,
    periodMs,
  });
  checks.apply(configOf(stores, metrics));
  while (nowMs < periods * periodMs) {
    nowMs += tickMs;
    await vi.advanceTimersByTimeAsync(tickMs);
  }
  await checks.stop();
  return sent;
}

test("each metric in a store gets four requests in every five minutes, label names before values, spread", async () => {
  const sent = await requestsOver(3);
  const byMetric = [...Map.groupBy(sent, ({ metric }) => metric).values()];
  expect(byMetric).toHaveLength(metricCount);
  for (const own of byMetric) {
    // Values are not read before names of labels; the first request of a metric may be any other one.
    const steps = own.map(({ step }) => step);
    const first = steps.indexOf("samples");
    expect(steps.slice(first, first + 8)).toEqual([
      "samples",
      "type",
      "labels",
      "values",
      "samples",
      "type",
      "labels",
      "values",
    ]);
    expect(steps.indexOf("labels")).toBeLessThan(steps.indexOf("values"));
    for (const { atMs } of own)
      expect(own.filter((one) => one.atMs >= atMs && one.atMs < atMs + periodMs).length).toBeLessThanOrEqual(4);
  }
  // Spread evenly, 40 metrics send a request every two seconds; each fifteenth of a period has some.
  const second = sent.filter(({ atMs }) => atMs > periodMs && atMs <= 2 * periodMs);
  expect(second).toHaveLength(4 * metricCount);
  const perTick = [...Map.groupBy(second, ({ atMs }) => atMs).values()].map((own) => own.length);
  expect(Math.max(...perTick)).toBeLessThanOrEqual(5);
  const parts = new Set(second.map(({ atMs }) => Math.floor(((atMs - periodMs - 1) * 15) / periodMs)));
  expect(parts.size).toBe(15);
});
