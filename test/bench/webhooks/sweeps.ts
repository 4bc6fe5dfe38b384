import { request } from "undici";
import { rounds, withUsage, type Bench } from "../harness/bench.ts";
import { quantile, type Measured } from "../harness/figures.ts";
import { kneeOf, lineThrough, type SweepPoint } from "../harness/fit.ts";
import type { Resident } from "../harness/program.ts";
import { measureDead } from "./growth.ts";
import { webhookPartner } from "./partner.ts";
import {
  deliver,
  fastEndpoints,
  publish,
  withProgram,
  type Delivered,
  type Running,
  type WebhookStage,
} from "./stage.ts";

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

/** CPU of a delivery, and memory, with more and more partners. */
export async function sweepPartners(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const count = bench.isSmall ? 60 : 6_000;
  const found: Measured[] = [];
  const points: SweepPoint[] = [];
  const memory = new MemorySweep("partner");
  for (const partners of bench.isSmall ? [5, 10] : [10, 100, 300, 1_000, 10_000]) {
    const objects = (ports: readonly number[]): readonly object[] =>
      Array.from({ length: partners }, (_, place) => webhookPartner(ports[place % ports.length] ?? 0, place)).flat();
    const work = async (running: Running) => {
      await deliver(running, Math.max(partners, count / 3));
      return [await deliver(running, count), running.subject.resident()] as const;
    };
    const [turn, resident] = await withProgram(stage, bench, fastEndpoints, work, { objects, types: partners });
    const cost = cpuPerThousand(turn, count);
    points.push([partners, cost]);
    const name = `${partners} partners`;
    const note = memory.add(partners, resident);
    found.push({ name: `${name}: CPU`, unit: "s per 1,000", values: [cost], note });
    found.push({ name: `${name}: rate`, unit: "deliveries/s", values: [turn.rate] });
  }
  return [...found, ...fitFigures("CPU by partners", "s per 1,000", "partner", points), ...memory.figures()];
}

/** Resident memory at the points of a sweep. */
export class MemorySweep {
  readonly #unit: string;
  readonly #program: SweepPoint[] = [];
  readonly #nats: SweepPoint[] = [];

  constructor(unit: string) {
    this.#unit = unit;
  }

  /** @returns the memory as a note */
  add(amount: number, { largest, nats }: Resident): string {
    this.#program.push([amount, largest]);
    this.#nats.push([amount, nats]);
    return `program ${largest.toFixed(0)} MiB, nats-server ${nats.toFixed(0)} MiB`;
  }

  /** KiB of each unit, with the fixed part in the note. */
  figures(): readonly Measured[] {
    return [["the program", this.#program] as const, ["nats-server", this.#nats] as const].map(([of, points]) => {
      const { fixed, perUnit } = lineThrough(points);
      const knee = kneeOf(points);
      const note = `${fixed.toFixed(0)} MiB without any; ${knee === undefined ? "no knee" : `knee at ${knee}`}`;
      return { name: `memory of ${of} for each ${this.#unit}`, unit: "KiB", values: [perUnit * 1_024], note };
    });
  }
}

/** What ids of events must be, and where they are looked up. */
const idForms = [
  { name: "any ids", isPrefixed: false, settings: {} },
  {
    name: "ids that begin with the tenant",
    isPrefixed: true,
    settings: { events: { idForms: ["TenantPrefix"], idCheck: "Tenant" } },
  },
];

/** Events that are accepted in batches from more and more tenants, by the form of their ids. */
export async function sweepTenants(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const count = bench.isSmall ? 200 : 10_000;
  const found: Measured[] = [];
  for (const { name: form, isPrefixed, settings } of idForms) {
    const [cpu, memory]: [SweepPoint[], MemorySweep] = [[], new MemorySweep("tenant")];
    for (const tenants of bench.isSmall ? [1, 20] : [1, 50, 300, 1_000, 3_000, 10_000]) {
      const more = { tenants, isPrefixed, batch: bench.isSmall ? 10 : 100, publishers: 8 };
      const work = async (running: Running) => {
        // As many events at each point, of all tenants.
        await publish(running, bench.isSmall ? 100 : 100_000, 0, more);
        const startedMs = performance.now();
        const [, usage] = await withUsage(running.subject, () => publish(running, count, 0, more));
        const rate = (count * 1_000) / (performance.now() - startedMs);
        return { rate, natsCpu: (usage.natsCpuSeconds * 1_000) / count, resident: running.subject.resident() };
      };
      const turn = await withProgram(stage, bench, [], work, { objects: () => [], types: 1, settings });
      cpu.push([tenants, turn.natsCpu]);
      const name = `${form}, ${tenants} tenants`;
      found.push({ name: `${name}: accepted`, unit: "events/s", values: [turn.rate] });
      const note = memory.add(tenants, turn.resident);
      found.push({ name: `${name}: CPU of nats-server`, unit: "s per 1,000", values: [turn.natsCpu], note });
    }
    const fitted = [...fitFigures("CPU of nats-server by tenants", "s per 1,000", "tenant", cpu), ...memory.figures()];
    found.push(...fitted.map((one) => ({ ...one, name: `${form}: ${one.name}` })));
  }
  return found;
}

/** What events that are kept cost: memory, and the time of reading one of them and the newest. */
export async function sweepEvents(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const [batch, looks] = bench.isSmall ? [10, 5] : [100, 200];
  const found: Measured[] = [];
  const points: SweepPoint[] = [];
  const memory = new MemorySweep("1,000 events");
  const work = async (running: Running): Promise<void> => {
    const { subject, site } = running;
    const headers = { authorization: `Bearer ${await site.token("reader")}` };
    const first = stage.next;
    const read = async (path: string): Promise<number> => {
      const startedMs = performance.now();
      const { statusCode, body } = await request(`${subject.urls[0]}/webhooks/events${path}`, { headers });
      await body.dump();
      if (statusCode !== 200) throw new Error(`${path}: ${statusCode}`);
      return performance.now() - startedMs;
    };
    for (const events of bench.isSmall ? [100, 200] : [1_000, 10_000, 100_000, 300_000]) {
      await publish(running, events - (stage.next - first), 0, { batch, publishers: 8 });
      const id = (): string => `/evt-${first + Math.floor(Math.random() * events)}`;
      const one = quantile(await rounds(looks, () => read(id())), 0.95);
      const newest = quantile(await rounds(looks, () => read("?order=desc")), 0.95);
      points.push([events / 1_000, one]);
      const name = `${events} events kept`;
      const note = memory.add(events / 1_000, subject.resident());
      found.push({ name: `${name}: one of them, p95`, unit: "ms", values: [one], note });
      found.push({ name: `${name}: the newest, p95`, unit: "ms", values: [newest] });
    }
  };
  await withProgram(stage, bench, [], work, { objects: () => [], types: 1 });
  return [...found, ...fitFigures("p95 of one event", "ms", "1,000 events", points), ...memory.figures()];
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
