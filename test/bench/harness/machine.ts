import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { ticksPerSecond, treeCpuSeconds } from "./processes.ts";

/** What a figure depends on besides the program. */
export interface MachineFacts {
  readonly cores: number;
  readonly processor: string;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  readonly natsServer: string;
  /** Of the last minute, at the start. */
  readonly load: number;
}

/** How quiet the machine was before a part. */
export interface Quiet {
  readonly isQuiet: boolean;
  /** Of the last minute. */
  readonly load: number;
  /** Share of all cores that other programs used in the last second looked at. */
  readonly othersBusy: number;
  readonly waitedSeconds: number;
}

/** CPU seconds of all cores together, since the machine started. */
export interface CpuTimes {
  readonly busy: number;
  readonly total: number;
}

/** Other programs may use this share of the machine. */
export const othersBusyMax = 0.05;
const lookMs = 1_000;

export function machineFacts(natsServer: string): MachineFacts {
  const [first] = cpus();
  return {
    cores: cpus().length,
    processor: first?.model ?? "unknown",
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    natsServer: execFileSync(natsServer, ["--version"], { encoding: "utf8" }).trim(),
    load: loadavg()[0] ?? Number.NaN,
  };
}

/** The first line of `/proc/stat`: guests are in the user time already. */
export function parseCpuTimes(stat: string, ticks: number): CpuTimes {
  const fields = (stat.split("\n")[0] ?? "").trim().split(/\s+/u).slice(1, 9).map(Number);
  const total = fields.reduce((sum, value) => sum + value, 0);
  const [idle = 0, waiting = 0] = fields.slice(3, 5);
  return { busy: (total - idle - waiting) / ticks, total: total / ticks };
}

function cpuTimes(): CpuTimes {
  return parseCpuTimes(readFileSync("/proc/stat", "utf8"), ticksPerSecond);
}

/** The share of the machine that others used between two looks, in which this program used `own` CPU seconds. */
export function othersShare(before: CpuTimes, after: CpuTimes, own: number): number {
  const total = after.total - before.total;
  return total <= 0 ? Number.NaN : Math.max(0, after.busy - before.busy - own) / total;
}

/** Starts to look; the answer is the share of the machine that others used since. */
export function watchOthers(): () => number {
  const [before, ownBefore] = [cpuTimes(), treeCpuSeconds(process.pid, true)];
  return () => othersShare(before, cpuTimes(), treeCpuSeconds(process.pid, true) - ownBefore);
}

/** Waits until other programs leave the machine alone, for `patienceSeconds` at most. It never fails. */
export async function untilQuiet(patienceSeconds: number): Promise<Quiet> {
  const startedMs = performance.now();
  for (;;) {
    const others = watchOthers();
    await sleep(lookMs);
    const othersBusy = others();
    const waitedSeconds = (performance.now() - startedMs) / 1_000;
    const isQuiet = othersBusy <= othersBusyMax;
    if (isQuiet || waitedSeconds >= patienceSeconds)
      return { isQuiet, load: loadavg()[0] ?? Number.NaN, othersBusy, waitedSeconds };
  }
}

/** `quiet`, or what it was instead. */
export function quietText({ isQuiet, load, othersBusy }: Quiet): string {
  const share = `others use ${(othersBusy * 100).toFixed(0)} % of the machine`;
  return isQuiet ? `quiet: ${share}, load ${load.toFixed(1)}` : `never quiet: load ${load.toFixed(1)}, ${share}`;
}
