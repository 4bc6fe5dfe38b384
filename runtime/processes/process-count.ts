import { availableParallelism } from "node:os";
import { cpuLimit } from "./cpu-limit.ts";

/** Most processes of a pod. */
export const processesMax = 64;
/** Most processes of `auto`: each one has a heap, caches and connections of its own. */
const autoProcessesMax = 8;

/**
 * The number of processes for `--processes`: a whole number, or `auto` for one per core that this process may use.
 * @param cores whole cores or a part of one. @default those of the affinity, within the CPU limit of the cgroup
 * @returns undefined for another text
 */
export function processCount(text: string, cores = usableCores()): number | undefined {
  if (text === "auto") return Math.min(Math.max(Math.floor(cores), 1), autoProcessesMax);
  const count = /^\d{1,2}$/u.test(text) ? Number(text) : 0;
  return count >= 1 && count <= processesMax ? count : undefined;
}

function usableCores(): number {
  return Math.min(availableParallelism(), cpuLimit() ?? Number.POSITIVE_INFINITY);
}
