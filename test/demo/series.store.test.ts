import { afterAll, beforeAll, expect, test } from "vitest";
import { type PrometheusHandle, startPrometheus } from "../support/prometheus.ts";
import { openMetrics } from "../../demo/series.ts";

const startMs = Date.UTC(2026, 2, 10, 12);
const endMs = startMs + 3_600_000;

let store: PrometheusHandle;
beforeAll(async () => {
  store = await startPrometheus({ openMetrics: openMetrics({ store: "eu", startMs, endMs }) });
});
afterAll(() => store.stop());

interface Answer {
  readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
}

async function ask(query: string): Promise<number> {
  const parameters = new URLSearchParams({ query, time: String(endMs / 1_000) });
  const response = await fetch(`${store.url}/api/v1/query?${parameters.toString()}`);
  return Number(((await response.json()) as Answer).data.result[0]?.value[1]);
}

test("Prometheus holds every sample of the demo's series", async () => {
  const lines = [...openMetrics({ store: "eu", startMs, endMs })].join("").split("\n");
  const written = Map.groupBy(
    lines.filter((line) => /^\w+\{/u.test(line)),
    (line) => line.split("{", 1)[0] ?? "",
  );
  expect(written.size).toBeGreaterThan(15);
  for (const [name, samples] of written) expect(await ask(`sum(count_over_time(${name}[2h]))`)).toBe(samples.length);
});

test("Prometheus reads the demo's histograms as histograms", async () => {
  const p99 = await ask(
    "histogram_quantile(0.99, sum by (le) (increase(bet_settle_duration_milliseconds_bucket[30m])))",
  );
  expect(p99).toBeGreaterThan(200);
  expect(p99).toBeLessThan(6_400);
});

test("Prometheus finds a plausible share of failures", async () => {
  const failed = 'sum(increase(http_requests_total{component="api",code=~"5.."}[30m]))';
  const share = await ask(`${failed} / sum(increase(http_requests_total{component="api"}[30m]))`);
  expect(share).toBeGreaterThan(0);
  expect(share).toBeLessThan(0.01);
});
