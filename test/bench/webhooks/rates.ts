import { setTimeout as sleep } from "node:timers/promises";
import { rounds, type Bench } from "../harness/bench.ts";
import { quantile, type Measured } from "../harness/figures.ts";
import type { Usage } from "../harness/program.ts";
import { startBareServer } from "../load/children.ts";
import {
  bareLoop,
  deliver,
  endpointCount,
  eventBytes,
  fastEndpoints,
  publisherCount,
  withProgram,
  type Delivered,
  type Running,
  type WebhookStage,
} from "./stage.ts";

const bareName = "bare POST loop";

/** Delivered by each pod before a figure, so that its code is compiled as after some minutes of service. */
const warmEvents = 30_000;

/** For so long, a new owner of a lane makes no attempts straight from events: the partner's time limit and 5 s. */
const takeOverMs = 16_000;

async function warmUp(running: Running, isSmall: boolean, count: number): Promise<void> {
  if (!isSmall) await sleep(takeOverMs);
  await deliver(running, isSmall ? 50 : warmEvents * count);
}

/** CPU seconds of a thousand deliveries: of the program, of its nats-server, and their sum. */
function cpuFigures(name: string, turns: readonly Delivered[], count: number, atMost: number): readonly Measured[] {
  const of = (cpu: (usage: Usage) => number) => turns.map(({ usage }) => (cpu(usage) * 1_000) / count);
  const unit = "s per 1,000";
  return [
    {
      name: `${name}: CPU of the program and its nats-server`,
      unit,
      values: of(({ cpuSeconds, natsCpuSeconds }) => cpuSeconds + natsCpuSeconds),
      bar: { atMost },
    },
    { name: `${name}: CPU of the program`, unit, values: of(({ cpuSeconds }) => cpuSeconds) },
    { name: `${name}: CPU of nats-server`, unit, values: of(({ natsCpuSeconds }) => natsCpuSeconds) },
  ];
}

export async function throughput(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const count = bench.isSmall ? 100 : 15_000;
  return withProgram(stage, bench, fastEndpoints, async (running) => {
    await warmUp(running, bench.isSmall, bench.pods);
    const turns = await rounds(bench.rounds, async () => ({
      bare: await bareLoop(stage, count),
      ...(await deliver(running, count)),
    }));
    const name = `${eventBytes} B to ${endpointCount} endpoints, ${publisherCount} publishers, ${bench.pods} pods`;
    const note = `doubled ${turns.map(({ doubled }) => doubled).join(", ")}`;
    const reference = { name: bareName, values: turns.map(({ bare }) => bare.rate) };
    return [
      { name, unit: "deliveries/s", values: turns.map((turn) => turn.rate), reference, note },
      ...cpuFigures(name, turns, count, 0.45),
    ];
  });
}

/** The events of a program that has just started, and as many of the same program once it is warm. */
export async function firstMinute(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const count = bench.isSmall ? 50 : 20_000;
  const [slowCount, perSecond] = [bench.isSmall ? 40 : 2_000, 200];
  const slow = await rounds(bench.rounds, () =>
    withProgram(stage, bench, fastEndpoints, (running) => deliver(running, slowCount, perSecond)),
  );
  const turns = await rounds(bench.rounds, () =>
    withProgram(stage, bench, fastEndpoints, async (running) => {
      const first = await deliver(running, count);
      await deliver(running, count);
      if (!bench.isSmall) await sleep(takeOverMs);
      const warm = await deliver(running, count);
      return { first, warm };
    }),
  );
  const cpu = ({ usage }: Delivered): number => ((usage.cpuSeconds + usage.natsCpuSeconds) * 1_000) / count;
  const name = `the first ${count} events after a start, ${endpointCount} endpoints`;
  return [
    {
      name,
      unit: "deliveries/s",
      values: turns.map(({ first }) => first.rate),
      reference: { name: "the same once warm", values: turns.map(({ warm }) => warm.rate) },
      bar: { of: "ratio", atLeast: 0.85 },
    },
    {
      name: `${name}: CPU of the program and its nats-server`,
      unit: "s per 1,000",
      values: turns.map(({ first }) => cpu(first)),
      reference: { name: "the same once warm", values: turns.map(({ warm }) => cpu(warm)) },
    },
    {
      name: `the first ${slowCount} events after a start, ${perSecond} a second: publish to arrival, p95`,
      unit: "ms",
      values: slow.map(({ waitsMs }) => quantile(waitsMs, 0.95)),
      bar: { atMost: 10 },
    },
  ];
}

export async function rate(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const [count, perSecond] = [bench.isSmall ? 40 : 2_000, 200];
  return withProgram(stage, bench, fastEndpoints, async (running) => {
    await warmUp(running, bench.isSmall, bench.pods);
    // Batches of one message take other paths than full ones.
    await deliver(running, count, perSecond);
    const turns = await rounds(bench.rounds, async () => ({
      bare: await bareLoop(stage, count, perSecond),
      ...(await deliver(running, count, perSecond)),
    }));
    const name = `${perSecond} events a second, ${bench.pods} pods`;
    const waits = (what: string, rank: number, bar: Pick<Measured, "bar">): Measured => ({
      name: `${name}: publish to arrival, ${what}`,
      unit: "ms",
      values: turns.map((turn) => quantile(turn.waitsMs, rank)),
      ...bar,
    });
    const reference = { name: bareName, values: turns.map(({ bare }) => bare.p50) };
    return [
      { ...waits("p50", 0.5, {}), reference },
      waits("p95", 0.95, { bar: { atMost: 4 } }),
      waits("p99", 0.99, {}),
      ...cpuFigures(name, turns, count, 2.5),
    ];
  });
}

export async function resident(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const [seconds, perSecond] = [bench.isSmall ? 0.2 : 80, 200];
  const bare = await startBareServer(100);
  const reference = { name: "bare Node server", values: [bare.residentMebibytes()] };
  await bare.stop();
  return withProgram(stage, bench, fastEndpoints, async (running) => {
    const idle = running.subject.resident();
    await deliver(running, seconds * perSecond, perSecond);
    const { largest, nats } = running.subject.resident();
    const name = `${bench.pods} pods: the largest`;
    const note = `nats-server ${nats.toFixed(0)} MiB, ${seconds * perSecond} events stored`;
    const after = `resident after ${seconds} s at ${perSecond} events a second, ${name}`;
    return [
      { name: `resident when idle, ${name}`, unit: "MiB", values: [idle.largest], reference },
      { name: after, unit: "MiB", values: [largest], reference, bar: { atMost: 150 }, note },
    ];
  });
}

/** What more pods over one NATS are worth, each number of them on data of its own. */
export async function pods(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const count = bench.isSmall ? 100 : 15_000;
  const found: Measured[] = [];
  let one: readonly number[] = [];
  for (const number of bench.isSmall ? [1] : [1, 2, 4]) {
    const work = async (running: Running): Promise<readonly Delivered[]> => {
      await warmUp(running, bench.isSmall, number);
      return rounds(bench.rounds, () => deliver(running, count));
    };
    const turns = await withProgram(stage, bench, fastEndpoints, work, {
      start: (site) => site.pods(number),
    });
    const values = turns.map((turn) => turn.rate);
    if (number === 1) one = values;
    const name = `${number} pods over one NATS`;
    const bar = number === 4 ? { bar: { atLeast: 4_800, cores: 4 } } : {};
    const reference = { name: "1 pods over one NATS", values: one };
    found.push({ name, unit: "deliveries/s", values, reference, ...bar });
    const sum = turns.map(({ usage }) => ((usage.cpuSeconds + usage.natsCpuSeconds) * 1_000) / count);
    found.push({ name: `${name}: CPU of the program and its nats-server`, unit: "s per 1,000", values: sum });
  }
  return found;
}
