import { link, open, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const beatMs = 2_000;
const silentAfterMs = 60_000;
const pollMs = 50;

/** What a lock file says of its holder. */
interface LockState {
  readonly pid: number;
  /** Time since the holder last touched the file. */
  readonly silentMs: number;
}

/**
 * Whether a lock's holder is gone: its process is, or it stopped touching the file. The second covers a process id that
 * another process got since.
 */
export function isStale(lock: LockState, lives: (pid: number) => boolean): boolean {
  return lock.silentMs > silentAfterMs || !lives(lock.pid);
}

/** Options of waiting for a lock. */
interface LockOptions {
  readonly waitMs: number;
  /** Called at every poll while another process holds the lock. */
  readonly onWait: (holderPid: number, waitedMs: number) => void;
}

/**
 * Runs work while holding a lock file that carries this process's id. A lock whose holder is gone is taken over. In
 * theory two processes that do so in the same instant may both go on; work under this lock must stay right then (ours
 * moves finished folders in place with one rename).
 *
 * @throws Error when another process still holds the lock after `waitMs`
 */
export async function withLock<T>(path: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const startMs = performance.now();
  while (!(await tryToTake(path))) {
    const lock = await readLock(path);
    if (lock === undefined) continue;
    if (isStale(lock, isAlive)) {
      await removeStale(path, lock.pid);
      continue;
    }
    const waitedMs = performance.now() - startMs;
    if (waitedMs >= options.waitMs)
      throw new Error(`process ${lock.pid} still holds ${path} after ${Math.round(waitedMs / 1000)} s`);
    options.onWait(lock.pid, waitedMs);
    await sleep(pollMs);
  }
  const beat = setInterval(() => void touch(path), beatMs);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    await rm(path, { force: true });
  }
}

async function tryToTake(path: string): Promise<boolean> {
  // Written beside and linked in place, so that no process ever reads a lock without its process id.
  const own = `${path}.${process.pid}.${performance.now()}`;
  const file = await open(own, "wx");
  try {
    await file.writeFile(String(process.pid));
    await link(own, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    await file.close();
    await rm(own, { force: true });
  }
}

async function readLock(path: string): Promise<LockState | undefined> {
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    return { pid: Number(text), silentMs: Date.now() - mtimeMs };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Takes a stale lock away, and gives it back when it turns out to be another one that came in between. */
async function removeStale(path: string, stalePid: number): Promise<void> {
  const aside = `${path}.stale.${process.pid}.${performance.now()}`;
  try {
    await rename(path, aside);
    const pid = Number(await readFile(aside, "utf8"));
    if (pid !== stalePid) await link(aside, path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT" && codeOf(error) !== "EEXIST") throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now).catch(() => undefined);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}
