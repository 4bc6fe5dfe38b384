import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { randomUUID } from "node:crypto";

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
async function startOf(pid: number): Promise<string | undefined> {
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

/** A folder that this process holds. */
export interface FolderLock {
  /** Releases the lock; a second call does nothing. */
  release(): Promise<void>;
}

const triesMax = 20;
const pauseMs = 50;

/**
 * Acquires a lock file for this process. A lock is void when its process has ended, or when its process id belongs to
 * another process.
 * @throws Error that names the holder when it is running
 */
export async function lockFolder(path: string, what: string): Promise<FolderLock> {
  const own = `${process.pid} ${(await startOf(process.pid)) ?? ""}`;
  for (let tries = 1; tries <= triesMax; tries += 1) {
    if (await create(path, own)) return { release: () => releaseOwn(path, own) };
    const held = await readFile(path, "utf8").catch(() => "");
    const [pid = "", start = ""] = held.split(" ");
    if (held !== "" && (await startOf(Number(pid))) === start)
      throw new Error(`${what} is in use by process ${pid}; end it, or choose another folder`);
    if (held !== "") await removeStale(path, held);
    else {
      // The holder has just created it without content yet, or has just removed it.
      await sleep(pauseMs);
    }
  }
  throw new Error(`${what} cannot be locked: ${path} is empty or keeps changing`);
}

async function create(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Two processes may find the same stale lock. A process that moved the fresh lock of the other one puts it back. */
async function removeStale(path: string, stale: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  await rename(path, aside).catch(() => undefined);
  const moved = await readFile(aside, "utf8").catch(() => stale);
  await (moved === stale ? rm(aside, { force: true }) : rename(aside, path));
}

async function releaseOwn(path: string, own: string): Promise<void> {
  const held = await readFile(path, "utf8").catch(() => "");
  if (held === own) await rm(path, { force: true });
}
