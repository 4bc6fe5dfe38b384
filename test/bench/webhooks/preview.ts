import type { Preview } from "../../../api/previews.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { waitFor } from "../../support/wait.ts";
import { rounds, withUsage, type Bench } from "../harness/bench.ts";
import type { Measured } from "../harness/figures.ts";
import { webhookPartner } from "./partner.ts";
import { deliver, endpointCount, publish, timeoutMs, withProgram, type Running, type WebhookStage } from "./stage.ts";

/** Types of the stored events, of which each partner gets one. */
const types = 1_000;
/** The partner that the edit changes. It gets recorded events only, so that deliveries change no preview. */
const editedPlace = endpointCount;
/** Fewer than are delivered while a preview runs. */
const busyEvents = 15_000;

interface Turn {
  readonly seconds: number;
  /** CPU of the program beyond that of the idle one, in percent of a core. */
  readonly percent: number;
  readonly natsPercent: number;
}

/** Deliveries a second in turns of one round. */
interface BusyTurn {
  readonly alone: number;
  readonly beside: number;
}

/** The preview of an edit over many recorded events, in a program that does nothing else, and beside deliveries. */
export function preview(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const [count, settleMs, idleMs] = bench.isSmall ? [200, 50, 200] : [100_000, 5_000, 10_000];
  const endpoints = Array.from({ length: editedPlace + 1 }, () => 0);
  return withProgram(stage, bench, endpoints, async (running) => {
    await publish({ ...running, types }, count, 0);
    await sleep(settleMs);
    const [, idle] = await withUsage(running.subject, () => sleep(idleMs));
    const idlePercent = (idle.cpuSeconds * 100_000) / idleMs;
    const turns = await rounds(bench.rounds, () => one(running, count, idlePercent, bench));
    const busy = await rounds(bench.rounds, (round) => busyTurn(running, round, bench));
    const figure = (what: string, unit: string, of: (turn: Turn) => number, atMost?: number): Measured => ({
      name: `preview of an edit over ${count} recorded events: ${what}`,
      unit,
      values: turns.map(of),
      ...(atMost === undefined ? {} : { bar: { atMost } }),
    });
    return [
      figure("from the request to the result", "s", ({ seconds }) => seconds, 20),
      figure("CPU of the program beyond its idle one", "% of a core", ({ percent }) => percent, 5),
      figure("CPU of nats-server", "% of a core", ({ natsPercent }) => natsPercent),
      {
        name: `${endpointCount} endpoints, deliveries with a preview running`,
        unit: "/s",
        values: busy.map(({ beside }) => beside),
        reference: { name: "without", values: busy.map(({ alone }) => alone) },
        bar: { atLeast: 0.95, of: "ratio" },
      },
    ];
  });
}

async function one({ site, subject }: Running, count: number, idlePercent: number, bench: Bench): Promise<Turn> {
  const startedMs = performance.now();
  const [found, usage] = await withUsage(subject, () => previewed({ site, subject }, bench));
  if ((found.events?.read ?? 0) < count) throw new Error(`only ${found.events?.read} of ${count} events were read`);
  const seconds = (performance.now() - startedMs) / 1_000;
  const percentOf = (cpuSeconds: number): number => (cpuSeconds * 100) / seconds;
  return {
    seconds,
    percent: Math.max(0, percentOf(usage.cpuSeconds) - idlePercent),
    natsPercent: percentOf(usage.natsCpuSeconds),
  };
}

/** Asks for a preview of an edit over all recorded events, and waits for its end. */
async function previewed({ site, subject }: Pick<Running, "site" | "subject">, bench: Bench): Promise<Preview> {
  const token = await site.token("bench");
  const [partner] = webhookPartner(1, editedPlace);
  const body = JSON.stringify({ resources: [partner], from: "2020-01-01T00:00:00Z" });
  const { preview_id: id } = await ask(subject.urls[0] ?? "", token, body);
  const look = async (): Promise<Preview | undefined> => {
    const now = await ask(`${subject.urls[0]}`, token, undefined, `/${id}`);
    return now.status === "completed" ? now : undefined;
  };
  return waitFor(look, { timeoutMs, what: "the end of a preview", pollMs: bench.isSmall ? 100 : 1_000 });
}

/** Delivers without and with a preview, in an order that changes from round to round. */
async function busyTurn(running: Running, round: number, bench: Bench): Promise<BusyTurn> {
  const busy: Running = { ...running, types: endpointCount };
  const alone = async (): Promise<number> => (await deliver(busy, bench.isSmall ? 20 : busyEvents)).rate;
  const beside = async (): Promise<number> => {
    let isOver = false;
    const asked = previewed(running, bench).finally(() => {
      isOver = true;
    });
    // Rejections are looked at below.
    asked.catch(() => undefined);
    const rate = await alone();
    if (isOver && !bench.isSmall) throw new Error("the preview ended before the deliveries did");
    await asked;
    return rate;
  };
  if (round % 2 === 0) return { alone: await alone(), beside: await beside() };
  const first = await beside();
  return { alone: await alone(), beside: first };
}

async function ask(url: string, token: string, body?: string, path = ""): Promise<Preview> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const sent = body === undefined ? ({ method: "GET" } as const) : ({ method: "POST", body } as const);
  const response = await request(`${url}/v1/preview${path}`, { ...sent, headers });
  if (response.statusCode >= 300) throw new Error(`the preview was refused: ${await response.body.text()}`);
  return (await response.body.json()) as Preview;
}
