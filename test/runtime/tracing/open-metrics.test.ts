import { collectDefaultMetrics, Counter, Gauge, type Registry } from "prom-client";
import { expect, test } from "vitest";
import { openMetricsText, plainText } from "../../../runtime/tracing/open-metrics.ts";
import { createRegistry, createTracedHistogram } from "../../../runtime/tracing/traced-histogram.ts";

const traceId = "1".repeat(32);

function registryWith(hasExemplars: boolean): Registry {
  const registry = createRegistry(hasExemplars);
  const registers = [registry];
  new Counter({ name: "requests_total", help: 'of "all" \\ kinds', labelNames: ["route"], registers }).inc(
    { route: '/a"\\\n' },
    15,
  );
  new Gauge({ name: "in_flight", help: "i", registers, aggregator: "omit" }).set(2);
  new Gauge({ name: "least", help: "l", registers }).set(-Infinity);
  createTracedHistogram(registry, { name: "duration_seconds", help: "d", buckets: [1] }).observe({}, 0.5, traceId);
  return registry;
}

test("the text for Prometheus is the same with and without exemplars", async () => {
  expect(await plainText(registryWith(true))).toBe(await registryWith(false).metrics());
});

test("the text for Prometheus has every metric of the process, the time of its start too", async () => {
  const registry = createRegistry(true);
  collectDefaultMetrics({ register: registry });
  const names = registry.getMetricsAsArray().map(({ name }) => `# TYPE ${name} `);
  const text = await plainText(registry);
  expect(names.filter((name) => !text.includes(name))).toEqual([]);
  expect(text).toMatch(/^process_start_time_seconds \d+$/mu);
});

test("OpenMetrics has the exemplar of a bucket, and a suffix for the sample of a counter only", async () => {
  const text = await openMetricsText(registryWith(true));
  const sample = /^duration_seconds_bucket\{le="1"\} 1 # \{trace_id="1{32}"\} 0\.5 \d+\.\d+$/mu;
  expect(text).toMatch(sample);
  expect(text).toContain(
    String.raw`# TYPE requests counter` + "\n" + String.raw`requests_total{route="/a\"\\\n"} 15` + "\n",
  );
  expect(text.endsWith("\n# EOF\n")).toBe(true);
});
