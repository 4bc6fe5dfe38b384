import { readdirSync, readFileSync } from "node:fs";

/** Identity of one process. Once a process is gone, another one may get its process id. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot at which the process started. Source: proc(5), field 22 of `/proc/PID/stat`. */
  readonly startTicks: string;
  readonly bootId: string;
}

interface ProcessStat {
  readonly state: string;
  readonly parentPid: number;
  readonly startTicks: string;
}

/** The process that has a process id now; undefined without one, or for a process that has ended. */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid);
  if (stat === undefined || stat.state === "Z" || stat.state === "X") return undefined;
  return { pid, startTicks: stat.startTicks, bootId: bootId() };
}

/** Whether that very process still runs. */
export function isAlive(process: ProcessIdentity): boolean {
  const now = identify(process.pid);
  return now !== undefined && now.startTicks === process.startTicks && now.bootId === process.bootId;
}

/** Ends that very process with SIGKILL; does nothing when it is gone. */
export function kill9(identity: ProcessIdentity): void {
  if (!isAlive(identity)) return;
  try {
    process.kill(identity.pid, "SIGKILL");
  } catch {
    // It ended between the look and the signal.
  }
}

/** The processes that run now and whose parent is this one. */
export function childrenOf(pid: number): readonly number[] {
  return processIds().filter((child) => readStat(child)?.parentPid === pid);
}

/** The processes that were started with this variable in their environment. */
export function processesWith(variable: string, value: string): readonly number[] {
  const wanted = `${variable}=${value}`;
  return processIds().filter((pid) => readProc(pid, "environ")?.split("\0").includes(wanted) === true);
}

/** The file name of a process's program; undefined when it is gone. */
export function programOf(pid: number): string | undefined {
  return readProc(pid, "comm")?.trim();
}

/** The ids of all processes that this one can see. */
export function processIds(): readonly number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

function readStat(pid: number): ProcessStat | undefined {
  const text = readProc(pid, "stat");
  // The program's name comes first, in parentheses, and may itself hold spaces and parentheses.
  const [state, parent, ...rest] = text?.slice(text.lastIndexOf(")") + 2).split(" ") ?? [];
  const startTicks = rest[17];
  if (state === undefined || startTicks === undefined) return undefined;
  return { state, parentPid: Number(parent), startTicks };
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return undefined;
  }
}

function bootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}
