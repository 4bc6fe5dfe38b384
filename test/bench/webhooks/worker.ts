import { fork } from "node:child_process";
import { once } from "node:events";
import { connectNats } from "../../../runtime/nats/connection/connect.ts";
import { createLayout } from "../../../runtime/nats/layout.ts";
import { configOf, eventBytes, partnerConfig, startEngine, streamsOf } from "../../runtime/webhooks/engine-fixture.ts";
import type { WorkerOrder } from "../../runtime/webhooks/worker-process.ts";
import { startNatsServer } from "../../support/nats-server.ts";
import { waitFor } from "../../support/wait.ts";
import { rounds, type Bench } from "../harness/bench.ts";
import type { Measured } from "../harness/figures.ts";
import { treeCpuSeconds } from "../harness/processes.ts";
import type { BareOrder } from "../load/bare-process.ts";
import type { Sink } from "../load/children.ts";
import { timeoutMs, type WebhookStage } from "./stage.ts";

const maxInFlight = 256;
const programs = { bare: "../load/bare-process.ts", worker: "../../runtime/webhooks/worker-process.ts" } as const;

/**
 * Deliveries per CPU second of a worker, against a bare loop of pull → sign → POST → record → acknowledge with the
 * official clients over the same server, the same endpoint and the same bytes, in turn.
 */
export async function worker({ sink }: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const server = await startNatsServer({ syncInterval: "1s" });
  const count = bench.isSmall ? 200 : 10_000;
  try {
    const found = await rounds(bench.rounds, async (round) => ({
      bare: await measure("bare", { url: server.url, sink, count, prefix: `b${round}` }),
      own: await measure("worker", { url: server.url, sink, count, prefix: `w${round}` }),
    }));
    const reference = { name: "a bare loop with the official clients", values: found.map(({ bare }) => bare) };
    const bar = { of: "ratio", atLeast: 0.8 } as const;
    return [
      { name: "a worker alone", unit: "deliveries per CPU s", values: found.map(({ own }) => own), reference, bar },
    ];
  } finally {
    await server.stop();
  }
}

interface WorkerTurn {
  readonly url: string;
  readonly sink: Sink;
  readonly count: number;
  readonly prefix: string;
}

/** CPU seconds from the first delivery to the last of a process that finds all of them waiting. */
async function measure(program: keyof typeof programs, turn: WorkerTurn): Promise<number> {
  const { url, sink, count, prefix } = turn;
  const [port = 0] = await sink.open([0]);
  await sink.forget();
  const partner = partnerConfig("one", `http://127.0.0.1:${port}/webhooks/v1/x`, {
    delivery: { maxInFlight },
    timeoutMs: 30_000,
  });
  await fill(turn, configOf({ ...partner, state: "Paused" }));
  const order: WorkerOrder & BareOrder = {
    url,
    prefix,
    podId: "pod-1",
    config: configOf(partner),
    count,
    port,
  };
  const child = fork(new URL(programs[program], import.meta.url), [JSON.stringify(order)]);
  await once(child, "message");
  const before = treeCpuSeconds(child.pid ?? 0);
  const already = (await sink.count()).distinct;
  await waitFor(async () => (await sink.count()).distinct >= count, { timeoutMs, what: "every delivery", pollMs: 50 });
  const nats = await connectNats({ servers: [url] });
  const stream = createLayout(prefix).streams.deliveries;
  await waitFor(async () => (await nats.manager.streams.info(stream)).state.messages === 0, {
    timeoutMs,
    what: "acks",
  });
  await nats.drain();
  const rate = (count - already) / (treeCpuSeconds(child.pid ?? 0) - before);
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
  return rate;
}

/** Leaves deliveries that wait for a paused partner. */
async function fill({ url, prefix, count }: WorkerTurn, config: ReturnType<typeof configOf>): Promise<void> {
  const engine = await startEngine(url, config, { settings: streamsOf(prefix) });
  let next = 0;
  const pad = "x".repeat(300);
  const one = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await engine.ingest(eventBytes(`e-${n}`, { data: { pad } }));
  };
  await Promise.all(Array.from({ length: 64 }, one));
  const { deliveries } = createLayout(prefix).streams;
  const isFull = async () => (await engine.nats.manager.streams.info(deliveries)).state.messages === count;
  await waitFor(isFull, { timeoutMs, what: "routing" });
  await engine.stop();
}
