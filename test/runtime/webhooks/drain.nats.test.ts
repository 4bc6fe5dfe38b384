import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { percentileOf } from "../../../limits/percentile.ts";
import { startSink } from "../../bench/load/children.ts";
import { sharedNowMs } from "../../bench/load/clock.ts";
import { startNatsServer } from "../../support/nats-server.ts";
import { isSoak } from "../../support/soak.ts";
import { waitFor } from "../../support/wait.ts";
import { engineCase } from "./engine-cases.ts";
import { configOf, eventBytes, partnerConfig, type PartnerOverrides } from "./engine-fixture.ts";
import { idsOf, produceAll } from "./fault-fixture.ts";

const timeoutMs = 120_000;
const backlog = 40_000;
const drainedMin = 1_000;
/** Alone, beside the backlog, and alone again, so that both sides see the same machine. */
const phases = ["Paused", "Active", "Paused"] as const;
const phaseMs = 4_000;
/** The first attempts open connections, and a pause returns what was pulled. */
const settleMs = 1_000;
/** Times are gathered by half seconds. */
const windowMs = 500;
const eventPauseMs = 10;
/** Shorter times say more about the timers of the machine. */
const measurableMs = 10;
/** Without a backlog and without other load it is about 2 ms. */
const quietMsMax = 4;

const quantile = (times: readonly number[], share: number): number =>
  percentileOf(times, share) ?? Number.POSITIVE_INFINITY;

test.skipIf(!isSoak)(
  "healthy partners have at most twice their p95 while the backlog of another one drains",
  async (context) => {
    const server = await startNatsServer();
    context.onTestFinished(() => server.stop());
    const sink = await startSink();
    context.onTestFinished(() => sink.stop());
    const ports = await sink.open([0, 0, 0]);
    const partnerOf = (index: number, types: string, overrides: PartnerOverrides = {}) =>
      partnerConfig(`p-${index}`, `http://127.0.0.1:${ports[index]}/hooks`, {
        subscriptions: [{ name: "all", types: [types], tenants: ["*"], producers: [] }],
        ...overrides,
      });
    const healthy = [1, 2].map((index) => partnerOf(index, "payout.**"));
    const config = (state: "Active" | "Paused") =>
      configOf(partnerOf(0, "bulk.**", { state, delivery: { maxInFlight: 512 } }), ...healthy);
    const it = await engineCase(server.url, context, config("Paused"));
    await produceAll(idsOf(backlog), (id) => it.ingest(eventBytes(id, { type: "bulk.sent" })));
    const waiting = async (): Promise<number> =>
      (await it.nats.manager.streams.info(it.layout.streams.deliveries)).state.messages;
    await waitFor(async () => (await waiting()) >= backlog, { timeoutMs, what: "the backlog" });
    const sentAtMs = new Map<string, number>();
    for (const [phase, state] of phases.entries()) {
      it.engine.apply(config(state));
      await sleep(settleMs);
      const startMs = performance.now();
      for (let ms = 0; ms < phaseMs; ms = performance.now() - startMs) {
        const id = `${state}-${phase}-${Math.floor(ms / windowMs)}-${sentAtMs.size}`;
        sentAtMs.set(id, sharedNowMs());
        void it.ingest(eventBytes(id));
        await sleep(eventPauseMs);
      }
    }
    const toHealthy = async () => (await sink.arrivals()).filter(([endpoint]) => endpoint > 0);
    await waitFor(async () => (await toHealthy()).length >= healthy.length * sentAtMs.size, {
      timeoutMs,
      what: "the events of healthy partners",
    });
    const arrivals = await toHealthy();
    // The median of the windows, since a stall of the machine spoils a window of either side.
    const p95Of = (state: "Active" | "Paused"): number => {
      const own = arrivals.filter(([, id]) => id.startsWith(state));
      const windows = Map.groupBy(own, ([, id]) => id.slice(0, id.lastIndexOf("-")));
      const times = [...windows.values()].map((all) => all.map(([, id, atMs]) => atMs - (sentAtMs.get(id) ?? 0)));
      return quantile(
        times.map((ms) => quantile(ms, 0.95)),
        0.5,
      );
    };
    const [alone, beside] = [p95Of("Paused"), p95Of("Active")];
    const drained = backlog - (await waiting());
    const figures = [alone, beside].map((figure) => `${figure.toFixed(1)} ms`);
    process.stdout.write(`p95 alone and while ${drained} drain: ${figures.join(", ")}\n`);
    expect(drained).toBeGreaterThan(drainedMin);
    // A busy machine takes the processor from whoever uses much of it, so the figures say nothing about the product.
    const limitMs = alone <= quietMsMax ? 2 * measurableMs : Number.POSITIVE_INFINITY;
    expect(beside).toBeLessThanOrEqual(limitMs);
  },
  timeoutMs,
);
