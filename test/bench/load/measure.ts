import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Nearest-rank quantile; NaN of nothing. */
export function quantile(values: readonly number[], rank: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(rank * sorted.length))] ?? Number.NaN;
}

/** `p50 1.0 ms, p95 2.0 ms, p99 3.0 ms`. */
export function quantilesText(values: readonly number[]): string {
  return [0.5, 0.95, 0.99].map((rank) => `p${rank * 100} ${quantile(values, rank).toFixed(1)} ms`).join(", ");
}

/** Milliseconds of the machine's monotonic clock, which all processes share. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
const kibibyteBytes = 1_024;

/** CPU seconds that a process has used, in user and kernel mode. Linux only. */
export function cpuSeconds(pid: number): number {
  // The second field is the program's name in brackets and may hold spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Resident memory of a process, in MiB. Linux only. */
export function residentMebibytes(pid: number): number {
  const line = /VmRSS:\s+(?<kib>\d+)/u.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.groups?.["kib"]) / kibibyteBytes;
}

/** CPU seconds that processes use from now on. */
export function startCpuWatch(pids: Readonly<Record<string, number>>): () => Readonly<Record<string, number>> {
  const before = Object.entries(pids).map(([name, pid]) => [name, pid, cpuSeconds(pid)] as const);
  return () => Object.fromEntries(before.map(([name, pid, used]) => [name, cpuSeconds(pid) - used]));
}
