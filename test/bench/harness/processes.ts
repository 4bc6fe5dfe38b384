import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

export const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** What the kernel says of one process in `/proc/PID/stat`. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  /** CPU seconds in user and kernel mode. */
  readonly cpuSeconds: number;
  /** The same of children that have ended and were waited for. */
  readonly endedCpuSeconds: number;
}

/** The name stands in brackets and may hold spaces and brackets. */
export function parseProcessStat(text: string, ticks: number): ProcessStat {
  const [open, close] = [text.indexOf("("), text.lastIndexOf(")")];
  const fields = text.slice(close + 2).split(" ");
  const at = (place: number): number => Number(fields[place]);
  return {
    pid: Number.parseInt(text, 10),
    parent: at(1),
    name: text.slice(open + 1, close),
    cpuSeconds: (at(11) + at(12)) / ticks,
    endedCpuSeconds: (at(13) + at(14)) / ticks,
  };
}

/** A process and all below it, each once; `except` and all below those are left out. */
export function treeOf(
  all: readonly ProcessStat[],
  root: number,
  except: readonly number[] = [],
): readonly ProcessStat[] {
  const children = Map.groupBy(all, ({ parent }) => parent);
  const below = (one: ProcessStat): readonly ProcessStat[] =>
    except.includes(one.pid) ? [] : [one, ...(children.get(one.pid) ?? []).flatMap(below)];
  return all.filter(({ pid }) => pid === root).flatMap(below);
}

/** All processes of the machine. Linux only. */
export function allProcesses(): readonly ProcessStat[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((pid) => {
      try {
        return [parseProcessStat(readFileSync(`/proc/${pid}/stat`, "utf8"), ticksPerSecond)];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
}

/** CPU seconds of a process and all below it, and of those that have ended if asked. */
export function treeCpuSeconds(root: number, withEnded = false, except: readonly number[] = []): number {
  return treeOf(allProcesses(), root, except).reduce(
    (sum, { cpuSeconds, endedCpuSeconds }) => sum + cpuSeconds + (withEnded ? endedCpuSeconds : 0),
    0,
  );
}

/** Resident memory of a process, in MiB. */
export function residentMebibytes(pid: number): number {
  const line = /VmRSS:\s+(?<kib>\d+)/u.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.groups?.["kib"]) / 1_024;
}
