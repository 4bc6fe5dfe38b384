import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import type { PreviewResponse } from "../../../runtime/preview/preview-job.ts";
import { waitFor } from "../../support/wait.ts";
import { rounds, withUsage, type Bench } from "../harness/bench.ts";
import type { Measured } from "../harness/figures.ts";
import { webhookPartner } from "./partner.ts";
import { publish, timeoutMs, withProgram, type Running, type WebhookStage } from "./stage.ts";

/** Types of the stored events, of which one partner gets the first. */
const types = 1_000;

interface Turn {
  readonly seconds: number;
  /** CPU of the program beyond that of the idle one, in percent of a core. */
  readonly percent: number;
  readonly natsPercent: number;
}

/** The preview of an edit over many recorded events, in a program that does nothing else. */
export function preview(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const [count, settleMs, idleMs] = bench.isSmall ? [200, 50, 200] : [100_000, 5_000, 10_000];
  return withProgram(stage, bench, [0], async (running) => {
    await publish({ ...running, types }, count, 0);
    await sleep(settleMs);
    const [, idle] = await withUsage(running.subject, () => sleep(idleMs));
    const idlePercent = (idle.cpuSeconds * 100_000) / idleMs;
    const turns = await rounds(bench.rounds, () => one(running, count, idlePercent, bench));
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
    ];
  });
}

async function one({ site, subject }: Running, count: number, idlePercent: number, bench: Bench): Promise<Turn> {
  const token = await site.token("bench");
  const [partner] = webhookPartner(1, 0);
  const body = JSON.stringify({ resources: [partner], prune: true, from: "2020-01-01T00:00:00Z" });
  const startedMs = performance.now();
  const [found, usage] = await withUsage(subject, async () => {
    const { preview_id: id } = await ask(subject.urls[0] ?? "", token, body);
    const look = async (): Promise<PreviewResponse | undefined> => {
      const now = await ask(`${subject.urls[0]}`, token, undefined, `/${id}`);
      return now.status === "completed" ? now : undefined;
    };
    return waitFor(look, { timeoutMs, what: "the end of a preview", pollMs: bench.isSmall ? 100 : 1_000 });
  });
  if ((found.events?.read ?? 0) < count) throw new Error(`only ${found.events?.read} of ${count} events were read`);
  const seconds = (performance.now() - startedMs) / 1_000;
  const percentOf = (cpuSeconds: number): number => (cpuSeconds * 100) / seconds;
  return {
    seconds,
    percent: Math.max(0, percentOf(usage.cpuSeconds) - idlePercent),
    natsPercent: percentOf(usage.natsCpuSeconds),
  };
}

async function ask(url: string, token: string, body?: string, path = ""): Promise<PreviewResponse> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const sent = body === undefined ? ({ method: "GET" } as const) : ({ method: "POST", body } as const);
  const response = await request(`${url}/v1/preview${path}`, { ...sent, headers });
  if (response.statusCode >= 300) throw new Error(`the preview was refused: ${await response.body.text()}`);
  return (await response.body.json()) as PreviewResponse;
}
