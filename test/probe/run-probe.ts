import { setTimeout as sleep } from "node:timers/promises";
import { random } from "../runtime/metrics/oracle/generated-series.ts";
import type { Installation } from "./installation.ts";
import { Probe, type ProbeReport } from "./probe.ts";
import { startWalk } from "./walk.ts";

/** Queries under way at once. */
const askersMax = 4;
const pauseMs = 120;
const healthPauseMs = 1_500;
const limitedPauseMs = 80;

/** Queries for so long, and checks every response. */
export async function runProbe(
  installation: Installation,
  { seed, forMs }: { readonly seed: number; readonly forMs: number },
): Promise<ProbeReport> {
  const probe = new Probe(installation, random(seed));
  const walk = startWalk(installation, random(seed + 7), (pod) => probe.restarted(pod));
  const endMs = performance.now() + forMs;
  const isOver = (): boolean => performance.now() >= endMs;
  const loops = [
    ...Array.from({ length: askersMax }, () => ({ turn: () => probe.ask(), everyMs: pauseMs })),
    { turn: () => probe.lookAtHealth(), everyMs: healthPauseMs },
    { turn: () => probe.askLimited(), everyMs: limitedPauseMs },
  ];
  try {
    await Promise.all(
      loops.map(async ({ turn, everyMs }) => {
        while (!isOver()) {
          await turn();
          await sleep(everyMs);
        }
      }),
    );
  } finally {
    await walk.stop();
  }
  return probe.report();
}
