import { Counter, Gauge, Registry } from "prom-client";
import { beforeEach, expect, test } from "vitest";
import { JoinedMetrics } from "../../../runtime/processes/join-metrics.ts";
import { createRegistry, createTracedHistogram } from "../../../runtime/tracing/traced-histogram.ts";
import { metricsOf, type ProcessMetrics } from "../../../runtime/tracing/open-metrics.ts";

interface Process {
  readonly registry: Registry;
  readonly requests: Counter;
}

function startProcess(oldestSeconds: number, requests = 0, traceId?: string): Process {
  const registry = createRegistry(traceId !== undefined);
  const registers = [registry];
  const counter = new Counter({ name: "requests_total", help: "r", labelNames: ["route"], registers });
  counter.inc({ route: "/events" }, requests);
  new Gauge({ name: "in_flight", help: "i", registers }).set(2);
  new Gauge({ name: "oldest_seconds", help: "o", registers, aggregator: "max" }).set(oldestSeconds);
  createTracedHistogram(registry, { name: "duration_seconds", help: "d", buckets: [1] }).observe({}, 0.5, traceId);
  return { registry, requests: counter };
}

let processes: Map<number, Process>;
let silent: Set<number>;
let joined: JoinedMetrics;

beforeEach(() => {
  processes = new Map([
    [1, startProcess(3, 10)],
    [2, startProcess(7, 5)],
  ]);
  silent = new Set();
  const own = new Registry();
  own.registerMetric(new Counter({ name: "restarts_total", help: "r", registers: [] }));
  const read = async (index: number): Promise<ProcessMetrics | undefined> => {
    const { registry } = processes.get(index) ?? {};
    return registry === undefined || silent.has(index) ? undefined : metricsOf(registry);
  };
  joined = new JoinedMetrics(own, () => new Map([1, 2].map((index) => [index, read(index)])));
});

const linesOf = async (): Promise<readonly string[]> =>
  (await joined.metrics()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));

test("metrics of processes join by their aggregators, beside those of the supervisor", async () => {
  const lines = await linesOf();
  expect(lines).toEqual(
    expect.arrayContaining([
      "restarts_total 0",
      'requests_total{route="/events"} 15',
      "in_flight 4",
      "oldest_seconds 7",
      'duration_seconds_bucket{le="1"} 2',
      "duration_seconds_sum 1",
      "duration_seconds_count 2",
    ]),
  );
});

test("the counts of an ended process stay, and its gauges go", async () => {
  await linesOf();
  await joined.processEnded(2);
  processes.set(2, startProcess(1, 1));
  const lines = await linesOf();
  expect(lines).toContain('requests_total{route="/events"} 16');
  expect(lines).toContain("duration_seconds_count 3");
  expect(lines).toContain("in_flight 4");
  expect(lines).toContain("oldest_seconds 3");
  await joined.processEnded(2);
  processes.delete(2);
  expect(await linesOf()).toContain('requests_total{route="/events"} 16');
});

test("a process that does not respond counts with its last metrics", async () => {
  await linesOf();
  processes.get(1)?.requests.inc({ route: "/events" }, 1);
  silent.add(2);
  expect(await linesOf()).toContain('requests_total{route="/events"} 16');
});

test("the latest exemplar of a bucket is that of the pod", async () => {
  processes.set(1, startProcess(3, 10, "1".repeat(32)));
  processes.set(2, startProcess(7, 5, "2".repeat(32)));
  const text = await joined.openMetrics();
  const sample = /^duration_seconds_bucket\{le="1"\} 2 # \{trace_id="(?<traceId>[12]{32})"\} 0\.5 \d+\.\d+$/mu;
  expect(text).toMatch(sample);
  expect(text).toContain('# TYPE requests counter\nrequests_total{route="/events"} 15\n');
  expect(text.endsWith("\n# EOF\n")).toBe(true);
});
