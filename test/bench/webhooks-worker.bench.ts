import { fork } from "node:child_process";
import { once } from "node:events";
import { connectNats } from "../../runtime/nats/connection/connect.ts";
import { createLayout } from "../../runtime/nats/layout.ts";
import { configOf, eventBytes, partnerConfig, startEngine, streamsOf } from "../runtime/webhooks/engine-fixture.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { waitFor } from "../support/wait.ts";
import { startSink } from "./load/children.ts";
import { cpuSeconds, quantile } from "./load/measure.ts";
import type { BareOrder } from "./load/bare-process.ts";
import type { WorkerOrder } from "../runtime/webhooks/worker-process.ts";

/**
 * Deliveries per CPU second of a worker, against a bare loop of pull → sign → POST → record → acknowledge over the same
 * server, the same endpoint and the same bytes, in turns within one run. Arguments: deliveries a turn, turns.
 */
const count = Number(process.argv[2] ?? 10_000);
const turns = Number(process.argv[3] ?? 3);
const timeoutMs = 300_000;
const maxInFlight = 256;

const server = await startNatsServer({ syncInterval: "1s" });
const sink = await startSink();
try {
  const rates: { readonly worker: number[]; readonly bare: number[] } = { worker: [], bare: [] };
  for (let turn = 0; turn < turns; turn += 1) {
    rates.bare.push(await measure("load/bare-process.ts", turn));
    rates.worker.push(await measure("../runtime/webhooks/worker-process.ts", turn));
  }
  const [worker, bare] = [rates.worker, rates.bare].map((values) => quantile(values, 0.5));
  const text = (values: readonly number[]): string => values.map((value) => value.toFixed(0)).join(", ");
  console.log(
    `deliveries per CPU second, ${count} a turn: worker ${text(rates.worker)}; bare loop ${text(rates.bare)}`,
  );
  console.log(`  ratio of the medians: ${((worker ?? 0) / (bare ?? 1)).toFixed(2)}`);
} finally {
  await sink.stop();
  await server.stop();
}

/** CPU seconds from the first delivery to the last of a process that finds all of them waiting. */
async function measure(file: string, turn: number): Promise<number> {
  const prefix = `${file.startsWith("load") ? "b" : "w"}${turn}`;
  const [port = 0] = await sink.open([0]);
  await sink.forget();
  const partner = partnerConfig("one", `http://127.0.0.1:${port}/webhooks/v1/x`, {
    delivery: { maxInFlight },
    timeoutMs: 30_000,
  });
  await fill(prefix, configOf({ ...partner, state: "Paused" }));
  const order: WorkerOrder & BareOrder = {
    url: server.url,
    prefix,
    podId: "pod-1",
    config: configOf(partner),
    count,
    port,
  };
  const child = fork(new URL(file, import.meta.url), [JSON.stringify(order)]);
  await once(child, "message");
  const before = cpuSeconds(child.pid ?? 0);
  const already = (await sink.count()).distinct;
  await waitFor(async () => (await sink.count()).distinct >= count, { timeoutMs, what: "every delivery", pollMs: 50 });
  const nats = await connectNats({ servers: [server.url] });
  const stream = createLayout(prefix).streams.deliveries;
  await waitFor(async () => (await nats.manager.streams.info(stream)).state.messages === 0, {
    timeoutMs,
    what: "acks",
  });
  await nats.drain();
  const rate = (count - already) / (cpuSeconds(child.pid ?? 0) - before);
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
  return rate;
}

/** Leaves deliveries that wait for a paused partner. */
async function fill(prefix: string, config: ReturnType<typeof configOf>): Promise<void> {
  const engine = await startEngine(server.url, config, { settings: streamsOf(prefix) });
  let next = 0;
  const pad = "x".repeat(300);
  const one = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) {
      await engine.ingest(eventBytes(`e-${n}`, { data: { pad } }));
    }
  };
  await Promise.all(Array.from({ length: 64 }, one));
  const { deliveries } = createLayout(prefix).streams;
  const isFull = async () => (await engine.nats.manager.streams.info(deliveries)).state.messages === count;
  await waitFor(isFull, { timeoutMs, what: "routing" });
  await engine.stop();
}
