import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const pollMs = 20;

/** True while a process with this id runs. A zombie does not run. */
export function isRunning(pid: number): boolean {
  return canBeSignalled(pid) && !isZombie(pid);
}

function isZombie(pid: number): boolean {
  try {
    // The state follows the name in parentheses.
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(")").at(-1)?.trim().startsWith("Z") === true;
  } catch {
    return false;
  }
}

function canBeSignalled(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user runs too.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Command line of the process, arguments separated by spaces; undefined when there is no such process. Ids are reused,
 * so an id from a file needs this check.
 */
export async function commandLineOf(pid: number): Promise<string | undefined> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ").trim();
  } catch {
    return isRunning(pid) ? psField(pid, "command") : undefined;
  }
}

/**
 * Start of the process as an opaque text. A later process with the same id has another text. Undefined when there is no
 * such process.
 */
export async function startOf(pid: number): Promise<string | undefined> {
  try {
    // The fields follow the name, which may itself hold parentheses. The start is field 22.
    const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(")").at(-1)?.trim().split(" ");
    return fields?.[19];
  } catch {
    return isRunning(pid) ? psField(pid, "lstart") : undefined;
  }
}

async function psField(pid: number, field: string): Promise<string | undefined> {
  const result = await promisify(execFile)("ps", ["-p", String(pid), "-o", `${field}=`]).catch(() => undefined);
  return result?.stdout.trim();
}

/** Ends a process with SIGTERM, or with SIGKILL after the timeout. Resolves when it has ended. */
export async function endProcess(pid: number, timeoutMs: number): Promise<void> {
  signal(pid, "SIGTERM");
  if (!(await isGoneWithin(pid, timeoutMs))) {
    signal(pid, "SIGKILL");
    await isGoneWithin(pid, timeoutMs);
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has already ended.
  }
}

async function isGoneWithin(pid: number, boundMs: number): Promise<boolean> {
  const deadlineMs = performance.now() + boundMs;
  while (isRunning(pid)) {
    if (performance.now() > deadlineMs) return false;
    await sleep(pollMs);
  }
  return true;
}
