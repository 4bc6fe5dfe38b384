import type { Bench } from "../harness/bench.ts";
import { quantile, type Measured } from "../harness/figures.ts";
import { kneeOf, lineThrough, type SweepPoint } from "../harness/fit.ts";
import { measureDead } from "./growth.ts";
import { deliver, fastEndpoints, withProgram, type Delivered, type WebhookStage } from "./stage.ts";

/** How the cost of a delivery grows: a few short points each, and a line through them. */

const cpuPerThousand = ({ usage }: Delivered, count: number): number =>
  ((usage.cpuSeconds + usage.natsCpuSeconds) * 1_000) / count;

/** The fitted line and its knee as figures. */
export function fitFigures(
  name: string,
  unit: string,
  per: string,
  points: readonly SweepPoint[],
): readonly Measured[] {
  const { fixed, perUnit } = lineThrough(points);
  const knee = kneeOf(points);
  const note = knee === undefined ? "no knee in these points" : `knee at ${knee}`;
  return [
    { name: `${name}: fixed`, unit, values: [fixed] },
    { name: `${name}: for each ${per}`, unit, values: [perUnit], note },
  ];
}

/** CPU in a second at more and more events a second: the fixed part is what an idle program costs. */
export async function sweepRate(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const seconds = bench.isSmall ? 0.2 : 8;
  return withProgram(stage, bench, fastEndpoints, async (running) => {
    const found: Measured[] = [];
    const [cpu, slow]: [SweepPoint[], SweepPoint[]] = [[], []];
    await deliver(running, bench.isSmall ? 20 : 5_000);
    for (const perSecond of bench.isSmall ? [50, 100] : [50, 200, 800, 1_600, 2_400, 3_200]) {
      const count = Math.round(perSecond * seconds);
      const turn = await deliver(running, count, perSecond);
      const cost = cpuPerThousand(turn, count);
      const p95 = quantile(turn.waitsMs, 0.95);
      cpu.push([perSecond, (cost * perSecond) / 1_000]);
      slow.push([perSecond, p95]);
      const name = `${perSecond} events a second`;
      found.push({ name: `${name}: CPU`, unit: "s per 1,000", values: [cost] });
      found.push({
        name: `${name}: p95`,
        unit: "ms",
        values: [p95],
        note: `${turn.rate.toFixed(0)} a second delivered`,
      });
    }
    const knee = kneeOf(slow);
    const note = knee === undefined ? "p95 has no knee" : `p95 has its knee at ${knee}`;
    const fitted = fitFigures("CPU in a second", "s", "event a second", cpu);
    return [...found, ...fitted.map((one) => ({ ...one, note: `${one.note ?? ""}; ${note}`.replace(/^; /u, "") }))];
  });
}

/** CPU of a delivery with more and more partners, each with an endpoint. */
export async function sweepPartners(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const count = bench.isSmall ? 60 : 6_000;
  const found: Measured[] = [];
  const points: SweepPoint[] = [];
  for (const partners of bench.isSmall ? [5, 10] : [10, 100, 300, 1_000]) {
    const endpoints = Array.from({ length: partners }, () => 0);
    const [turn, resident] = await withProgram(stage, bench, endpoints, async (running) => {
      await deliver(running, Math.max(partners, count / 3));
      return [await deliver(running, count), running.subject.resident()] as const;
    });
    const cost = cpuPerThousand(turn, count);
    points.push([partners, cost]);
    const name = `${partners} partners`;
    const note = `program ${resident.largest.toFixed(0)} MiB, nats-server ${resident.nats.toFixed(0)} MiB`;
    found.push({ name: `${name}: CPU`, unit: "s per 1,000", values: [cost], note });
    found.push({ name: `${name}: rate`, unit: "deliveries/s", values: [turn.rate] });
  }
  return [...found, ...fitFigures("CPU by partners", "s per 1,000", "partner", points)];
}

/** What retries that wait cost after everything was killed. */
export async function sweepRetries(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const found: Measured[] = [];
  const [ready, memory]: [SweepPoint[], SweepPoint[]] = [[], []];
  for (const count of bench.isSmall ? [20, 40] : [1_000, 10_000, 50_000]) {
    const one = await measureDead(stage, count, bench.isSmall ? 3 : 30);
    ready.push([count, one.readySeconds]);
    memory.push([count, one.natsMebibytes]);
    const note = `nats-server ${one.natsMebibytes.toFixed(0)} MiB`;
    found.push({ name: `${count} retries pending: ready after`, unit: "s", values: [one.readySeconds], note });
    found.push({ name: `${count} retries pending: p95 of others`, unit: "ms", values: [quantile(one.waitsMs, 0.95)] });
  }
  return [
    ...found,
    ...fitFigures("ready by retries pending", "s", "retry", ready),
    ...fitFigures("memory of nats-server by retries pending", "MiB", "retry", memory),
  ];
}
