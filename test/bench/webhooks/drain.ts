import { setTimeout as sleep } from "node:timers/promises";
import { waitFor } from "../../support/wait.ts";
import { rounds, startProgram, withUsage, type Bench } from "../harness/bench.ts";
import { quantile, type Measured } from "../harness/figures.ts";
import type { Site, Subject, Usage } from "../harness/program.ts";
import { startSink } from "../load/children.ts";
import { webhookPartner } from "./partner.ts";
import { publish, timeoutMs, waitsMs, withProgram, type Running, type WebhookStage } from "./stage.ts";

/** Partner 0 has the backlog; as many healthy ones as this get ten events a second each. */
const healthyCount = 10;
const perSecond = 10;
const healthy = Array.from({ length: healthyCount }, (_, place) => place + 1);
/** Kept connections are open by then, and a pause has returned what was pulled. */
const settleMs = 1_500;
/** A new owner of a lane makes no attempts straight from events before. */
const takeOverMs = 16_000;

/** Events to healthy partners during a phase. */
interface Phase {
  readonly p95: number;
  readonly p50: number;
  /** Deliveries of the backlog a second. */
  readonly drainedPerSecond: number;
  readonly usage: Usage;
}

/** The backlog of one partner in one installation. */
interface Backlog {
  readonly running: Running;
  /** Publishes what was drained. */
  fill(): Promise<void>;
  /** Lets it drain, or stops it. */
  set(state: "Active" | "Paused"): Promise<void>;
  /** Deliveries so far. */
  drained(): Promise<number>;
}

/** The p95 of healthy partners alone, while the backlog of another one drains, and while another installation does. */
export async function drain(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const found: Measured[] = [];
  for (const pods of bench.isSmall ? [1] : [1, 2]) found.push(...(await drainOf(stage, bench, pods)));
  return found;
}

async function drainOf(stage: WebhookStage, bench: Bench, pods: number): Promise<readonly Measured[]> {
  const seconds = bench.isSmall ? 1 : 5;
  const turns = await withBacklog(stage, bench, pods, (own) =>
    withBacklog(stage, bench, pods, async (other) => {
      if (!bench.isSmall) await sleep(takeOverMs);
      await phase(own, undefined, seconds);
      return rounds(bench.rounds, async () => {
        await own.fill();
        await other.fill();
        return {
          alone: await phase(own, undefined, seconds),
          beside: await phase(own, own, seconds),
          elsewhere: await phase(own, other, seconds),
          again: await phase(own, undefined, seconds),
        };
      });
    }),
  );
  const name = `p95 of ${healthyCount} partners at ${perSecond}/s each, ${pods} pods`;
  const drains = "while a backlog of another partner drains";
  const alone = turns.map((turn) => (turn.alone.p95 + turn.again.p95) / 2);
  const reference = { name: "alone", values: alone };
  const elsewhere = turns.map((turn) => turn.elsewhere.p95);
  const shares = turns.map(
    ({ beside: { usage } }) => `${usage.cpuSeconds.toFixed(1)}+${usage.natsCpuSeconds.toFixed(1)}`,
  );
  return [
    { name: `${name}: alone`, unit: "ms", values: alone },
    {
      name: `${name}: ${drains}`,
      unit: "ms",
      values: turns.map((turn) => turn.beside.p95),
      reference,
      bar: { of: "ratio", atMost: 2 },
      note: `CPU s of the program and its nats-server ${shares.join(", ")}`,
    },
    {
      name: `${name}: while an equal backlog drains in another installation`,
      unit: "ms",
      values: elsewhere,
      reference,
    },
    {
      name: `${name}: p50 ${drains}`,
      unit: "ms",
      values: turns.map((turn) => turn.beside.p50),
      reference: { name: "alone", values: turns.map((turn) => turn.alone.p50) },
    },
    {
      name: `a backlog that drains, ${pods} pods`,
      unit: "deliveries/s",
      values: turns.map((turn) => turn.beside.drainedPerSecond),
      reference: {
        name: "in an installation without other events",
        values: turns.map((turn) => turn.elsewhere.drainedPerSecond),
      },
    },
  ];
}

/** Runs some work on a program whose first partner is paused. */
async function withBacklog<T>(
  stage: WebhookStage,
  bench: Bench,
  pods: number,
  work: (backlog: Backlog) => Promise<T>,
): Promise<T> {
  const sink = await startSink();
  const [port = 0] = await sink.open([0]);
  const set = (site: Site, state: string): Promise<void> =>
    site.write("backlog.yaml", webhookPartner(port, 0, { state, "delivery.maxInFlight": 64 }));
  const start = async (site: Site): Promise<Subject> => {
    await set(site, "Paused");
    return startProgram(site, pods);
  };
  const delaysMs = healthy.map(() => 0);
  const objects = (ports: readonly number[]): readonly object[] =>
    ports.flatMap((one, index) => webhookPartner(one, index + 1));
  const size = bench.isSmall ? 2_000 : 50_000;
  let published = 0;
  const run = (running: Running): Promise<T> =>
    work({
      running,
      set: (state) => set(running.site, state),
      drained: async () => (await sink.count()).distinct,
      fill: async () => {
        const missing = size + (await sink.count()).distinct - published;
        published += missing;
        await publish({ ...running, types: 1 }, missing, 0, { batch: 50, publishers: 8 });
        await sleep(settleMs);
      },
    });
  try {
    return await withProgram(stage, bench, delaysMs, run, { start, objects, types: healthyCount + 1 });
  } finally {
    await sink.stop();
  }
}

/** Sends events to the healthy partners for some seconds. @param draining whose backlog drains meanwhile */
async function phase({ running }: Backlog, draining: Backlog | undefined, seconds: number): Promise<Phase> {
  const { stage, subject } = running;
  await stage.sink.forget();
  const drained = async (): Promise<number> => (await draining?.drained()) ?? 0;
  const first = await drained();
  await draining?.set("Active");
  if (draining !== undefined)
    await waitFor(async () => (await drained()) > first, { timeoutMs, what: "a backlog that drains", pollMs: 10 });
  const before = await drained();
  const count = (healthyCount + 1) * perSecond * seconds;
  const [published, usage] = await withUsage(subject, () => publish(running, count, count / seconds));
  const drainedPerSecond = ((await drained()) - before) / seconds;
  await draining?.set("Paused");
  const toHealthy = published.sentAtMs.filter(([id]) => Number(id.slice("evt-".length)) % (healthyCount + 1) !== 0);
  const waits = (): Promise<number[]> => waitsMs(stage, published);
  await waitFor(async () => (await waits()).length >= toHealthy.length, { timeoutMs, what: "events", pollMs: 50 });
  await sleep(settleMs);
  const times = await waits();
  return { p95: quantile(times, 0.95), p50: quantile(times, 0.5), drainedPerSecond, usage };
}
