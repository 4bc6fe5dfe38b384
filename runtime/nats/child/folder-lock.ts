import { randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { startOf } from "./running-process.ts";

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
    if (held !== "" && (await startOf(Number(pid))) === start) {
      throw new Error(`${what} is in use by process ${pid}; end it, or choose another folder`);
    }
    if (held !== "") {
      await removeStale(path, held);
    } else {
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
