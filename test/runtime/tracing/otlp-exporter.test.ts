import { createServer, type Server } from "node:http";
import { Registry } from "prom-client";
import { afterEach, describe, expect, test } from "vitest";
import { OtlpExporter } from "../../../runtime/tracing/otlp-exporter.ts";
import type { EndedSpan } from "../../../runtime/tracing/tracer.ts";
import { freePort } from "../../support/free-port.ts";
import { listenOnLoopback } from "../../support/loopback.ts";
import { stallMsMax, waitFor } from "../../support/wait.ts";
import { memoryLog } from "../webhooks/engine-fixture.ts";

const source = { service: "s", instance: "i", version: "v" };
const timeoutMs = 20_000;
const bounds = { queueMax: 4, batchMax: 2, gatherMs: 5, timeoutMs: 15_000, pausesMs: [5, 5] };

const span: EndedSpan = {
  traceId: "1".repeat(32),
  spanId: "2".repeat(16),
  parentSpanId: undefined,
  name: "route",
  kind: "consumer",
  startMs: 1_000.5,
  endMs: 1_001,
  attributes: {},
};

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** A collector that answers each request by `answer`; undefined: never. */
async function collector(answer: (tries: number) => { readonly status: number; readonly body?: string } | undefined) {
  let tries = 0;
  const server: Server = createServer((request, response) => {
    request.resume().once("end", () => {
      tries += 1;
      const given = answer(tries);
      if (given !== undefined) response.writeHead(given.status).end(given.body ?? "{}");
    });
  });
  const loopback = await listenOnLoopback(server);
  ends.push(() => loopback.close());
  return { endpoint: `http://127.0.0.1:${loopback.port}`, tries: () => tries };
}

function exporterTo(endpoint: string) {
  const registry = new Registry();
  const { log, lines } = memoryLog();
  const exporter = new OtlpExporter({ endpoint, source, registry, log, bounds });
  ends.unshift(() => exporter.stop(0));
  const counts = async (): Promise<Readonly<Record<string, number>>> => {
    const text = await registry.metrics();
    const found = text.matchAll(
      /^heliograph_trace_spans_(?<what>exported|dropped)_total(?:\{reason="(?<reason>\w+)"\})? (?<count>\d+)$/gmu,
    );
    return Object.fromEntries(
      [...found].map(({ groups: own }) => [own?.["reason"] ?? own?.["what"], Number(own?.["count"])]),
    );
  };
  /** The counts, once they add up to so many spans. */
  const after = (spans: number) =>
    waitFor(
      async () => {
        const now = await counts();
        const sum = Object.values(now).reduce((all, one) => all + one, 0);
        return sum >= spans ? now : undefined;
      },
      { timeoutMs, what: `${spans} spans to be counted` },
    );
  return { exporter, counts, after, lines };
}

describe("spans", () => {
  test("that a collector takes are counted", async () => {
    const { endpoint } = await collector(() => ({ status: 200 }));
    const { exporter, after } = exporterTo(endpoint);
    exporter.add(span);
    expect(await after(1)).toMatchObject({ exported: 1 });
  });

  test("are sent again after a 503, and both are logged once", async () => {
    const { endpoint, tries } = await collector((count) => ({ status: count < 3 ? 503 : 200 }));
    const { exporter, after, lines } = exporterTo(endpoint);
    exporter.add(span);
    expect(await after(1)).toMatchObject({ exported: 1 });
    expect(tries()).toBe(3);
    expect(lines.map(({ message }) => message)).toEqual(["spans not exported", "spans exported again"]);
  });

  test("that a collector refuses are dropped and not sent again", async () => {
    const { endpoint, tries } = await collector(() => ({ status: 400 }));
    const { exporter, after } = exporterTo(endpoint);
    exporter.add(span);
    expect(await after(1)).toMatchObject({ refused: 1, exported: 0 });
    expect(tries()).toBe(1);
  });

  test("that a collector refuses in a request that it takes are counted apart", async () => {
    const body = JSON.stringify({ partialSuccess: { rejectedSpans: "1" } });
    const { endpoint } = await collector(() => ({ status: 200, body }));
    const { exporter, after } = exporterTo(endpoint);
    exporter.add(span);
    exporter.add(span);
    expect(await after(2)).toMatchObject({ refused: 1, exported: 1 });
  });

  test("are dropped while no collector answers", async () => {
    const { exporter, after } = exporterTo(`http://127.0.0.1:${await freePort()}`);
    exporter.add(span);
    expect(await after(1)).toMatchObject({ unreachable: 1 });
  });

  test("beyond the queue are dropped at once while a collector is silent", async () => {
    const { endpoint, tries } = await collector(() => undefined);
    const { exporter, counts } = exporterTo(endpoint);
    exporter.add(span);
    exporter.add(span);
    await waitFor(() => tries() === 1, { timeoutMs, what: "a request" });
    for (let count = 0; count < 7; count += 1) exporter.add(span);
    expect(await counts()).toMatchObject({ queue_full: 3 });
    const startMs = performance.now();
    await exporter.stop(0);
    expect(performance.now() - startMs).toBeLessThan(stallMsMax);
    expect(await counts()).toMatchObject({ queue_full: 3, unreachable: 2, stopped: 4 });
  });

  test("that are queued at the end are sent before it", async () => {
    const { endpoint } = await collector(() => ({ status: 200 }));
    const { exporter, counts } = exporterTo(endpoint);
    exporter.add(span);
    await exporter.stop(timeoutMs);
    expect(await counts()).toMatchObject({ exported: 1 });
  });
});
