import { request } from "undici";
import { rate, rounds, startProgram, times, withUsage, type Bench } from "../harness/bench.ts";
import type { Measured } from "../harness/figures.ts";
import { makeSite } from "../harness/program.ts";
import { startBareServer } from "../load/children.ts";
import { endMs } from "./long-store.ts";
import { herd, miss, step } from "./reads.ts";
import { coldPanels, hourPath, panelPath, writeMetrics } from "./requests.ts";
import { ask, type Asker, type MetricsStage } from "./stage.ts";

const hotSeconds = 4;

const same = (path: string, clients: number): readonly (readonly string[])[] =>
  Array.from({ length: clients }, () => [path]);

interface Hot {
  readonly rate: number;
  readonly cpuMs: number;
}

async function askHot(stage: Asker, paths: readonly (readonly string[])[], seconds: number): Promise<Hot> {
  const [result, { cpuSeconds }] = await withUsage(stage.subject, () => ask(stage, paths, seconds));
  return { rate: rate(result), cpuMs: (cpuSeconds * 1_000) / times(result).length };
}

/** One response again and again, beside bare servers that send as many bytes: ten series of three hours, and of one. */
export async function hot(stage: MetricsStage, bench: Bench): Promise<readonly Measured[]> {
  const large = await hotBody(stage, bench, panelPath(0, endMs), [
    [1, { atLeast: 6_000, cores: 4 }],
    [10, { atLeast: 20_000, cores: 4 }],
    [50, { atLeast: 30_000, cores: 4 }],
  ]);
  const small = await hotBody(stage, bench, hourPath(0, endMs), [[50, { of: "ratio", atLeast: 0.6 }]]);
  return [...large, ...small];
}

async function hotBody(
  stage: MetricsStage,
  bench: Bench,
  path: string,
  bars: readonly (readonly [connections: number, bar: NonNullable<Measured["bar"]>])[],
): Promise<readonly Measured[]> {
  const seconds = bench.isSmall ? 0.2 : hotSeconds;
  const bytes = await bodyBytes(stage, path);
  const { pods } = bench;
  const bare = await Promise.all(Array.from({ length: pods }, () => startBareServer(bytes)));
  const ports = bare.map(({ port }) => port);
  const bareRate = async (connections: number): Promise<number> => {
    const clients = Array.from({ length: connections }, () => ["GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"]);
    return rate(await stage.load.run({ ports, clients, seconds, perSecond: 0 }));
  };
  await ask(stage, same(path, 50), seconds);
  await bareRate(50);
  const found: Measured[] = [];
  for (const [connections, bar] of bars) {
    const turns = await rounds(bench.rounds, async () => ({
      bare: await bareRate(connections),
      ...(await askHot(stage, same(path, connections), seconds)),
    }));
    const reference = { name: "bare Node server", values: turns.map((turn) => turn.bare) };
    const name = `hot, ${(bytes / 1_000).toFixed(0)} KB, ${connections} connections, ${pods} pods`;
    found.push({ name, unit: "req/s", values: turns.map((turn) => turn.rate), reference, bar });
    found.push({ name: `${name}: CPU`, unit: "ms", values: turns.map((turn) => turn.cpuMs) });
  }
  await Promise.all(bare.map((server) => server.stop()));
  return found;
}

async function bodyBytes({ subject, tokens }: MetricsStage, path: string): Promise<number> {
  const headers = { authorization: `Bearer ${tokens[0] ?? ""}` };
  const response = await request(`${subject.urls[0] ?? ""}${path}`, { headers });
  const body = await response.body.arrayBuffer();
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${Buffer.from(body).toString()}`);
  return body.byteLength;
}

export async function panels(stage: MetricsStage, bench: Bench): Promise<readonly Measured[]> {
  const paths = Array.from({ length: 20 }, (_, place) => {
    return panelPath(place % stage.size.gaugeTenants, endMs, ["max", "min", "avg"][place % 3]);
  });
  const clients = Array.from({ length: 10 }, () => paths);
  const seconds = bench.isSmall ? 0.2 : hotSeconds;
  await ask(stage, clients, seconds);
  const turns = await rounds(bench.rounds, () => askHot(stage, clients, seconds));
  const name = `20 panels, 10 connections, ${bench.pods} pods`;
  return [
    { name, unit: "req/s", values: turns.map((turn) => turn.rate), bar: { atLeast: 20_000, cores: 4 } },
    { name: `${name}: CPU`, unit: "ms", values: turns.map((turn) => turn.cpuMs) },
  ];
}

/** What more pods are worth, each number of them over its own NATS. */
export async function hotPods(stage: MetricsStage, bench: Bench): Promise<readonly Measured[]> {
  const [path, seconds] = [panelPath(0, endMs), bench.isSmall ? 0.2 : hotSeconds];
  const found: Measured[] = [];
  let one: readonly number[] = [];
  for (const pods of bench.isSmall ? [1] : [1, 2, 4]) {
    const site = await makeSite(bench.program);
    await writeMetrics(site, stage.store.url);
    const subject = await startProgram(site, pods);
    const tokens = await Promise.all(stage.tokens.map((_, place) => site.token(`bench-${place}`)));
    const own = { subject, load: stage.load, tokens };
    await ask(own, same(path, 50), seconds);
    const values = (await rounds(bench.rounds, () => askHot(own, same(path, 50), seconds))).map((turn) => turn.rate);
    if (pods === 1) one = values;
    const name = `hot, 50 connections, ${pods} pods`;
    found.push({ name, unit: "req/s", values, reference: { name: "one pod", values: one } });
    await subject.stop();
    await site.remove();
  }
  return found;
}

export async function resident({ subject }: MetricsStage, { pods }: Bench): Promise<readonly Measured[]> {
  return residentOf(subject, `after the parts of metrics that ran, ${pods} pods`);
}

/** One program with its nats-server, after the same reads. */
export async function residentOne(stage: MetricsStage, bench: Bench): Promise<readonly Measured[]> {
  const site = await makeSite(bench.program);
  await writeMetrics(site, stage.store.url);
  const subject = await startProgram(site, 1);
  const tokens = await Promise.all(stage.tokens.map((_, place) => site.token(`bench-${place}`)));
  const cold = [...coldPanels(stage.size.gaugeTenants, stage.size.days)];
  const own = { ...stage, subject, site, tokens, cold };
  for (const part of [step, miss, herd]) await part(own, { ...bench, pods: 1 });
  const found = residentOf(subject, "of one program after step, miss and herd");
  await subject.stop();
  await site.remove();
  return found;
}

function residentOf(subject: MetricsStage["subject"], after: string): readonly Measured[] {
  const { largest, all, nats } = subject.resident();
  return [
    { name: `resident ${after}: the largest process`, unit: "MiB", values: [largest], bar: { atMost: 250 } },
    { name: `resident ${after}: all of them`, unit: "MiB", values: [all], note: `nats-server ${nats.toFixed(0)} MiB` },
  ];
}
