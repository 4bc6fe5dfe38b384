import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../support/free-port.ts";
import { waitFor } from "../../support/wait.ts";
import { rounds, type Bench } from "../harness/bench.ts";
import { median, quantile, type Measured } from "../harness/figures.ts";
import type { Site, Subject } from "../harness/program.ts";
import { sharedNowMs } from "../load/clock.ts";
import {
  arrived,
  deliver,
  fastEndpoints,
  publish,
  timeoutMs,
  waitsMs,
  withProgram,
  type Running,
  type WebhookStage,
} from "./stage.ts";

/** Deliveries whose first request arrived this long before a crash count as in flight. */
const inFlightMs = 100;

interface Crash {
  readonly readySeconds: number;
  readonly lost: number;
  readonly doubled: number;
  readonly inFlight: number;
  readonly slowestSeconds: number;
}

/** Kills the whole program while publishers send and repeat, and starts it again on the same port and data. */
export async function kill(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const crashes = await rounds(bench.rounds, () => crash(stage, bench));
  const figure = (what: string, unit: string, one: (crash: Crash) => number): Measured => ({
    name: `kill -9 at 400 events a second: ${what}`,
    unit,
    values: crashes.map(one),
  });
  const inFlight = { name: "in flight", values: crashes.map((one) => one.inFlight) };
  const doubled = figure("doubled", "deliveries", (one) => one.doubled);
  // A ratio of nothing to nothing is none, so the bar compares the difference.
  const more = figure("doubled beyond those in flight", "deliveries", (one) => Math.max(0, one.doubled - one.inFlight));
  return [
    { ...figure("lost", "events", (one) => one.lost), bar: { atMost: 0 } },
    { ...doubled, reference: inFlight },
    { ...more, bar: { atMost: 0 } },
    { ...figure("ready again after", "s", (one) => one.readySeconds), bar: { atMost: 1 } },
    figure("slowest arrival", "s", (one) => one.slowestSeconds),
  ];
}

async function crash(stage: WebhookStage, bench: Bench): Promise<Crash> {
  const port = String(await freePort());
  const start = (site: Site): Promise<Subject> => site.run("--port", port);
  const [perSecond, count] = [400, bench.isSmall ? 400 : 3_200];
  const work = async (running: Running): Promise<Crash> => {
    await deliver(running, bench.isSmall ? 20 : 400, perSecond);
    await stage.sink.forget();
    const published = publish(running, count, perSecond);
    await sleep((count / perSecond) * 500);
    const killedAtMs = sharedNowMs();
    await running.subject.kill9();
    const again = await start(running.site);
    const readySeconds = (again.readyAtMs - killedAtMs) / 1_000;
    const result = await published;
    await arrived(stage, count);
    const { requests, distinct } = await stage.sink.count();
    const arrivals = await stage.sink.arrivals();
    const inFlight = arrivals.filter(([, , atMs]) => atMs < killedAtMs && atMs > killedAtMs - inFlightMs).length;
    const slowestSeconds = quantile(await waitsMs(stage, result), 1) / 1_000;
    await again.stop();
    return { readySeconds, lost: count - distinct, doubled: requests - distinct, inFlight, slowestSeconds };
  };
  return withProgram(stage, bench, fastEndpoints, work, { start });
}

/** Two fast endpoints, alone and beside one that takes five seconds, in turn. */
export async function slow(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const count = bench.isSmall ? 90 : 2_400;
  const p95 = (thirdMs: number): Promise<number> =>
    withProgram(stage, bench, [0, 0, thirdMs], async (running) => {
      const result = await publish(running, count, 400);
      const fast = (): Promise<number[]> => waitsMs(stage, result, [0, 1]);
      await waitFor(async () => (await fast()).length >= (count * 2) / 3, { timeoutMs, what: "the fast", pollMs: 50 });
      return quantile(await fast(), 0.95);
    });
  const turns = await rounds(bench.rounds, async () => ({ alone: await p95(0), beside: await p95(5_000) }));
  const alone = turns.map((turn) => turn.alone);
  const values = turns.map((turn) => turn.beside - turn.alone);
  const name = "p95 of two fast endpoints at 400 events a second";
  return [
    { name: `${name}, alone`, unit: "ms", values: alone },
    {
      name: `${name}, moves beside one of 5 s by`,
      unit: "ms",
      values,
      bar: { atMost: Math.max(5, 0.2 * median(alone)) },
    },
  ];
}
