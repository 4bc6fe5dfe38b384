import { setTimeout as sleep } from "node:timers/promises";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "undici";
import { makeInstallation, partnerText, type Installation, type Running } from "../runtime/cli/installation.ts";
import { freePort } from "../support/free-port.ts";
import { waitFor } from "../support/wait.ts";
import { startPublisher, startSink } from "./load/children.ts";
import { cpuSeconds, quantile, quantilesText, residentMebibytes, sharedNowMs, startCpuWatch } from "./load/measure.ts";
import type { PublishOrder } from "./load/publisher-process.ts";

/**
 * The whole program under load, as a stranger would run it: `heliograph run` with its own nats-server, publishers over
 * HTTP, endpoints in another process. Reference of each rate: a bare loop that POSTs the same bytes to the same
 * endpoints.
 *
 * Arguments: events of the throughput run, rounds of the run beside a slow endpoint, parts to run (all of them, or some
 * of `throughput,latency,slow,kill`).
 */
const eventCount = Number(process.argv[2] ?? 20_000);
const rounds = Number(process.argv[3] ?? 5);
const parts = process.argv[4]?.split(",");
const eventBytes = 512;
const publishers = 64;
const timeoutMs = 300_000;

const installation = await makeInstallation();
const sink = await startSink();
const publisher = await startPublisher();
try {
  for (const [name, part] of Object.entries({ throughput, latency, slow: besideSlow, kill: killedAndRestarted })) {
    if (parts?.includes(name) ?? true) {
      await part();
    }
  }
} finally {
  await Promise.all([sink.stop(), publisher.stop()]);
  await installation.remove();
}

async function natsPidOf({ data }: Installation): Promise<number> {
  return (JSON.parse(await readFile(join(data, "nats", "server.json"), "utf8")) as { readonly pid: number }).pid;
}

/** Endpoint `n` gets the events of type `bench.<n>.done`. */
async function writePartners(ports: readonly number[]): Promise<void> {
  const text = (port: number, n: number): string =>
    partnerText(`p${n}`, `http://127.0.0.1:${port}/webhooks/v1/bench`, {
      "subscriptions[0].types": [`bench.${n}.done`],
      "endpoint.timeoutSeconds": 30,
    });
  await installation.write("partners.yaml", ports.map(text).join("\n---\n"));
}

async function order(program: Running, changes: Partial<PublishOrder>): Promise<PublishOrder> {
  const token = await installation.token();
  const base = { url: program.line.url, token, publishers, first: 0, count: 0, eventBytes, types: 1 };
  return { ...base, ratePerSecond: 0, repeats: true, ...changes };
}

async function arrived(count: number): Promise<void> {
  await waitFor(async () => (await sink.count()).distinct >= count, {
    timeoutMs,
    what: `${count} arrivals`,
    pollMs: 20,
  });
}

/** Milliseconds from the first sending of an event to its first arrival, of the endpoints asked for. */
async function waitsMs(sent: readonly (readonly [string, number])[], endpoints?: readonly number[]): Promise<number[]> {
  const sentAt = new Map(sent);
  const first = new Map<string, number>();
  for (const [endpoint, eventId, atMs] of await sink.arrivals()) {
    if ((endpoints?.includes(endpoint) ?? true) && !first.has(eventId)) {
      first.set(eventId, atMs);
    }
  }
  return [...first].map(([eventId, atMs]) => atMs - (sentAt.get(eventId) ?? Number.NaN));
}

async function stopped(program: Running): Promise<void> {
  program.signal("SIGTERM");
  await program.ended();
  await sink.forget();
}

async function throughput(): Promise<void> {
  const ports = await sink.open(Array.from({ length: 10 }, () => 0));
  const bare = await bareLoop(ports);
  await writePartners(ports);
  const program = await installation.start();
  await publisher.publish(await order(program, { first: 1_000_000, count: 2_000, types: 10 }));
  await arrived(2_000);
  await sink.forget();
  const watch = startCpuWatch({ runtime: program.pid, nats: await natsPidOf(installation) });
  const startedAtMs = sharedNowMs();
  await publisher.publish(await order(program, { count: eventCount, types: 10 }));
  await arrived(eventCount);
  const seconds = (sharedNowMs() - startedAtMs) / 1_000;
  const { runtime = 0, nats = 0 } = watch();
  const { requests, distinct } = await sink.count();
  const rate = eventCount / seconds;
  const perThousand = (cpu: number): string => ((cpu * 1_000) / eventCount).toFixed(3);
  console.log(`throughput: ${eventCount} events of ${eventBytes} B, ${publishers} publishers, 10 endpoints`);
  console.log(`  delivered ${rate.toFixed(0)}/s; doubled ${requests - distinct}`);
  console.log(
    `  CPU s per 1,000: runtime ${perThousand(runtime)} + nats ${perThousand(nats)} = ${perThousand(runtime + nats)}`,
  );
  console.log(
    `  ratio to the bare loop: ${(rate / bare.rate).toFixed(2)} of ${bare.rate.toFixed(0)}/s; its CPU s per ` +
      `1,000: ${bare.cpu.toFixed(3)}`,
  );
  console.log(
    `  resident: runtime ${residentMebibytes(program.pid).toFixed(0)} MiB, nats ` +
      `${residentMebibytes(await natsPidOf(installation)).toFixed(0)} MiB`,
  );
  await stopped(program);
}

/** What the endpoints take from a loop that does nothing else, with as many requests at once. */
async function bareLoop(ports: readonly number[]): Promise<{ readonly rate: number; readonly cpu: number }> {
  const body = "x".repeat(eventBytes);
  const startedAtMs = sharedNowMs();
  const before = cpuSeconds(process.pid);
  let next = 0;
  const one = async (index: number): Promise<void> => {
    const client = new Client(`http://127.0.0.1:${ports[index % ports.length] ?? 0}`);
    while (next < eventCount) {
      next += 1;
      const headers = { "x-event-id": `bare-${next}`, "content-type": "application/json" };
      const answer = await client.request({ path: "/", method: "POST", headers, body });
      await answer.body.dump();
    }
    await client.close();
  };
  await Promise.all(Array.from({ length: publishers }, (_, index) => one(index)));
  await sink.forget();
  const seconds = (sharedNowMs() - startedAtMs) / 1_000;
  return { rate: eventCount / seconds, cpu: ((cpuSeconds(process.pid) - before) * 1_000) / eventCount };
}

async function latency(): Promise<void> {
  const ports = await sink.open(Array.from({ length: 10 }, () => 0));
  await writePartners(ports);
  const program = await installation.start();
  await publisher.publish(await order(program, { first: 2_000_000, count: 500, types: 10, ratePerSecond: 200 }));
  await arrived(500);
  await sink.forget();
  const count = 2_000;
  const { sentAtMs } = await publisher.publish(
    await order(program, { first: 3_000_000, count, types: 10, ratePerSecond: 200 }),
  );
  await arrived(count);
  console.log(`publish → arrival at 200/s: ${quantilesText(await waitsMs(sentAtMs))}`);
  await stopped(program);
}

async function besideSlow(): Promise<void> {
  const delaysMs = [
    [0, 0, 0],
    [0, 0, 5_000],
  ] as const;
  const p95s: number[][] = [[], []];
  let first = 4_000_000;
  for (let round = 0; round < rounds; round += 1) {
    for (const [kind, delays] of delaysMs.entries()) {
      const ports = await sink.open(delays);
      await writePartners(ports);
      const program = await installation.start();
      const count = 2_400;
      const { sentAtMs } = await publisher.publish(
        await order(program, { first, count, types: 3, ratePerSecond: 400 }),
      );
      const fastCount = (count * 2) / 3;
      const fast = async (): Promise<number[]> => await waitsMs(sentAtMs, [0, 1]);
      await waitFor(async () => (await fast()).length >= fastCount, {
        timeoutMs,
        what: "the fast endpoints",
        pollMs: 100,
      });
      p95s[kind]?.push(quantile(await fast(), 0.95));
      first += count;
      await stopped(program);
      await rm(join(installation.data, "nats"), { recursive: true, force: true });
    }
  }
  const [alone = Number.NaN, beside = Number.NaN] = p95s.map((values) => quantile(values, 0.5));
  console.log(
    `3 endpoints at 400/s, p95 of the two fast ones, median of ${rounds}: all fast ${alone.toFixed(1)} ms, one ` +
      `of 5 s beside them ${beside.toFixed(1)} ms`,
  );
  console.log(
    `  moved by ${(beside - alone).toFixed(1)} ms (${(((beside - alone) / alone) * 100).toFixed(0)} %); allowed: ` +
      "the greater of 20 % and 5 ms",
  );
}

async function killedAndRestarted(): Promise<void> {
  const ports = await sink.open(Array.from({ length: 10 }, () => 0));
  await writePartners(ports);
  const port = String(await freePort());
  const program = await installation.start("--port", port);
  await publisher.publish(await order(program, { first: 8_000_000, count: 400, types: 10, ratePerSecond: 200 }));
  await arrived(400);
  await sink.forget();
  const count = 3_200;
  const published = publisher.publish(await order(program, { first: 9_000_000, count, types: 10, ratePerSecond: 400 }));
  await sleep(3_000);
  const killedAtMs = sharedNowMs();
  program.signal("SIGKILL");
  await program.ended();
  const again = await installation.start("--port", port);
  const readyMs = sharedNowMs() - killedAtMs;
  const { sentAtMs, repeated } = await published;
  await arrived(count);
  const { requests, distinct } = await sink.count();
  const waits = await waitsMs(sentAtMs);
  console.log(`kill -9 and restart at 400/s: ready again after ${(readyMs / 1_000).toFixed(2)} s`);
  console.log(
    `  lost ${count - distinct}, doubled ${requests - distinct}, ${repeated} publishes repeated and taken, ` +
      `slowest arrival ${(Math.max(...waits) / 1_000).toFixed(2)} s`,
  );
  await stopped(again);
}
